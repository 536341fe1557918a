"""Requirements on axes: those of operands that are joined, named axes, and lines along one.

Tensors that differ on one axis alone, so that they can be put one after the other. Source: SONNX
Concat, draft of the working group, constraints C2 and C3 of the inputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.requirements.attributes import HeldByRuntime, held
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.rule import (
    Attributes,
    DependsOnAttributes,
    JudgedInRuns,
    Judgement,
    Requirement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand, format_shape, format_size

Axes = tuple[int, ...]


def certain(operand: Operand, evidence: str) -> Judgement:
    """Proved by the shape of an operand, if no input is declared as a scalar."""
    return at_run_time(SCALAR_INPUTS) if operand.scalar_inputs else proved(evidence)


def rank_of(operand: Operand) -> int | None:
    """The known rank; None if it is known only in a run."""
    return None if operand.shape is None else len(operand.shape)


def rank_unknown(operand: Operand) -> Judgement:
    """What the rank of an operand decides, a run decides."""
    return at_run_time(f"the rank of {operand.name} is unknown")


def named_axes(operands: Sequence[Operand], attributes: Attributes) -> Axes | None:
    """The axes that the second operand names, or in older versions the attribute `axes`.

    None if they are known only in a run.
    """
    if len(operands) > 1:
        constant = operands[1].constant
        return None if constant is None else tuple(int(axis) for axis in constant.ravel())
    given = attributes.get("axes")
    return given if isinstance(given, tuple) else ()  # type: ignore[return-value]


def _unknown(operands: Sequence[Operand]) -> Judgement:
    return at_run_time(f"the elements of {operands[1].name} depend on the inputs")


def _held_of_axes(
    judge: Callable[[Operand, Axes, int | None], Judgement],
    *,
    of_the_result: bool = False,
) -> HeldByRuntime:
    """What ONNX Runtime holds of named axes: those of the first operand, or of the result.

    The result has all named axes too. `judge` gets the operand, the axes, and the rank.
    """

    def relation(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
        axes, rank = named_axes(operands, attributes), rank_of(operands[0])
        if axes is None:
            return _unknown(operands)
        further = len(axes) if of_the_result else 0
        return judge(operands[0], axes, None if rank is None else rank + further)

    return held(relation, attributes=("axes",))


def named_axes_exist(*, of_the_result: bool = False) -> HeldByRuntime:
    """Each named axis exists, in the first operand or in the result, which has all of them too."""
    return _held_of_axes(_judge_existing, of_the_result=of_the_result)


def named_axes_are_distinct(*, of_the_result: bool = False) -> HeldByRuntime:
    """No axis is named twice, of the first operand or of the result, which has all of them too."""
    return _held_of_axes(_judge_once, of_the_result=of_the_result)


def named_axes_have_size_one() -> HeldByRuntime:
    """Each named axis of the first operand has the size 1."""
    return _held_of_axes(_judge_size_one)


def _judge_existing(operand: Operand, axes: Axes, rank: int | None) -> Judgement:
    if rank is None:
        return rank_unknown(operand) if axes else proved("no axis is named")
    beyond = [axis for axis in axes if not -rank <= axis < rank]
    if beyond:
        return violated(f"axis {beyond[0]} is none of {rank} axes")
    return certain(operand, f"all named axes are among {rank} axes")


def _judge_size_one(operand: Operand, axes: Axes, rank: int | None) -> Judgement:
    if operand.shape is None or rank is None:
        return rank_unknown(operand)
    sizes = {axis: operand.shape[axis] for axis in axes if -rank <= axis < rank}
    for axis, size in sizes.items():
        if isinstance(size, int) and size != 1:
            return violated(
                f"axis {axis} of {operand.name} {format_shape(operand.shape)} is {size}"
            )
    if any(size != 1 for size in sizes.values()):
        return at_run_time(f"the sizes of {operand.name} depend on the inputs")
    return certain(operand, "all named axes have the size 1")


def _judge_once(operand: Operand, axes: Axes, rank: int | None) -> Judgement:
    """Judge whether axes are distinct, from the rank of the tensor whose axes they are."""
    twice = _named_twice(axes, rank)
    if twice is not None:
        return violated(*twice)
    if len({axis < 0 for axis in axes}) <= 1:
        return proved("no axis is named twice")
    if rank is None:
        return rank_unknown(operand)
    return certain(operand, "no axis is named twice")


def _named_twice(axes: Axes, rank: int | None) -> tuple[str, int] | None:
    """Tell of the first axis that is named twice; of an unknown rank, in the same way twice.

    Returns:
        Which entries name it, and the index of the second one.
    """
    before: dict[int, int] = {}
    for entry, axis in enumerate(axes):
        place = axis + rank if axis < 0 and rank is not None else axis
        if place in before:
            return f"{before[place]} and {axis} name one axis", entry
        before[place] = axis
    return None


@dataclass(frozen=True, slots=True)
class AxesNamedOnce(DependsOnAttributes, JudgedInRuns):
    """No axis of the first operand is named twice, by the second operand or by an attribute.

    Attributes:
        attributes: The attribute that names axes in older versions.
        axes: Its value; None if the second operand names them.
        operands: None: the operands are told by their places.
    """

    attributes: tuple[str, ...] = ("axes",)
    axes: Axes | None = None
    operands: tuple[str, ...] = ()

    subject: ClassVar = Subject.ELEMENTS
    seen_by_shape: ClassVar = (0,)

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node."""
        return replace(self, axes=named_axes((), attributes) if "axes" in attributes else None)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare axes that are known."""
        axes = named_axes(operands, {"axes": self.axes})
        if axes is not None:
            return _judge_once(operands[0], axes, rank_of(operands[0]))
        match operands[1].shape:
            case (0 | 1,):
                return certain(operands[1], "one axis is named at most")
        return _unknown(operands)


@dataclass(frozen=True, slots=True)
class EqualButOnAxis(DependsOnAttributes):
    """All operands have one rank, and equal sizes on every axis but one.

    Scalars, and an axis that does not exist, are left to other rules.

    Attributes:
        attributes: The attribute that names this axis, negative from the end.
        axis: Its value.
    """

    attributes: tuple[str, ...] = ("axis",)
    axis: int = 0

    subject: ClassVar = Subject.OWN_SHAPE

    def of_node(self, attributes: Attributes) -> Requirement:
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
                shown = " and ".join(f"{size} in {name}" for size, name in named.items())
                return violated(f"axis {axis} has size {shown}")
        if len(known) < len(operands):
            return rank_unknown(next(o for o in operands if o.shape is None))
        for axis, sizes in axes.items():
            if len(set(sizes)) > 1 or not operands[0].certain(sizes[0]):
                shown = " and ".join(map(format_size, dict.fromkeys(sizes)))
                return at_run_time(f"axis {axis} is {shown}")
        return certain(operands[0], f"the shapes differ on axis {self.axis} at most")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the shapes of arrays."""
        shapes = [array.shape for array in arrays]
        axis = self._place(len(shapes[0]))
        kept = {(len(shape), shape[:axis], shape[axis + 1 :]) for shape in shapes}
        if len(kept) == 1 or shapes[0] == ():
            return None
        shown = " and ".join(dict.fromkeys(map(format_shape, shapes)))
        return Violation(f"the shapes {shown} differ beside axis {self.axis}")

    def _place(self, rank: int) -> int:
        """The axis from the front; beyond the last where there is no such axis."""
        place = self.axis + rank if self.axis < 0 else self.axis
        return place if place >= 0 else rank
