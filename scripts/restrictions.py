"""The profile's rules on operands, told a second time, and what comes of operands that keep them.

Sources: the two editions of SONNX Div and the preliminary edition of SONNX Sub, "Restrictions":
equal shapes (R1). SONNX Broadcast, "Informal specification": condition 1 (ranks), condition 2
(sizes) and the relations between multi-indexes of step 1 and step 2, evaluated index by index;
indexes start at 0 here and at 1 there. SONNX MatMul, C1 of both inputs;
BatchNormalization, C3 of input_var; Clip, C1 of min and max; Slice, R2, R6, R7 and R8 and C2 of the
ends; ArgMax, R5; Softmax, QuantizeLinear, DequantizeLinear, Concat, Reshape, Unsqueeze, Range,
Conv, ConvInteger, MaxPool, Gemm and LSTM, restrictions and constraints. All are drafts. Squeeze has
rules of this project.

The bundled models are built with this, and the tests hold the rules of the profile to it. The rules
on elements are those of `oracle.domains`.
"""

import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.kernel.sizes import reach
from sonnx_ort.oracle import Undefined, elementwise, meaning
from sonnx_ort.oracle.domains import Domain, ElementRule, domain, smallest_by_minus_one
from sonnx_ort.oracle.numbers import NO_ATTRIBUTES, Attributes, Operands, decoded_elements
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition


@dataclass(frozen=True, slots=True)
class Violation:
    """The first violated rule, in the order of the operator's contract.

    `index` is that of the first invalid elements in row-major order, and `values` are these
    elements; both are None for shapes.
    """

    rule: str
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None


Array = npt.NDArray[Any]
Sizes = tuple[int, ...]
Find = Callable[[Sequence[Array | None], Attributes], Iterator[Violation]]
"""Finds the violations of an operator; operands that are left out at the end may be missing."""

_COMPUTED = frozenset({"MatMul", "BatchNormalization", "Clip", "Slice", "ArgMax"})
"""The operators that are not element-wise and have an `outcome`."""

AGAINST_KERNELS = frozenset({"Max.int.C1", "Min.int.C1", "Mod.int.C2"})
"""The rules on elements that have a result, which kernels of ONNX Runtime compute wrongly."""

ZEROS_OF_EITHER_SIGN = frozenset({"Max", "Min", "Clip", "MatMul", "BatchNormalization"})
"""Operators that may return a zero of either sign for zeros of both signs.

Compare their results by value. The oracle considers 0 larger than -0, as IEEE 754-2019 does (9.6).
"""

OPERATORS = elementwise.OPERATORS | _COMPUTED
"""The operators that have an `outcome`."""

_NEWEST = 1 << 10
"""A version in which all operators have their newest meaning."""


def outcome(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    unneeded: Container[str] = frozenset(),
) -> Array | Violation:
    """The exact results of an operator, each rounded once, or the first violated rule.

    For a NaN result, any quiet NaN is correct; for some operators a zero of either sign is, see
    `ZEROS_OF_EITHER_SIGN`. For operators without a finite exact computation, `meaning` admits
    other results too.

    Args:
        operator: Its name.
        operands: All operands, of any shapes, None for omitted ones; conditions of a Where have
            dtype bool, and indices of a Slice are integers.
        element_type: The type of all other operands.
        edition: It determines the violated rule of Div and Sub, and the result for a zero divisor.
        attributes: The attributes of the node. The default direction of a BitShift is left.
        unneeded: Rules of `AGAINST_KERNELS` that do not count, because no kernel is wrong there.

    Raises:
        ValueError: The operator does not support the type, or the operands do not fit each other.
    """
    broken = violation(operator, operands, element_type, edition, attributes, unneeded=unneeded)
    if broken is not None:
        return broken
    found = meaning(operator, _NEWEST, attributes, operands, edition)
    if not isinstance(found, Undefined):
        return found[0].nearest
    raise ValueError(f"{operator} has no result: {found.reason}")


def violation(  # noqa: PLR0913 - what a node has
    operator: str,
    operands: Operands,
    element_type: ElementType,
    edition: Edition,
    attributes: Attributes = NO_ATTRIBUTES,
    *,
    unneeded: Container[str] = frozenset(),
) -> Violation | None:
    """The first rule that operands violate; the arguments are those of `outcome`.

    Raises:
        ValueError: The operator does not support the type.
    """
    if operator in _COMPUTED:
        return single_operand_violation(operator, operands, attributes)
    elementwise.computation(operator, element_type, edition, attributes)
    present = [operand for operand in operands if operand is not None]
    if len({operand.shape for operand in present}) > 1:
        return Violation(_shape_rule(operator, element_type, edition))
    result_type = elementwise.result_type(operator, element_type, attributes)
    bounds = domain(operator, element_type, result_type)
    against_kernels = _rules_against_kernels(operator, element_type, len(present))
    rules = [*bounds.rules, *(rule for rule in against_kernels if rule.id not in unneeded)]
    bounds = Domain(rules, bounds.limits)
    if not bounds.rules:
        return None
    decoded = [decoded_elements(operand, element_type) for operand in present]
    return violation_of_elements(bounds, present, decoded, edition)


