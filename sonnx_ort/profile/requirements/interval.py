"""The elements of one operand lie in an interval."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.judgement import Judgement, Violation, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand, first_index
from sonnx_ort.profile.requirements.division import format_index
from sonnx_ort.profile.rule import Illustration, Subject


@dataclass(frozen=True, slots=True)
class WithinInterval:
    """No element of an operand is below one number, or above another.

    Attributes:
        operands: The names of all operands.
        position: The position of the operand.
        interval: The smallest and the largest number that are admitted, by the type.
        outside: What an element is that is not: "negative".
        example: What keeps the rule, and what breaks it.
        admits_nan: Whether NaN keeps the rule.
    """

    operands: tuple[str, ...]
    position: int
    interval: Callable[[np.dtype[Any]], tuple[float, float]]
    outside: str
    example: Illustration
    admits_nan: bool = True

    subject: ClassVar = Subject.ELEMENTS

    @property
    def deciding(self) -> tuple[str, ...]:
        """The operand."""
        return (self.operands[self.position],)

    @property
    def decides(self) -> "WithinInterval":
        """That no element is outside."""
        return self

    def limits(self, dtype: np.dtype[Any]) -> tuple[float | None, float | None]:
        """The smallest and the largest number, None where the type has none beyond it.

        Args:
            dtype: The type.
        """
        lower, upper = self.interval(dtype)
        if dtype.kind not in "iu":
            return lower, upper
        own = np.iinfo(dtype)
        return lower if lower > own.min else None, upper if upper < own.max else None

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at the type, at the interval that elements stay in, and at a constant."""
        operand = operands[self.position]
        element_type = ElementType.named(operand.element_type)
        unknown = at_run_time(f"the elements of {operand.name} are known only in a run")
        if element_type is None:
            return unknown
        lower, upper = self.limits(element_type.dtype)
        if lower is upper is None:
            return proved(f"no {element_type} is {self.outside}")
        bounds, constant = operand.bounds, operand.constant
        if (
            bounds is not None
            and (lower is None or lower <= bounds.lower)
            and (upper is None or bounds.upper <= upper)
        ):
            return proved(f"every element of {operand.name} '{operand.value}' lies in {bounds}")
        if constant is None or constant.dtype != element_type.dtype:
            return unknown
        index = self._first_outside(constant)
        named = f"the constant {operand.name} '{operand.value}'"
        if index is None:
            return proved(f"no element of {named} is {self.outside}")
        return violated(f"{named} is {self.outside} at {format_index(index)}")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first element that is outside."""
        index = self._first_outside(arrays[self.position])
        if index is None:
            return None
        at, values = format_index(index), tuple(array[index].item() for array in arrays)
        told = (f"{n}{at} = {value}" for n, value in zip(self.operands, values, strict=True))
        (name,) = self.deciding
        return Violation(f"{name} is {self.outside}: {', '.join(told)}", index, values)

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say how to keep other elements out."""
        del operands
        return self.example.mended

    def _first_outside(self, array: npt.NDArray[Any]) -> tuple[int, ...] | None:
        lower, upper = self.limits(array.dtype)
        masks = [] if lower is None else [array < lower]
        masks += [] if upper is None else [array > upper]
        masks += [] if self.admits_nan else [np.isnan(array)]
        if not masks:
            return None
        outside = np.asarray(functools.reduce(np.logical_or, masks))
        return first_index(outside) if outside.any() else None
