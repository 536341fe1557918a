"""Elements of int64 that every supported version of ONNX Runtime compares rightly."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.judgement import Judgement, Violation, at_run_time, proved, violated
from sonnx_ort.profile.operand import Bounds, Operand, first_index
from sonnx_ort.profile.rule import Illustration, Subject

_INT32 = Bounds(-(1 << 31), (1 << 31) - 1)


class WithinInt32:
    """No element of type int64 is beyond what int32 can hold.

    Versions of ONNX Runtime up to 1.31.1 compare the lower halves of two such numbers as signed
    where the upper ones are equal: of 3000000000 and 0 they take 0 for the larger.
    """

    subject = Subject.ELEMENTS
    example = Illustration(
        "int64 [2000000000, -7]",
        "int64 [3000000000, 0]",
        "compare with Greater and choose with Where, which are right",
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at types, constants and bounds."""
        wide = [o for o in operands if o.element_type in (ElementType.INT64, None)]
        for operand in wide:
            index = _beyond(operand.constant)
            if index is not None and operand.constant is not None:
                number = int(operand.constant[index])
                return violated(f"{operand.name} is a constant that holds {number}")
        unknown = [o.name for o in wide if o.constant is None and not _within(o.bounds)]
        if unknown:
            return at_run_time(f"the elements of {' and '.join(unknown)} are known only in a run")
        return proved("every number is one that int32 can hold" if wide else "no operand is int64")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first number beyond int32."""
        for position, array in enumerate(arrays):
            index = _beyond(array)
            if index is not None:
                number = int(array[index])
                reason = f"operand {position} has {number} at {list(index)}, which is beyond int32"
                return Violation(reason, index, (number,))
        return None

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what is right in its place."""
        del operands
        return self.example.mended


def _within(bounds: Bounds | None) -> bool:
    return bounds is not None and bounds.lower in _INT32 and bounds.upper in _INT32


def _beyond(array: npt.NDArray[Any] | None) -> tuple[int, ...] | None:
    if array is None or array.dtype != np.int64:
        return None
    beyond = np.asarray(array != array.astype(np.int32))
    return first_index(beyond) if beyond.any() else None
