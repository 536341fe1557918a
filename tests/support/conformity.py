"""Which operators are held against the oracle in which types, and what counts as its outcome."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sonnx_ort.oracle import WITHOUT_EXACT_RESULT, ZEROS_OF_EITHER_SIGN, Violation, outcome
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import Edition
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
    """Run a test for every way to compute every operator in every type.

    Args:
        editions: Whether in each edition too, where an operator's rules differ.
    """
    chosen = [
        pytest.param(
            execution,
            single,
            edition,
            id=f"{execution.__name__}-{single}-{edition}".replace(" ", "-"),
        )
        for execution in EXECUTIONS
        for single in singles()
        if single.operator.name not in WITHOUT_EXACT_RESULT
        for edition in (_editions(single) if editions else [Edition.TYPED])
        if execution is not through_kernel or computes_in_kernel(single.operator.name)
    ]
    return pytest.mark.parametrize(("execution", "single", "edition"), chosen)


def _editions(single: Single) -> Iterator[Edition]:
    """The typed edition, and the other one if it has other rules."""
    contracts = single.operator.contracts
    for edition in Edition:
        if edition is Edition.TYPED or contracts[edition] != contracts[Edition.TYPED]:
            yield edition


def assert_conforms(operator: str, found: Outcome, expected: Outcome) -> None:
    """Assert that an outcome is the oracle's; a NaN may be any quiet NaN."""
    if isinstance(expected, Violation) or isinstance(found, Violation):
        assert found == expected
        return
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


def keeping_the_rules(single: Single, operands: Sequence[Array], edition: Edition) -> list[Array]:
    """Leave out the places at which operands of one dimension break a rule about elements."""
    name, kind = single.operator.name, single.element_type
    places = range(len(operands[0])) if kind.family is Family.INTEGER else []
    broken = [
        place
        for place in places
        if isinstance(
            outcome(name, [operand[place : place + 1] for operand in operands], kind, edition),
            Violation,
        )
    ]
    return [np.delete(operand, broken) for operand in operands]
