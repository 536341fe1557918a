"""Reductions, the largest elements of lines, and pools, written by operators of the set.

The largest element of a line is the one that ArgMax names. Of a line with a NaN, and of one whose
largest elements are 0 and -0, the kernels of ONNX Runtime may give another one.

The kernels of ReduceSumSquare, ReduceL1 and ReduceL2 add from the first element of a line to the
last, whatever axes it lies along, or in one way with that of ReduceSum where all axes are reduced.
The kernel of ReduceSum does so only where the reduced axes are the first ones: then it adds whole
rows, one after the other. So they are made the first ones, and every sum of floats and of doubles
keeps its bits. A sum of two has one order. Measured with ONNX Runtime 1.23.0 and 1.32.0, on one and
two threads, for shapes with and without axes of size 0 and 1, up to 3 million elements, and special
numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx_ir as ir

from sonnx_ort.conforming.bounds import EQUAL_BUT_FOR_NAN, SUMS, Bound, Inputs, Reference
from sonnx_ort.conforming.change import NoChangeError, NodeEdit, filled
from sonnx_ort.conforming.indexing import gather_along
from sonnx_ort.conforming.operators import WITH_LAST_INDEX, Operators, Template
from sonnx_ort.facts.node import IEEE_FLOATS
from sonnx_ort.facts.operators import REDUCTIONS
from sonnx_ort.terms.operand import bounds_of_element

_INTEGERS = frozenset({"int8", "uint8", "int32"})
"""The types of integers of which ONNX Runtime has ArgMax, and compares all elements rightly."""

_ONE_ORDER = 2
"""So many terms have one sum, in whatever order they are added."""

_MOST_FACTORS = 64
"""A line of more elements is not multiplied element by element."""


def count_axes_from_the_front(edit: NodeEdit) -> bool:
    """Name axes from the front where their negative numbers leave the sizes of a result open.

    ONNX Runtime up to 1.31.1 does not reduce an empty tensor along a negative axis. So the result
    of such an axis has no certain size, and none has a certain rank without that axis.
    """
    node = edit.node
    if node.op_type not in REDUCTIONS or "axis" in node.attributes:
        return False
    x, stored = edit.operand(0), edit.input(1)
    known = None if stored is None else edit.facts.constant(stored)
    given = edit.integers("axes") if known is None else [int(axis) for axis in known.ravel()]
    shape, found = edit.facts.shape(x), edit.facts.shape(node.outputs[0])
    if given is None or shape is None or edit.facts.depends_on_scalar_inputs(x):
        return False
    if not all(-len(shape) <= axis < len(shape) for axis in given):
        return False
    axes = [axis % len(shape) for axis in given]
    if axes == list(given) or len(set(axes)) < len(axes):
        return False
    if found is not None and (len(found) < len(shape) or all(found[axis] == 1 for axis in axes)):
        return False
    if stored is None:
        edit.set_attribute("axes", axes)
    else:
        edit.set_input(1, edit.constant(axes, "axes"))
    return True


def reduced_axes(op: Operators, x: ir.Value, axes: ir.Value | None) -> tuple[int, ...]:
    """The axes that a reduction removes, from the front; none if it removes none."""
    rank = op.rank(x)
    given = op.integers(axes) if axes is not None else op.attribute("axes")
    if given is None or not len(given):
        return () if op.attribute("noop_with_empty_axes") else tuple(range(rank))
    return op.axes_of(given, rank)


def reduce_sum(op: Operators, x: ir.Value, axes: ir.Value | None = None) -> ir.Value:
    """ReduceSumSquare, ReduceL1, ReduceL2, ReduceLogSum and ReduceLogSumExp."""
    reduced, kind = reduced_axes(op, x, axes), op.edit.node.op_type
    match kind:
        case "ReduceSumSquare":
            return _sum_in_order(op, op.Mul(x, x), reduced)
        case "ReduceL1":
            return _sum_in_order(op, op.Abs(x), reduced)
        case "ReduceL2":
            return op.Sqrt(_sum_in_order(op, op.Mul(x, x), reduced))
        case "ReduceLogSum":
            return op.Log(_sum_in_order(op, x, reduced))
        case _:
            return _log_sum_exp(op, x, reduced)


def _log_sum_exp(op: Operators, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The logarithm of a sum of powers of e, from which the largest is taken out first.

    As the kernel does, it takes none out that is infinite or NaN: that of infinity is NaN then.
    """
    if not axes:
        return op.Identity(x)
    largest = _extremes(op, _with_one_more(op, x, axes), axes, op.rank(x), least=False)
    finite = op.Less(op.Abs(largest), math.inf)
    largest = op.Where(finite, largest, 0.0)
    found = op.Add(op.Log(_sum(op, op.Exp(op.Sub(x, largest)), axes, 1)), largest)
    return found if op.attribute("keepdims") else op.Squeeze(found, axes=list(axes))


