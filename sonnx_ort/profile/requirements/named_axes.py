"""Axes that attributes or operands name: that they exist, and that none is named twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.requirements.attributes import Relation
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
from sonnx_ort.terms.operand import Operand, format_shape

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


def named_axes(
    operands: Sequence[Operand], attributes: Mapping[str, AttributeValue]
) -> Axes | None:
    """The axes that the second operand names, or in older versions the attribute `axes`.

    None if they are known only in a run.
    """
    if len(operands) > 1:
        constant = operands[1].constant
        return None if constant is None else _numbers(constant)
    said = attributes.get("axes")
    return said if isinstance(said, tuple) else ()  # type: ignore[return-value]


def _numbers(axes: npt.NDArray[Any]) -> Axes:
    return tuple(int(axis) for axis in axes.ravel())


def _unknown(operands: Sequence[Operand]) -> Judgement:
    return at_run_time(f"the elements of {operands[1].name} are known only in a run")


def named_axes_exist(*, of_the_result: bool = False) -> Relation:
    """Each named axis exists, in the first operand or in the result, which has all of them too."""

    def relation(
        operands: Sequence[Operand], attributes: Mapping[str, AttributeValue]
    ) -> Judgement:
        axes, rank = named_axes(operands, attributes), rank_of(operands[0])
        if axes is None:
            return _unknown(operands)
        if rank is None:
            return rank_unknown(operands[0]) if axes else proved("no axis is named")
        rank += len(axes) if of_the_result else 0
        beyond = [axis for axis in axes if not -rank <= axis < rank]
        if beyond:
            return violated(f"axis {beyond[0]} is none of {rank} axes")
        return certain(operands[0], f"all named axes are among {rank} axes")

    return relation


def named_axes_are_distinct(
    operands: Sequence[Operand], attributes: Mapping[str, AttributeValue]
) -> Judgement:
    """The axes of the result are named once each; its rank is that of the operand and theirs."""
    axes, rank = named_axes(operands, attributes), rank_of(operands[0])
    if axes is None:
        return _unknown(operands)
    return _judge_once(operands[0], axes, None if rank is None else rank + len(axes))


def named_axes_have_size_one(
    operands: Sequence[Operand], attributes: Mapping[str, AttributeValue]
) -> Judgement:
    """Each named axis of the first operand has the size 1."""
    axes, operand = named_axes(operands, attributes), operands[0]
    if axes is None:
        return _unknown(operands)
    if operand.shape is None:
        return rank_unknown(operand)
    rank = len(operand.shape)
    sizes = {axis: operand.shape[axis] for axis in axes if -rank <= axis < rank}
    for axis, size in sizes.items():
        if isinstance(size, int) and size != 1:
            return violated(
                f"axis {axis} of {operand.name} {format_shape(operand.shape)} is {size}"
            )
    if any(size != 1 for size in sizes.values()):
        return at_run_time(f"the sizes of {operand.name} are known only in a run")
    return certain(operand, "all named axes have the size 1")


def _judge_once(operand: Operand, axes: Axes, rank: int | None) -> Judgement:
    """Judge whether axes are distinct, from the rank of the tensor whose axes they are."""
    twice = _named_twice(axes, rank)
    if twice is not None:
        return violated(twice)
    if len({axis < 0 for axis in axes}) <= 1:
        return proved("no axis is named twice")
    if rank is None:
        return rank_unknown(operand)
    return certain(operand, "no axis is named twice")


def _named_twice(axes: Axes, rank: int | None) -> str | None:
    """Tell of the first axis that is named twice; of an unknown rank, in the same way twice."""
    before: dict[int, int] = {}
    for axis in axes:
        place = axis + rank if axis < 0 and rank is not None else axis
        if place in before:
            return f"{before[place]} and {axis} name one axis"
        before[place] = axis
    return None


@dataclass(frozen=True, slots=True)
class AxesNamedOnce(DependsOnAttributes, HintByExample):
    """No axis of the first operand is named twice, by the second operand or by an attribute.

    Attributes:
        attributes: The attribute that names axes in older versions.
        axes: Its value; None if the second operand names them.
    """

    attributes: tuple[str, ...] = ("axes",)
    axes: Axes | None = None

    subject: ClassVar = Subject.ELEMENTS
    seen_by_shape: ClassVar = (0,)
    example: ClassVar = Illustration(
        "X (1, 3, 1), axes [0, 2]",
        "X (1, 3, 1), axes [0, -3]",
        "name each axis once",
    )

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
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

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the axes of a run."""
        data, *named = arrays
        twice = _named_twice(_numbers(named[0]) if named else self.axes or (), data.ndim)
        return None if twice is None else Violation(twice)
