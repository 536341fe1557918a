"""Elements outside a set of numbers, and lines of them: known before a run, and found in one."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import onnx
import pytest

from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType, Family
from sonnx_ort.profile.requirements.elements import (
    REPRESENTABLE_AS_INTEGER,
    WITHIN_INT32,
    OnElements,
    on_elements,
)
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.quotients import NONZERO_DIVISOR
from sonnx_ort.profile.rule import (
    VERSION,
    AttributeValue,
    Judgement,
    Requirement,
    Status,
    Violation,
)
from sonnx_ort.terms.language import Decided
from sonnx_ort.terms.numbers import NumberSet
from sonnx_ort.terms.operand import Operand
from support.decisions import judged

OCTAL = NumberSet("no octal digit", lambda _: (0, 7))
DIGITS = on_elements("Y", OCTAL, operands=("X", "Y"))
SCALE = RULES["QuantizeLinear.C1"].requirement
LOW = on_elements("Y", NumberSet("large", lambda _: (-128, 7)))
POSITIVE = on_elements("Y", NumberSet("negative", lambda _: (0, np.inf)))
NUMBERS = on_elements("Y", NumberSet("NaN", admits_nan=False))
BEYOND = 2**31
NO_DIGIT = "the constant Y 'y' is no octal digit at"
ALL_DIGITS = "no element of the constant Y 'y' is no octal digit"
TOO_LARGE = "the constant Y 'y' is an int64 beyond int32 at [1]"
WITHIN = "every element of Y 'y' lies in"
UNKNOWN = "the elements of Y depend on the inputs"


def operand(
    name: str, kind: str | None, constant: object = None, bounds: tuple[int, int] | None = None
) -> Operand:
    array = None if constant is None else np.array(constant, kind)
    interval = None if bounds is None else Bounds(*bounds)
    return Operand(name, name.lower(), "input", kind, constant=array, bounds=interval)


@pytest.mark.parametrize(("requirement", "kind", "constant", "bounds", "status", "evidence"), [
    (DIGITS, "int8", None, None, "runtime", UNKNOWN),
    (DIGITS, "int8", None, (0, 7), "proved", "every element of Y 'y' lies in 0 to 7"),
    (DIGITS, "int8", None, (0, 8), "runtime", UNKNOWN),
    (DIGITS, "int8", None, (-1, 7), "runtime", UNKNOWN),
    (DIGITS, "int8", [0, 7], None, "proved", ALL_DIGITS),
    (DIGITS, "int8", [], None, "proved", ALL_DIGITS),
    (DIGITS, "int8", [[0, 7], [1, 8]], None, "violated", f"{NO_DIGIT} [1, 1]"),
    (DIGITS, "int8", -1, None, "violated", f"{NO_DIGIT} []"),
    (DIGITS, None, None, (0, 7), "runtime", UNKNOWN),
    (POSITIVE, "uint8", None, None, "proved", "no uint8 is negative"),
    (NUMBERS, "int8", None, None, "proved", "no int8 is NaN"),
    (NUMBERS, "double", None, None, "runtime", UNKNOWN),
    (NONZERO_DIVISOR, "int8", None, (1, 9), "proved", "every element of Y 'y' lies in 1 to 9"),
    (NONZERO_DIVISOR, "int8", None, (-1, 1), "runtime", UNKNOWN),
    (NONZERO_DIVISOR, "int8", [3, 0], None, "violated", "the constant Y 'y' is zero at [1]"),
    (WITHIN_INT32, "int64", [1, BEYOND], None, "violated", TOO_LARGE),
    (WITHIN_INT32, "int64", None, (-BEYOND, 0), "proved", f"{WITHIN} -2147483648 to 0"),
    (WITHIN_INT32, "int64", None, (0, BEYOND), "runtime", UNKNOWN),
    (WITHIN_INT32, "uint64", None, None, "proved", "no uint64 is an int64 beyond int32"),
])  # fmt: skip
def test_what_is_known_of_one_operand(  # noqa: PLR0917 - a table of cases
    requirement: OnElements, kind: str | None, constant, bounds, status: str, evidence: str
) -> None:
    operands = [operand("X", kind)] * requirement.position + [operand("Y", kind, constant, bounds)]
    assert requirement.judge(operands) == Judgement(Status(status), evidence)


DECIDED = """
Max.int.C1
  X ?, Y ?, Z [1], both int64 -> runtime: the elements of X and Y depend on the inputs
  X ?, Y [2147483648], both int64 -> violated: the constant Y 'y' is an int64 beyond int32 at [0]
  X [1], Y [2], both int64 -> proved: no element of the constant X 'x' is an int64 beyond int32 and
      no element of the constant Y 'y' is an int64 beyond int32
  X ?, Y ?, both int32 -> proved: no int32 is an int64 beyond int32
