"""Sums of products: MatMul, Gemm, Conv and ConvInteger.

Sources: the drafts of the working group of these names. The draft of MatMul has matrices only, that
of Gemm neither factors nor transposition nor broadcasting, that of Conv two spatial axes and no
text on floats; for these ONNX MatMul and Gemm, version 13, and Conv, version 22.

Over the reals a sum is exact. In a type a kernel may add in any order, with fused operations or
without; `relative_error` bounds what n roundings do to a sum, relative to the sum of magnitudes.
"""

import operator as python
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import lcm, prod
from typing import Any

import numpy as np

from sonnx_ort.meaning.balls import Interval, NotFollowedError, has_flint
from sonnx_ort.meaning.functions import size
from sonnx_ort.meaning.lines import PADDING, Lines, Numbers, of_arrays
from sonnx_ort.meaning.node import BallNode, Node, mapped
from sonnx_ort.meaning.numbers import (
    INTEGER_FORMATS,
    Array,
    BinaryFormat,
    Exact,
    encoded_elements,
    exact_elements,
    number,
    power_of_two,
    significands_of,
    tensor,
)
from sonnx_ort.meaning.quantization import integers_or_balls
from sonnx_ort.meaning.results import Elements, Mask, NotDefinedError, Result, exactly
from sonnx_ort.meaning.windows import Windows, windows_of
from sonnx_ort.profile.element_type import ElementType

_ANY_ORDER = (
    "gamma of the number of summands times the sum of their magnitudes, for any order (ours)"
)


def scaled(matrix: Array, binary: BinaryFormat | None) -> tuple[Exact, Fraction, Mask]:
    """Scale numbers to integers, so that sums of products need no fractions.

    Returns:
        The integers, which are 0 where a number is not finite; the unit of which the numbers are
        multiples; and which numbers are not finite.
    """
    if binary is None:
        flat = [Fraction(each) for each in matrix.ravel().tolist()]
        unit = Fraction(1, lcm(*(each.denominator for each in flat)))
        integers = tensor((int(each / unit) for each in flat), matrix.shape)
        return integers, unit, np.zeros(matrix.shape, np.bool_)
    significands, exponents, special = significands_of(matrix, binary)
    places = exponents[significands != 0]
    least = int(places.min()) if places.size else 0
    shifts = np.maximum(exponents - least, 0)
    return significands.astype(object) << shifts.astype(object), power_of_two(least), special


def sums_of_products(  # noqa: PLR0913 - those of a Gemm
    node: Node,
    rows: Array,
    columns: Array,
    addends: Exact | None = None,
    *,
    alpha: Any = None,
    beta: Any = None,
) -> Exact:
    """The product of two matrices times alpha, plus a third one, of its shape, times beta.

    The node says what the elements are, `Fraction` over the reals, and the format of a kernel. This
    may multiply by alpha before or after it adds; None stands for a factor of 1.

    Returns:
        The elements as `Enclosed`, or as balls if those of the node are balls.
    """
    # One for each product or sum of products, one for another summand, two for factors.
    roundings = rows.shape[1] + (addends is not None) + 2 * (alpha is not None)
    multiply = _products_of_balls if isinstance(node, BallNode) else _products_of_numbers
    totals, *magnitudes = multiply(node, rows, columns)
    factor = 1 if alpha is None else size(alpha)
    underflow = 2 * roundings * max(1, factor)
    summed = totals if alpha is None else mapped(lambda each: alpha * each, totals)
    added: list[Exact] = []
    if addends is not None:
        added = [addends if beta is None else mapped(lambda each: beta * each, addends)]
        summed = mapped(python.add, summed, *added)
    if not magnitudes:
        return mapped(node.rounded, summed)

    def of_sum(made: Any, magnitude: Any, addend: Any = None) -> Any:
        most = factor * magnitude + (0 if addend is None else size(addend))
        return node.rounded(made, roundings, most, reach=(magnitude,), underflow=underflow)

    return mapped(of_sum, summed, *magnitudes, *added)


def _products_of_numbers(node: Node, rows: Array, columns: Array) -> Sequence[Exact]:
    """The sums of products and, in a format, those of the magnitudes of what is finite."""
    binary, element_type = node.format(), node.element_type()
    (a, one, special_a), (b, other, special_b) = (scaled(m, binary) for m in (rows, columns))
    unit = one * other
    totals = mapped(lambda each: number(unit * each), a @ b)
    if element_type is None:
        return [totals]
    for i, j in np.argwhere(np.logical_or.outer(special_a.any(1), special_b.any(0))).tolist():
        totals[i, j] = np.dot(*(exact_elements(m, element_type) for m in (rows[i], columns[:, j])))
    return totals, mapped(lambda each: unit * each, abs(a) @ abs(b))


