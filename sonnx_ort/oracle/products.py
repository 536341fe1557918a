"""Sums of products: MatMul, Gemm, Conv and ConvInteger.

Sources: the drafts of the working group of these names. The draft of MatMul has matrices only, that
of Gemm neither factors nor transposition nor broadcasting, that of Conv two spatial axes and no
text on floats; for these ONNX MatMul and Gemm, version 13, and Conv, version 22.

Over the reals a sum is exact. In a type a kernel may add in any order, with fused operations or
without; `relative_error` bounds what n roundings do to a sum, relative to the sum of magnitudes.

Of balls `sums_of_products` gives balls, of numbers `Enclosed`; all else is the same for both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm, prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.ball_node import BallNode, NotFollowedError, Operation, mapped
from sonnx_ort.oracle.elements import (
    Exact,
    decoded_floats,
    encoded_elements,
    exact_elements,
    significands_of,
)
from sonnx_ort.oracle.intervals import Interval, has_flint
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import (
    INTEGER_FORMATS,
    BinaryFormat,
    Kind,
    Number,
    add_floats,
    multiply_floats,
    power_of_two,
)
from sonnx_ort.oracle.quantization import integers_or_balls
from sonnx_ort.oracle.results import (
    Elements,
    Enclosed,
    NotDefinedError,
    Result,
    exactly,
    half_a_subnormal,
    number,
    relative_error,
    tensor,
)
from sonnx_ort.oracle.windows import patches, windows_of
from sonnx_ort.profile.element_type import ElementType

Array = npt.NDArray[Any]

_ANY_ORDER = (
    "gamma of the number of summands times the sum of their magnitudes, for any order (ours)"
)
_ZERO, _ONE = (number(Fraction(k)) for k in (0, 1))


@dataclass(frozen=True, slots=True)
class Scaled:
    """A matrix of integers that are multiples of a unit; zero where a number is not finite.

    Attributes:
        source: The matrix in its type.
        integers: The integers.
        unit: The unit.
        special: Which numbers are not finite.
    """

    source: Array
    integers: Exact
    unit: Fraction
    special: npt.NDArray[np.bool_]


def scaled(matrix: Array, binary: BinaryFormat | None) -> Scaled:
    """Scale numbers to integers, so that sums of products need no fractions."""
    if binary is None:
        flat = [Fraction(each) for each in matrix.ravel().tolist()]
        unit = Fraction(1, lcm(*(each.denominator for each in flat)))
        integers = tensor((int(each / unit) for each in flat), matrix.shape)
        return Scaled(matrix, integers, unit, np.zeros(matrix.shape, np.bool_))
    significands, exponents, special = significands_of(matrix, binary)
    places = exponents[significands != 0]
    least = int(places.min()) if places.size else 0
    shifts = np.maximum(exponents - least, 0)
    integers = significands.astype(object) << shifts.astype(object)
    return Scaled(matrix, integers, power_of_two(least), special)


def sums_of_products(  # noqa: PLR0913 - those of a Gemm
    node: Node,
    rows: Array,
    columns: Array,
    addends: Exact | None = None,
    *,
    alpha: Any = _ONE,
    beta: Any = _ONE,
) -> Exact:
    """The product of two matrices times alpha, plus a third one times beta.

    Args:
        node: The node, which says what the elements are, and the format of a kernel.
        rows: The first matrix, of `Fraction` over the reals.
        columns: The second one.
        addends: What is added, exact elements in the shape of the product.
        alpha: The factor, by which a kernel may multiply before it adds, or behind.
        beta: The factor of what is added.

    Returns:
        The elements as `Enclosed`, or as balls if those of the node are balls.
    """
    if isinstance(node, BallNode):
        factors = (1 if each == _ONE else each for each in (alpha, beta))
        return _sums_of_balls(node, rows, columns, addends, *factors)
    return _sums_of_numbers(node.format(), rows, columns, addends, alpha, beta)


def _sums_of_numbers(  # noqa: PLR0913, PLR0917 - those of `sums_of_products`
    binary: BinaryFormat | None,
    rows: Array,
    columns: Array,
    addends: Exact | None,
    alpha: Number,
    beta: Number,
) -> Exact:
    left, right = scaled(rows, binary), scaled(columns, binary)
    totals = left.integers @ right.integers
    magnitudes = abs(left.integers) @ abs(right.integers)
    unit = left.unit * right.unit
    special = np.logical_or.outer(left.special.any(1), right.special.any(0))
    # One for each product or sum of products, one for another summand, two for factors.
    roundings = rows.shape[1] + (addends is not None) + 2 * (alpha != _ONE)
    relative = Fraction(0) if binary is None else relative_error(roundings, binary)
    underflow = Fraction(0) if binary is None else 2 * roundings * half_a_subnormal(binary)
    underflow *= max(alpha.magnitude, Fraction(1))
    result = np.empty(totals.shape, object)
    for i, j in np.ndindex(totals.shape):
        addend = _ZERO if addends is None else addends.item(i, j)
        addend = addend if beta == _ONE else multiply_floats(beta, addend)
        plain = unit * magnitudes[i, j]
        magnitude = alpha.magnitude * plain + addend.magnitude
        error = relative * magnitude + underflow if magnitude else Fraction(0)
        reach = max(plain * (1 + relative), magnitude + error)
        finite = not special[i, j] and {addend.kind, alpha.kind} == {Kind.FINITE}
        total = number(unit * totals[i, j])
        if special[i, j] and binary is not None:
            total = _special_sum(left, right, (i, j), binary)
        total = add_floats(multiply_floats(alpha, total), addend)
        result[i, j] = Enclosed(total, total, error if finite else Fraction(0), reach)
    return result


_FROM_A_SUM = 4
"""The roundings beside those of products and their sums: two factors, a last sum, the bound."""


def product(a: Exact, b: Exact) -> Exact:
    """The product of two matrices of balls."""
    if not has_flint():
        return np.asarray(a @ b + Interval(), object)
    from flint import arb_mat  # noqa: PLC0415 - an optional dependency

    left, right = (arb_mat(each.shape[0], each.shape[1], each.ravel().tolist()) for each in (a, b))
    return tensor((left * right).entries(), (a.shape[0], b.shape[1]))


def _sums_of_balls(  # noqa: PLR0913, PLR0917 - those of `sums_of_products`
    node: BallNode, a: Exact, b: Exact, addends: Exact | None, alpha: Any, beta: Any
) -> Exact:
    added = tensor([0], ()) if addends is None else mapped(lambda each: beta * each, addends)
    plain = product(a, b)
    made = mapped(lambda x, y: alpha * x + y, plain, added)
    if node.binary is None:
        return made
    magnitudes = product(mapped(abs, a), mapped(abs, b))
    size: Any = abs(alpha)
    roundings = a.shape[1] + _FROM_A_SUM

    def rounded(each: Any, magnitude: Any, addend: Any) -> Any:
        total = size * magnitude + abs(addend)
        return node.rounded(each, roundings, total, reach=magnitude, amplified=1 + size)

    return mapped(rounded, made, magnitudes, added)


def _special_sum(
    left: Scaled, right: Scaled, place: tuple[int, int], binary: BinaryFormat
) -> Number:
    """The infinity or NaN that a row by a column is, by the products that are not finite."""
    i, j = place
    chosen = left.special[i] | right.special[:, j]
    pairs = (
        decoded_floats(line, binary) for line in (left.source[i, chosen], right.source[chosen, j])
    )
    return reduce(add_floats, map(multiply_floats, *pairs))


def _stacks(node: Node) -> tuple[Array, Array, tuple[int, ...]]:
    """The operands of a MatMul as stacks of matrices, and the axes of stacks of the result.

    A vector is a row on the left, a column on the right.
    """
    a, b = node.operand(0), node.operand(1)
    if not a.ndim or not b.ndim:
        raise NotDefinedError(f"A {a.shape} or B {b.shape} has no axis")
    left, right = (a if a.ndim > 1 else a[None]), (b if b.ndim > 1 else b[:, None])
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        batch = None
    if batch is None or left.shape[-1] != right.shape[-2]:
        raise NotDefinedError(f"{a.shape} and {b.shape} have no product")
    return left, right, batch


def mat_mul(node: Node) -> tuple[Elements | Result, ...]:
    """MatMul: the products of the matrices in the last two axes; the axes before are broadcast.

    A vector is a row of A or a column of B, without an axis in the result.

    Raises:
        NotDefinedError: The shapes do not fit each other.
    """
    element_type, integers = node.common_type(0, 1), node.is_of_integers()
    left, right, batch = _stacks(node)
    if integers:
        left, right = left.astype(object), right.astype(object)
    left, right = (np.broadcast_to(m, (*batch, *m.shape[-2:])) for m in (left, right))
    sums = np.empty((*batch, left.shape[-2], right.shape[-1]), object)
    for index in np.ndindex(*batch):
        one, other = left[index], right[index]
        sums[index] = one @ other if integers else sums_of_products(node, one, other)
    if node.operand(0).ndim == 1:
        sums = sums.squeeze(-2)
    if node.operand(1).ndim == 1:
        sums = sums.squeeze(-1)
    if element_type is not None and integers:
        return (_encoded(sums, element_type),)
    return (Elements(sums, element_type, _ANY_ORDER),)


def _encoded(sums: Exact, element_type: ElementType) -> Result:
    """Exact integers modulo the width of a type."""
    return exactly(encoded_elements(sums.ravel().tolist(), element_type).reshape(sums.shape))


def _turned(node: Node) -> tuple[Array, Array]:
    """The matrices of a Gemm that are multiplied."""
    a, b = node.operand(0), node.operand(1)
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
    a, b = _turned(node)
    shape = (a.shape[0], b.shape[1])
    c = node.exact(2) if node.optional(2) is not None else None
    if c is not None:
        try:
            c = np.broadcast_to(c, shape)
        except ValueError as error:
            raise NotDefinedError(f"C {c.shape} cannot be broadcast to {shape}") from error
    element_type = node.common_type(0, 1, 2)
    alpha, beta = node.factor("alpha", 1), node.factor("beta", 1)
    if element_type is not None and node.is_of_integers():
        if {alpha, beta} != {_ONE}:
            raise NotDefinedError("no document says what alpha and beta do to integers")
        exact = (exact_elements(each, element_type) for each in (a, b))
        return (_encoded(np.matmul(*exact) + (0 if c is None else c), element_type),)
    sums = sums_of_products(node, a, b, c, alpha=alpha, beta=beta)
    return (Elements(sums, element_type, _ANY_ORDER),)


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
        return (_encoded(sums, ElementType.INT32),)
    limits = INTEGER_FORMATS[ElementType.INT32]
    if not all(limits.smallest <= each <= limits.largest for each in sums.ravel().tolist()):
        raise NotFollowedError("a sum may be outside int32")
    return (exactly(integers_or_balls(sums, np.int32)),)


def convolution(
    node: Node, x: Array, w: Array, padding: int, compute: Callable[[Array, Array, slice], Exact]
) -> Exact:
    """Convolve group by group; `compute` gets windows as rows, kernels as columns, and outputs."""
    group = node.integer("group", 1)
    if x.ndim < 3 or w.ndim != x.ndim:
        raise NotDefinedError(f"X {x.shape} and W {w.shape} do not have the same spatial axes")
    if group < 1 or w.shape[0] % group or x.shape[1] != w.shape[1] * group:
        raise NotDefinedError(f"channels of X {x.shape} and W {w.shape} do not fit {group} groups")
    kernel = w.shape[2:]
    if node.integers("kernel_shape", list(kernel)) != list(kernel):
        raise NotDefinedError(f"kernel_shape is not that of W {w.shape}")
    windows = windows_of(node, kernel)
    inputs, outputs = w.shape[1], w.shape[0] // group
    places = [list(windows.places(window)) for window in np.ndindex(*windows.counts)]
    result = np.empty((x.shape[0], w.shape[0], *windows.counts), object)
    for batch in range(x.shape[0]):
        for part in range(group):
            made = slice(part * outputs, (part + 1) * outputs)
            channels = x[batch, part * inputs : (part + 1) * inputs]
            columns = w[made].reshape(outputs, -1).T
            sums = compute(patches(channels, places, padding), columns, made)
            result[batch, made] = sums.T.reshape(outputs, *windows.counts)
    return result


def _multiplications_of_stacks(node: Node) -> int:
    a, b, batch = _stacks(node)
    return prod((*batch, *a.shape[-2:], b.shape[-1]))


def _multiplications_of_matrices(node: Node) -> int:
    a, b = _turned(node)
    return prod((*a.shape, b.shape[1]))


def _multiplications_of_windows(node: Node) -> int:
    x, w = node.operand(0), node.operand(1)
    return prod((x.shape[0], *windows_of(node, w.shape[2:]).counts, *w.shape))


PRODUCTS: Mapping[str, Operation] = MappingProxyType(
    {
        "Conv": Operation(convolve, _multiplications_of_windows),
        "ConvInteger": Operation(convolve_integers, _multiplications_of_windows),
        "Gemm": Operation(gemm, _multiplications_of_matrices),
        "MatMul": Operation(mat_mul, _multiplications_of_stacks),
    }
)
"""The operators of products."""