def _with_one_more(op: Operators, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """X with an element of -infinity after each line that may be empty, of which ArgMax fails."""
    shape = op.edit.shape(x)
    after = [axis in axes and not (isinstance(n, int) and n > 0) for axis, n in enumerate(shape)]
    if not any(after):
        return x
    return op.Pad(x, [0] * len(shape) + [int(each) for each in after], op.number(-math.inf))


def _sum(op: Operators, x: ir.Value, axes: Sequence[int], keep: int) -> ir.Value:
    without = None if axes else 1
    return op.ReduceSum(x, axes=list(axes) or None, noop_with_empty_axes=without, keepdims=keep)


def _sum_in_order(op: Operators, terms: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The sums from the first element to the last: the axes become the first ones."""
    keep = op.attribute("keepdims")
    shape = op.edit.shape(op.edit.operand(0))
    sizes = [size for axis in axes if isinstance(size := shape[axis], int)]
    few = len(sizes) == len(axes) and math.prod(sizes) <= _ONE_ORDER
    order = [*axes, *(axis for axis in range(len(shape)) if axis not in axes)]
    if few or order == list(range(len(shape))):
        return _sum(op, terms, axes, keep)
    found = _sum(op, op.Transpose(terms, perm=order), range(len(axes)), 0)
    return op.unsqueeze(found, list(axes)) if keep else found


def reduce_extreme(op: Operators, x: ir.Value, axes: ir.Value | None = None) -> ir.Value:
    """ReduceMax and ReduceMin: along one axis after the other."""
    reduced = reduced_axes(op, x, axes)
    if not reduced:
        return op.Identity(x)
    least = op.edit.node.op_type == "ReduceMin"
    # ArgMax of nothing is an error, and the largest element of nothing is none.
    op.require_elements(x, reduced)
    found = _extremes(op, x, reduced, op.rank(x), least=least)
    return found if op.attribute("keepdims") else op.Squeeze(found, axes=list(reduced))


def _extremes(
    op: Operators, x: ir.Value, axes: Sequence[int], rank: int, *, least: bool
) -> ir.Value:
    """The largest or least elements along axes that are not empty; they stay, of size 1."""
    for axis in axes:
        x = gather_along(op, x, _place_of_extreme(op, x, axis, least=least), axis, rank)
    return x


def _place_of_extreme(op: Operators, x: ir.Value, axis: int, *, least: bool) -> ir.Value:
    last = {"select_last_index": 0 if op.edit.opset >= WITH_LAST_INDEX else None}
    return op.ArgMax(_reverse(op, x) if least else x, axis=axis, keepdims=1, **last)


def _reverse(op: Operators, x: ir.Value) -> ir.Value:
    """Numbers in the reverse order: unlike its negative, the complement of an integer exists."""
    if op.dtype.is_floating_point():
        return op.Neg(x)
    return op.Sub(op.number(-1, ir.DataType.INT64), op.cast(x, ir.DataType.INT64))


def reduce_product(op: Operators, x: ir.Value, axes: ir.Value | None = None) -> ir.Value:
    """ReduceProd: the product from the first element to the last, axis by axis."""
    reduced = reduced_axes(op, x, axes)
    sizes = op.edit.shape(x)
    result = x if reduced else op.Identity(x)
    for axis in reduced:
        length = sizes[axis]
        if not isinstance(length, int) or not 0 < length <= _MOST_FACTORS:
            raise NoChangeError(f"axis {axis} of '{x.name}' is of size {length}")
        parts = [op.slice(result, axis, index, index + 1) for index in range(length)]
        result = parts[0]
        for part in parts[1:]:
            result = op.Mul(result, part)
    return result if op.attribute("keepdims") or not reduced else op.Squeeze(result, axes=reduced)


def arg_min(op: Operators, x: ir.Value) -> ir.Value:
    """ArgMin: the place of the largest of the negated elements."""
    names = ("axis", "keepdims", "select_last_index")
    return op.ArgMax(_reverse(op, x), **{name: op.attribute(name) for name in names})


def top_one(op: Operators, x: ir.Value, k: ir.Value | None = None) -> tuple[ir.Value, ir.Value]:
    """TopK of one element."""
    count = op.integer(k) if k is not None else op.attribute("k")
    if count != 1:
        raise NoChangeError(f"it gives the {count} largest elements, and ArgMax gives one")
    axis = op.axis(x)
    op.require_elements(x, [axis])
    place = _place_of_extreme(op, x, axis, least=op.attribute("largest") == 0)
    return gather_along(op, x, place, axis, op.rank(x)), place


def global_max_pool(op: Operators, x: ir.Value) -> ir.Value:
    """GlobalMaxPool: the largest elements along all axes but those of samples and channels."""
    axes = range(2, op.rank(x))
    op.require_elements(x, axes)
    return _extremes(op, x, axes, op.rank(x), least=False)


def average_pool(op: Operators, x: ir.Value) -> ir.Value:
    """AveragePool: a Conv with ones, and its share of each element that is counted."""
    if op.attribute("ceil_mode") or op.attribute("auto_pad") not in (None, "NOTSET"):
        raise NoChangeError("its padding follows from its sizes")
    names = ("kernel_shape", "strides", "pads", "dilations")
    window = {name: op.attribute(name) for name in names}
    kernel = list(window["kernel_shape"])
    _require_windows(op, x, window)
    channels = op.edit.shape(x)[1]
    if not isinstance(channels, int):
        raise NoChangeError(
            f"the number of channels of '{x.name}' depends on the input", op.edit.fixing_sizes(x)
        )
    ones = filled((channels, 1, *kernel), 1.0, op.dtype.numpy())
    total = op.Conv(x, ones, group=channels, **window)
    if not any(window["pads"] or ()) or op.attribute("count_include_pad"):
        return op.Div(total, float(math.prod(kernel)))
    counted = filled((1, 1, *op.edit.sizes(x)[2:]), 1.0, op.dtype.numpy())
    return op.Div(total, op.Conv(counted, ones[:1], group=1, **window))


def _require_windows(op: Operators, x: ir.Value, window: Mapping[str, Any]) -> None:
    """Refuse windows that may be none, of which a convolution makes an error.

    Raises:
        NoChangeError: There may be none, or they are not along two axes.
    """
    shape, kernel = op.edit.shape(x), window["kernel_shape"]
    axes = len(shape) - 2
    if axes not in (1, 2) or len(kernel) != axes:
        raise NoChangeError(f"'{x.name}' has {max(axes, 0)} axes to move along, not 1 or 2")
    pads, dilations = window["pads"] or [0] * 2 * axes, window["dilations"] or [1] * axes
    if len(pads) != 2 * axes or len(dilations) != axes:
        raise NoChangeError("its attributes do not fit the axes of its operand")
    op.require_elements(x, range(1, len(shape)))
    for axis, size in enumerate(shape[2:]):
        bounds = bounds_of_element(size)
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        padded = pads[axis] + pads[axes + axis]
        if bounds is None or bounds.lower + padded < reach:
            raise NoChangeError(
                f"axis {axis + 2} of '{x.name}' may be shorter than a window",
                op.edit.fixing_sizes(x),
            )
        if max(pads[axis], pads[axes + axis]) >= kernel[axis]:
            raise NoChangeError("a window may lie in the padding alone")


_LARGE = "before version 1.32.0 ONNX Runtime compares int64 beyond int32 wrongly"
_ROOTS = Bound(1, inputs=Inputs.FINITE, each="term")
_LOGARITHMS = Bound(4, Reference.ONE, remark="from opset 18 on, of float16 inputs up to 700")
_WHOLE = frozenset({"int32", "int64"})
_WIDE = frozenset({"float", "double"})

TEMPLATES = (
    *(
        Template(each, reduce_sum, _WIDE, IEEE_FLOATS | _WHOLE, SUMS)
        for each in ("ReduceSumSquare", "ReduceL1")
    ),
    Template("ReduceL2", reduce_sum, _WIDE, IEEE_FLOATS, _ROOTS),
    Template("ReduceLogSum", reduce_sum, near=IEEE_FLOATS, bound=Bound(4, Reference.ONE)),
    Template("ReduceLogSumExp", reduce_sum, near=IEEE_FLOATS, bound=_LOGARITHMS),
    *(
        Template(
            each,
            reduce_extreme,
            _INTEGERS,
            IEEE_FLOATS | {"int64"},
            replace(EQUAL_BUT_FOR_NAN, remark=f"{EQUAL_BUT_FOR_NAN.remark}; {_LARGE}"),
        )
        for each in ("ReduceMax", "ReduceMin")
    ),
    Template("ReduceProd", reduce_product, near=IEEE_FLOATS | _WHOLE, bound=_ROOTS),
    Template(
        "ArgMin", arg_min, _INTEGERS | {"int64"}, IEEE_FLOATS, Bound(0, inputs=Inputs.NUMBERS)
    ),
    Template("TopK", top_one, _INTEGERS | {"int64"}, IEEE_FLOATS, EQUAL_BUT_FOR_NAN),
    Template(
        "GlobalMaxPool",
        global_max_pool,
        near=IEEE_FLOATS,
        bound=Bound(0, inputs=Inputs.FINITE),
    ),
    Template("AveragePool", average_pool, near=IEEE_FLOATS, bound=SUMS),
)
"""The templates of reductions and pools."""
