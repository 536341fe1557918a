"""What docstrings of public functions say of errors and defaults is so, for wrong arguments too.

Each parameter of each function gets values of wrong types, unknown choices, and extreme numbers,
names and files. A run of a model is as good as any other end.
"""

import datetime as dt
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import errors, options
from sonnx_ort.conforming import conformity
from sonnx_ort.errors import InvalidArgument, SonnxError, arguments
from sonnx_ort.runs.isolated_run import IsolatedRuns
from support.graphs import parse

GRAPH = "(float[2] x, float[2] y) => (float[2] z) { [r] z = Div(x, y) }"

WRONG: Mapping[str, object] = {
    "None": None,
    "True": True,
    "-1": -1,
    "2**70": 2**70,
    "NaN": float("nan"),
    "-inf": float("-inf"),
    "an empty text": "",
    "a text with NUL": "\0",
    "an unknown name": "no such",
    "half a surrogate pair": "\ud800",
    "a long name": "😀" * 300,
    "no model": b"\xff",
    "a list of None": [None],
    "an unknown key": {"no": 1},
    "a value of None": {"x": None},
    "a value of text": {"x": "text"},
    "a negative value": {"x": -1},
    "a huge value": {"x": 2**70},
    "a list of a negative number": {"x": [-1]},
    "an array of objects": {"x": np.array([None])},
    "a key that is a number": {1: 1},
    "an object": object(),
    "a missing file": Path("missing") / "file",
    "a folder": Path("folder"),
    "another file": Path("text"),
}

CALLS: Mapping[str, tuple[Callable[..., object], Mapping[str, object]]] = {
    "check": (sonnx_ort.check, {"model": "m.onnx"}),
    "rewrite": (sonnx_ort.rewrite, {"model": "m.onnx"}),
    "rewrite_file": (sonnx_ort.rewrite_file, {"source": "m.onnx", "target": "t.onnx"}),
    "certify": (sonnx_ort.certify, {"model": "m.onnx"}),
    "conform": (sonnx_ort.conform, {"model": "m.onnx"}),
    "conform_file": (sonnx_ort.conform_file, {"source": "m.onnx", "target": "t.onnx"}),
    "audit": (sonnx_ort.audit, {"model": "m.onnx"}),
    "reduce": (sonnx_ort.reduce, {"model": "m.onnx", "differs": True}),
    "propose_contract": (sonnx_ort.propose_contract, {"model": "m.onnx"}),
    "register": (sonnx_ort.register, {}),
    "verify": (sonnx_ort.verify, {"model": "m.onnx", "record": "record.json"}),
    "InferenceSession": (sonnx_ort.InferenceSession, {"path_or_bytes": "m.onnx"}),
}

OF_ONNX_RUNTIME = {
    ("InferenceSession", name)
    for name in ("providers", "provider_options", "disabled_optimizers", "enable_fallback")
}
"""What is passed on to ONNX Runtime as it is, whose errors the docstring leaves to it."""


def checked(name: str) -> Callable[..., object]:
    """What has the parameters and the docstring of a function."""
    function, _ = CALLS[name]
    return function.__init__ if inspect.isclass(function) else function


def parameters(name: str) -> list[str]:
    _, known = arguments._annotations(inspect.unwrap(checked(name)))
    return list(known)


def documented_errors(name: str) -> tuple[type[Exception], ...]:
    """The errors that a docstring names, and that of arguments of another type."""
    said = inspect.getdoc(checked(name)) or ""
    section = said.partition("\nRaises:\n")[2]
    names = re.findall(r"^ {4}(\w+):", section, re.MULTILINE)
    found = [getattr(errors, each, None) or getattr(sonnx_ort, each) for each in names]
    return (*found, InvalidArgument)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(GRAPH), "m.onnx")
    Path("text").write_text("no model", encoding="utf-8")
    Path("folder").mkdir()
    sonnx_ort.check("m.onnx", record="record.json")

    def reached(*_: object) -> None:
        raise SonnxError("a run would start")

    monkeypatch.setattr(IsolatedRuns, "_done", reached)


def test_every_public_function_is_tried() -> None:
    functions = {
        name
        for name in sonnx_ort.__all__
        if (made := getattr(sonnx_ort, name)) is sonnx_ort.InferenceSession
        or (inspect.isfunction(made) and inspect.signature(made).parameters)
    }
    assert functions == set(CALLS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "parameter"),
    [(n, p) for n in CALLS for p in parameters(n) if (n, p) not in OF_ONNX_RUNTIME],
)
def test_wrong_argument_raises_what_the_docstring_names(name: str, parameter: str) -> None:
    function, given = CALLS[name]
    allowed = documented_errors(name)
    for what, value in WRONG.items():
        try:
            function(**{**given, parameter: value})
        except allowed:
            continue
        except Exception as error:  # noqa: BLE001 - whatever comes is a fault, and is named
            pytest.fail(f"{parameter} = {what}: {type(error).__name__}: {error}")


@pytest.mark.parametrize("name", CALLS)
def test_unknown_missing_and_further_arguments_are_errors_of_both_kinds(name: str) -> None:
    function, given = CALLS[name]
    calls: list[tuple[tuple[object, ...], dict[str, object]]] = [
        ((), {**given, "no_such": 1}),
        ((None,) * 20, {}),
        *([((), {})] if given else []),
    ]
    for positional, named in calls:
        with pytest.raises(InvalidArgument) as caught:
            function(*positional, **named)
        assert isinstance(caught.value, SonnxError)
        assert isinstance(caught.value, TypeError)
        assert str(caught.value).startswith(f"{name}()")


