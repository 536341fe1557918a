"""The objects of reports and choices as text, and back."""

import dataclasses
import datetime as dt
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.caching.values import DATACLASSES, NotKept, read_back, written
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.facts.sizes import Bounds, Symbolic
from sonnx_ort.options import Choices
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.terms.operand import OpenSize

HALVES = Symbolic.named("trunc(n/2)", Bounds(0, 7), divided=(Symbolic.named("n"), 2))

OBJECTS = {
    "none": None,
    "truth beside numbers": (True, 1, False, 0),
    "numbers": (1.5, float("inf"), -0.0, 5e-324, 1 << 70),
    "texts": ("", "\N{SNOWMAN}", "\udc80", "a\nb"),
    "nested": (("a", ("b",)), {"x": (1, 2), "y": frozenset({"p", "q"})}),
    "list": ["a", ["b"]],
    "numbers beside booleans": ((1,), (True,), (0,), (False,)),
    "date": dt.date(2030, 1, 2),
    "advice": Advice("use ", Remedy("broadcast", "explicit"), " or ", Remedy("seed", 7)),
    "open size": OpenSize(HALVES),
    "rule": RULES["Div.int.C1"],
    "rule for a node": RULES["Gemm.shapes"].of_node({"transA": 1, "transB": 0}),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_object_is_read_back_equal(name: str) -> None:
    value = OBJECTS[name]
    found = read_back(written(value))
    assert (type(found), found, repr(found)) == (type(value), value, repr(value))


def test_symbol_of_a_size_keeps_what_is_known_of_it() -> None:
    found: OpenSize = read_back(written(OpenSize(HALVES)))
    ((symbol,), _), *_ = found.size.terms
    assert (found.size.bounds, symbol.divided) == (HALVES.bounds, (Symbolic.named("n"), 2))


def test_advice_keeps_its_options() -> None:
    advice = Advice("use ", Remedy("broadcast", "explicit"))
    assert read_back(written(advice)).in_command == "use --broadcast explicit"


ARRAYS = {
    "float": np.array([[1.5, np.nan], [-0.0, np.inf]], np.float32),
    "empty": np.zeros((0, 3), np.int64),
    "scalar": np.array(7, np.uint8),
    "other order of bytes": np.array([1, 2], ">i4"),
    "bfloat16": np.array([1, 2], ml_dtypes.bfloat16),
    "int4": np.array([1, -2], ml_dtypes.int4),
    "boolean": np.array([True, False]),
    "texts": np.array(["a", "bcd"]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_array_is_read_back_with_its_type_and_bits(name: str) -> None:
    array = ARRAYS[name].astype(ARRAYS[name].dtype.newbyteorder("="))
    found = read_back(written(ARRAYS[name]))
    assert (found.dtype, found.shape, found.tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )


UNKNOWN = {
    "function": len,
    "path": Path("x"),
    "bytes": b"x",
    "number of numpy": np.float64(1),
    "subclass of a text": type("Text", (str,), {})("x"),
    "set of numbers": frozenset({1}),
    "array of objects": np.array([{}], object),
    "array of records": np.zeros(1, [("a", np.int32)]),
    "rule of no profile": dataclasses.replace(RULES["Div.int.C1"], id="Div.int.C99"),
    "rule that was changed": dataclasses.replace(RULES["Div.int.C1"], code=9000),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_object_of_another_class_is_refused_wherever_it_stands(name: str) -> None:
    with pytest.raises(NotKept):
        written(("a", {"x": UNKNOWN[name]}))


def test_object_that_is_nested_too_deep_is_refused() -> None:
    nested: Any = ()
    for _ in range(10_000):
        nested = (nested,)
    with pytest.raises(NotKept, match=r"^an object is nested too deep$"):
        written(nested)


@pytest.mark.parametrize("kind", DATACLASSES)
def test_constructor_takes_all_fields_in_their_order(kind: Any) -> None:
    fields = dataclasses.fields(kind)
    assert all(field.init and not field.kw_only for field in fields)


def test_equal_choices_have_one_text() -> None:
    one, other = (Choices.of(operators=names) for names in (["Div", "Exp"], "Exp,Div"))
    assert written(one) == written(other)


def test_object_that_is_there_several_times_is_written_once() -> None:
    one = Choices.of()
    assert len(written((one, one, Choices.of()))) < len(written(one)) + 50


FOREIGN = {
    "no document": "",
    "no list": "7",
    "an unknown kind": '[["os.system","true"]]',
    "a later entry": '[["tuple",[1]],["tuple"]]',
    "an entry that never comes": '[["whole",[5]]]',
    "too few fields": '[["Bounds",1]]',
    "too few fields, where others have defaults": '[["ValueContract","x"]]',
    "a rule that there is not": '[["tuple"],["rule","Div.none",[0]]]',
    "a member that there is not": '[["Edition","NEVER"]]',
}


@pytest.mark.parametrize("name", FOREIGN)
def test_text_that_this_version_did_not_write_makes_nothing(name: str) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        read_back(FOREIGN[name])


@pytest.mark.parametrize("name", models.names())
def test_report_of_a_bundled_model_is_read_back_with_all_that_it_says(name: str) -> None:
    report = sonnx_ort.check(models.path(name), waivers=())
    text = written(report)
    found = read_back(text)
    assert written(found) == text
    assert found.to_json() == report.to_json()
    assert [str(o) for o in found.in_command.obligations] == [
        str(o) for o in report.in_command.obligations
    ]
    assert json.loads(text)[-1][0] == "whole"
