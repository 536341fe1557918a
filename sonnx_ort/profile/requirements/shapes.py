"""Requirements on the shapes of operands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.operand import Operand, Shape, broadcast_shape, contradict, format_shape
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS, Broadcastable
from sonnx_ort.profile.rule import (
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

_BROADCASTABLE = Broadcastable()


class SameShape:
    """All operands have the same rank and sizes, without broadcasting.

    Equal symbols prove equal sizes only if a single dimension declares the symbol: ONNX Runtime
    does not check that inputs with the same symbol have the same size.
    """

    subject = Subject.EQUAL_SHAPES
    example = Illustration(
        "A (2, 3), B (2, 3)",
        "A (2, 3), B (3,)",
        'rewrite with broadcast="explicit", which inserts a Broadcast, or give both one shape',
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' known shapes."""
        known = [operand for operand in operands if operand.shape is not None]
        pairs = (_judge_pair(a, b) for a, b in combinations(known, 2))
        judgements = [judgement for judgement in pairs if judgement is not None]
        for judgement in judgements:
            if judgement.status is Status.VIOLATED:
                return judgement
        unknown = " and ".join(o.name for o in operands if o.shape is None)
        if unknown and len(operands) > 1:
            return at_run_time(f"the rank of {unknown} is unknown")
        if judgements:
            return judgements[0]
        if len(operands) > 1 and operands[0].scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        return proved(_all_equal(operands))

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared shapes of results with the operands' shapes."""
        for result, operand in product(results, operands):
            if contradict(result.shape, operand.shape):
                return violated(
                    f"{result.name} is declared with shape {format_shape(result.shape)}, and "
                    f"{operand.name} has {format_shape(operand.shape)}"
                )
        return None

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the arrays' shapes."""
        first = arrays[0].shape
        if all(array.shape == first for array in arrays):
            return None
        shapes = dict.fromkeys(format_shape(array.shape) for array in arrays)
        return Violation(f"the shapes {' and '.join(shapes)} differ")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Name the operand to expand with Broadcast, or report incompatible shapes."""
        if _BROADCASTABLE.judge(operands).status is Status.VIOLATED:
            return "the shapes cannot be broadcast to each other; correct the model"
        return hint_to_expand(operands, operands)


class NoBroadcasting(SameShape):
    """Different shapes are forbidden even if ONNX could broadcast them."""

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """As `SameShape`, with evidence that names broadcasting as the reason."""
        judgement = super().judge(operands)
        common = broadcast_shape(*(operand.shape for operand in operands))
        return (
            violated(f"{judgement.evidence}; ONNX would broadcast to {format_shape(common)}")
            if (judgement.status == "violated" and common is not None)
            else judgement
        )


def hint_to_expand(operands: Sequence[Operand], aligned: Sequence[Operand]) -> str:
    """Name the operand to expand with Broadcast, and its new shape.

    `aligned` are the operands, aligned at their last axes.
    """
    common = broadcast_shape(*(operand.shape for operand in aligned))
    if common is None:
        return 'rewrite with broadcast="explicit", which inserts a Broadcast'
    if all(operand.shape == common for operand in operands):
        return "remove the attribute broadcast"
    expanded = " and ".join(
        f"{o.name} from {format_shape(o.shape)} to {format_shape(common)}"
        for o in operands
        if o.shape != common
    )
    return f'rewrite with broadcast="explicit", which inserts a Broadcast of {expanded}'


def _judge_pair(a: Operand, b: Operand) -> Judgement | None:
    """Compare two known shapes; None if they are equal in every run."""
    one, other = a.shape or (), b.shape or ()
    if len(one) != len(other):
        return violated(f"rank {len(one)} is not rank {len(other)}")
    pairs = list(enumerate(zip(one, other, strict=True)))
    for axis, (x, y) in pairs:
        if isinstance(x, int) and isinstance(y, int) and x != y:
            return violated(f"axis {axis} has size {x} in {a.name} and {y} in {b.name}")
    for axis, (x, y) in pairs:
        if x != y or x is None:
            return at_run_time(f"axis {axis} is {_size(x)} in {a.name} and {_size(y)} in {b.name}")
        if not a.certain(x):
            return at_run_time(
                f"axis {axis} is {x} in both, but several dimensions of the inputs are declared "
                "so, and ONNX Runtime does not require them to be equal"
            )
    return None


def _all_equal(operands: Sequence[Operand]) -> str:
    match len(operands):
        case 1:
            return "there is one operand"
        case 2:
            return f"both shapes are {format_shape(operands[0].shape)}"
        case _:
            return f"all shapes are {format_shape(operands[0].shape)}"


def _size(dimension: int | str | None) -> str:
    return "unknown" if dimension is None else str(dimension)


@dataclass(frozen=True, slots=True)
class OwnRank(HintByExample):
    """Each present operand has the given rank."""

    rank: int
    example: Illustration

    subject: ClassVar = Subject.OWN_SHAPE

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the known ranks."""
        for operand in operands:
            if operand.shape is not None and len(operand.shape) != self.rank:
                return violated(f"{operand.name} has {self._format_axes(operand.shape)}")
        unknown = " and ".join(o.name for o in operands if o.shape is None)
        if unknown:
            return at_run_time(f"the rank of {unknown} is unknown")
        if operands and operands[0].scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        names = " and ".join(o.name for o in operands)
        return proved(f"{names} of rank {self.rank}" if names else "no such operand is given")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Check the ranks of the arrays."""
        other = next((array.shape for array in arrays if array.ndim != self.rank), None)
        return None if other is None else Violation(f"an operand has {self._format_axes(other)}")

    def _format_axes(self, shape: Shape) -> str:
        return f"shape {format_shape(shape)}, which is not of rank {self.rank}"


_EXAMPLE = Illustration(
    "X (2, 3), axis 1",
    "X (2, 0), axis 1",
    "keep empty tensors out",
)


@dataclass(frozen=True, slots=True)
class AxisNotEmpty(DependsOnAttributes, HintByExample):
    """The size of the axis given by an attribute, negative from the end, is not 0.

    An operand that is left out has no such axis.
    """

    axis: int = 0
    attributes: tuple[str, ...] = ("axis",)
    example: Illustration = _EXAMPLE

    subject: ClassVar = Subject.OWN_SHAPE

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded of a node."""
        axis = attributes.get("axis")
        return replace(self, axis=axis if isinstance(axis, int) else 0)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the size if it is known."""
        if not operands:
            return proved("no such operand is given")
        (operand,) = operands
        return self._judge(operand)

    def _judge(self, operand: Operand) -> Judgement:
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
        """Check the size; a missing axis is a violation too."""
        if not arrays:
            return None
        (array,) = arrays
        there = -array.ndim <= self.axis < array.ndim
        if there and array.shape[self.axis] > 0:
            return None
        what = "is empty" if there else "is not there"
        return Violation(f"axis {self.axis} of {format_shape(array.shape)} {what}")
