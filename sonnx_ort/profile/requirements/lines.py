"""Lines along an axis that are not -inf alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.requirements.attributes import DecidedByAttributes
from sonnx_ort.profile.requirements.shapes import AssumedAxes, axis_of
from sonnx_ort.profile.rule import (
    Attributes,
    DependsOnAttributes,
    Judgement,
    Requirement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand


@dataclass(frozen=True, slots=True)
class LinesAboveNegativeInfinity(DependsOnAttributes):
    """No line of floats along the axis of the only operand is negative infinity throughout.

    Attributes:
        axis: The axis of the node, negative from the end.
        attributes: The name of the attribute that says it.
        assumed: The axes that ONNX assumes if it is omitted.
    """

    axis: int = 0
    attributes: tuple[str] = ("axis",)
    assumed: AssumedAxes = ()

    subject: ClassVar = Subject.ELEMENTS

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node; without an axis it breaks the rule."""
        axis = axis_of(attributes, self.assumed)
        if not isinstance(axis, int):
            return DecidedByAttributes(violated("the attribute axis is left out"))
        return replace(self, axis=axis)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at what the elements can be, and check a constant."""
        (operand,) = operands
        known = operand.range
        if known is not None and known.lower > -math.inf:
            return proved(f"every element of {operand.name} '{operand.value}' lies in {known}")
        if operand.constant is None:
            return at_run_time(f"the elements of {operand.name} depend on the inputs")
        found = self.violation([operand.constant])
        named = f"the constant {operand.name} '{operand.value}'"
        if found is not None:
            return violated(f"{named}: {found.reason}")
        return proved(f"no line of {named} is -inf throughout")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first element of the first such line."""
        (array,) = arrays
        if not -array.ndim <= self.axis < array.ndim or array.size == 0:
            return None
        lines = np.moveaxis(array, self.axis, -1)
        throughout = np.asarray((lines == -np.inf).all(-1))
        if not throughout.any():
            return None
        index = [int(place) for place in np.argwhere(throughout)[0]]
        index.insert(self.axis % array.ndim, 0)
        reason = f"the line at {index} along axis {self.axis} is -inf throughout"
        return Violation(reason, tuple(index), (-np.inf,))
