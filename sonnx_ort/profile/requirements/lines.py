"""Requirements on an axis that an attribute names."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.operand import Operand, Shape, format_shape
from sonnx_ort.profile.requirements.attributes import DecidedByAttributes
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.rule import (
    VERSION,
    AttributeValue,
    DependsOnAttributes,
    HintByExample,
    Illustration,
    Judgement,
    Requirement,
    Status,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)


@dataclass(frozen=True, slots=True)
class _OnAnAxis(DependsOnAttributes, HintByExample, ABC):
    """A requirement on an axis of the only operand; a negative axis counts from the end.

    Attributes:
        axis: The axis of the node.
        attributes: The name of the attribute that says it.
        assumed: The axis that ONNX assumes if it is left out, with the first version in which it
            does.
    """

    axis: int = 0
    attributes: tuple[str] = ("axis",)
    assumed: tuple[tuple[int, int], ...] = ()

    example: ClassVar[Illustration]
    subject: ClassVar[Subject]

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded of a node; without an axis it breaks the rule."""
        (name,) = self.attributes
        axis, version = attributes.get(name), attributes.get(VERSION)
        if axis is None and isinstance(version, int):
            *_, axis = (None, *(own for since, own in self.assumed if since <= version))
        if not isinstance(axis, int):
            return DecidedByAttributes(violated(f"the attribute {name} is left out"), self.example)
        return replace(self, axis=axis)

    @abstractmethod
    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide before any run, from certain facts only."""

    @abstractmethod
    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Check the operand of a run."""

    def _is_in(self, shape: Sequence[object]) -> bool:
        return -len(shape) <= self.axis < len(shape)


class _OnShapes(_OnAnAxis):
    """A requirement on the axis and the operand's shape."""

    __slots__ = ()

    subject: ClassVar = Subject.OWN_SHAPE

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Decide if the rank is known."""
        (operand,) = operands
        if operand.shape is None:
            return at_run_time(f"the rank of {operand.name} is unknown")
        if operand.scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        return self._judge_shape(f"{operand.name} {format_shape(operand.shape)}", operand.shape)

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Decide by the shape of the array."""
        (array,) = arrays
        judgement = self._judge_shape(f"the operand {format_shape(array.shape)}", array.shape)
        return Violation(judgement.evidence) if judgement.status is Status.VIOLATED else None

    @abstractmethod
    def _judge_shape(self, named: str, shape: Shape) -> Judgement: ...


@dataclass(frozen=True, slots=True)
class HasAxis(_OnShapes):
    """The operand has the axis."""

    example: ClassVar = Illustration(
        "X (2, 3), axis 1", "X (2, 3), axis 2", "name an axis that there is"
    )

    def _judge_shape(self, named: str, shape: Shape) -> Judgement:
        if self._is_in(shape):
            return proved(f"{named} has axis {self.axis}")
        return violated(f"{named} has no axis {self.axis}")


@dataclass(frozen=True, slots=True)
class ShortBehindAxis(_OnShapes):
    """No axis behind the axis is longer than 1."""

    example: ClassVar = Illustration(
        "X (2, 3, 1), axis 1",
        "X (2, 3, 4), axis 1",
        "convert the model to version 13 of the standard operators, for example with "
        "onnx.version_converter",
    )

    def _judge_shape(self, named: str, shape: Shape) -> Judgement:
        if not self._is_in(shape):
            return violated(f"{named} has no axis {self.axis}")
        behind = list(enumerate(shape))[self.axis % len(shape) + 1 :]
        for axis, size in behind:
            if isinstance(size, int) and size > 1:
                return violated(f"axis {axis} of {named} is longer than 1")
        for axis, size in behind:
            if not isinstance(size, int):
                return at_run_time(f"the size of axis {axis} of {named} is known only in a run")
        return proved(f"no axis of {named} behind axis {self.axis} is longer than 1")


@dataclass(frozen=True, slots=True)
class LinesAboveNegativeInfinity(_OnAnAxis):
    """No line of floats along the axis is negative infinity throughout."""

    subject: ClassVar = Subject.ELEMENTS
    example: ClassVar = Illustration(
        "X [[-inf, 0.5]], float, axis 1",
        "X [[-inf, -inf]], float, axis 1",
        "mask with a large negative number instead, or keep one place of each line unmasked",
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check a constant."""
        (operand,) = operands
        if operand.constant is None:
            return at_run_time(f"the elements of {operand.name} are known only in a run")
        found = self.violation([operand.constant])
        named = f"the constant {operand.name} '{operand.value}'"
        if found is not None:
            return violated(f"{named}: {found.reason}")
        return proved(f"no line of {named} is -inf throughout")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first element of the first such line."""
        (array,) = arrays
        if not self._is_in(array.shape) or array.size == 0:
            return None
        lines = np.moveaxis(array, self.axis, -1)
        throughout = np.asarray((lines == -np.inf).all(-1))
        if not throughout.any():
            return None
        index = [int(place) for place in np.argwhere(throughout)[0]]
        index.insert(self.axis % array.ndim, 0)
        reason = f"the line at {index} along axis {self.axis} is -inf throughout"
        return Violation(reason, tuple(index), (-np.inf,))