def _products_of_balls(node: Node, rows: Exact, columns: Exact) -> Sequence[Exact]:
    totals = product(rows, columns)
    if node.format() is None:
        return [totals]
    return totals, product(mapped(abs, rows), mapped(abs, columns))


def product(a: Exact, b: Exact) -> Exact:
    """The product of two matrices of balls."""
    if not has_flint():
        return np.asarray(a @ b + Interval(), object)
    from flint import arb_mat  # noqa: PLC0415 - an optional dependency

    matrices = (arb_mat(each.shape[0], each.shape[1], each.ravel().tolist()) for each in (a, b))
    return tensor(reduce(python.mul, matrices).entries(), (a.shape[0], b.shape[1]))


def _stacks(a: Array, b: Array) -> tuple[Array, Array, tuple[int, ...]]:
    """The operands of a MatMul as stacks of as many matrices each, and the shape of the result.

    A vector is a row of A or a column of B.
    """
    if not a.ndim or not b.ndim:
        raise NotDefinedError(f"A {a.shape} or B {b.shape} has no axis")
    rows, columns = (a if a.ndim > 1 else a[None]), (b if b.ndim > 1 else b[:, None])
    try:
        batch = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    except ValueError:
        batch = None
    if batch is None or rows.shape[-1] != columns.shape[-2]:
        raise NotDefinedError(f"{a.shape} and {b.shape} have no product")
    rows, columns = (np.broadcast_to(m, (*batch, *m.shape[-2:])) for m in (rows, columns))
    return rows, columns, (*batch, *a.shape[-2:-1], *b.shape[-1:] * (b.ndim > 1))


def mat_mul(node: Node) -> tuple[Elements | Result, ...]:
    """MatMul: the products of the matrices in the last two axes; the axes before are broadcast.

    A vector is a row of A or a column of B, without an axis in the result.

    Raises:
        NotDefinedError: The shapes do not fit each other.
    """
    element_type, integers = node.common_type(0, 1), node.is_of_integers()
    a, b, shape = _stacks(node.operand(0), node.operand(1))
    if integers:
        a, b = a.astype(object), b.astype(object)
    sums = np.empty((*a.shape[:-1], b.shape[-1]), object)
    for index in np.ndindex(*a.shape[:-2]):
        rows, columns = a[index], b[index]
        sums[index] = rows @ columns if integers else sums_of_products(node, rows, columns)
    sums = sums.reshape(shape)
    if element_type is not None and integers:
        return (exactly(encoded_elements(sums, element_type)),)
    return (Elements(sums, element_type, _ANY_ORDER),)


def lines_of_stacks(_: Node, operands: Numbers) -> Lines:
    """Lines of a row of A, and of a column of B."""
    a, b, shape = _stacks(*of_arrays(operands[:2]))
    return Lines(
        shape, _rows_and_columns(a, b), {}, (1, 1), 2 * a.shape[-1], (*a.shape[:-1], b.shape[-1])
    )


def _rows_and_columns(a: Array, b: Array) -> list[Array | None]:
    """Lines of the matrices in the last two axes: rows (1, n) of A, and columns (n, 1) of B."""
    shape = (*a.shape[:-1], b.shape[-1])
    rows = a[..., :, np.newaxis, np.newaxis, :]
    columns = b.swapaxes(-1, -2)[..., np.newaxis, :, :, np.newaxis]
    return [
        np.broadcast_to(rows, (*shape, *rows.shape[-2:])),
        np.broadcast_to(columns, (*shape, *columns.shape[-2:])),
    ]


def _turned(node: Node, a: Array, b: Array) -> tuple[Array, Array]:
    """The matrices of a Gemm that are multiplied."""
    if a.ndim != 2 or b.ndim != 2:
        raise NotDefinedError(f"A {a.shape} and B {b.shape} do not both have two axes")
    a, b = (m.T if node.integer(s, 0) else m for m, s in ((a, "transA"), (b, "transB")))
    if a.shape[1] != b.shape[0]:
        raise NotDefinedError(f"{a.shape} and {b.shape} have no product")
    return a, b


