"""Operators whose output shape is given by another tensor, and those that compute sizes."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import starmap

import numpy as np
import onnx_ir as ir

from sonnx_ort.certificates.checker.arithmetic import END_OF_ALL, is_within, selected
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.knowledge.shapes.rule import (
    ANY,
    FLAG,
    KnownInputs,
    PartialSizes,
    ShapeRule,
    Size,
    Sizes,
    Symbolic,
    Unknown,
    counted_from_the_front,
    small_constant,
)
from sonnx_ort.profile.operand import symbols_in

_ONE_AXIS = 1


def _shape_of(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape_if_known(0)
    return ((None if shape is None else len(shape[_asked_for(inputs)]),),)


def _asked_for(inputs: KnownInputs) -> slice:
    return slice(inputs.attribute("start"), inputs.attribute("end"))


def _scalar(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    del inputs
    return ((),)


def _constant(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    (output,) = inputs.node.outputs
    tensor = constant_tensor(output)
    if tensor is None:
        raise Unknown
    return (tuple(int(size) for size in tensor.shape.numpy()),)


def _filled(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    return (_sizes(inputs.elements(0)),)


def _sizes(elements: PartialSizes) -> PartialSizes:
    if any(isinstance(element, int) and element < 0 for element in elements):
        raise Unknown
    return elements


def _expanded(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape, target = inputs.shape(0), _sizes(inputs.elements(1))
    rank = max(len(shape), len(target))
    own = (1,) * (rank - len(shape)) + shape
    wanted = (1,) * (rank - len(target)) + target
    if 0 in wanted:
        # ONNX Runtime's optimizer removes an Expand to a size of 0.
        raise Unknown
    return (tuple(_expanded_size(a, b) for a, b in zip(own, wanted, strict=True)),)


def _expanded_size(size: Size, wanted: Size | None) -> Size | None:
    if wanted in (1, size):
        return size
    if isinstance(size, int) and size != 1:
        return size
    return wanted if size == 1 or isinstance(wanted, int) else None


def _tiled(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape, repeats = inputs.shape(0), inputs.elements(1)
    counts = [times for times in repeats if isinstance(times, int)]
    if len(repeats) != len(shape) or not is_within(counts) or min(counts, default=0) < 0:
        raise Unknown
    return (
        tuple(
            None if times is None else size * times
            for size, times in zip(shape, repeats, strict=True)
        ),
    )


def _reshaped(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    target = inputs.elements(1)
    shape = inputs.shape_if_known(0)
    zero_copies = not inputs.attribute("allowzero")
    sizes = [
        _reshaped_size(wanted, _at(shape, axis), zero_copies=zero_copies)
        for axis, wanted in enumerate(target)
    ]
    # With allowzero and a size of 0, ONNX Runtime takes another size for -1 than what remains.
    if target.count(-1) == 1 and shape is not None and zero_copies:
        copied = {axis for axis, wanted in enumerate(target) if wanted == 0 and zero_copies}
        left = [size for axis, size in enumerate(shape) if axis not in copied]
        index = target.index(-1)
        others = [s for axis, s in enumerate(sizes) if axis not in copied and axis != index]
        sizes[index] = _remaining(left, others, inputs.shared)
    return (tuple(sizes),)


def _at(shape: Sizes | None, axis: int) -> Size | None:
    return None if shape is None or axis >= len(shape) else shape[axis]


def _reshaped_size(wanted: Size | None, own: Size | None, *, zero_copies: bool) -> Size | None:
    """The size on an axis if the target gives it; None if it is open and may be 0."""
    if isinstance(wanted, int):
        if wanted == 0 and zero_copies:
            return own
        return wanted if wanted >= 0 else None
    return wanted if wanted == own or not zero_copies else None


def _remaining(
    sizes: Sequence[Size], others: Sequence[Size | None], shared: frozenset[str]
) -> Size | None:
    """The size for -1; symbols that several inputs share do not cancel out."""
    left, gone = Counter(sizes), Counter(others)
    for size in list(gone):
        if isinstance(size, Symbolic) and shared.isdisjoint(symbols_in((str(size),))):
            cancelled = min(left[size], gone[size])
            left[size] -= cancelled
            gone[size] -= cancelled
    if any(not isinstance(size, int) for size in gone.elements()):
        return None
    divisor = math.prod(size for size in gone.elements() if isinstance(size, int))
    product = math.prod(left.elements())
    if divisor == 1:
        return product
    if isinstance(product, int) and divisor and product % divisor == 0:
        return product // divisor
    return None


def _range(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    try:
        ((start,), (limit,), (step,)) = [inputs.integers(index) for index in range(3)]
        # Kernels subtract in int32.
        count: Size | None = len(range(start, limit, step)) if is_within([limit - start]) else None
    except (Unknown, ValueError):
        count = None
    return ((count,),)


def _positions(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    """For a scalar, ONNX Runtime returns one row, as for a vector."""
    return ((len(inputs.shape(0)) or None, None),)


def _like_first_rank(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    return ((None,) * len(inputs.shape(0)),)


def _resized(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    """The requested sizes, or each size times its scale, rounded as in the kernel."""
    shape = inputs.shape(0)
    asked: PartialSizes = (None,) * len(shape)
    plain = {"axes", "keep_aspect_ratio_policy"}.isdisjoint(inputs.node.attributes)
    cropped = inputs.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    if not plain or cropped:
        return (asked,)
    if inputs.value(_SIZES_OF_RESIZE) is not None:
        asked = inputs.elements(_SIZES_OF_RESIZE)
    else:
        given = inputs.value(1 if inputs.version < _RESIZE_WITH_SIZES else _SCALES_OF_RESIZE)
        scales = None if given is None else small_constant(given)
        if scales is not None and scales.size == len(shape):
            asked = tuple(starmap(_scaled, zip(shape, scales.ravel(), strict=True)))
    if len(asked) != len(shape):
        raise Unknown
    return (asked,)


def _scaled(size: Size, scale: np.float32) -> Size | None:
    if not isinstance(size, int) or not 0 < scale < _LARGEST_SCALE:
        return None
    return int(np.float32(size) * scale)


_SIZES_OF_RESIZE, _SCALES_OF_RESIZE = 3, 2
"""The input positions of sizes, and of scales since the version that accepts sizes."""

_RESIZE_WITH_SIZES = 11
_LARGEST_SCALE = 2**20


def _one_hot(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    shape = inputs.shape(0)
    axis = counted_from_the_front(inputs.attribute("axis", -1), len(shape) + 1)
    return ((*shape[:axis], None, *shape[axis:]),)


def _spectrum(inputs: KnownInputs) -> Sequence[PartialSizes | None]:
    del inputs
    return ((None, None, None, 2),)


_RESIZING = {
    "antialias": FLAG,
    "axes": ANY,
    "coordinate_transformation_mode": ANY,
    "cubic_coeff_a": ANY,
    "exclude_outside": FLAG,
    "extrapolation_value": ANY,
    "keep_aspect_ratio_policy": ANY,
    "mode": ANY,
    "nearest_mode": ANY,
}

SIZES = {
    "Constant": ShapeRule(
        (1, 25),
        _constant,
        dict.fromkeys(
            ("value", "value_int", "value_ints", "value_float", "value_floats", "value_string"), ANY
        ),
    ),
    "ConstantOfShape": ShapeRule((9, 25), _filled, {"value": ANY}),
    "DFT": ShapeRule((17, 20), _like_first_rank, {"axis": ANY, "inverse": FLAG, "onesided": FLAG}),
    "Expand": ShapeRule((8, 13), _expanded),
    "NonZero": ShapeRule((9, 13), _positions),
    "OneHot": ShapeRule((9, 11), _one_hot, {"axis": ANY}),
    "Range": ShapeRule((11, 11), _range),
    "Reshape": ShapeRule((5, 25), _reshaped, {"allowzero": FLAG}),
    "Resize": ShapeRule((10, 19), _resized, _RESIZING),
    "STFT": ShapeRule((17, 17), _spectrum, {"onesided": FLAG}),
    "Shape": ShapeRule((1, 25), _shape_of, {"start": ANY, "end": ANY}),
    "Size": ShapeRule((1, 25), _scalar),
    "Tile": ShapeRule((6, 13), _tiled),
    "Upsample": ShapeRule((7, 9), _like_first_rank, {"mode": ANY, "scales": ANY}),
}
"""The operators of this file by name."""


def _own_sizes(inputs: KnownInputs) -> PartialSizes:
    return inputs.shape(0)[_asked_for(inputs)]


def _number_of_elements(inputs: KnownInputs) -> PartialSizes:
    return (math.prod(inputs.shape(0)),)


def _same(inputs: KnownInputs) -> PartialSizes:
    return inputs.elements(0)


def _cast(inputs: KnownInputs) -> PartialSizes:
    """Sizes in int64, or truncated to int32, which an axis can exceed."""
    elements = inputs.elements(0)
    if inputs.attribute("to") == ir.DataType.INT64:
        return elements
    return tuple(
        Symbolic.named(f"int32({element})") if isinstance(element, Symbolic) else element
        for element in elements
    )


def _picked(inputs: KnownInputs) -> PartialSizes:
    elements = inputs.elements(0)
    indices = inputs.integers(1)
    return tuple(elements[counted_from_the_front(index, len(elements))] for index in indices)


def _part(inputs: KnownInputs) -> PartialSizes:
    (start,), (end,) = inputs.every_integer(1), inputs.every_integer(2)
    (step,) = inputs.every_integer(4) if inputs.value(4) is not None else (1,)
    elements = inputs.elements(0)
    if step == 0 or (step < 0 and end in END_OF_ALL):
        raise Unknown
    return tuple(elements[index] for index in selected(len(elements), start, end, step))


def _joined(inputs: KnownInputs) -> PartialSizes:
    return tuple(e for index in range(len(inputs.node.inputs)) for e in inputs.elements(index))


def _sums(inputs: KnownInputs) -> PartialSizes:
    return _paired(inputs, lambda a, b: a + b)


def _products(inputs: KnownInputs) -> PartialSizes:
    return _paired(inputs, lambda a, b: a * b)


def _paired(inputs: KnownInputs, operation: Callable[[Size, Size], Size]) -> PartialSizes:
    a, b = inputs.elements(0), inputs.elements(1)
    if len(a) != len(b) and _ONE_AXIS not in (len(a), len(b)):
        raise Unknown
    count = max(len(a), len(b)) if a and b else 0
    a, b = (side * count if len(side) == 1 else side for side in (a, b))
    return tuple(
        None if one is None or other is None else operation(one, other)
        for one, other in zip(a, b, strict=True)
    )


CONTENTS: Mapping[str, Callable[[KnownInputs], PartialSizes]] = {
    "Add": _sums,
    "Cast": _cast,
    "Concat": _joined,
    "Gather": _picked,
    "Identity": _same,
    "Mul": _products,
    "Reshape": _same,
    "Shape": _own_sizes,
    "Size": _number_of_elements,
    "Slice": _part,
    "Squeeze": _same,
    "Unsqueeze": _same,
}
"""The operators that propagate sizes, in integer tensors of rank 0 or 1."""

ARITHMETIC = ("Add", "Mul")
"""Operators for int64 sizes only, where overflow wraps as in `Symbolic`."""


def constant_sizes(value: ir.Value) -> PartialSizes | None:
    """The elements of a constant that may hold sizes."""
    elements = small_constant(value)
    if elements is None or elements.dtype not in ("int32", "int64") or elements.ndim > _ONE_AXIS:
        return None
    return tuple(int(element) for element in elements.ravel())
