"""Fourier transforms, products along named axes, rotations and normalizations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.bounds import SUMS, Bound, Inputs, Reference
from sonnx_ort.conforming.change import NoChangeError, NodeEdit
from sonnx_ort.conforming.operators import Operators, Template
from sonnx_ort.facts.node import IEEE_FLOATS

_MOST_BASES = 1 << 22
"""The most elements of a matrix that is made for a transform."""


def _bases(length: int, bins: int, sign: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of the frequencies of a transform, of (bins, length) each."""
    if length * bins > _MOST_BASES:
        raise NoChangeError(f"a transform of {length:,} elements has too many bases")
    # The product is reduced before it is scaled, which keeps the angle exact.
    angles = np.outer(np.arange(bins), np.arange(length)) % length * (2 * np.pi / length)
    return np.cos(angles), sign * np.sin(angles)


def short_time_transform(
    op: Operators,
    signal: ir.Value,
    step: ir.Value,
    window: ir.Value | None = None,
    length: ir.Value | None = None,
) -> ir.Value:
    """STFT: a Conv of the signal with the windowed bases."""
    shape = op.edit.shape(signal)
    if len(shape) != 2 and shape[-1] != 1:
        raise NoChangeError("its signal may be complex")
    hop = op.integer(step)
    weights = None if window is None else op.elements(window)
    if length is not None:
        size = op.integer(length)
    elif weights is not None:
        size = weights.size
    else:
        raise NoChangeError("the length of its window is not known")
    bins = size // 2 + 1 if op.attribute("onesided") else size
    cosines, sines = _bases(size, bins, -1)
    kernels = np.stack([cosines, sines], axis=1).reshape(2 * bins, 1, size)
    kernels = (kernels if weights is None else kernels * weights).astype(op.dtype.numpy())
    rows = (
        op.Unsqueeze(signal, axes=[1]) if len(shape) == 2 else op.Transpose(signal, perm=[0, 2, 1])
    )
    found = op.Conv(rows, kernels, strides=[hop])
    return op.Reshape(op.Transpose(found, perm=[0, 2, 1]), [0, 0, bins, 2])


def transform(
    op: Operators, x: ir.Value, length: ir.Value | None = None, axis: ir.Value | None = None
) -> ir.Value:
    """DFT: a MatMul of the axis with the bases."""
    rank, shape = op.rank(x), op.edit.shape(x)
    given = op.integer(axis) if axis is not None else op.attribute("axis")
    along = int(-2 if given is None else given) % rank
    size = shape[along]
    if not isinstance(size, int) or shape[-1] not in (1, 2) or along == rank - 1:
        raise NoChangeError(
            "the length of the axis, or whether X is complex, is not known", op.edit.fixing_sizes(x)
        )
    if length is not None:
        wanted = op.integer(length)
        x, size = _of_length(op, x, along, size, wanted), wanted
    inverse = bool(op.attribute("inverse"))
    if inverse and op.attribute("onesided"):
        raise NoChangeError("it makes real numbers of one half of a spectrum")
    bins = size // 2 + 1 if op.attribute("onesided") else size
    cosines, sines = _bases(size, bins, 1 if inverse else -1)
    if inverse:
        cosines, sines = cosines / size, sines / size
    # Rows of real and imaginary parts, one after the other, of each element.
    real, imaginary = np.stack([cosines, sines], -1), np.stack([-sines, cosines], -1)
    parts = (real,) if shape[-1] == 1 else (real, imaginary)
    matrix = np.stack(parts, 2).transpose(1, 2, 0, 3).reshape(size * len(parts), bins * 2)
    others = [each for each in range(rank - 1) if each != along]
    order = [*others, along, rank - 1]
    lines = x if order == list(range(rank)) else op.Transpose(x, perm=order)
    flat = op.Reshape(lines, [*(0 for _ in others), size * len(parts)])
    found = op.MatMul(flat, matrix.astype(op.dtype.numpy()))
    if size & (size - 1):
        found = op.Add(found, _nan_of_infinite(op, flat, len(others)))
    split = op.Reshape(found, [*(0 for _ in others), bins, 2])
    back = [order.index(each) for each in range(rank)]
    return split if back == list(range(rank)) else op.Transpose(split, perm=back)