def gemm(node: Node) -> tuple[Elements | Result, ...]:
    """Gemm: alpha A B + beta C, of A and B or their transposes; C is broadcast.

    Raises:
        NotDefinedError: The shapes do not fit each other.
    """
    a, b = _turned(node, node.operand(0), node.operand(1))
    shape = (a.shape[0], b.shape[1])
    c = node.exact(2) if node.optional(2) is not None else None
    if c is not None:
        c = _spread(c, shape)
    element_type = node.common_type(0, 1, 2)
    factors = ((name, node.attributes.get(name, 1)) for name in ("alpha", "beta"))
    alpha, beta = (None if value == 1 else node.factor(name, 1) for name, value in factors)
    if element_type is not None and node.is_of_integers():
        if not (alpha is beta is None):
            raise NotDefinedError("no document says what alpha and beta do to integers")
        exact = (exact_elements(each, element_type) for each in (a, b))
        summed = np.matmul(*exact) + (0 if c is None else c)
        return (exactly(encoded_elements(summed, element_type)),)
    sums = sums_of_products(node, a, b, c, alpha=alpha, beta=beta)
    return (Elements(sums, element_type, _ANY_ORDER),)


def _spread(c: Array, shape: tuple[int, ...]) -> Array:
    """The third operand of a Gemm, in the shape of the product."""
    try:
        return np.broadcast_to(c, shape)
    except ValueError as error:
        raise NotDefinedError(f"C {c.shape} cannot be broadcast to {shape}") from error


def lines_of_matrices(node: Node, operands: Numbers) -> Lines:
    """Lines of a row of A, of a column of B, and of one element of C."""
    a, b = _turned(node, *of_arrays(operands[:2]))
    shape, lines = (a.shape[0], b.shape[1]), _rows_and_columns(a, b)
    lines += [_spread(c, shape)[..., np.newaxis, np.newaxis] for c in of_arrays(operands[2:])]
    attributes = {k: v for k, v in node.attributes.items() if k in ("alpha", "beta")}
    return Lines(shape, lines, attributes, (1, 1), 2 * a.shape[1] + 1)


def convolve(node: Node) -> tuple[Elements, ...]:
    """Conv: sums of products of the elements of windows and of kernels, and the bias.

    Padding is zero, so that an infinite weight on it gives NaN. The elements between those of a
    dilated kernel, which the draft has as zeros too, take no part, as ONNX says.

    Raises:
        NotDefinedError: Attributes and shapes do not fit each other.
    """
    x, w = node.operand(0), node.operand(1)
    bias = node.exact(2) if node.optional(2) is not None else None
    if bias is not None and bias.shape != w.shape[:1]:
        raise NotDefinedError(f"B {bias.shape} has not one element for each of {w.shape[0]}")

    def compute(rows: Array, columns: Array, outputs: slice) -> Exact:
        if bias is None:
            addends = None
        else:
            addends = np.broadcast_to(bias[outputs], (rows.shape[0], columns.shape[1]))
        return sums_of_products(node, rows, columns, addends)

    sums = convolution(node, x, w, 0, compute)
    return (Elements(sums, node.common_type(0, 1, 2), _ANY_ORDER),)


def convolve_integers(node: Node) -> tuple[Result, ...]:
    """ConvInteger: sums of products of differences to zero points, modulo 2^32.

    Padding is 0 before the zero point of X is subtracted, as the draft says. ONNX does not say it.

    Raises:
        NotDefinedError: Attributes and shapes do not fit each other.
        NotFollowedError: A sum of balls may wrap.
    """
    x, w = node.exact(0), node.exact(1)
    zero = int(node.known(2).ravel()[0]) if node.optional(2) is not None else 0
    given = 0 if node.optional(3) is None else node.known(3).tolist()
    zeros = np.array(given, object)
    if zeros.ndim > 1 or zeros.size not in (1, w.shape[0]):
        raise NotDefinedError(f"w_zero_point {zeros.shape} is no scalar, nor one for each output")
    along = zeros.reshape(-1, *[1] * (w.ndim - 1))
    of_balls = isinstance(node, BallNode)
    compute = product if of_balls else np.matmul
    sums = convolution(node, x - zero, w - along, -zero, lambda a, b, _: compute(a, b))
    if not of_balls:
        return (exactly(encoded_elements(sums, ElementType.INT32)),)
    limits = INTEGER_FORMATS[ElementType.INT32]
    if not all(limits.smallest <= each <= limits.largest for each in sums.ravel().tolist()):
        raise NotFollowedError("a sum may be outside int32")
    return (exactly(integers_or_balls(sums, np.int32)),)


