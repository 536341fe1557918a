"""Products, sums along axes, normalizations and recurrent cells on balls.

A sum of n summands in a format is off by at most `relative_error` of its roundings times the sum of
their magnitudes, in any order, as `products` and `tensors` have it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.activations import ULPS_OF_EXP
from sonnx_ort.oracle.ball_moves import axis_of, integers_of
from sonnx_ort.oracle.ball_node import (
    Array,
    BallNode,
    NotFollowedError,
    Operation,
    alike,
    anything,
    are_balls,
    mapped,
)
from sonnx_ort.oracle.elements import Exact
from sonnx_ort.oracle.intervals import Interval, ball_of, ball_type, has_flint
from sonnx_ort.oracle.recurrent import lstm
from sonnx_ort.oracle.results import Enclosed, tensor

if TYPE_CHECKING:
    from flint import arb

_FROM_A_SUM = 4
"""The roundings beside those of products and their sums: two factors, a last sum, the bound."""


def product(a: Exact, b: Exact) -> Exact:
    """The product of two matrices of balls."""
    if not has_flint():
        return np.asarray(a @ b + Interval(), object)
    from flint import arb_mat  # noqa: PLC0415 - an optional dependency

    left, right = (arb_mat(each.shape[0], each.shape[1], each.ravel().tolist()) for each in (a, b))
    return tensor((left * right).entries(), (a.shape[0], b.shape[1]))


def sums_of_products(
    node: BallNode, a: Exact, b: Exact, addend: Exact | None = None, factor: "arb | int" = 1
) -> Exact:
    """The product of two matrices times a factor, plus balls that are broadcast to it."""
    plain = product(a, b)
    made = plain if factor == 1 else mapped(lambda each: factor * each, plain)
    if addend is not None:
        made = mapped(lambda x, y: x + y, made, addend)
    if node.binary is None:
        return made
    magnitudes = product(mapped(abs, a), mapped(abs, b))
    added = tensor([0], ()) if addend is None else mapped(abs, addend)
    size: Any = abs(factor)
    roundings = a.shape[1] + _FROM_A_SUM

    def rounded(each: "arb", magnitude: "arb", addend: "arb") -> "arb":
        total = size * magnitude + addend
        return node.rounded(each, roundings, total, reach=magnitude, amplified=1 + size)

    return mapped(rounded, made, magnitudes, added)


def _mat_mul(node: BallNode) -> tuple[Array, ...]:
    """MatMul of tensors of any rank but 0."""
    a, b = _stacks(node)
    stacks = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left, right = (
        np.broadcast_to(each, (*stacks, *each.shape[-2:])).reshape(-1, *each.shape[-2:])
        for each in (a, b)
    )
    shape = (*stacks, a.shape[-2], b.shape[-1])
    made = np.empty((len(left), *shape[-2:]), object)
    for place, (rows, columns) in enumerate(zip(left, right, strict=True)):
        made[place] = sums_of_products(node, rows, columns)
    made = made.reshape(shape)
    if node.operand(0).ndim == 1:
        made = made.squeeze(-2)
    return (made.squeeze(-1) if node.operand(1).ndim == 1 else made,)


def _stacks(node: BallNode) -> tuple[Array, Array]:
    """The operands as stacks of matrices; a vector is a row on the left, a column on the right."""
    a, b = node.operand(0), node.operand(1)
    if 0 in (a.ndim, b.ndim):
        raise NotFollowedError("an operand is a scalar")
    a, b = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    fits = a.shape[-1] == b.shape[-2]
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        fits = False
    if not fits:
        raise NotFollowedError(
            f"{node.operand(0).shape} and {node.operand(1).shape} have no product"
        )
    return a, b


def _multiplications(node: BallNode) -> int:
    a, b = _stacks(node)
    stacks = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return prod((*stacks, *a.shape[-2:], b.shape[-1]))


def _gemm(node: BallNode) -> tuple[Array, ...]:
    a, b = _turned(node)
    c, beta = node.optional(2), node.real("beta", 1)
    if c is not None:
        shape = (a.shape[0], b.shape[1])
        if alike(np.empty(shape), c)[0].shape != shape:
            raise NotFollowedError(f"C {c.shape} cannot be broadcast to {shape}")
        c = mapped(lambda each: beta * each, c)
    return (sums_of_products(node, a, b, c, node.real("alpha", 1)),)


def _turned(node: BallNode) -> tuple[Array, Array]:
    a, b = (
        node.operand(k).T if node.integer(name, 0) else node.operand(k)
        for k, name in enumerate(("transA", "transB"))
    )
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise NotFollowedError(f"{a.shape} and {b.shape} have no product")
    return a, b


def _gemm_multiplications(node: BallNode) -> int:
    a, b = _turned(node)
    return prod((*a.shape, b.shape[1]))


def _normalize(node: BallNode) -> tuple[Array, ...]:
    """BatchNormalization with the statistics of training."""
    x, epsilon = node.operand(0), node.real("epsilon", 1e-5)
    vectors = [node.operand(place) for place in range(1, 5)]
    if node.integer("training_mode", 0) or node.version < 9:
        raise NotFollowedError("it is for training, or older than version 9")
    if x.ndim < 2 or {each.shape for each in vectors} != {x.shape[1:2]}:
        raise NotFollowedError("its operands do not have one element for each channel")

    def of_element(x: "arb", scale: "arb", shift: "arb", mean: "arb", variance: "arb") -> "arb":
        if not variance + epsilon > 0:
            raise NotFollowedError("a variance may be 0 or negative")
        factor = scale / (variance + epsilon).sqrt()
        made = factor * (x - mean) + shift
        if node.binary is None:
            return made
        distance = abs(x) + abs(mean)
        summands = abs(factor) * distance + abs(shift)
        on_the_way = reduce(_larger, (abs(scale) * distance, abs(factor), distance, abs(variance)))
        # The roundings are those that `tensors` counts, and one of the bound.
        amplified = 1 + distance + abs(scale)
        return node.rounded(made, 9, summands, reach=on_the_way, amplified=amplified)

    spread = (each.reshape(-1, *[1] * (x.ndim - 2)) for each in vectors)
    return (mapped(of_element, x, *spread),)


def _larger(a: "arb", b: "arb") -> "arb":
    return a.max(b)


def _sum(line: "Iterable[arb]") -> "arb":
    return sum(line, ball_type()(0))


def _normalize_layers(node: BallNode) -> tuple[Array, ...]:
    """LayerNormalization: to mean 0 and variance 1 along the last axes, scaled and shifted."""
    node.unbounded("LayerNormalization")
    x, axis, epsilon = node.operand(0), axis_of(node, -1), node.real("epsilon", 1e-5)
    kept, scale, shift = x.shape[:axis], node.operand(1), node.optional(2)
    made = np.empty((prod(kept), prod(x.shape[axis:])), object)
    for place, line in enumerate(x.reshape(made.shape).tolist()):
        mean = sum(line) / max(1, len(line))
        centered = [each - mean for each in line]
        variance = sum(each * each for each in centered) / max(1, len(line))
        made[place] = [each / (variance + epsilon).sqrt() for each in centered]
    scaled = mapped(lambda e, factor: e * factor, made.reshape(x.shape), scale)
    return (scaled if shift is None else mapped(lambda a, b: a + b, scaled, shift),)


def _softmax(node: BallNode) -> tuple[Array, ...]:
    """Softmax; before version 13 the axes from `axis` on count as one."""
    x, together = node.operand(0), node.version < 13
    axis = axis_of(node, 1 if together else -1)
    lines = x if together else np.moveaxis(x, axis, -1)
    length = prod(x.shape[axis:]) if together else x.shape[axis]
    flat = lines.reshape(-1, length).tolist() if x.size else []
    made = tensor((each for line in flat for each in _shares(node, line)), lines.shape)
    return (made if together else np.moveaxis(made, -1, axis),)


def _shares(node: BallNode, line: "Sequence[arb]") -> "list[arb]":
    """The exponentials by their sum, of the differences to a number that all share.

    In a format it is the largest element. Over the reals any number may stand in its place, and
    each exponential is taken apart from the others in its divisor: 1 by 1 plus the others by it.
    """
    ball = ball_type()
    top = reduce(_larger, line)
    if node.binary is None:
        weights = [(each - ball(top.mid())).exp() for each in line]
        shares = [1 / (1 + others / w) for w, others in zip(weights, _others(weights), strict=True)]
    else:
        depths = [node.rounded((top - each).max(0), 2) for each in line]
        weights = [node.rounded((-d).exp(), 2 * ULPS_OF_EXP).max(0).min(2) for d in depths]
        whole = _sum(weights)
        divisor = node.rounded(whole, len(line), reach=whole)
        shares = [node.rounded(weight / divisor, 4) for weight in weights]
    # A divisor that may be 0 leaves the share open.
    return [share if share.is_finite() else ball(0).union(ball(1)) for share in shares]


def _others(weights: "Sequence[arb]") -> "list[arb]":
    """For each element the sum of the others."""
    zero = ball_type()(0)
    before, behind = ([zero, *accumulate(ordered)] for ordered in (weights[:-1], weights[:0:-1]))
    return [_sum(pair) for pair in zip(before, reversed(behind), strict=True)]


def _reduction(compute: Callable[[BallNode, Sequence[Any]], Any], since: int) -> Operation:
    """A reduction; its axes are an attribute before a version."""

    def of_node(node: BallNode) -> tuple[Array, ...]:
        x = node.operand(0)
        axes = integers_of(node, 1, "axes", since)
        if not axes:
            if node.integer("noop_with_empty_axes", 0):
                return (x,)
            axes = list(range(x.ndim))
        return (reduced(node, x, axes, compute),)

    return Operation(of_node, lambda node: node.operand(0).size, exact=True)


def reduced(
    node: BallNode,
    x: Array,
    axes: Sequence[int],
    compute: Callable[[BallNode, Sequence[Any]], Any],
) -> Array:
    """What a function makes of the elements along some axes.

    Raises:
        NotFollowedError: An axis does not exist.
    """
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise NotFollowedError(f"not all of the axes {list(axes)} are in [{-x.ndim}, {x.ndim - 1}]")
    along = sorted({axis % x.ndim for axis in axes})
    kept = [k for k in range(x.ndim) if k not in along]
    lines = x.transpose(*kept, *along).reshape(prod(x.shape[k] for k in kept), -1)
    made = tensor((compute(node, line) for line in lines.tolist()), [x.shape[k] for k in kept])
    if not are_balls(x):
        made = made.astype(x.dtype)
    return np.expand_dims(made, along) if node.integer("keepdims", 1) else made


def total(node: BallNode, line: Sequence[Any]) -> Any:
    """The sum of some balls or integers."""
    made = sum(line)
    if node.binary is None or not line or isinstance(made, int):
        return made
    return node.rounded(made, len(line) + 1, sum(map(abs, line)))


def mean(node: BallNode, line: Sequence[Any]) -> Any:
    """The mean of some balls.

    Raises:
        NotFollowedError: There are none, or they are integers.
    """
    if not line or isinstance(line[0], int):
        raise NotFollowedError("it is the mean of nothing, or of integers")
    return node.rounded(sum(line) / len(line), len(line) + 2, sum(map(abs, line)) / len(line))


def _top(_: BallNode, line: Sequence[Any]) -> Any:
    if not line:
        raise NotFollowedError("nothing has no largest element")
    return max(line) if isinstance(line[0], int) else reduce(_larger, line)


def _bottom(node: BallNode, line: Sequence[Any]) -> Any:
    return -_top(node, [-each for each in line])


def _sum_of_squares(node: BallNode, line: Sequence[Any]) -> Any:
    if line and isinstance(line[0], int):
        raise NotFollowedError("it squares integers")
    return total(node, [node.rounded(each * each) for each in line])


def _lstm(node: BallNode) -> tuple[Array, ...]:
    """LSTM: what `recurrent` encloses; what is behind the end of a sequence is anything."""

    def around(enclosed: Enclosed) -> "arb":
        if enclosed.ends is None:
            return anything()
        lower, upper = enclosed.ends
        made = ball_of(lower - enclosed.error).union(ball_of(upper + enclosed.error))
        # Another rounding is that of the bound.
        return node.rounded(made, reach=ball_of(enclosed.reach))

    return tuple(
        tensor(map(around, each.elements.ravel()), each.elements.shape) for each in lstm(node)
    )


def _recurrent_multiplications(node: BallNode) -> int:
    length, batch, *_ = node.operand(0).shape
    return prod((length, batch, node.operand(1).size + node.operand(2).size))


SUMS: Mapping[str, Operation] = MappingProxyType(
    {
        "BatchNormalization": Operation(_normalize, lambda node: node.operand(0).size),
        "Gemm": Operation(_gemm, _gemm_multiplications),
        "LSTM": Operation(_lstm, _recurrent_multiplications),
        "LayerNormalization": Operation(_normalize_layers, lambda node: node.operand(0).size),
        "MatMul": Operation(_mat_mul, _multiplications),
        "ReduceMax": _reduction(_top, 18),
        "ReduceMean": _reduction(mean, 18),
        "ReduceMin": _reduction(_bottom, 18),
        "ReduceSum": _reduction(total, 13),
        "ReduceSumSquare": _reduction(_sum_of_squares, 18),
        "Softmax": Operation(_softmax, lambda node: node.operand(0).size),
    }
)
"""Operators with sums of many elements."""