def _nan_of_infinite(op: Operators, lines: ir.Value, axis: int) -> ir.Value:
    """0 for each line, and NaN for one with an element that is infinite or NaN.

    Where a length is no power of 2, the kernel passes each element on to all results.
    """
    return op.ReduceSum(op.Mul(lines, 0.0), axes=[axis], keepdims=1)


def _of_length(op: Operators, x: ir.Value, axis: int, size: int, wanted: int) -> ir.Value:
    """X with an axis that is cut, or filled by zeros, to a length."""
    if wanted <= size:
        return x if wanted == size else op.slice(x, axis, 0, wanted)
    after = [wanted - size if each == axis else 0 for each in range(op.rank(x))]
    return op.Pad(x, [0] * len(after) + after, op.number(0.0))


def einsum(op: Operators, *operands: ir.Value) -> ir.Value:
    """Einsum of one or two operands without ellipses or repeated letters: a MatMul of stacks."""
    read, wanted = _letters(op.attribute("equation"), len(operands))
    if len(operands) == 1:
        return _in_order(op, *_summed(op, operands[0], read[0], wanted), wanted)
    (a, first), (b, second) = (
        _summed(op, operand, letters, wanted + read[1 - index])
        for index, (operand, letters) in enumerate(zip(operands, read, strict=True))
    )
    inner = "".join(each for each in first if each in second and each not in wanted)
    if not inner:
        return op.Mul(_wide(op, a, first, wanted), _wide(op, b, second, wanted))
    stack = "".join(each for each in first if each in second and each in wanted)
    rows = "".join(each for each in first if each not in second)
    columns = "".join(each for each in second if each not in first)
    sizes = {
        letter: size
        for value, letters in zip(operands, read, strict=True)
        for letter, size in zip(letters, op.edit.shape(value), strict=True)
    }
    left = _matrices(op, _in_order(op, a, first, stack + rows + inner), (stack, rows, inner), sizes)
    right = _in_order(op, b, second, stack + inner + columns)
    product = op.MatMul(left, _matrices(op, right, (stack, inner, columns), sizes))
    if not len(rows) == len(columns) == 1 or len(stack) > 1:
        found = [sizes[letter] for letter in stack + rows + columns]
        product = op.Reshape(product, _all_known(op.edit, found))
    return _in_order(op, product, stack + rows + columns, wanted)


def _matrices(
    op: Operators, x: ir.Value, groups: tuple[str, ...], sizes: Mapping[str, object]
) -> ir.Value:
    """X with one axis for each group of letters; of a first group without letters it has none."""
    stack, *others = groups
    if all(len(group) == 1 for group in others) and len(stack) < 2:
        return x
    kept = others if not stack else groups
    merged = [math.prod(_all_known(op.edit, [sizes[letter] for letter in group])) for group in kept]
    return op.Reshape(x, merged)


def _all_known(edit: NodeEdit, sizes: Sequence[object]) -> list[int]:
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) != len(sizes):
        raise NoChangeError(
            "of a product of more than two axes the sizes have to be known",
            edit.fixing_sizes(*edit.inputs),
        )
    return known


def _wide(op: Operators, x: ir.Value, letters: str, wanted: str) -> ir.Value:
    """X with the axes in the wanted order, and one of size 1 for each that it has not."""
    ordered = _in_order(op, x, letters, "".join(each for each in wanted if each in letters))
    missing = [axis for axis, each in enumerate(wanted) if each not in letters]
    return op.Unsqueeze(ordered, axes=missing) if missing else ordered


def _letters(equation: str, count: int) -> tuple[list[str], str]:
    """The letters of each operand of an Einsum, and those of its result."""
    text = equation.replace(" ", "")
    read_part, arrow, wanted = text.partition("->")
    read = read_part.split(",")
    if not arrow:
        every = "".join(read)
        wanted = "".join(sorted(each for each in set(every) if every.count(each) == 1))
    if "." in text or any(len(set(part)) != len(part) for part in read) or len(read) != count > 2:
        raise NoChangeError("its equation has an ellipsis, a letter twice, or many operands")
    return read, wanted


def _summed(op: Operators, x: ir.Value, letters: str, kept: str) -> tuple[ir.Value, str]:
    """The sum over the axes of letters that stand nowhere else."""
    axes = [axis for axis, letter in enumerate(letters) if letter not in kept]
    remaining = "".join(letter for letter in letters if letter in kept)
    return (op.ReduceSum(x, axes=axes, keepdims=0) if axes else x), remaining


