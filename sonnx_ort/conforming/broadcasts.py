"""Operands of one shape: the broadcast that an operator does itself is written in front of it.

By ONNX, an element-wise operator repeats the elements of an operand along each axis of size 1 up to
the common shape, and Expand does the same to one tensor. So the operator gets the elements that it
paired before, in a tensor each. A kernel that computes each element by one operation of IEEE 754,
or of integers, gives the same bits then, however it goes over its operands. The others, in ONNX
Runtime:

    Max, Min  Of 0 and -0 they give either, by how they go over the operands. The bits stay where
              all floats but one operand are constants without zeros, so that no two zeros meet, and
              where no operand holds -0, so that all zeros are alike.
    Where     It takes X and Y apart by the condition, each in a tensor broadcast to the condition,
              and then merges: where Y's part is broadcast, it copies a part that holds -0, and
              elsewhere it gives 0 for it. The bits stay where neither X nor Y holds -0, and where
              the condition and Y have the common shape together. In any case they stay if the
              condition and Y are expanded to the shape of Y's part, which leaves both parts as they
              are; that is done where X may have this shape in a run, which the rule then decides.
    Pow       It multiplies if one exponent is for many elements and is 2 or 3, and else computes a
              power. The bits stay where exponents have the common shape, or are constants other
              than these.

Where sizes are known only in a run, the common shape is put together there, axis by axis: from the
only operand that may be longer than 1, or of two sizes the other one if one is 1. So 0 beside 1
gives 0, as ONNX wants it. If operands have no common shape, one of them cannot be expanded to the
size of another, and Expand ends the run with an error, as the operator did.

An operand of size 1 beside an open size keeps the rule in no run but those where that is 1 too. It
is expanded, along these axes alone: whether two open sizes are equal is left to runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.examined_node import plan_broadcast
from sonnx_ort.conforming.bounds import Bound
from sonnx_ort.conforming.change import (
    WITH_EXPAND,
    Change,
    NoChangeError,
    NodeEdit,
    TooEarlyError,
)
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.rule import Subject
from sonnx_ort.terms.operand import (
    Operand,
    Shape,
    broadcast_shape,
    contradict,
    format_shape,
    has_known_sizes,
)

_WITHOUT_EXPAND = frozenset({"bfloat16"})
"""The types for which ONNX Runtime has no Expand."""

_MULTIPLIED = (2, 3)
"""The exponents for which Pow multiplies, if one is for many elements."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Operands that are to get their common shape.

    `lacking` says of each whether it may lack the common shape.
    """

    positions: tuple[int, ...]
    operands: tuple[Operand, ...]
    values: tuple[ir.Value, ...]
    shapes: tuple[Shape, ...]
    lacking: tuple[bool, ...]

    @classmethod
    def at(cls, edit: NodeEdit, positions: Sequence[int]) -> "_Group":
        """The operands at these positions."""
        operands = tuple(edit.operands[position] for position in positions)
        values = tuple(edit.inputs[position] for position in positions)
        return cls(
            tuple(positions),
            operands,
            values,
            tuple(map(partial(_shape_of, edit), operands, values)),
            plan_broadcast(operands, checked=False).expanded,
        )

    @property
    def common(self) -> Shape | None:
        """The common shape, if there is any."""
        return broadcast_shape(*self.shapes)

    @property
    def full(self) -> int | None:
        """An operand that has the common shape in every run, one of known sizes if possible."""
        having = [index for index, lacks in enumerate(self.lacking) if not lacks]
        known = (index for index in having if has_known_sizes(self.shapes[index]))
        return next(known, next(iter(having), None))


def _shape_of(edit: NodeEdit, operand: Operand, value: ir.Value) -> Shape:
    """The shape of an operand, which also what another change has just put in its place has.

    Open sizes may be unknown in the next round; a shape of known sizes is known then, too.
    """
    if operand.shape is None or operand.scalar_inputs or has_known_sizes(operand.shape):
        return edit.shape(value)
    return operand.shape


def expand_operands(edit: NodeEdit, *, exact: bool) -> bool:
    """Put an Expand in front of each operand that may lack the common shape.

    `exact` admits only what keeps the bits.
    """
    _require_expand(edit)
    group = _Group.at(edit, range(len(edit.inputs)))
    _require_common_shape(edit, group)
    if exact:
        group = _of_same_bits(edit, group)
    common = _common_shape(edit, group)
    expanded: dict[ir.Value, ir.Value] = {}
    for position, value, lacks in zip(group.positions, group.values, group.lacking, strict=True):
        if lacks:
            if value not in expanded:
                expanded[value] = Operators(edit).Expand(value, common)
            edit.set_input(position, expanded[value])
    return True


def expand_ones(edit: NodeEdit) -> bool:
    """Put an Expand in front of each operand of size 1 on an axis where another may have more."""
    operands = edit.operands
    known = [operand.shape for operand in operands if operand.shape is not None]
    ranks = set(map(len, known))
    if len(known) < len(operands) or len(ranks) > 1 or any(o.scalar_inputs for o in operands):
        return False
    stated = (
        {size for size in sizes if isinstance(size, int)} - {1}
        for sizes in zip(*known, strict=True)
    )
    if any(len(sizes) > 1 for sizes in stated):
        return False
    wanted = {position: _beside_ones(known, position) for position in range(len(known))}
    wanted = {k: parts for k, parts in wanted.items() if any(part.size != 1 for part in parts)}
    if not wanted:
        return False
    _require_expand(edit)
    group = _Group.at(edit, range(len(operands)))
    if _of_same_bits(edit, group) is not group:
        return False
    pieces = _Pieces(Operators(edit), group.values)
    for position, parts in wanted.items():
        target = pieces.beside(parts, operands[position], operands)
        edit.set_input(position, Operators(edit).Expand(group.values[position], target))
    return True


def _require_expand(edit: NodeEdit) -> None:
    if edit.opset < WITH_EXPAND:
        raise TooEarlyError(
            f"before version {WITH_EXPAND} of the standard operators there is no Expand"
        )
    for value in edit.inputs:
        if edit.facts.element_type(value) in _WITHOUT_EXPAND:
            raise NoChangeError("ONNX Runtime has no Expand of bfloat16")


def _require_common_shape(edit: NodeEdit, group: _Group) -> None:
    if group.common is None:
        shapes = " and ".join(map(format_shape, group.shapes))
        raise NoChangeError(f"the shapes {shapes} cannot be broadcast to each other")
    declared = edit.declared_results
    if not any(group.lacking) or any(contradict(r.shape, group.common) for r in declared):
        raise NoChangeError(
            "the shape that the file declares for its result is not that of its operands"
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """The common size of an axis.

    Attributes:
        size: The size; None if a run tells it.
        axes: The operands that may be longer than 1 there, and which of their axes it is.
    """

    size: int | None
    axes: tuple[tuple[int, int], ...] = ()

    def follows(self, other: "_Part") -> bool:
        """Whether it is the next axis of the same operand, of which alone both are."""
        if len(self.axes) != 1 or len(other.axes) != 1:
            return False
        (own, axis), (operand, before) = *self.axes, *other.axes
        return own == operand and axis == before + 1


def _beside_ones(shapes: Sequence[Shape], position: int) -> list[_Part]:
    """On each axis where an operand has the size 1, the size of another one that may have more."""
    parts = []
    for axis, size in enumerate(shapes[position]):
        others = {index: shape[axis] for index, shape in enumerate(shapes) if shape[axis] != 1}
        known = [other for other in others.values() if isinstance(other, int)]
        if size != 1 or not others:
            parts.append(_Part(1))
        else:
            parts.append(_Part(known[0]) if known else _Part(None, ((min(others), axis),)))
    return parts


def _parts(operands: Sequence[Operand]) -> list[_Part]:
    """The common size of each axis, as far as it is known."""
    rank = max(len(operand.shape or ()) for operand in operands)
    return [_part(operands, axis - rank) for axis in range(rank)]


def _part(operands: Sequence[Operand], from_the_end: int) -> _Part:
    """The common size of one axis, or the axes of operands that may tell it."""
    axes: list[tuple[int, int]] = []
    sizes: list[object] = []
    for index, operand in enumerate(operands):
        shape = operand.shape or ()
        if len(shape) < -from_the_end or (size := shape[from_the_end]) == 1:
            continue
        if isinstance(size, int):
            return _Part(size)
        # A size that is certain need not be read of a second operand.
        if not (operand.certain(size) and size in sizes):
            axes.append((index, len(shape) + from_the_end))
            sizes.append(size)
    return _Part(None, tuple(axes)) if axes else _Part(1)


def _common_shape(edit: NodeEdit, group: _Group) -> ir.Value:
    """The common shape, as a constant if all sizes are known."""
    parts = _parts(group.operands)
    if all(part.size is not None for part in parts):
        return edit.constant([part.size or 0 for part in parts], "common_shape")
    if group.full is not None:
        return Operators(edit).Shape(group.values[group.full])
    return _Pieces(Operators(edit), group.values).joined(parts)


@dataclass
class _Pieces:
    """Adds the pieces of the common shape, each with the sizes of some axes, in their order."""

    op: Operators
    values: Sequence[ir.Value]
    shapes: dict[int, ir.Value] = field(default_factory=dict)

    def beside(self, parts: Sequence[_Part], own: Operand, operands: Sequence[Operand]) -> ir.Value:
        """The target of Expand: another operand's shape if that suffices, else one put together."""
        telling = {index for part in parts for index, _ in part.axes}
        if not telling:
            return self.op.edit.constant([part.size or 0 for part in parts], "sizes")
        index = min(telling)
        sizes = zip(parts, own.shape or (), operands[index].shape or (), strict=True)
        fits = all(
            part.axes or other == part.size or (other == size != 0 and own.certain(size))
            for part, size, other in sizes
        )
        whole = fits and len(telling) == 1
        return self.op.Shape(self.values[index]) if whole else self.joined(parts)

    def joined(self, parts: Sequence[_Part]) -> ir.Value:
        """The sizes of all parts in one vector."""
        return self.op.concat(self.of(parts), 0)

    def of(self, parts: Sequence[_Part]) -> Iterator[ir.Value]:
        """The pieces; axes that follow each other in an operand are one piece."""
        for run in _runs(parts):
            if run[0].size is not None:
                yield self.op.edit.constant([part.size or 0 for part in run], "sizes")
                continue
            size = self._sizes(run[0].axes[0], len(run))
            for axis in run[0].axes[1:]:
                is_one = self.op.Equal(size, [1])
                size = self.op.Where(is_one, self._sizes(axis, 1), size)
            yield size

    def _sizes(self, first: tuple[int, int], count: int) -> ir.Value:
        """The sizes of axes that follow each other in an operand, from its Shape."""
        index, axis = first
        if index not in self.shapes:
            self.shapes[index] = self.op.Shape(self.values[index])
        return self.op.slice(self.shapes[index], 0, axis, axis + count)