@dataclass(frozen=True, slots=True)
class KernelRule(ElementRule):
    """A rule on elements that have a result, which kernels of ONNX Runtime compute wrongly.

    A violation reports the elements of the operands at the indices `reported`, and of another rule
    those of all operands.
    """

    reported: Sequence[int] = (0, 1)


def _rules_against_kernels(
    operator: str, element_type: ElementType, operands: int
) -> Sequence[KernelRule]:
    if operator == "Mod" and element_type in (ElementType.INT32, ElementType.INT64):
        return [KernelRule("Mod.int.C2", smallest_by_minus_one)]
    if operator in ("Max", "Min") and element_type is ElementType.INT64:
        halves = f"{operator}.int.C1"
        return [KernelRule(halves, _beyond_int32(k), (k,)) for k in range(operands)]
    return []


def _beyond_int32(position: int) -> Callable[[Sequence[Any], Any], bool]:
    return lambda elements, _: not -(1 << 31) <= elements[position] < 1 << 31


def _shape_rule(operator: str, element_type: ElementType, edition: Edition) -> str:
    if operator in ("Div", "Sub") and edition is Edition.PRELIMINARY:
        return f"{operator}.R1"
    return f"{operator}.{element_type.family}.R1"


def violation_of_elements(
    bounds: Domain, operands: Sequence[Array], decoded: Sequence[Sequence[Any]], edition: Edition
) -> Violation | None:
    """Find the first rule, and the first elements that violate it in row-major order.

    The operands have one shape, and `decoded` are their exact elements.
    """
    for rule in bounds.rules:
        places = zip(np.ndindex(operands[0].shape), zip(*decoded, strict=True), strict=True)
        for index, elements in places:
            if rule.violates(elements, bounds.limits):
                everywhere = range(len(operands))
                reported = rule.reported if isinstance(rule, KernelRule) else everywhere
                values = tuple(_plain(operands[position][index]) for position in reported)
                return Violation(rule.named(edition), index, values)
    return None


def _plain(element: Any) -> int | float:
    return int(element) if element.dtype.kind in "iu" else float(element)


def broadcast(*tensors: Array) -> tuple[Array, ...] | Violation:
    """Broadcast tensors X0 to XL, at least one, to their common shape.

    Returns:
        Z0 to ZL with bit-identical elements, or the violated rule.
    """
    rank = max(tensor.ndim for tensor in tensors)
    padded = [_prepended(tensor.shape, rank) for tensor in tensors]
    common = tuple(max(sizes[k] for sizes in padded) for k in range(rank))
    if not all(_is_broadcastable(sizes, common) for sizes in padded):
        return Violation("Broadcast.E1")
    return tuple(
        _repeated(tensor, sizes, common) for tensor, sizes in zip(tensors, padded, strict=True)
    )


def _prepended(sizes: Sizes, rank: int) -> Sizes:
    """Step 1: prepend sizes of 1 until the rank is reached."""
    return (1,) * (rank - len(sizes)) + sizes


def _is_broadcastable(sizes: Sizes, common: Sizes) -> bool:
    return all(size in (largest, 1) for size, largest in zip(sizes, common, strict=True))


def _repeated(tensor: Array, sizes: Sizes, common: Sizes) -> Array:
    """Step 2: copy each element of Zm from the element of Ym, and so of Xm, at the mapped index."""
    bits = np.dtype(f"u{tensor.dtype.itemsize}")
    elements, result = tensor.view(bits), np.empty(common, bits)
    prepended = len(common) - tensor.ndim
    for index in np.ndindex(common):
        leading_to = tuple(map(_index, index, sizes, common))
        result[index] = elements[leading_to[prepended:]]
    return result.view(tensor.dtype)


def _index(current: int, size: int, common_size: int) -> int:
    """The document's f: the current index if the size is the common one, else the first index."""
    return current if size == common_size else 0


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
    x, *bounds = operands
    if len(bounds) == 2 and all(b is not None and not b.ndim for b in bounds) and x is not None:
        lowest, highest = (float(bound.item()) for bound in bounds if bound is not None)
        if lowest > highest and x.dtype.kind not in "iu":
            yield from _elements("Clip.float.C3", x, math.isnan)


def _elements(rule: str, operand: Array, violates: Callable[[float], bool]) -> Iterator[Violation]:
    """The elements that violate a rule by themselves."""
    for index, element in np.ndenumerate(operand.astype(np.float64)):
        if violates(float(element)):
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
        violates = lambda element: np.isnan(element) or element == -np.inf  # noqa: E731
        yield from _elements("MaxPool.float.C2", x, violates)


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
