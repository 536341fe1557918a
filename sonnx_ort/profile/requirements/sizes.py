"""Requirements on sizes that follow from attributes, or from the sizes of other operands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.operand import Dimension, Operand, format_shape
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.rule import (
    AttributeValue,
    DependsOnAttributes,
    HintByExample,
    Illustration,
    Judgement,
    Requirement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)

Attributes = Mapping[str, AttributeValue]

Shapes = Sequence[Sequence[Dimension] | None]
"""The shapes of operands; None where the rank is unknown."""

Given = tuple[tuple[str, AttributeValue], ...]
"""Attributes of a node, by name."""

_NO_SIZE = -1
"""No axis is as long as a part that there is not."""

LARGEST_SIZE = (1 << 63) - 1
"""The largest size of an axis."""


def at_least(size: int) -> Bounds:
    """The sizes that are not below one."""
    return Bounds(min(size, LARGEST_SIZE), LARGEST_SIZE)


def exactly(size: int) -> Bounds:
    """One size only."""
    return Bounds(size, size)


@dataclass(frozen=True, slots=True)
class SizesWithin(DependsOnAttributes, HintByExample):
    """Axes of the only operand have sizes within limits.

    Attributes:
        attributes: The names of the attributes that the limits depend on.
        limits: Gives the limits by axis, counted from the front.
        given: The attributes of the node, by name.
    """

    attributes: tuple[str, ...]
    limits: Callable[[Attributes], Mapping[int, Bounds]]
    example: Illustration
    given: Given = ()

    subject: ClassVar = Subject.OWN_SHAPE

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node."""
        return replace(self, given=_selected(self.attributes, attributes))

    @property
    def by_axis(self) -> Mapping[int, Bounds]:
        """The limits for the node."""
        return self.limits(dict(self.given))

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the known sizes."""
        (operand,) = operands
        if not self.by_axis:
            return proved(f"every shape of {operand.name} is allowed")
        if operand.shape is None:
            return at_run_time(f"the rank of {operand.name} is unknown")
        named = f"{operand.name} {format_shape(operand.shape)}"
        reason = self._reason(named, operand.shape)
        if reason is not None:
            return violated(reason)
        if operand.scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        for axis, limits in self.by_axis.items():
            if not isinstance(operand.shape[axis], int):
                return at_run_time(f"whether axis {axis} of {named} is {_said(limits)} is unknown")
        told = " and ".join(f"axis {axis} is {_said(m)}" for axis, m in self.by_axis.items())
        return proved(f"{named}: {told}")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Check the sizes."""
        (array,) = arrays
        reason = self._reason(f"the operand {format_shape(array.shape)}", array.shape)
        return None if reason is None else Violation(reason)

    def _reason(self, named: str, shape: Sequence[Dimension]) -> str | None:
        for axis, limits in self.by_axis.items():
            if axis >= len(shape):
                return f"{named} has no axis {axis}"
            size = shape[axis]
            if isinstance(size, int) and size not in limits:
                return f"axis {axis} of {named} is not {_said(limits)}"
        return None


