"""Tensors that differ on one axis alone, so that they can be put one behind the other.

Source: SONNX Concat, draft of the working group, constraints C2 and C3 of the inputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.requirements.named_axes import certain, rank_of, rank_unknown
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
from sonnx_ort.terms.operand import Operand, format_shape


@dataclass(frozen=True, slots=True)
class EqualButOnAxis(DependsOnAttributes, HintByExample):
    """All operands have one rank, and equal sizes on every axis but one.

    Scalars, and an axis that does not exist, are left to other rules.

    Attributes:
        attributes: The attribute that names this axis, negative from the end.
        axis: Its value.
    """

    attributes: tuple[str, ...] = ("axis",)
    axis: int = 0

    subject: ClassVar = Subject.OWN_SHAPE
    example: ClassVar = Illustration(
        "X0 (2, 3), X1 (5, 3), axis 0",
        "X0 (2, 3), X1 (0, 5), axis 0",
        "give all inputs the same sizes on the other axes, empty ones too",
    )

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded of a node."""
        axis = attributes.get("axis")
        return replace(self, axis=axis if isinstance(axis, int) else 0)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the known shapes."""
        if len(operands) == 1:
            return proved("there is one operand alone")
        known = [operand for operand in operands if operand.shape is not None]
        other = next((o for o in known if rank_of(o) != rank_of(known[0])), None)
        if other is not None:
            ranks = f"{rank_of(known[0])} of {known[0].name} is not rank {rank_of(other)}"
            return violated(f"rank {ranks} of {other.name}")
        shapes = [operand.shape or () for operand in known]
        axes = dict(enumerate(zip(*shapes, strict=True)))
        axes.pop(self._place(len(axes)), None)
        for axis, sizes in axes.items():
            named = {
                size: o.name for o, size in zip(known, sizes, strict=True) if type(size) is int
            }
            if len(named) > 1:
                told = " and ".join(f"{size} in {name}" for size, name in named.items())
                return violated(f"axis {axis} has size {told}")
        if len(known) < len(operands):
            return rank_unknown(next(o for o in operands if o.shape is None))
        for axis, sizes in axes.items():
            if len(set(sizes)) > 1 or not operands[0].certain(sizes[0]):
                shown = " and ".join(
                    "unknown" if s is None else str(s) for s in dict.fromkeys(sizes)
                )
                return at_run_time(f"axis {axis} is {shown}")
        return certain(operands[0], f"the shapes differ on axis {self.axis} at most")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the shapes of arrays."""
        shapes = [array.shape for array in arrays]
        axis = self._place(len(shapes[0]))
        kept = {(len(shape), shape[:axis], shape[axis + 1 :]) for shape in shapes}
        if len(kept) == 1 or shapes[0] == ():
            return None
        told = " and ".join(dict.fromkeys(map(format_shape, shapes)))
        return Violation(f"the shapes {told} differ beside axis {self.axis}")

    def _place(self, rank: int) -> int:
        """The axis from the front; beyond the last where there is no such axis."""
        place = self.axis + rank if self.axis < 0 else self.axis
        return place if place >= 0 else rank