def _runs(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Known sizes beside each other, axes beside each other of one operand, and single axes."""
    runs: list[list[_Part]] = []
    for part in parts:
        last = runs[-1][-1] if runs else None
        both_known = last is not None and last.size is not None and part.size is not None
        if last is not None and (both_known or part.follows(last)):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


_CONDITION, _X, _Y = 0, 1, 2
"""The inputs of Where."""


def _of_same_bits(edit: NodeEdit, group: _Group) -> _Group:
    """The operands that can be expanded so that the bits stay; see the module."""
    match edit.node.op_type:
        case "Max" | "Min" if _of_floats(edit, 0) and not _zeros_have_one_sign(
            edit, group.positions
        ):
            raise NoChangeError(
                "it may give 0 instead of -0 or the reverse, because more than one operand may "
                "have zeros"
            )
        case "Where" if _of_floats(edit, 1) and not _merges_to_same_bits(edit, group):
            return _of_parts(edit)
        case "Pow" if group.lacking[1] and not _lacks(edit, 1, _MULTIPLIED):
            raise NoChangeError(
                "its kernel multiplies if one exponent of 2 or 3 is for many elements, which "
                "rounds differently"
            )
    return group


def _of_floats(edit: NodeEdit, position: int) -> bool:
    found = ElementType.named(edit.facts.element_type(edit.operand(position)))
    return found is None or found.family is Family.FLOAT


def _lacks(edit: NodeEdit, position: int, numbers: Sequence[int]) -> bool:
    """Whether an operand is a constant without any of these numbers."""
    elements = edit.facts.constant(edit.operand(position))
    return elements is not None and not bool(np.isin(elements, numbers).any())


def _without_minus_zero(edit: NodeEdit, positions: Sequence[int]) -> bool:
    return all(edit.facts.holds_no_minus_zero(edit.operand(position)) for position in positions)


def _zeros_have_one_sign(edit: NodeEdit, positions: Sequence[int]) -> bool:
    """Whether no two zeros of different signs meet in a Max or Min."""
    with_zeros = [position for position in positions if not _lacks(edit, position, (0,))]
    return len(with_zeros) <= 1 or _without_minus_zero(edit, with_zeros)


def _merges_to_same_bits(edit: NodeEdit, group: _Group) -> bool:
    """Whether a Where of full operands merges its parts to the same bits, in every run."""
    if _without_minus_zero(edit, (_X, _Y)):
        return True
    condition, x, y = group.operands
    common = replace(y, shape=broadcast_shape(condition.shape, y.shape))
    return not plan_broadcast((common, x), checked=False).expanded[0]


def _of_parts(edit: NodeEdit) -> _Group:
    """The condition and Y of a Where, which can always be expanded to the shape of Y's part."""
    group = _Group.at(edit, (_CONDITION, _Y))
    if not any(group.lacking) or contradict(group.common, edit.shape(edit.operand(_X))):
        raise NoChangeError("a -0 may become 0, because its kernel broadcasts Y")
    return group


EQUAL_SHAPES = frozenset(
    rule.id for rule in RULES.values() if rule.requirement.subject is Subject.EQUAL_SHAPES
)
"""The ids of the rules that want one shape of all operands."""

_VERIFIED = verified_of(*sorted({rule.partition(".")[0] for rule in EQUAL_SHAPES}))
_TITLE = "make the broadcast of the operands explicit"

CHANGES = (
    Change(_TITLE, EQUAL_SHAPES, partial(expand_operands, exact=True), _VERIFIED),
    Change(
        f"{_TITLE}, even if its kernel then computes differently",
        EQUAL_SHAPES,
        partial(expand_operands, exact=False),
        _VERIFIED,
        Bound(2, remark="a zero of Max or Min may have the other sign"),
    ),
    Change(
        "repeat an operand of size 1 along an open axis",
        EQUAL_SHAPES,
        expand_ones,
        _VERIFIED,
        undecided=True,
    ),
)
"""The changes of broadcasts."""