ENTRIES: list[tuple[type, Mapping[str, object], str]] = [
    (sonnx_ort.ValueContract, {"value": "x"}, "values"),
    (sonnx_ort.ShapeContract, {"input": "x", "axes": (2,)}, "shapes"),
    (sonnx_ort.SizeContract, {"name": "n", "least": 1}, "sizes"),
    (sonnx_ort.StateContract, {"input": "x", "output": "z"}, "states"),
    (sonnx_ort.TypeContract, {"input": "x", "dtype": "float"}, "types"),
]


@pytest.mark.parametrize(("kind", "given", "part"), ENTRIES, ids=lambda each: str(each)[:40])
def test_wrong_entry_of_a_contract_is_an_error(
    kind: type, given: Mapping[str, object], part: str
) -> None:
    for field in inspect.signature(kind).parameters:
        for value in WRONG.values():
            try:
                contract = sonnx_ort.Contract(**{part: (kind(**{**given, field: value}),)})
                sonnx_ort.check("m.onnx", contract=contract, forecast=False)
            except (SonnxError, TypeError):
                pass


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("part", ["values", "shapes", "sizes", "states", "types"])
def test_contract_has_entries_alone(part: str, value: object) -> None:
    if isinstance(value, str) and not value:
        value = [""]
    with pytest.raises(TypeError) as caught:
        sonnx_ort.Contract(**{part: value})
    assert str(caught.value).startswith(f"Contract(): '{part}' is ")


@pytest.mark.parametrize("value", [None, 3, "x", "2030-01-01"], ids=repr)
@pytest.mark.parametrize("field", ["rule", "reason", "who", "until", "nodes", "path"])
def test_wrong_field_of_a_waiver_is_named(field: str, value: object) -> None:
    place = {"node": "r"} if field == "path" else {"node": None, "operator": "Div", "count": 1}
    given: dict[str, Any] = {**place, "until": dt.date.max}
    waiver = sonnx_ort.Waiver(
        **{"rule": "Div.float.R1", "reason": "r", "who": "w", **given, field: value}
    )
    fits = isinstance(value, str) if field in ("rule", "reason", "who", "nodes") else False
    if fits or (field in ("nodes", "path") and value is None):
        return
    with pytest.raises(InvalidArgument) as caught:
        sonnx_ort.rewrite("m.onnx", waivers=[waiver])
    assert str(caught.value).startswith(f"Waiver(): '{field}' is of type ")


DEFAULTS: Mapping[str, object] = {
    r'"(\w+)", the default': str,
    r'"(\w+)" by default': str,
    r"\b(\d+) by default": int,
    r"the whole profile by default": options.PROFILE,
    r"; not by default": False,
    r"done by default": True,
    r"None, the default|; all by default|; new ones by default": None,
    r"by default the same as `rewrite` takes|three quarters of the machine's by default": None,
}
"""What docstrings say of defaults, and what these are; a type makes one of the words."""

OF_OPTIONS: Mapping[type, Callable[..., object]] = {
    options.RewriteOptions: options.Choices.of,
    conformity.ConformOptions: conformity._conform,
}
"""Options that functions pass on, and what has their defaults."""


def said_defaults() -> Iterator[tuple[str, str, str]]:
    described = {name: checked(name) for name in CALLS} | {k.__name__: k for k in OF_OPTIONS}
    for name, described_by in described.items():
        text = inspect.getdoc(described_by) or ""
        for parameter, said in re.findall(r"^ {4}(\w+): ((?:.|\n {8})*)", text, re.MULTILINE):
            if "default" in re.sub(r'"default"|default attributes', "", said):
                yield name, parameter, " ".join(said.split())


@pytest.mark.parametrize(("name", "parameter", "said"), list(said_defaults()))
def test_default_that_a_docstring_states_is_that_of_the_signature(
    name: str, parameter: str, said: str
) -> None:
    by_name = {kind.__name__: function for kind, function in OF_OPTIONS.items()}
    signature = inspect.signature(by_name.get(name) or checked(name))
    stated = [
        default(found[1]) if isinstance(default, type) else default
        for pattern, default in DEFAULTS.items()
        if (found := re.search(pattern, said))
    ]
    assert stated == [signature.parameters[parameter].default]


@pytest.mark.parametrize("parameter", ["select", "ignore", "rules"])
def test_wrong_selection_of_a_report_is_an_error(parameter: str) -> None:
    report = sonnx_ort.check("m.onnx", forecast=False)
    for what, value in WRONG.items():
        try:
            report.selected(**{parameter: value})
        except SonnxError:
            continue
        except Exception as error:  # noqa: BLE001 - whatever comes is a fault, and is named
            pytest.fail(f"{parameter} = {what}: {type(error).__name__}: {error}")


@pytest.mark.parametrize("name", ["path", "load", "example"])
def test_wrong_name_of_a_model_is_an_error(name: str) -> None:
    for what, value in WRONG.items():
        try:
            getattr(sonnx_ort.models, name)(value)
        except SonnxError:
            continue
        except Exception as error:  # noqa: BLE001 - whatever comes is a fault, and is named
            pytest.fail(f"{what}: {type(error).__name__}: {error}")
        pytest.fail(f"{what} is no model")
