"""The rules of operators that are not element-wise, on their operands in a run.

Sources: SONNX MatMul, C1 of both inputs; BatchNormalization, C3 of input_var; Clip, C1 of min and
max; Slice, R2, R6, R7 and R8 and C2 of the ends; ArgMax, R5; Softmax, QuantizeLinear,
DequantizeLinear, Concat, Reshape, Unsqueeze, Range, Conv, ConvInteger, MaxPool, Gemm and LSTM,
restrictions and constraints. All are drafts. Squeeze has rules of this project.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.kernel.sizes import reach
from sonnx_ort.oracle.domains import Violation
from sonnx_ort.oracle.elements import Attributes, Operands

Array = npt.NDArray[Any]
Find = Callable[[Sequence[Array | None], Attributes], Iterator[Violation]]
"""Finds the violations of an operator; operands that are left out at the end may be missing."""

_SPATIAL = 2
"""The first spatial axis."""


def single_operand_violations(
    operator: str, operands: Operands, attributes: Attributes
) -> Iterator[Violation]:
    """Find every violation, in the order of the rules; an omitted operand is None.

    Where a shape makes other rules senseless, its violation is the last.
    """
    return _RULES[operator](operands, attributes)


def single_operand_violation(
    operator: str, operands: Operands, attributes: Attributes
) -> Violation | None:
    """Find the first rule that the operands of a node violate; an omitted operand is None."""
    return next(single_operand_violations(operator, operands, attributes), None)


def _given(operands: Operands) -> list[Array]:
    return [operand for operand in operands if operand is not None]


def _optional(operands: Operands, place: int) -> Array | None:
    return operands[place] if place < len(operands) else None


def _matrices(operands: Operands, _: Attributes) -> Iterator[Violation]:
    if any(operand.ndim != 2 for operand in _given(operands)):
        yield Violation("MatMul.C1")


def _variances(operands: Operands, _: Attributes) -> Iterator[Violation]:
    for index, variance in enumerate(_given(operands)[4].astype(np.float64).tolist()):
        if not variance >= 0:
            yield Violation("BatchNormalization.C3", (index,), (variance,))


def _scalars(operands: Operands, _: Attributes) -> Iterator[Violation]:
    if any(bound.ndim for bound in _given(operands[1:])):
        yield Violation("Clip.C1")
    for name, bound in zip(("min", "max"), operands[1:], strict=False):
        if bound is not None and bound.dtype.kind not in "iu" and np.isnan(bound).any():
            yield Violation(f"Clip.float.{name}.C2", (), (math.nan,))


def _elements(rule: str, operand: Array, offends: Callable[[float], bool]) -> Iterator[Violation]:
    """The elements that violate a rule by themselves."""
    for index, element in np.ndenumerate(operand.astype(np.float64)):
        if offends(float(element)):
            yield Violation(rule, index, (float(element),))


def _something(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
    (x,) = _given(operands)
    if x.shape[int(attributes.get("axis", 0))] == 0:
        yield Violation("ArgMax.R5")
    yield from _elements("ArgMax.float.C1", x, np.isnan)


def _places(operands: Operands, _: Attributes) -> Iterator[Violation]:
    x, *indices = _given(operands)
    starts, ends, axes, steps = (index.tolist() for index in indices)
    sizes = [x.shape[axis] for axis in axes]
    if len(axes) != x.ndim:
        yield Violation("Slice.R2")
    if any(not -size <= start < size for start, size in zip(starts, sizes, strict=True)):
        yield Violation("Slice.R8")
    for end, size, step in zip(ends, sizes, steps, strict=True):
        below = 1 if step < 0 else 0
        if not -size - below <= end <= size - below:
            yield Violation("Slice.C2")
    for start, end, size, step in zip(starts, ends, sizes, steps, strict=True):
        first, last = (place + size if place < 0 else place for place in (start, end))
        if (last - first) * step < 0:
            yield Violation("Slice.R6")


def _lines(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
    (x,) = _given(operands)
    axis = int(attributes.get("axis", -1))
    if not -x.ndim <= axis < x.ndim:
        yield Violation("Softmax.C2")
        return
    if any(size > 1 for size in x.shape[axis % x.ndim + 1 :]):
        yield Violation("Softmax.C4")
    yield from _elements("Softmax.float.C5", x, lambda element: element == np.inf)
    for first in product(*map(range, _with_size(x.shape, axis, min(1, x.shape[axis])))):
        line = list(first)
        line[axis] = slice(None)  # type: ignore[call-overload]
        if (x[tuple(line)] == -np.inf).all():
            yield Violation("Softmax.float.C6", first, (-np.inf,))


def _with_size(shape: Sequence[int], axis: int, size: int) -> list[int]:
    sizes = list(shape)
    sizes[axis] = size
    return sizes


def _quantized(operands: Operands, _: Attributes) -> Iterator[Violation]:
    x, scale = _given(operands)[:2]
    if any(operand.ndim for operand in _given(operands[1:])):
        yield Violation("QuantizeLinear.signature")
    yield from _elements("QuantizeLinear.C1", scale, lambda element: not abs(element) > 0)
    yield from _elements("QuantizeLinear.C2", x, lambda element: not np.isfinite(element))


def _dequantized(operands: Operands, _: Attributes) -> Iterator[Violation]:
    if any(operand.ndim for operand in _given(operands[1:])):
        yield Violation("DequantizeLinear.signature")
    x, zero = _given(operands)[0], _optional(operands, 2)
    limits = np.iinfo(np.int32)
    for index, element in np.ndenumerate(x.astype(object)):
        for subtrahend in [] if zero is None else zero.ravel().tolist():
            if not limits.min <= element - subtrahend <= limits.max:
                yield Violation("DequantizeLinear.C1", index, (int(element), int(subtrahend)))
                break


def _joined(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
    shapes, axis = [operand.shape for operand in _given(operands)], int(attributes.get("axis", 0))
    if len(set(map(len, shapes))) > 1:
        yield Violation("Concat.C2")
        return
    place = axis % max(len(shapes[0]), 1)
    if len({(*shape[:place], *shape[place + 1 :]) for shape in shapes}) > 1:
        yield Violation("Concat.C2")


def _inferred(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
    x, sizes = _given(operands)
    named = sizes.ravel().tolist()
    nothing = 0 in named if attributes.get("allowzero", 0) == 1 else x.size == 0
    if -1 in named and nothing:
        yield Violation("Reshape.allowzero.C3")


def _removed(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
    x, axes = _given(operands)[0], _optional(operands, 1)
    if axes is not None and (axes.ndim == 0 or len(axes) == 0):
        yield Violation("Squeeze.A.names")
    named = attributes.get("axes", ()) if axes is None else axes.ravel().tolist()
    places = [axis + x.ndim if axis < 0 else axis for axis in named]
    if len(set(places)) < len(places):
        yield Violation("Squeeze.A.C2")


def _inserted(operands: Operands, _: Attributes) -> Iterator[Violation]:
    if any(axes.ndim != 1 for axes in _given(operands[1:])):
        yield Violation("Unsqueeze.A.rank")


def _ranged(operands: Operands, _: Attributes) -> Iterator[Violation]:
    if any(operand.ndim for operand in _given(operands)):
        yield Violation("Range.scalars")


def _convolved(operator: str) -> Find:
    def find(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
        x, w = _given(operands)[:2]
        if (x.ndim, w.ndim) != (4, 4):
            yield Violation(f"{operator}.R1")
            return
        groups = int(attributes.get("group", 1))
        if groups not in (1, x.shape[1]):
            yield Violation(f"{operator}.R3")
        if 0 in w.shape[_SPATIAL:]:
            yield Violation(f"{operator}.kernel")
        if groups * w.shape[1] != x.shape[1]:
            yield Violation(f"{operator}.channels")
        yield from _beside_the_kernel(operator, w, operands, attributes)

    return find


def _beside_the_kernel(
    operator: str, w: Array, operands: Operands, attributes: Attributes
) -> Iterator[Violation]:
    """The operands behind X and W: a bias, or two zero points."""
    own, other = _optional(operands, 2), _optional(operands, 3)
    if operator == "Conv":
        if own is not None and own.shape != w.shape[:1]:
            yield Violation("Conv.B")
        return
    if own is not None and own.ndim:
        yield Violation("ConvInteger.x_zero_point")
    if other is not None and other.shape not in ((), w.shape[:1]):
        yield Violation("ConvInteger.w_zero_point")
    if own is not None and any(attributes.get("pads", ())) and own.any():
        yield Violation("ConvInteger.C1", (0,) * own.ndim, tuple(own.ravel()[:1].tolist()))


def _pooled(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
    (x,) = _given(operands)
    if x.ndim != 4:
        yield Violation("MaxPool.R1")
        return
    kernel, pads = attributes["kernel_shape"], attributes.get("pads", (0,) * 4)
    dilations = attributes.get("dilations", (1, 1))
    places = list(zip(x.shape[_SPATIAL:], kernel, dilations, pads[:2], pads[2:], strict=True))
    if any(
        size + before + behind < reach(extent, dilation)
        for size, extent, dilation, before, behind in places
    ):
        yield Violation("MaxPool.fits")
    if any(
        size < dilation and dilation > 1 and before + behind
        for size, _, dilation, before, behind in places
    ):
        yield Violation("MaxPool.C1")
    if x.dtype.kind not in "iu":
        offends = lambda element: np.isnan(element) or element == -np.inf  # noqa: E731
        yield from _elements("MaxPool.float.C2", x, offends)


def _sum_of_a_product(operands: Operands, _: Attributes) -> Iterator[Violation]:
    given = _given(operands)
    if any(operand.ndim != 2 for operand in given):
        yield Violation("Gemm.R1")
        return
    a, b, *c = given
    if any(each.shape != (a.shape[0], b.shape[1]) for each in c):
        yield Violation("Gemm.R3")


def _recurrent(operands: Operands, attributes: Attributes) -> Iterator[Violation]:
    x, w, r = _given(operands)[:3]
    if x.ndim != 3:
        yield Violation("LSTM.X")
        return
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    hidden = int(attributes["hidden_size"])
    if w.shape != (directions, 4 * hidden, x.shape[2]):
        yield Violation("LSTM.W")
    if r.shape != (directions, 4 * hidden, hidden):
        yield Violation("LSTM.R")
    if x.shape[1] == 0:
        yield Violation("LSTM.batch")
    if x.shape[0] == 0:
        yield Violation("LSTM.sequences")


def _nothing(_: Operands, __: Attributes) -> Iterator[Violation]:
    """No operand of a run violates a rule."""
    yield from ()


_RULES: Mapping[str, Find] = MappingProxyType(
    {
        "MatMul": _matrices,
        "BatchNormalization": _variances,
        "Clip": _scalars,
        "Slice": _places,
        "ArgMax": _something,
        "Softmax": _lines,
        "QuantizeLinear": _quantized,
        "DequantizeLinear": _dequantized,
        "Concat": _joined,
        "Reshape": _inferred,
        "Squeeze": _removed,
        "Unsqueeze": _inserted,
        "Range": _ranged,
        "Conv": _convolved("Conv"),
        "ConvInteger": _convolved("ConvInteger"),
        "MaxPool": _pooled,
        "Gemm": _sum_of_a_product,
        "LSTM": _recurrent,
        **dict.fromkeys(("Constant", "Flatten", "Shape"), _nothing),
    }
)
"""Per operator, a check of its rules in order."""

OPERATORS = frozenset({"MatMul", "BatchNormalization", "Clip", "Slice", "ArgMax"})
"""The operators that are not element-wise and that `tensors` computes; `meaning` has the others."""