def _in_order(op: Operators, x: ir.Value, letters: str, wanted: str) -> ir.Value:
    if letters == wanted:
        return x
    return op.Transpose(x, perm=[letters.index(letter) for letter in wanted])


def layer_normalization(
    op: Operators, x: ir.Value, scale: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    """LayerNormalization: X less its mean, by its deviation, scaled and shifted."""
    rank = op.rank(x)
    axes = list(range(int(op.attribute("axis")) % rank, rank))
    op.require_elements(x, axes)
    scaled = op.Mul(_normalized(op, x, axes), scale)
    return scaled if bias is None else op.Add(scaled, bias)


def _normalized(op: Operators, x: ir.Value, axes: list[int]) -> ir.Value:
    centered = op.Sub(x, op.ReduceMean(x, axes=axes, keepdims=1))
    variance = op.ReduceMean(op.Mul(centered, centered), axes=axes, keepdims=1)
    return op.Div(centered, op.Sqrt(op.Add(variance, op.attribute("epsilon"))))


def instance_normalization(op: Operators, x: ir.Value, scale: ir.Value, bias: ir.Value) -> ir.Value:
    """InstanceNormalization: each channel of X normalized, scaled and shifted.

    As the kernel does, X is scaled by one factor, and the scaled mean is a part of the shift.
    """
    rank = op.rank(x)
    along = {"axes": list(range(2, rank)), "keepdims": 1}
    factor, shift = (op.Unsqueeze(each, axes=list(range(1, rank - 1))) for each in (scale, bias))
    mean = op.ReduceMean(x, **along)
    centered = op.Sub(x, mean)
    variance = op.ReduceMean(op.Mul(centered, centered), **along)
    deviation = op.Sqrt(op.Add(variance, op.attribute("epsilon")))
    factor = op.Mul(op.Div(1.0, deviation), factor)
    return op.Add(op.Mul(x, factor), op.Sub(shift, op.Mul(mean, factor)))


def lp_normalization(op: Operators, x: ir.Value) -> ir.Value:
    """LpNormalization: X by the sum of its sizes, or by the root of that of its squares.

    A line whose sum is 0, which that of squares below the least number is as well, becomes 0.
    """
    axes, keep = [op.axis(x)], {"keepdims": 1}
    if op.attribute("p") == 1:
        size = op.ReduceSum(op.Abs(x), axes=axes, **keep)
    else:
        size = op.Sqrt(op.ReduceSum(op.Mul(x, x), axes=axes, **keep))
    return op.Div(x, op.Where(op.Equal(size, 0.0), op.number(math.inf), size))


_LEAST_DEVIATION = 1e-9
"""What ONNX adds to the deviation by which MeanVarianceNormalization divides."""


def mean_variance_normalization(op: Operators, x: ir.Value) -> ir.Value:
    """MeanVarianceNormalization: X less its mean, by its deviation.

    The kernel, which is of float, moves the axes to the end, subtracts the mean before it squares,
    and adds nothing to the deviation. Then the mean of equal numbers is rounded as it rounds it.
    For other types ONNX Runtime takes the definition of ONNX, which adds 1e-9.
    """
    rank = op.rank(x)
    axes = sorted({axis % rank for axis in op.attribute("axes")})
    order = [*(axis for axis in range(rank) if axis not in axes), *axes]
    lines = x if order == list(range(rank)) else op.Transpose(x, perm=order)
    along = {"axes": list(range(rank - len(axes), rank)), "keepdims": 1}
    centered = op.Sub(lines, op.ReduceMean(lines, **along))
    deviation = op.Sqrt(op.ReduceMean(op.Mul(centered, centered), **along))
    if op.dtype is not ir.DataType.FLOAT:
        deviation = op.Add(deviation, _LEAST_DEVIATION)
    found = op.Mul(centered, op.Div(1.0, deviation))
    back = [order.index(axis) for axis in range(rank)]
    return found if lines is x else op.Transpose(found, perm=back)


def log_softmax(op: Operators, x: ir.Value) -> ir.Value:
    """LogSoftmax: X less its largest element, less the logarithm of the sum of its powers of e."""
    axis = op.axis(x)
    # Before version 13 all axes from this one on are one.
    axes = [axis] if op.edit.opset >= 13 else list(range(axis, op.rank(x)))
    op.require_elements(x, axes)
    along = {"axes": axes}
    shifted = op.Sub(x, op.ReduceMax(x, **along, keepdims=1))
    return op.Sub(shifted, op.Log(op.ReduceSum(op.Exp(shifted), **along, keepdims=1)))


def rotary_embedding(
    op: Operators,
    x: ir.Value,
    cosines: ir.Value,
    sines: ir.Value,
    positions: ir.Value | None = None,
) -> ir.Value:
    """RotaryEmbedding: pairs of elements of X turned by the angles of their positions."""
    heads, size, has_heads = op.attribute("num_heads"), op.edit.shape(x)[-1], op.rank(x) == 4
    if not isinstance(size, int):
        raise NoChangeError("the size of its last axis is not known", op.edit.fixing_sizes(x))
    if not has_heads:
        x = op.Transpose(op.Reshape(x, [0, 0, heads, -1]), perm=[0, 2, 1, 3])
        size //= heads
    turned = op.attribute("rotary_embedding_dim") or size
    if turned % 2 or any(op.edit.shape(each)[-1:] != (turned // 2,) for each in (cosines, sines)):
        raise NoChangeError("its angles are not those of half of the elements that it turns")
    if positions is not None:
        if not op.is_within(positions, 0):
            before_all = op.Less(positions, op.number(0, ir.DataType.INT64))
            positions = op.unless(before_all, positions)
        cosines, sines = (op.Gather(each, positions, axis=0) for each in (cosines, sines))
    cosines, sines = (op.Unsqueeze(each, axes=[1]) for each in (cosines, sines))
    parts = _turned(op, x, turned, cosines, sines)
    if turned < size:
        parts.append(op.slice(x, 3, turned, size))
    result = op.concat(parts, 3)
    if has_heads:
        return result
    return op.Reshape(op.Transpose(result, perm=[0, 2, 1, 3]), [0, 0, heads * size])


def _turned(
    op: Operators, x: ir.Value, size: int, cosines: ir.Value, sines: ir.Value
) -> list[ir.Value]:
    """The first elements of the last axis, in parts of it: neighbours or halves are pairs."""
    interleaved, half = op.attribute("interleaved"), size // 2
    if interleaved:
        one, other = (op.Slice(x, [first], [size], [3], [2]) for first in (0, 1))
    else:
        one, other = (op.slice(x, 3, first, first + half) for first in (0, half))
    real = op.Sub(op.Mul(one, cosines), op.Mul(other, sines))
    imaginary = op.Add(op.Mul(one, sines), op.Mul(other, cosines))
    if not interleaved:
        return [real, imaginary]
    pairs = op.concat([op.Unsqueeze(each, axes=[4]) for each in (real, imaginary)], 4)
    return [op.Reshape(pairs, [0, 0, 0, size])]


_LIKE_FOURIER = replace(SUMS, computed_in="float")
"""The kernels have angles of float, and 1 over the length as well."""

TEMPLATES = (
    Template("STFT", short_time_transform, near=IEEE_FLOATS, bound=_LIKE_FOURIER),
    Template("DFT", transform, near=IEEE_FLOATS, bound=_LIKE_FOURIER),
    Template("Einsum", einsum, near=IEEE_FLOATS, bound=SUMS),
    Template(
        "LogSoftmax",
        log_softmax,
        near=IEEE_FLOATS,
        bound=Bound(1, Reference.ONE, Inputs.FINITE, each="term"),
    ),
    Template("RotaryEmbedding", rotary_embedding, near=IEEE_FLOATS, bound=SUMS),
    Template(
        "LayerNormalization",
        layer_normalization,
        near=IEEE_FLOATS,
        bound=Bound(8, Reference.SPREAD, Inputs.FINITE),
    ),
    Template(
        "InstanceNormalization",
        instance_normalization,
        near=IEEE_FLOATS,
        bound=Bound(8, Reference.SPREAD),
    ),
    Template("LpNormalization", lp_normalization, near=IEEE_FLOATS, bound=Bound(1, each="term")),
    Template(
        "MeanVarianceNormalization",
        mean_variance_normalization,
        near=IEEE_FLOATS,
        bound=Bound(8, Reference.SPREAD),
    ),
)
"""The templates of transforms, products along named axes and normalizations."""