def _said(limits: Bounds) -> str:
    if limits.lower == limits.upper:
        return f"of size {limits.lower}"
    return f"at least of size {limits.lower}"


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The size of an axis of an operand, or of each of its equal parts.

    Attributes:
        position: The position of the operand among those of the rule.
        axis: The axis, counted from the front.
        parts: The number of parts; there is no such size if it does not divide the axis.
    """

    position: int
    axis: int
    parts: int = 1

    def is_missing(self, shapes: Shapes) -> bool:
        """Whether there is certainly no such axis."""
        shape = shapes[self.position]
        return shape is not None and self.axis >= len(shape)


@dataclass(frozen=True, slots=True)
class ShapeFrom(DependsOnAttributes, HintByExample):
    """The last operand, if it is given, has a shape that is known from attributes and operands.

    Attributes:
        operands: The names of the operands.
        attributes: The names of the attributes that the shape depends on.
        shape: Gives the sizes, or the axes of other operands that have them; None for any shape.
        or_scalar: Whether the operand may be a scalar instead.
        given: The attributes of the node, by name.
    """

    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    shape: Callable[[Attributes], tuple[int | SizeOf, ...] | None]
    example: Illustration
    or_scalar: bool = False
    given: Given = ()

    subject: ClassVar = Subject.OWN_SHAPE

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node."""
        return replace(self, given=_selected(self.attributes, attributes))

    @property
    def sizes(self) -> tuple[int | SizeOf, ...] | None:
        """The sizes for the node."""
        return self.shape(dict(self.given))

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare what is known of the sizes."""
        if len(operands) < len(self.operands):
            return proved(f"{self.operands[-1]} is left out")
        last, sizes = operands[-1], self.sizes
        if sizes is None:
            return proved(f"every shape of {last.name} is allowed")
        if last.shape is None:
            return at_run_time(f"the rank of {last.name} is unknown")
        shapes = [operand.shape for operand in operands]
        named = f"{last.name} {format_shape(last.shape)}"
        reason = self._reason(named, sizes, shapes)
        if reason is not None:
            return violated(reason)
        if any(operand.scalar_inputs for operand in operands):
            return at_run_time(SCALAR_INPUTS)
        unknown = self._first_unknown(last, sizes, shapes)
        return proved(f"{named} is as demanded") if unknown is None else at_run_time(unknown)

    def _first_unknown(
        self, last: Operand, sizes: Sequence[int | SizeOf], shapes: Shapes
    ) -> str | None:
        own = last.shape or ()
        for axis, (one, wanted) in enumerate(zip(own, sizes, strict=False)):
            other = _size(wanted, shapes)
            if one is None or one != other or not last.certain(one):
                said = self._said(wanted, other)
                return (
                    f"whether axis {axis} of {last.name} {format_shape(own)} is {said} is unknown"
                )
        return None

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the shapes of the arrays."""
        sizes = self.sizes
        if len(arrays) < len(self.operands) or sizes is None:
            return None
        shapes = [array.shape for array in arrays]
        named = f"{self.operands[-1]} {format_shape(arrays[-1].shape)}"
        reason = self._reason(named, sizes, shapes)
        return None if reason is None else Violation(reason)

    def _reason(self, named: str, sizes: Sequence[int | SizeOf], shapes: Shapes) -> str | None:
        own = shapes[-1] or ()
        if self.or_scalar and not own:
            return None
        if len(own) != len(sizes):
            scalar = " or a scalar" if self.or_scalar else ""
            return f"{named} is not of rank {len(sizes)}{scalar}"
        for axis, (one, wanted) in enumerate(zip(own, sizes, strict=True)):
            if isinstance(wanted, SizeOf) and wanted.is_missing(shapes):
                return f"{self.operands[wanted.position]} has no axis {wanted.axis}"
            other = _size(wanted, shapes)
            if isinstance(one, int) and isinstance(other, int) and one != other:
                return f"axis {axis} of {named} is not {self._said(wanted, other)}"
        return None

    def _said(self, wanted: int | SizeOf, size: Dimension) -> str:
        if isinstance(wanted, int):
            return f"of size {wanted}"
        whole = f"axis {wanted.axis} of {self.operands[wanted.position]}"
        if wanted.parts > 1:
            return f"as long as each of {wanted.parts} equal parts of {whole}"
        text = f"as long as {whole}"
        return f"{text}, {size}" if isinstance(size, int) else text


def _size(wanted: int | SizeOf, shapes: Shapes) -> Dimension:
    """A size as far as it is known; `_NO_SIZE` if there is none."""
    if isinstance(wanted, int):
        return wanted
    shape = shapes[wanted.position]
    size = None if shape is None else shape[wanted.axis]
    if wanted.parts == 1:
        return size
    if not isinstance(size, int):
        return None
    return _NO_SIZE if size % wanted.parts else size // wanted.parts


def _selected(names: Sequence[str], attributes: Attributes) -> Given:
    return tuple((name, attributes[name]) for name in names if name in attributes)
