"""Numbers that an integer type holds which they are converted to."""

import numpy as np
import onnx
import pytest

from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType, Family
from sonnx_ort.profile.requirements.elements import RepresentableAsInteger
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand

REQUIREMENT = RepresentableAsInteger()
INTEGERS = [kind for kind in ElementType if kind.family is Family.INTEGER]
HINT = "keep such numbers out, for example with Clip, or convert to a wider type"


def converting(to: str):
    number = onnx.TensorProto.DataType.Value(to.upper())
    return REQUIREMENT.of_node({"to": number})


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
    assert converting(to).judge([Operand("X", "x", "input", "float")]) == expected


def test_a_number_that_names_no_type_is_no_type_of_integers() -> None:
    requirement = REQUIREMENT.of_node({"to": 4711})
    expected = Judgement(Status.PROVED, "4711 is no type of integers")
    assert requirement.judge([Operand("X", "x", "input", "float")]) == expected


@pytest.mark.parametrize("attributes", [{"to": None}, {"to": "int8"}])
def test_without_a_type_nothing_is_proved_and_nothing_keeps_the_rule(attributes) -> None:
    requirement = REQUIREMENT.of_node(attributes)
    reason = "the node does not say which type it converts to"
    operand = Operand("X", "x", "input", "float")
    assert requirement.judge([operand]) == Judgement(Status.RUNTIME, reason)
    assert requirement.violation([np.float32([1])]) == Violation(reason)


@pytest.mark.parametrize("to", ["int8", "float"])
def test_hint(to: str) -> None:
    assert converting(to).hint([]) == HINT
    assert REQUIREMENT.hint([]) == HINT