def convolution(
    node: Node, x: Array, w: Array, padding: int, compute: Callable[[Array, Array, slice], Exact]
) -> Exact:
    """Convolve group by group; `compute` gets windows as rows, kernels as columns, and outputs."""
    x, w, windows = _grouped(node, x, w)
    outputs, axes = w.shape[1], len(windows.counts)
    result = np.empty((x.shape[0], w.shape[0] * outputs, *windows.counts), object)
    for batch, part in np.ndindex(*x.shape[:2]):
        made = slice(part * outputs, (part + 1) * outputs)
        rows = np.moveaxis(windows.over(x[batch, part], padding), 0, axes)
        columns = w[part].reshape(outputs, prod(w.shape[2:])).T
        sums = compute(rows.reshape(prod(windows.counts), len(columns)), columns, made)
        result[batch, made] = sums.T.reshape(outputs, *windows.counts)
    return result


def _grouped(node: Node, x: Array, w: Array) -> tuple[Array, Array, Windows]:
    """X and W with an axis for the groups, in front of that of the channels, and the windows.

    Raises:
        NotDefinedError: Attributes and shapes do not fit each other.
    """
    group = node.integer("group", 1)
    if x.ndim < 3 or w.ndim != x.ndim:
        raise NotDefinedError(f"X {x.shape} and W {w.shape} do not have the same spatial axes")
    if group < 1 or w.shape[0] % group or x.shape[1] != w.shape[1] * group:
        raise NotDefinedError(f"channels of X {x.shape} and W {w.shape} do not fit {group} groups")
    kernel = w.shape[2:]
    if node.integers("kernel_shape", list(kernel)) != list(kernel):
        raise NotDefinedError(f"kernel_shape is not that of W {w.shape}")
    windows = windows_of(node, kernel)
    channels = x.reshape(x.shape[0], group, w.shape[1], *x.shape[2:])
    return channels, w.reshape(group, w.shape[0] // group, *w.shape[1:]), windows


def lines_of_convolution(node: Node, operands: Numbers) -> Lines:
    """Lines of the elements of X in a window, and of those of a kernel; of one output each.

    Padding is 0, also in a ConvInteger, before the zero point is subtracted.
    """
    x, w, windows = _grouped(node, *of_arrays(operands[:2]))
    axes, kernel = len(windows.counts), w.shape[2:]
    index = (x.shape[0], *w.shape[:2], *windows.counts)
    # Of X the axes of the windows are in front of that of the channels; all outputs read the same.
    patches = np.expand_dims(np.moveaxis(windows.over(x, PADDING), 2, 2 + axes), (2, 3 + axes))
    lines: list[Array | None] = [
        np.broadcast_to(patches, (*index, 1, *kernel)),
        np.broadcast_to(_of_outputs(w, axes), (*index, 1, *kernel)),
    ]
    for each in operands[2:]:
        if each is None or each.shape != node.operand(1).shape[:1]:
            lines.append(None)
        else:
            outputs = _of_outputs(each.reshape(w.shape[:2]), axes)
            lines.append(np.broadcast_to(outputs, (*index, 1)))
    shape = (x.shape[0], w.shape[0] * w.shape[1], *windows.counts)
    return Lines(shape, lines, {}, (1,) * len(shape), 2 * prod(kernel), index)


def _of_outputs(x: Array, axes: int) -> Array:
    """What each output of each group has, with axes for a batch, for windows, and one of size 1."""
    return x.reshape(1, *x.shape[:2], *[1] * (axes + 1), *x.shape[2:])


def multiplications_of_stacks(node: Node) -> int:
    """How many a MatMul takes."""
    a, b, _ = _stacks(node.operand(0), node.operand(1))
    return prod((*a.shape, b.shape[-1]))


def multiplications_of_matrices(node: Node) -> int:
    """How many a Gemm takes."""
    a, b = _turned(node, node.operand(0), node.operand(1))
    return prod((*a.shape, b.shape[1]))


def multiplications_of_windows(node: Node) -> int:
    """How many a Conv takes."""
    x, w = node.operand(0), node.operand(1)
    return prod((x.shape[0], *windows_of(node, w.shape[2:]).counts, *w.shape))
