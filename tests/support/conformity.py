"""Which operators are held against the oracle in which types, and what counts as its outcome."""

import dataclasses
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from restrictions import OPERATORS, ZEROS_OF_EITHER_SIGN, Violation, outcome, violation

from sonnx_ort.meaning import UNITS, Result, meaning
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Subject
from support.elementwise import Single, singles
from support.execution import EXECUTIONS, Outcome, computes_in_kernel, through_kernel
from support.values import assert_same_bits

Array = npt.NDArray[Any]

_ZEROS_BY_VALUE = ZEROS_OF_EITHER_SIGN | {"Where"}
"""The operators whose zeros may have another sign than the oracle's.

Of a Where ONNX Runtime gives 0 for a -0 of X, which is the standard node's result.
"""

_CHOOSING = frozenset({"Abs", "Max", "Min", "Neg", "PRelu", "Where"})
"""The operators that give elements of their operands, and may give a signalling NaN as it is."""


def each_operator(*, editions: bool = True) -> pytest.MarkDecorator:
    """Run a test for every way to compute every operator that has an `outcome`, in every type.

    Args:
        editions: Whether in each edition too, where an operator's rules differ.
    """
    chosen = [
        pytest.param(
            execution,
            single,
            edition,
            id=f"{execution.__name__}-{single}-{edition}".replace(" ", "-"),
            marks=pytest.mark.thorough if _takes_long(single) else (),
        )
        for execution in EXECUTIONS
        for single in singles()
        for edition in (editions_of(single) if editions else [Edition.TYPED])
        if single.operator.name in OPERATORS
        and (execution is not through_kernel or computes_in_kernel(single.operator.name))
    ]
    return pytest.mark.parametrize(("execution", "single", "edition"), chosen)


def _takes_long(single: Single) -> bool:
    """Whether the oracle computes it slowly, and does so in another type already."""
    slow = single.operator.name in {"Acos", "Cast", "Log", "Pow"}
    return slow and single.element_type not in {ElementType.FLOAT, ElementType.INT32}


def editions_of(single: Single) -> Iterator[Edition]:
    """The typed edition, and the other one if it has other rules."""
    contracts = single.operator.contracts
    for edition in Edition:
        if edition is Edition.TYPED or contracts[edition] != contracts[Edition.TYPED]:
            yield edition


def assert_conforms(
    single: Single,
    found: Outcome,
    operands: Sequence[Array],
    edition: Edition,
    unneeded: Container[str] = frozenset(),
) -> None:
    """Assert that an outcome is the oracle's, or one that it admits; a NaN may be any quiet NaN.

    Rules in `unneeded` do not count.
    """
    assert_expected(single, found, expected_of(single, operands, edition, unneeded))


def expected_of(
    single: Single,
    operands: Sequence[Array],
    edition: Edition,
    unneeded: Container[str] = frozenset(),
) -> Array | Violation | Result:
    """What the oracle says: the only result, the results that it admits, or a broken rule."""
    name, kind = single.operator.name, single.element_type
    asked = name, operands, kind, edition, single.attributes
    if name in OPERATORS and (name, kind) not in UNITS:
        return outcome(*asked, unneeded=unneeded)
    broken = violation(*asked, unneeded=unneeded) if name in OPERATORS else None
    if broken is not None:
        return broken
    (result,) = meaning(name, single.opset, single.attributes, operands, edition)
    return result


def assert_expected(single: Single, found: Outcome, expected: Array | Violation | Result) -> None:
    """Assert that an outcome is what `expected_of` gives."""
    if isinstance(expected, Violation) or isinstance(found, Violation):
        broken = found if isinstance(found, Violation) else None
        np.testing.assert_equal(told(broken), told(expected))
    elif isinstance(expected, Result):
        assert_admitted(found, expected)
    else:
        _assert_same(single.operator.name, found, expected)


def told(result: object) -> tuple[Any, ...] | None:
    """What a violation tells; None of results."""
    return dataclasses.astuple(result) if isinstance(result, Violation) else None


def assert_admitted(found: Array, expected: Result | Violation) -> None:
    """Assert that results are among those that the oracle admits."""
    assert isinstance(expected, Result), expected
    refused = np.atleast_1d(expected.outside(found))
    got, nearest = (np.atleast_1d(array)[refused][:9] for array in (found, expected.nearest))
    assert not refused.any(), f"{refused.sum()}: {got} for {nearest}, {expected.bound}"


def _assert_same(operator: str, found: Array, expected: Array) -> None:
    if operator in _ZEROS_BY_VALUE:
        found, expected = _with_positive_zeros(found), _with_positive_zeros(expected)
    if operator in _CHOOSING and expected.dtype.kind == "f":
        found, expected = _with_quiet_nans(found), _with_quiet_nans(expected)
    assert_same_bits(found, expected)


def _with_positive_zeros(array: Array) -> Array:
    result = np.array(array)
    result[result == 0] = 0
    return result


def _with_quiet_nans(array: Array) -> Array:
    result = np.array(array)
    result[np.isnan(result)] = np.nan
    return result


def broken_places(single: Single, operands: Sequence[Array], edition: Edition) -> dict[int, str]:
    """The places at which operands of one dimension break a rule about elements, and which."""
    rules = single.operator.rules(edition, single.element_type.family)
    if not any(rule.requirement.subject is Subject.ELEMENTS for rule in rules):
        return {}
    asked = single.element_type, edition, single.attributes
    alone = (
        violation(single.operator.name, [o[place : place + 1] for o in operands], *asked)
        for place in range(len(operands[0]))
    )
    return {place: broken.rule for place, broken in enumerate(alone) if broken is not None}


def keeping_the_rules(single: Single, operands: Sequence[Array], edition: Edition) -> list[Array]:
    """Leave out the places at which operands of one dimension break a rule about elements."""
    broken = list(broken_places(single, operands, edition))
    return [np.delete(operand, broken) for operand in operands]
