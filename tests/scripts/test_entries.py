"""Faults in what entries of the traceability name: what they do, and what a record shows."""

import enum
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tracing.entries import Document, Entry
from tracing.faults import altered, faults_of, in_words
from tracing.marks import Mark
from tracing.shown import Shown, digest_of

from sonnx_ort.profile.rule import Violation
from support.child import SCRIPTS, run_program
from support.values import assert_same_bits


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    first: int
    second: int


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (True, False),
        (3, 4),
        (Fraction(1, 2), Fraction(3, 2)),
        (1.5, 2.5),
        (float("inf"), 0.0),
        ("a", "a?"),
        (Color.BLUE, Color.RED),
        ((1, 2), (2, 3)),
        ([], None),
        (Pair(1, 2), Pair(2, 3)),
        (frozenset({"b", "a"}), frozenset()),
        (Violation("a", (2,)), Violation("a?", (3,))),
    ],
)
def test_other_value_is_of_the_same_type(value: Any, other: Any) -> None:
    assert altered(value) == other
    assert type(altered(value)) is type(other)


def test_something_else_takes_the_place_of_nothing() -> None:
    assert altered(None) is not None


@pytest.mark.parametrize(
    "array",
    [
        np.float32([1, -0.0]),
        np.int8([1, -128]),
        np.array([True, False]),
        np.array([Fraction(1), 2]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_every_element_of_an_array_is_another(array: np.ndarray) -> None:
    other = altered(array)
    assert (other.dtype, other.shape) == (array.dtype, array.shape)
    assert not (other == array).any()


def test_array_without_elements_gets_one() -> None:
    assert_same_bits(altered(np.zeros((2, 0), np.float32)), np.zeros((2, 1), np.float32))


SHAPES = "RULES['{}'].violation(('A', 'B'), [np.zeros(2), np.zeros(3)]) is None"
STRINGS = "RULES['Sub.R3'].judge(('A',), [Operand('A', 'a', 'input', 'string')])[0].status.value"
TWO_TYPES = (
    "RULES['Sub.R3'].judge(NAMES, [Operand(n, n, 'input', n) for n in NAMES])[0].status.value"
)
FOUND = "'Graph.dead_node' in {o.rule.id for o in sonnx_ort.check(DEAD).violations}"
FAULTS = {
    "Div.float.R1 off": (SHAPES.format("Div.float.R1"), False, True),
    "Div.int.R1 off": (SHAPES.format("Div.float.R1"), False, False),
    "Sub.R3 off": (STRINGS, "violated", "proved"),
    "Sub.R3 any type": (STRINGS, "violated", "proved"),
    "Sub.float.R2 any type": (TWO_TYPES, "violated", "violated"),
    "Softmax.R4 off": (
        "RULES['Softmax.R4'].of_node({'axis': -1}).judge((), ())[0].status.value",
        *("violated", "proved"),
    ),
    "Graph.finite off": (
        "graph.finite_elements('y').violation([np.array([np.nan])]) is None",
        *(False, True),
    ),
    "Contract.finite off": (
        "contract_requirement(ValueContract('y')).violation([np.array([np.nan])]) is None",
        *(False, True),
    ),
    "Graph.dead_node off": (FOUND, True, False),
    "custom_ops/arithmetic.py:ARITHMETIC[Sub]": (
        "ARITHMETIC['Sub'](np.int8([3]), np.int8([1]), edition='typed').tolist()",
        *([2], [-3]),
    ),
    "sonnx_ort/loading/validity.py:check_validity": ("outcome(onnx.ModelProto())", False, True),
    "sonnx_ort/meaning/numbers.py:Number.is_zero": ("ONE.is_zero", False, True),
    "scripts/restrictions.py:broadcast": ("restrictions.broadcast(np.int8([1]))[0][0]", 1, -2),
}
"""What a fault makes of the value of an expression."""

IN_FORKS = """
import json, os, sys
import numpy as np, onnx, restrictions
import sonnx_ort
from sonnx_ort.custom_ops.arithmetic import ARITHMETIC
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.validity import check_validity
from sonnx_ort.meaning.numbers import ONE
from sonnx_ort.profile import graph
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.contract import ValueContract
from sonnx_ort.profile.contract_rules import contract_requirement
from sonnx_ort.terms.operand import Operand
from tracing.faults import make

DEAD = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["": 21]> g (float[n] x) => (float[n] y) '
    '{ [kept] y = Relu(x) [dead] z = Abs(x) }'
)

NAMES = ("float", "double")

def outcome(model):
    try:
        return check_validity(model) is None
    except InvalidModel:
        return False

for fault, expression in json.loads(sys.argv[1]).items():
    if not os.fork():
        try:
            before = eval(expression)
            make(fault)
            print(json.dumps([fault, before, eval(expression)], default=int), flush=True)
        finally:
            os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_fault_does_otherwise_and_leaves_all_else() -> None:
    given = json.dumps({fault: expression for fault, (expression, *_) in FAULTS.items()})
    done = run_program([sys.executable, "-c", IN_FORKS, given], timeout=120, fresh=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told == [[fault, *values] for fault, (_, *values) in FAULTS.items()], str(done)


@pytest.mark.parametrize(
    ("rules", "code", "faults"),
    [
        (("Div.R1", "Div.R3"), (), ("Div.R1 off", "Div.R3 off", "Div.R3 any type")),
        (("Graph.versions",), ("a.py:f",), ("a.py:f",)),
        (
            (),
            ("custom_ops/arithmetic.py:ARITHMETIC",),
            ("custom_ops/arithmetic.py:ARITHMETIC[Sub]",),
        ),
    ],
)
def test_entry_has_the_faults_of_its_rules_and_of_its_code(
    rules: tuple[str, ...], code: tuple[str, ...], faults: tuple[str, ...]
) -> None:
    assert faults_of(Entry("Sub.one", ("a",), "b", rules=rules, code=code)) == faults


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("Div.R1 off", "`Div.R1` is switched off"),
        ("Div.R3 any type", "`Div.R3` admits any type"),
        ("custom_ops/arithmetic.py:divide", "`custom_ops/arithmetic.py:divide` does otherwise"),
    ],
)
def test_fault_is_told_in_words(fault: str, words: str) -> None:
    assert in_words(fault) == words


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_campaign_records_which_test_notices_a_fault(tmp_path: Path) -> None:
    record = tmp_path / "entries.json"
    command = [sys.executable, SCRIPTS / "campaigns.py", "entries", "--only", "Sub.R2 off"]
    done = run_program([*command, "--record", record], timeout=300)
    assert done.exit_status == 0, str(done)
    assert done.stdout.splitlines()[-1] == (
        "2 entries and rules, 0 with a fault that no test of it notices"
    )
    content = json.loads(record.read_text("utf-8"))
    ((fault, tests),) = content["faults"].items()
    assert fault == "Sub.R2 off"
    assert tests
    assert content["sources"].keys() == {
        "sonnx_ort/profile/requirements/attributes.py",
        *(t.partition("::")[0] for t in tests),
    }


HERE = "tests/scripts/test_entries.py::test_it"
DOCUMENT = Document("SONNX Div", (Entry("Div.one", ("a",), "b", rules=("Div.R1",)),))
MARKS = {"Div.one": [Mark("Div.one", HERE)]}


def shown_by(*tests: str) -> Shown:
    faults = {"Div.R1 off": list(tests)}
    return Shown({"faults": faults, "sources": digest_of(faults)})


def test_entry_is_missing_until_a_test_of_its_own_notices_its_fault() -> None:
    def of_document(shown: Shown) -> list[tuple[str, str]]:
        return [found for found in shown.missing([DOCUMENT], MARKS) if found[0] == "Div.one"]

    missing = [("Div.one", "Div.R1 off")]
    assert of_document(shown_by()) == missing
    assert of_document(shown_by("tests/scripts/test_accuracy.py::test_it")) == missing
    assert of_document(shown_by(HERE)) == []


def test_what_was_tried_before_a_file_has_changed_does_not_count_as_tried() -> None:
    shown = shown_by(HERE)
    assert (shown.by("Div.R1 off", [HERE]), shown.changed) == ([HERE], [])
    path = "tests/scripts/test_entries.py"
    old = Shown({**shown.record, "sources": {**shown.record["sources"], path: "0"}})
    assert (old.by("Div.R1 off", [HERE]), old.changed) == ([], [path])
    assert old.noticing("Div.R1 off") == [HERE]
