"""Slice: every axis is named and counted from the front, and starts and ends lie within it.

Axes that are counted from the end or omitted: counted from the front, and named. An axis of -n is
the n-th from the end, by ONNX's definition of each of these operators, so that adding the rank
gives the same axis. A Squeeze without axes removes all axes of size 1; named, it removes the same
ones if it is certain of each axis whether its size is 1.

Slice: every axis is named, steps are given, and starts and ends lie within the axes. What a Slice
gives does not change: an axis that it does not name it takes whole, steps that are omitted it
takes for 1, and a start or an end beyond the axis it moves to the axis' own (ONNX, Slice-13). So
the same elements are selected by numbers that say what is meant.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.change import (
    AXES_AS_INPUT,
    SLICED_BY_INPUTS,
    Change,
    NoChangeError,
    NodeEdit,
    TooEarlyError,
)
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.facts.sizes import END_OF_ALL, selected


def count_axis_from_the_front(edit: NodeEdit) -> bool:
    """Add the rank to a negative attribute `axis`."""
    axis = edit.node.attributes.get("axis")
    if axis is None or axis.is_ref() or (number := axis.as_int()) >= 0:
        return False
    rank = _rank(edit)
    if number + rank < 0:
        raise NoChangeError(f"an operand of rank {rank} has no axis {number}")
    edit.set_attribute("axis", number + rank)
    return True


def _rank(edit: NodeEdit) -> int:
    """The rank of the operands, which have the same; one of them may be known alone."""
    reasons: list[NoChangeError] = []
    for value in edit.inputs:
        try:
            return len(edit.shape(value))
        except NoChangeError as reason:
            reasons.append(reason)
    raise reasons[0]


def name_squeezed_axes(edit: NodeEdit) -> bool:
    """Name the axes of size 1."""
    x = edit.operand(0)
    shape = edit.shape(x)
    if any(not isinstance(size, int) for size in shape):
        raise NoChangeError(
            f"which axes of '{x.name}' have the size 1 depends on the input", edit.fixing_sizes(x)
        )
    axes = [axis for axis, size in enumerate(shape) if size == 1]
    if not axes:
        raise NoChangeError("it removes no axis, but the profile requires one to be named")
    if edit.opset >= AXES_AS_INPUT:
        edit.set_input(1, edit.constant(axes, "axes"))
    else:
        edit.set_attribute("axes", axes)
    return True


Array = npt.NDArray[Any]

_TO_THE_END = 10**9
"""From here on, exporters write an end for one that is beyond every axis."""

_X, _STARTS, _ENDS, _AXES, _STEPS = range(5)


def _indices(edit: NodeEdit) -> tuple[Array, Array]:
    """The axes, counted from the front, and the steps."""
    if edit.opset < SLICED_BY_INPUTS:
        raise TooEarlyError(
            f"before version {SLICED_BY_INPUTS} of the standard operators Slice has no such inputs"
        )
    rank = len(edit.shape(edit.operand(_X)))
    number = edit.facts.shape(edit.operand(_STARTS))
    if number is None or len(number) != 1 or not isinstance(number[0], int):
        raise NoChangeError(
            "the number of axes that it names depends on the input",
            edit.fixing_sizes(edit.operand(_STARTS)),
        )
    axes = np.arange(number[0]) if edit.input(_AXES) is None else edit.elements(_AXES)
    steps = np.ones(number[0]) if edit.input(_STEPS) is None else edit.elements(_STEPS)
    axes = np.where(axes < 0, axes + rank, axes).astype(np.int64)
    if axes.size != number[0] or steps.size != number[0] or not set(axes) <= set(range(rank)):
        raise NoChangeError("its axes are not axes of the operand")
    return axes, steps.astype(np.int64)


def name_every_axis(edit: NodeEdit) -> bool:
    """Name the axes that are not, from 0 to their size, and give steps of 1.

    The size is a constant where it is certain, and else the Shape of the operand: what ONNX says of
    an axis that is not named is that all of it is taken, which is from 0 to its size in steps of 1.
    The axes are named in their order where that takes no more nodes: a guard needs fewer then.
    """
    axes, steps = _indices(edit)
    x, starts, ends = (edit.operand(position) for position in (_X, _STARTS, _ENDS))
    shape = edit.shape(x)
    others = [axis for axis in range(len(shape)) if axis not in axes]
    element_type = edit.facts.element_type(starts)
    if others and element_type != "int64":
        raise NoChangeError(f"its starts and ends are {element_type}, and sizes are int64")
    named = [*axes.tolist(), *others]
    order = [*range(len(named))]
    if others and all(len(_elements(edit, value)) == len(axes) for value in (starts, ends)):
        order.sort(key=named.__getitem__)
    if edit.input(_AXES) is None or others:
        edit.set_input(_AXES, _constant(edit, _sorted(named, order), element_type, "axes"))
    if edit.input(_STEPS) is None or others:
        all_steps = _sorted([*steps.tolist(), *(1 for _ in others)], order)
        edit.set_input(_STEPS, _constant(edit, all_steps, element_type, "steps"))
    if others:
        op = Operators(edit)
        sizes = [size if isinstance(size := shape[k], int) else op.size(x, k) for k in others]
        zeros = [0] * len(others)
        given = (_STARTS, starts, zeros, "starts"), (_ENDS, ends, sizes, "ends")
        for position, value, more, what in given:
            elements = _sorted([*_elements(edit, value), *more], order)
            edit.set_input(position, _joined(edit, elements, what))
    return True


_Element = TypeVar("_Element")


def _sorted(elements: Sequence[_Element], order: Sequence[int]) -> list[_Element]:
    """The elements in another order; in their own where one vector stands for several."""
    if len(elements) < len(order):
        return [*elements]
    return [elements[place] for place in order]


def _constant(
    edit: NodeEdit, numbers: Sequence[int], element_type: str | None, what: str
) -> ir.Value:
    return edit.constant(np.asarray(numbers, np.dtype(element_type or "int64")), what)


def _elements(edit: NodeEdit, value: ir.Value) -> list[ir.Value | int]:
    """The elements of a constant one by one; else the vector, which stands for all of them."""
    known = edit.facts.constant(value)
    return [value] if known is None else known.tolist()


def _joined(edit: NodeEdit, elements: Sequence[ir.Value | int], what: str) -> ir.Value:
    """Numbers and vectors in one vector: a constant if all are numbers."""
    parts: list[ir.Value] = []
    for _, group in groupby(elements, lambda element: isinstance(element, int)):
        found = [*group]
        numbers = [element for element in found if isinstance(element, int)]
        parts += [v for v in found if isinstance(v, ir.Value)]
        parts += [edit.constant(numbers, what)] if numbers else []
    return Operators(edit).concat(parts, 0)


def keep_within_axes(edit: NodeEdit) -> bool:
    """Write the start and the end that a Slice takes instead of those beyond the axis.

    On an axis of known size these follow from the numbers: the first selected element, and the end
    that ONNX takes. Where nothing is selected, start and end are 0, and nothing is selected still;
    an axis without elements has no start that the profile admits. On an axis whose size a run
    knows, an end beyond every size becomes the smaller one of itself and the size, and one before
    every element, counted downwards, the place before the first element.
    """
    axes, steps = _indices(edit)
    starts, ends = edit.elements(_STARTS), edit.elements(_ENDS)
    if not starts.shape == ends.shape == steps.shape == axes.shape:
        raise NoChangeError("its starts, ends, axes and steps are not vectors of one length")
    shape = edit.shape(edit.operand(_X))
    new_starts, new_ends = starts.tolist(), ends.tolist()
    for place, axis in enumerate(axes.tolist()):
        size = shape[axis]
        if isinstance(size, int):
            new_starts[place], new_ends[place] = _within(
                int(starts[place]), int(ends[place]), int(steps[place]), size
            )
    open_ends = [
        place
        for place, axis in enumerate(axes.tolist())
        if not isinstance(shape[axis], int) and _is_beyond(int(ends[place]), int(steps[place]))
    ]
    if (new_starts, new_ends) == (starts.tolist(), ends.tolist()) and not open_ends:
        return False
    widened = bool(open_ends) and starts.dtype != np.int64
    if widened:
        # Sizes are int64, and all of these inputs have one type.
        starts, ends = starts.astype(np.int64), ends.astype(np.int64)
        edit.set_input(_AXES, edit.constant(axes, "axes"))
        edit.set_input(_STEPS, edit.constant(steps, "steps"))
    if widened or new_starts != starts.tolist():
        edit.set_input(_STARTS, edit.constant(np.asarray(new_starts, starts.dtype), "starts"))
    x = edit.operand(_X)
    if not open_ends:
        edit.set_input(_ENDS, edit.constant(np.asarray(new_ends, ends.dtype), "ends"))
        return True
    kept: list[ir.Value | int] = list(new_ends)
    for place in open_ends:
        op = Operators(edit)
        size = op.size(x, int(axes[place]))
        downwards = steps[place] < 0
        kept[place] = op.Sub([-1], size) if downwards else _smaller(op, size, new_ends[place])
    edit.set_input(_ENDS, _joined(edit, kept, "ends"))
    return True


def _is_beyond(end: int, step: int) -> bool:
    """Whether an end is meant for one beyond every axis, in the direction of the steps."""
    return end >= _TO_THE_END if step > 0 else end <= -_TO_THE_END


def _smaller(op: Operators, size: ir.Value, end: int) -> ir.Value:
    """Add what gives the smaller one of a size and an end.

    Not Min, which before version 1.32 of ONNX Runtime takes int64 for int32.
    """
    if end == END_OF_ALL[-1]:
        return size
    stated = op.edit.constant([end], "end")
    return op.Where(op.Less(size, stated), size, stated)


def _within(start: int, end: int, step: int, size: int) -> tuple[int, int]:
    """The start and the end with which the same elements are selected, both within the axis."""
    if size == 0:
        raise NoChangeError("an axis has no elements, so no start can lie on it")
    if step < 0 and end in END_OF_ALL:
        raise NoChangeError(
            f"with negative steps, the end {end} is the beginning of the axis for ONNX Runtime, "
            "and the last element for ONNX; write the intended end"
        )
    chosen = selected(size, start, end, step)
    first, last = chosen.start, chosen.stop
    downwards = 1 if step < 0 else 0
    fits = -size <= start < size and -size - downwards <= end <= size - downwards
    ordered = first >= last if step < 0 else first <= last
    if fits and ordered:
        return start, end
    if not chosen:
        return 0, 0
    # An end before the first element, counted downwards, has no index from the front.
    return first, last if last >= 0 else -size - 1


CHANGES = (
    Change(
        "keep starts and ends within the axes",
        frozenset({"Slice.R6", "Slice.R8", "Slice.C2"}),
        keep_within_axes,
        verified_of("Slice"),
        undecided=True,
    ),
    Change(
        "name every axis and every step",
        frozenset({"Slice.R1", "Slice.R2", "Slice.R3"}),
        name_every_axis,
        verified_of("Slice"),
    ),
    Change(
        "count the axis from the front",
        frozenset({"Softmax.R4", "ArgMax.R4", "Concat.R1"}),
        count_axis_from_the_front,
        verified_of("Softmax", "ArgMax", "Concat"),
    ),
    Change(
        "name the removed axes",
        frozenset({"Squeeze.A", "Squeeze.axes"}),
        name_squeezed_axes,
        verified_of("Squeeze"),
    ),
)
"""The changes of axes; of Slice, ends are moved while they are constants that can be read."""
