"""Elements outside an interval: known before a run, and found in one."""

import numpy as np
import pytest

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.elements import WithinInterval, WithinIntervalIf
from sonnx_ort.profile.rule import Illustration, Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand

REQUIREMENT = WithinInterval(
    ("X", "Y"), 1, lambda _: (0, 7), "no octal digit", Illustration("X", "Y", "mend it")
)


def judge(element_type: str | None, constant=None, bounds: Bounds | None = None) -> Judgement:
    array = None if constant is None else np.array(constant, element_type)
    y = Operand("Y", "y", "somewhere", element_type, constant=array, bounds=bounds)
    return REQUIREMENT.judge((Operand("X", "x", "input", element_type), y))


@pytest.mark.parametrize(
    ("constant", "bounds", "status", "evidence"),
    [
        (None, None, "runtime", "the elements of Y are known only in a run"),
        (None, (0, 7), "proved", "every element of Y 'y' lies in 0 to 7"),
        (None, (0, 8), "runtime", "the elements of Y are known only in a run"),
        (None, (-1, 7), "runtime", "the elements of Y are known only in a run"),
        ([0, 7], None, "proved", "no element of the constant Y 'y' is no octal digit"),
        ([], None, "proved", "no element of the constant Y 'y' is no octal digit"),
        ([[0, 7], [1, 8]], None, "violated", "the constant Y 'y' is no octal digit at [1, 1]"),
        (-1, None, "violated", "the constant Y 'y' is no octal digit at []"),
    ],
)
def test_judgement(constant, bounds, status: str, evidence: str) -> None:
    interval = None if bounds is None else Bounds(*bounds)
    assert judge("int8", constant, interval) == Judgement(Status(status), evidence)


def test_nothing_is_decided_of_an_unknown_type() -> None:
    assert judge(None, bounds=Bounds(0, 7)).status is Status.RUNTIME


def test_type_that_goes_beyond_neither_end_needs_no_look() -> None:
    everything = WithinInterval(
        ("X",), 0, lambda dtype: (0, int(np.iinfo(dtype).max)), "negative", REQUIREMENT.example
    )
    x = Operand("X", "x", "input", "uint8")
    assert everything.judge([x]) == Judgement(Status.PROVED, "no uint8 is negative")


def test_only_the_end_that_the_type_goes_beyond_is_looked_at() -> None:
    even = WithinInterval(("X",), 0, lambda _: (-128, 7), "large", REQUIREMENT.example)
    odd = WithinInterval(("X",), 0, lambda _: (0, 127), "negative", REQUIREMENT.example)
    array = np.int8([-128, 3, 127])
    assert [even.violation([array]).index, odd.violation([array]).index] == [(2,), (0,)]


def test_nan_is_outside_where_it_is_not_admitted() -> None:
    number = WithinInterval(
        ("X",), 0, lambda _: (0.0, np.inf), "no number", REQUIREMENT.example, admits_nan=False
    )
    found = number.violation([np.float32([0, np.inf, np.nan])])
    assert (found.index, found.reason) == ((2,), "X is no number: X[2] = nan")


@pytest.mark.parametrize(
    ("element_type", "binds"), [("float16", True), ("double", True), ("int8", False)]
)
def test_only_nan_is_outside_what_is_infinite(element_type: str, binds: bool) -> None:
    number = WithinInterval(
        ("X",), 0, lambda _: (-np.inf, np.inf), "NaN", REQUIREMENT.example, admits_nan=False
    )
    dtype = ElementType(element_type).dtype
    assert (number.limits(dtype), number.binds(dtype)) == ((None, None), binds)
    status = number.judge([Operand("X", "x", "input", element_type)]).status
    assert status is (Status.RUNTIME if binds else Status.PROVED)
    assert number.violation([np.array([0, np.inf, -np.inf])]) is None
    assert number.violation([np.array([np.inf, np.nan])]).index == (1,)


@pytest.mark.parametrize(
    ("dtype", "y", "index"),
    [
        ("int8", [0, 7, 3], None),
        ("int8", [0, 8, -1], (1,)),
        ("int8", [0, -1, 8], (1,)),
        ("uint64", [7, 2**64 - 1], (1,)),
        ("int64", [[1], [-(2**63)]], (1, 0)),
        ("float32", [np.nan, 7, np.inf], (2,)),
        ("float64", [np.nan, -0.0, np.nextafter(0, -1)], (2,)),
        ("float16", [np.nan], None),
        ("int32", [], None),
    ],
)
def test_first_element_outside_is_an_offence(dtype: str, y, index) -> None:
    array = np.array(y, dtype)
    found = REQUIREMENT.violation([np.ones_like(array), array])
    assert (None if found is None else found.index) == index


def test_offence_tells_all_operands_at_the_place() -> None:
    found = REQUIREMENT.violation([np.int8([[1, 2]]), np.int8([[3, 9]])])
    reason = "Y is no octal digit: X[0, 1] = 2, Y[0, 1] = 9"
    assert found == Violation(reason, (0, 1), (2, 9))


@pytest.mark.parametrize(
    ("pads", "status", "evidence"),
    [
        (None, "proved", "nothing is padded"),
        ((0, 1), "runtime", "the elements of Y are known only in a run"),
    ],
)
def test_attributes_decide_whether_elements_are_limited(pads, status: str, evidence: str) -> None:
    limited = WithinIntervalIf(
        ("pads",), lambda given: any(given.get("pads", ())), REQUIREMENT, "nothing is padded"
    )
    bound = limited.of_node({"other": 1} if pads is None else {"pads": pads})
    operands = [Operand(name, name.lower(), "input", "int8") for name in "XY"]
    assert bound.judge(operands) == Judgement(Status(status), evidence)
    found = bound.violation([np.int8([1]), np.int8([9])])
    assert (found is None) is (pads is None)
    assert bound.hint([]) == REQUIREMENT.hint([])


def test_operand_that_is_left_out_has_no_elements() -> None:
    given = [Operand("X", "x", "input", "int8")]
    assert REQUIREMENT.judge(given) == Judgement(Status.PROVED, "Y is left out")
    assert REQUIREMENT.violation([np.int8([1])]) is None