QuantizeLinear.C1
  Y 0.5 -> proved: no element of the constant Y 'y' is 0 or NaN
  Y [-1e-45, inf] -> proved: no element of the constant Y 'y' is 0 or NaN
  Y [], float -> proved: no element of the constant Y 'y' is 0 or NaN
  Y -0.0 -> violated: the constant Y 'y' is 0 or NaN at []
  Y [1, NaN] -> violated: the constant Y 'y' is 0 or NaN at [1]
Softmax.float.C6
  X (2,), axis=0 -> runtime: the elements of X depend on the inputs
  X [0.0], axis=0 -> proved: no line of the constant X 'x' is -inf throughout
  X [-inf], axis=0 -> violated: the constant X 'x': the line at [0] along axis 0 is -inf throughout
"""


@pytest.mark.parametrize(("requirement", "operands", "judgement"), judged(DECIDED))
def test_what_is_known_of_each_operand(
    requirement: Requirement, operands: list[Operand], judgement: Judgement
) -> None:
    assert requirement.judge(operands) == judgement


@pytest.mark.parametrize(
    ("requirement", "dtype", "elements", "index"),
    [
        (DIGITS, "int8", [0, 7, 3], None),
        (DIGITS, "int8", [0, 8, -1], (1,)),
        (DIGITS, "int8", [0, -1, 8], (1,)),
        (DIGITS, "uint64", [7, 2**64 - 1], (1,)),
        (DIGITS, "int64", [[1], [-(2**63)]], (1, 0)),
        (DIGITS, "float32", [np.nan, 7, np.inf], (2,)),
        (DIGITS, "float64", [np.nan, -0.0, np.nextafter(0, -1)], (2,)),
        (DIGITS, "float16", [np.nan], None),
        (DIGITS, "int32", [], None),
        (LOW, "int8", [-128, 3, 127], (2,)),
        (POSITIVE, "int8", [-128, 3, 127], (0,)),
        (NUMBERS, "float32", [0, np.inf, -np.inf], None),
        (NUMBERS, "float32", [np.inf, np.nan], (1,)),
        (SCALE, "float16", [np.finfo(np.float16).smallest_subnormal, -np.inf], None),
        (SCALE, "float64", np.zeros((2, 0)), None),
        (SCALE, "float32", [[1, np.nan]], (0, 1)),
        (SCALE, "float32", -0.0, ()),
        (NONZERO_DIVISOR, "int16", [[1, -1], [256, 0]], (1, 1)),
        (WITHIN_INT32, "int64", [BEYOND - 1, -BEYOND], None),
        (WITHIN_INT32, "int64", [0, BEYOND], (1,)),
        (WITHIN_INT32, "int64", [-BEYOND - 1], (0,)),
        (WITHIN_INT32, "uint64", [2**64 - 1], None),
    ],
)
def test_first_element_outside_is_a_violation(requirement, dtype: str, elements, index) -> None:
    array = np.array(elements, dtype)
    found = requirement.violation([np.ones_like(array)] * requirement.position + [array])
    assert (None if found is None else found.index) == index


@pytest.mark.parametrize(("requirement", "names", "arrays", "violation"), [
    (DIGITS, ("X", "Y"), [np.int8([[1, 2]]), np.int8([[3, 9]])],
     Violation("Y is no octal digit: X[0, 1] = 2, Y[0, 1] = 9", (0, 1), (2, 9))),
    (NONZERO_DIVISOR, ("A", "B"), [np.int8([1, 2]), np.int8([3, 0])],
     Violation("a zero divisor: A[1] = 2, B[1] = 0", (1,), (2, 0))),
    (SCALE, ("y_scale",), [np.float32(0)],
     Violation("y_scale is 0 or NaN: y_scale[] = 0.0", (), (0.0,))),
    (WITHIN_INT32, ("A", "B"), [np.array([1, 2]), np.array([[BEYOND - 1, BEYOND]])],
     Violation("B is an int64 beyond int32: B[0, 1] = 2147483648", (0, 1), (BEYOND,))),
])  # fmt: skip
def test_violation_tells_the_operands(requirement, names, arrays, violation: Violation) -> None:
    assert requirement.violation_of(names, arrays) == violation


def test_hint_of_a_scale() -> None:
    assert RULES["QuantizeLinear.C1"].hint() == "correct the scale, which is a step"


def test_operand_without_a_name_is_counted() -> None:
    found = WITHIN_INT32.violation([np.array([1]), np.array([BEYOND])])
    assert found.reason == "operand 1 is an int64 beyond int32: operand 1[0] = 2147483648"


@pytest.mark.parametrize(
    ("pads", "status", "evidence"),
    [(None, "proved", "nothing is padded"), ((0, 1), "runtime", UNKNOWN)],
)
def test_attributes_decide_whether_elements_are_limited(pads, status: str, evidence: str) -> None:
    limited = OnElements(
        ("X", "Y"),
        "Y",
        lambda given: OCTAL if any(given.get("pads", ())) else Decided(True, "nothing is padded"),
        ("pads",),
    )
    bound = limited.of_node({"other": 1} if pads is None else {"pads": pads})
    operands = [operand("X", "int8"), operand("Y", "int8")]
    assert bound.judge(operands) == Judgement(Status(status), evidence)
    found = bound.violation([np.int8([1]), np.int8([9])])
    assert (found is None) is (pads is None)


@pytest.mark.parametrize("kind", ElementType)
def test_each_set_is_of_any_type(kind: ElementType) -> None:
    """An operand may be of a type that another rule forbids."""
    sets = [
        requirement.numbers
        for rule in RULES.values()
        for given in ({}, {"to": onnx.TensorProto.INT16, "pads": (1, 1, 1, 1)})
        if isinstance(requirement := rule.of_node(given).requirement, OnElements)
    ]
    for numbers in sets:
        if isinstance(numbers, NumberSet) and not numbers.binds(kind.dtype):
            ends = [0, 1] if kind.dtype == bool else [-np.inf, np.inf]
            if kind.family is Family.INTEGER:
                ends = [np.iinfo(kind.dtype).min, np.iinfo(kind.dtype).max]
            assert numbers.first_outside(np.array(ends, kind.dtype)) is None
    assert len(sets) > 30


def test_bool_is_0_or_1() -> None:
    dtype = np.dtype(bool)
    assert NumberSet("not 0", lambda _: (0, 0)).first_outside(np.array([False, True])) == (1,)
    assert NumberSet("not 0", lambda _: (0, 0)).limits(dtype) == (None, 0)
    assert not NumberSet("beyond 1", lambda _: (0, 1), admits_nan=False).binds(dtype)


def test_operand_that_is_left_out_has_no_elements() -> None:
    assert DIGITS.judge([operand("X", "int8")]) == Judgement(Status.PROVED, "Y is left out")
    assert DIGITS.violation([np.int8([1])]) is None


INTEGERS = [kind for kind in ElementType if kind.family is Family.INTEGER]
HINT = "keep such numbers out, for example with Clip, or convert to a wider type"


def converting(to: str):
    number = onnx.TensorProto.DataType.Value(to.upper())
    return REPRESENTABLE_AS_INTEGER.of_node({"to": number})


def neighbours(kind: ElementType, number: int) -> list[np.generic]:
    """The floats of a type around a number."""
    with np.errstate(over="ignore"):
        at = kind.dtype.type(float(number))
    down, up = (np.nextafter(at, kind.dtype.type(to)) for to in (-np.inf, np.inf))
    return [down, at, up]


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("kind", FLOAT_TYPES)
def test_a_float_is_held_as_exact_arithmetic_says(kind: ElementType, to: ElementType) -> None:
    held = np.iinfo(to.dtype.name)
    ends = [held.min - 1, held.min, 0, held.max, held.max + 1]
    numbers = [number for end in ends for number in neighbours(kind, end)]
    numbers += [kind.dtype.type(special) for special in (np.nan, np.inf, -np.inf)]
    for number in numbers:
        fits = bool(np.isfinite(number)) and held.min <= int(float(number)) <= held.max
        found = converting(to).violation([np.array([number], kind.dtype)])
        assert (found is None) == fits, float(number)


def test_offence_tells_the_number_and_the_type() -> None:
    found = converting("int8").violation([np.float32([1, 128])])
    assert found == Violation("X is NaN or beyond int8: X[1] = 128.0", (1,), (128.0,))


@pytest.mark.parametrize("to", ["float", "string", "bool"])
def test_other_types_hold_every_number(to: str) -> None:
    expected = Judgement(Status.PROVED, f"{to} is no type of integers")
    assert converting(to).judge([operand("X", "float")]) == expected


def test_a_number_that_names_no_type_is_no_type_of_integers() -> None:
    requirement = REPRESENTABLE_AS_INTEGER.of_node({"to": 4711})
    expected = Judgement(Status.PROVED, "4711 is no type of integers")
    assert requirement.judge([operand("X", "float")]) == expected


@pytest.mark.parametrize("attributes", [{"to": None}, {"to": "int8"}])
def test_without_a_type_nothing_is_proved_and_nothing_keeps_the_rule(attributes) -> None:
    requirement = REPRESENTABLE_AS_INTEGER.of_node(attributes)
    reason = "the node does not say which type it converts to"
    assert requirement.judge([operand("X", "float")]) == Judgement(Status.RUNTIME, reason)
    assert requirement.violation([np.float32([1])]) == Violation(reason)


@pytest.mark.parametrize("to", ["int8", "float"])
def test_hint(to: str) -> None:
    rule = RULES["Cast.float.C1"]
    number = onnx.TensorProto.DataType.Value(to.upper())
    assert rule.of_node({"to": number}).hint() == rule.hint() == HINT


INF, NAN = np.inf, np.nan


LINES = [
    ([[-INF, 0]], 1, None),
    ([[-INF, NAN]], 1, None),
    ([[INF, -INF]], 1, None),
    ([[1, 2], [-INF, -INF]], 1, (1, 0)),
    ([[1, -INF], [2, -INF]], 0, (0, 1)),
    ([[1, -INF], [2, -INF]], -2, (0, 1)),
    ([[1, -INF], [2, -INF]], 1, None),
    ([-INF], 0, (0,)),
    ([], 0, None),
    ([[], []], 1, None),
    ([-INF], 1, None),
    (-INF, 0, None),
]


@pytest.mark.parametrize(("elements", "axis", "index"), LINES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_first_line_that_is_negative_infinity_throughout(
    elements: list[float], axis: int, index: tuple[int, ...] | None, dtype: type
) -> None:
    requirement, array = LinesAboveNegativeInfinity(axis), np.array(elements, dtype)
    found = requirement.violation([array])
    status = requirement.judge([Operand("X", "x", "input", "float", constant=array)]).status
    if index is None:
        assert (found, status) == (None, Status.PROVED)
    else:
        reason = f"the line at {list(index)} along axis {axis} is -inf throughout"
        assert (found, status) == (Violation(reason, index, (-INF,)), Status.VIOLATED)


@pytest.mark.parametrize(
    ("attributes", "axis"),
    [
        ({"axis": 3, VERSION: 9}, 3),
        ({"axis": 3}, 3),
        ({VERSION: 12}, 1),
        ({VERSION: 13}, -1),
        ({VERSION: 28}, -1),
        ({"axis": None, VERSION: 13}, -1),
    ],
    ids=str,
)
def test_axis_is_that_of_the_node_or_of_its_version(
    attributes: Mapping[str, AttributeValue], axis: int
) -> None:
    lines = LinesAboveNegativeInfinity(assumed=((1, 1), (13, -1)))
    assert lines.of_node(attributes) == replace(lines, axis=axis)


@pytest.mark.parametrize("attributes", [{}, {VERSION: 13}, {"axis": "1", VERSION: 13}], ids=str)
def test_node_without_an_axis_breaks_the_rule(attributes: Mapping[str, AttributeValue]) -> None:
    demanded = LinesAboveNegativeInfinity().of_node(attributes)
    assert demanded.judge([]) == Judgement(Status.VIOLATED, "the attribute axis is left out")
    assert demanded.violation([]) is None


def test_hint_of_lines() -> None:
    rule = RULES["Softmax.float.C6"]
    assert rule.hint() == rule.example.remedy
