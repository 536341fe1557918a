"""Two contracts as one: nowhere weaker than either, and refused where no contract says both."""

import math

import pytest

from sonnx_ort.profile.both_contracts import ContradictionError, both
from sonnx_ort.profile.contract import (
    NO_CONTRACT,
    Contract,
    ShapeContract,
    SizeContract,
    StateContract,
    TypeContract,
    ValueContract,
)

AXES = {"x": ("n", 4), "y": ("n",), "z": None}
INFINITE = (0.0, math.inf)


def value(*given: object, **more: object) -> Contract:
    return Contract((ValueContract("x", *given, **more),))  # type: ignore[arg-type]


def size(*given: int) -> Contract:
    return Contract(sizes=(SizeContract("n", *given),))


def shape(*axes: int | str | None) -> Contract:
    return Contract(shapes=(ShapeContract("x", axes),))


JOINED = {
    "the narrower ends": (value((0, 5)), value((-1, 3)), value((0, 3))),
    "numbers that are finite": (value(None), value((0, 1)), value((0, 1))),
    "a range that is finite": (value((0, 1)), value(None), value((0, 1))),
    "whole numbers of a range": (
        value((0, 5)), value(None, whole=True), value((0, 5), whole=True)
    ),
    "a range at each index": (
        value(((0, 5), (1, 9)), axis=1), value((2, 7)), value(((2, 5), (2, 7)), axis=1)
    ),
    "ranges at each index of both": (
        value(((0, 5), (1, 9)), axis=1),
        value(((1, 6), (0, 3)), axis=1),
        value(((1, 5), (1, 3)), axis=1),
    ),
    "the message of the other one": (
        value((0, 5)), value((0, 5), "scale it"), value((0, 5), "scale it")
    ),
    "the narrower sizes": (size(1, 8), size(4, 16), size(4, 8)),
    "the common multiples": (size(1, 64, 4), size(1, 64, 6), size(1, 64, 12)),
    "the size of an open axis": (shape(None, 4), shape(3, None), shape(3, 4)),
    "entries of other inputs": (
        value((0, 1)), Contract(types=(TypeContract("y", "float"),)),
        Contract((ValueContract("x", (0, 1)),), types=(TypeContract("y", "float"),)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", JOINED)
def test_both_demand_what_each_demands(case: str) -> None:
    first, second, expected = JOINED[case]
    found = both(first, second, AXES)
    assert found == expected
    assert both(found, second, AXES) == found


@pytest.mark.parametrize("given", [first for first, *_ in JOINED.values()])
def test_one_alone_stays_as_it_is(given: Contract) -> None:
    assert both(given, NO_CONTRACT, AXES) == given
    assert both(NO_CONTRACT, given, AXES) == given
    assert both(given, given, AXES) == given


CONTRADICTIONS = {
    "no number of 'x' is in [0, 1] and in [2, 3]": (value((0, 1)), value((2, 3))),
    "'x' is to be finite, and has a range that reaches infinity; write the largest number": (
        value(INFINITE), value(None)
    ),
    "'x' has ranges on axis 0, and on axis 1": (
        value(((0, 1),), axis=0), value(((0, 1),), axis=1)
    ),
    "no size of 'n' is allowed by both": (size(1, 3), size(4, 8)),
    "axis 0 of 'x' is 3, and 2; call it the same": (shape(2, 4), shape(3, 4)),
    "axis 0 of 'x' is 'n', and 'batch'; call it the same": (shape("batch", 4), size(1, 8)),
    "axis 0 of 'x' is 'n', and 5; call it the same": (shape(5, 4), size(1, 8)),
    "'x' is said to have 2 and 3 axes": (shape(2, 4), shape(2, 4, 1)),
    "the type of 'x' is said to be two": (
        Contract(types=(TypeContract("x", "float"),)), Contract(types=(TypeContract("x", "int8"),))
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_what_no_contract_says_is_refused(message: str) -> None:
    with pytest.raises(ContradictionError) as caught:
        both(*CONTRADICTIONS[message], AXES)
    assert str(caught.value) == message


def test_output_of_a_state_keeps_the_narrower_range_too() -> None:
    steps = Contract((ValueContract("x", (0, 5)),), states=(StateContract("x", "out"),))
    found = both(steps, value((1, 9)), AXES)
    assert found.of("out") == ValueContract("out", (1, 5))
    assert both(found, value((1, 9)), AXES) == found
