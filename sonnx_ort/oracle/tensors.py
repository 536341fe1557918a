"""The operators on whole tensors, and broadcasting.

Source: SONNX Broadcast, "Informal specification": condition 1 (ranks), condition 2 (sizes) and the
relations between multi-indexes of step 1 and step 2, evaluated index by index; indexes start at 0
here and at 1 there.

Sources: the drafts of the working group, section "Informal specification" of each, on reals and on
floats. Tensors here are arrays of exact elements; numpy is only used for indexing.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.arithmetic import (
    FLOAT_FORMATS,
    add_floats,
    divide_floats,
    multiply_floats,
    square_root_of_float,
    subtract_floats,
)
from sonnx_ort.oracle.domains import Violation
from sonnx_ort.oracle.elements import Attributes, Exact, encoded_elements, exact_elements, zero_of
from sonnx_ort.oracle.numbers import Kind, Number, decode, less
from sonnx_ort.profile.element_type import ElementType

Array = npt.NDArray[Any]
Sizes = tuple[int, ...]


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


def tensor_result(
    operator: str,
    operands: Sequence[Array | None],
    element_type: ElementType,
    attributes: Attributes,
) -> Array:
    """The result of an operator that is not element-wise and whose operands keep its rules.

    An omitted operand is None; the indices of a Slice do not have the element type.

    Raises:
        ValueError: The number of operands is invalid.
    """
    if operator == "Slice":
        x, *indices = (operand for operand in operands if operand is not None)
        return cut_out(x.view(f"u{x.dtype.itemsize}"), *indices).view(x.dtype)
    exact = [None if o is None else exact_elements(o, element_type) for o in operands]
    result_type = element_type
    match operator, exact:
        case "MatMul", [np.ndarray() as a, np.ndarray() as b]:
            result = product_of_matrices(a, b, zero_of(element_type))
        case "BatchNormalization", [np.ndarray() as x, *vectors]:
            result = normalized_channels(x, [v for v in vectors if v is not None], attributes)
        case "ArgMax", [np.ndarray() as x]:
            result, result_type = places_of_largest(x, attributes), ElementType.INT64
        case "Clip", [np.ndarray() as x, *bounds]:
            result = clipped_elements(x, bounds)
        case _:
            raise ValueError(f"{operator} of {len(operands)} operands has no meaning")
    return encoded_elements(result.ravel().tolist(), result_type).reshape(result.shape)


def exact_epsilon(attributes: Attributes) -> Number:
    """The epsilon of a BatchNormalization, which ONNX stores as a float."""
    kept = np.array(attributes.get("epsilon", 1e-5), np.float32)
    return decode(int(kept.view(np.uint32)), FLOAT_FORMATS[ElementType.FLOAT])


def product_of_matrices(a: Exact, b: Exact, zero: Any) -> Exact:
    """MatMul: sums of products of rows of a and columns of b; an empty sum is `zero`."""
    add, multiply = operations(zero)
    result = np.empty((a.shape[0], b.shape[1]), object)
    for row, column in np.ndindex(result.shape):
        products = map(multiply, a[row], b[:, column])
        result[row, column] = reduce(add, products, zero)
    return result


def operations(zero: Any) -> tuple[Any, Any]:
    """Addition and multiplication for elements of the same kind as this zero."""
    if isinstance(zero, Number):
        return add_floats, multiply_floats
    return int.__add__, int.__mul__


def normalized_channels(x: Exact, vectors: Sequence[Exact], attributes: Attributes) -> Exact:
    """BatchNormalization: (element - mean) / deviation, scaled and shifted.

    The second axis of x is the channel; `vectors` are scale, shift, mean and variance per channel.
    """
    epsilon = exact_epsilon(attributes)
    scales, shifts, means, variances = (vector.tolist() for vector in vectors)
    deviations = [square_root_of_float(add_floats(v, epsilon)) for v in variances]
    result = np.empty(x.shape, object)
    for index in np.ndindex(x.shape):
        channel, element = index[1], x.item(*index)
        scaled = multiply_floats(scales[channel], subtract_floats(element, means[channel]))
        result[index] = add_floats(divide_floats(scaled, deviations[channel]), shifts[channel])
    return result


def clipped_elements(x: Exact, bounds: Sequence[Exact | None]) -> Exact:
    """Clip: min(upper, max(lower, element)), for the bounds that are present.

    A NaN element stays NaN; a NaN bound is no bound.
    """
    lowest, highest = [*(None if bound is None else bound[()] for bound in bounds), None, None][:2]
    result = np.empty(x.shape, object)
    for index in np.ndindex(x.shape):
        element = x[index]
        if lowest is not None and _precedes(element, lowest):
            element = lowest
        clipped = highest is not None and _precedes(highest, element)
        result[index] = highest if clipped else element
    return result


def cut_out(x: Array, starts: Array, ends: Array, axes: Array, steps: Array) -> Array:
    """Slice: the elements from start to before end, with a step, for axes that must all be listed.

    Negative starts and ends count from the end.
    """
    places: list[range] = [range(0)] * x.ndim
    named = (index.tolist() for index in (starts, ends, axes, steps))
    for start, end, axis, step in zip(*named, strict=True):
        size = x.shape[axis]
        first, last = (place + size if place < 0 else place for place in (start, end))
        places[axis] = range(first, last, step)
    result = np.empty([len(line) for line in places], x.dtype)
    for index in np.ndindex(result.shape):
        result[index] = x[tuple(line[i] for line, i in zip(places, index, strict=True))]
    return result


def places_of_largest(x: Exact, attributes: Attributes) -> Exact:
    """ArgMax: the index of the largest element on an axis; NaN counts as the largest."""
    axis = int(attributes.get("axis", 0))
    last = bool(attributes.get("select_last_index", 0))
    result = np.empty([1 if k == axis else size for k, size in enumerate(x.shape)], object)
    for index in np.ndindex(result.shape):
        line = [x[(*index[:axis], place, *index[axis + 1 :])] for place in range(x.shape[axis])]
        result[index] = _place_of_largest(line, last=last)
    return result if attributes.get("keepdims", 1) else result.squeeze(axis)


def _place_of_largest(elements: Sequence[Any], *, last: bool) -> int:
    places = range(len(elements))
    nans = [i for i in places if getattr(elements[i], "kind", None) is Kind.NAN]
    largest = nans or [i for i in places if not any(_precedes(elements[i], e) for e in elements)]
    return largest[-1 if last else 0]


def _precedes(x: Any, y: Any) -> bool:
    return less(x, y) if isinstance(x, Number) else x < y
