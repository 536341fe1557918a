"""Differences of integers that int32 holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.facts.bounds import LIMITS
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.profile.rule import (
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand, first_index, format_index

Array = npt.NDArray[Any]


_INT32 = LIMITS["int32"]


def _interval(operand: Operand) -> Bounds | None:
    """What the elements are within; the range of a type that int32 can hold says enough."""
    own = LIMITS.get(operand.element_type or "")
    small = own is not None and own.lower in _INT32 and own.upper in _INT32 and own != _INT32
    return operand.interval or (own if small else None)


class DifferenceWithinInt32:
    """Every difference of the first and the second operand, of int32, is a number of int32.

    If the second operand is omitted, it is 0. If it is no scalar, the largest and the smallest
    difference of any two elements count.
    """

    subject = Subject.ELEMENTS

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check constants and bounds."""
        x, *others = operands
        if not others:
            return proved("nothing is subtracted")
        (other,) = others
        subtrahend = _interval(other)
        if subtrahend == Bounds(0, 0):
            return proved(f"{other.name} '{other.value}' is 0")
        minuend = _interval(x)
        if minuend is None or subtrahend is None:
            unknown = [o.name for o in operands if _interval(o) is None]
            return at_run_time(f"the elements of {' and '.join(unknown)} depend on the inputs")
        lowest, highest = minuend.lower - subtrahend.upper, minuend.upper - subtrahend.lower
        if lowest in _INT32 and highest in _INT32:
            return proved(f"every difference lies in {Bounds(lowest, highest)}")
        constants = [o.constant for o in operands if o.constant is not None]
        found = self.violation(constants) if len(constants) == len(operands) else None
        if found is not None:
            return violated(f"of the constants, {found.reason}")
        return at_run_time(f"the differences lie in {Bounds(lowest, highest)}")

    def violation(self, arrays: Sequence[Array]) -> Violation | None:
        """Find the first element of the first operand whose difference is outside int32."""
        x, *others = (array.astype(np.int64) for array in arrays)
        if not others or others[0].size == 0:
            return None
        smallest, largest = int(others[0].min()), int(others[0].max())
        too_low = np.asarray(x < _INT32.lower + largest)
        beyond = np.asarray(too_low | (x > _INT32.upper + smallest))
        if not beyond.any():
            return None
        index = first_index(beyond)
        values = int(x[index]), largest if too_low[index] else smallest
        text = f"{values[0]} - {values[1]} at {format_index(index)} is beyond int32"
        return Violation(text, index, values)
