"""The axis that an operator goes along holds something."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.judgement import Judgement, Violation, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand, format_shape
from sonnx_ort.profile.requirements.broadcastable import SCALAR_INPUTS
from sonnx_ort.profile.rule import (
    AttributeValue,
    DependsOnAttributes,
    Illustration,
    Requirement,
    Subject,
)

_EXAMPLE = Illustration(
    "X (2, 3), axis 1",
    "X (2, 0), axis 1",
    "keep empty tensors out",
)


@dataclass(frozen=True, slots=True)
class AxisNotEmpty(DependsOnAttributes):
    """The size of the axis that an attribute names is not 0.

    Attributes:
        axis: The axis, counted from the end if it is negative.
        attributes: The attribute.
    """

    axis: int = 0
    attributes: tuple[str, ...] = ("axis",)

    subject: ClassVar = Subject.OWN_SHAPE
    example: ClassVar = _EXAMPLE

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded of a node."""
        axis = attributes["axis"]
        return AxisNotEmpty(axis if isinstance(axis, int) else 0)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at the size, as far as it is known."""
        (operand,) = operands
        if operand.shape is None:
            return at_run_time(f"the rank of {operand.name} is unknown")
        if operand.scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        rank = len(operand.shape)
        if not -rank <= self.axis < rank:
            return violated(f"{operand.name} {format_shape(operand.shape)} has no axis {self.axis}")
        size = operand.shape[self.axis]
        named = f"axis {self.axis} of {operand.name} {format_shape(operand.shape)}"
        match size:
            case 0:
                return violated(f"{named} is empty")
            case int():
                return proved(f"{named} is not empty")
            case _:
                return at_run_time(f"the size of {named} is known only in a run")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Look at the size; an axis that is not there holds nothing either."""
        (array,) = arrays
        there = -array.ndim <= self.axis < array.ndim
        if there and array.shape[self.axis] > 0:
            return None
        what = "is empty" if there else "is not there"
        return Violation(f"axis {self.axis} of {format_shape(array.shape)} {what}")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say what to keep out."""
        del operands
        return self.example.mended
