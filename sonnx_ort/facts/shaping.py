"""Operators whose result has the shape that another tensor gives, and those of sizes."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import starmap

import numpy as np

from .node import Node, Shapes
from .sizes import (
    Bounds,
    PartialSizes,
    Rejected,
    Size,
    Symbolic,
    bounds_of_size,
    from_the_front,
    is_positive,
    is_within,
    quotient,
    require,
)

_EXACT_IN_FLOAT = 1 << 24
HELD_BY_FLOATS = Bounds(-_EXACT_IN_FLOAT // 2, _EXACT_IN_FLOAT // 2)
"""The integers that float has, with the distance between any two of them."""


def shape_of(node: Node) -> Shapes:
    """Shape: as many sizes as are asked for."""
    shape = node.known_shape(0)
    return ((None if shape is None else len(shape[asked_for(node)]),),)


def asked_for(node: Node) -> slice:
    """The sizes that a Shape gives."""
    return slice(node.attribute("start"), node.attribute("end"))


def constant(node: Node) -> Shapes:
    """Constant: the shape of its tensor."""
    held = node.held_shape()
    if held is None:
        raise Rejected("its tensor is not known")
    return (held,)


def filled(node: Node) -> Shapes:
    """ConstantOfShape: what its operand holds."""
    return (_not_negative(node.elements(0)),)


def positions(node: Node) -> Shapes:
    """NonZero: a position for each axis; of a scalar ONNX Runtime gives one, as of a vector."""
    return ((len(node.shape(0)) or None, None),)


def _not_negative(elements: PartialSizes) -> PartialSizes:
    negative = any(isinstance(element, int) and element < 0 for element in elements)
    require(not negative, "a size is negative")
    return elements


def expanded(node: Node) -> Shapes:
    """Expand: the common shape of the operand and of what is asked for."""
    shape, target = node.shape(0), _not_negative(node.elements(1))
    rank = max(len(shape), len(target))
    own = (1,) * (rank - len(shape)) + shape
    wanted = (1,) * (rank - len(target)) + target
    # ONNX Runtime's optimizer removes an Expand to a size of 0.
    require(0 not in wanted, "the shape that is asked for has a 0")
    return (tuple(_expanded_size(a, b) for a, b in zip(own, wanted, strict=True)),)


def _expanded_size(size: Size, wanted: Size | None) -> Size | None:
    if wanted in (1, size):
        return size
    if isinstance(size, int) and size != 1:
        return size
    return wanted if size == 1 or isinstance(wanted, int) else None


def tiled(node: Node) -> Shapes:
    """Tile: each size times its repeats."""
    shape, repeats = node.shape(0), node.elements(1)
    counts = [times for times in repeats if isinstance(times, int)]
    fits = len(repeats) == len(shape) and is_within(counts) and min(counts, default=0) >= 0
    require(fits, "its repeats do not fit")
    return (
        tuple(
            None if times is None else size * times
            for size, times in zip(shape, repeats, strict=True)
        ),
    )


def reshaped(node: Node) -> Shapes:
    """Reshape: what is asked for, with what remains for a -1."""
    target = node.elements(1)
    shape = node.known_shape(0)
    zero_copies = not node.attribute("allowzero")
    sizes = [
        _reshaped_size(
            wanted,
            None if shape is None or axis >= len(shape) else shape[axis],
            zero_copies=zero_copies,
        )
        for axis, wanted in enumerate(target)
    ]
    # With allowzero and a size of 0, ONNX Runtime takes another size for -1 than what remains.
    remains = zero_copies or all(wanted == -1 or is_positive(wanted) for wanted in target)
    if target.count(-1) == 1 and shape is not None and remains:
        copied = {axis for axis, wanted in enumerate(target) if wanted == 0 and zero_copies}
        remaining = [size for axis, size in enumerate(shape) if axis not in copied]
        index = target.index(-1)
        others = [s for axis, s in enumerate(sizes) if axis not in copied and axis != index]
        sizes[index] = _remaining(remaining, others, node.shared)
    return (tuple(sizes),)


def _reshaped_size(wanted: Size | None, own: Size | None, *, zero_copies: bool) -> Size | None:
    """The size on an axis if the target gives it; None if it is open and may be 0."""
    if isinstance(wanted, int):
        if wanted == 0 and zero_copies:
            return own
        return wanted if wanted >= 0 else None
    return wanted if wanted == own or not zero_copies or is_positive(wanted) else None


def _remaining(
    sizes: Sequence[Size], others: Sequence[Size | None], shared: frozenset[str]
) -> Size | None:
    """The size for -1; symbols that several inputs share do not cancel out."""
    remaining, gone = Counter(sizes), Counter(others)
    for size in list(gone):
        if isinstance(size, Symbolic) and shared.isdisjoint(size.names):
            cancelled = min(remaining[size], gone[size])
            remaining[size] -= cancelled
            gone[size] -= cancelled
    if any(not isinstance(size, int) for size in gone.elements()):
        return None
    divisor = math.prod(size for size in gone.elements() if isinstance(size, int))
    product = math.prod(remaining.elements())
    if divisor == 1:
        return product
    if bounds_of_size(product) is None or divisor <= 0:
        return None
    divides = product % divisor == 0 if isinstance(product, int) else True
    # Another number of elements ends the run.
    return quotient(product, divisor) if divides else None


def ranged(node: Node) -> Shapes:
    """Range: as many numbers as there are steps."""
    try:
        start, limit, step = (_whole_number(node, index) for index in range(3))
    except (Rejected, ValueError):
        return ((None,),)
    return ((_counted(start, limit, step),),)


def _whole_number(node: Node, index: int) -> Size | None:
    """A scalar operand, also in a float; None if it has a fraction, or is too large for floats."""
    constant = node.constant(index)
    if constant is None or constant.dtype.kind != "f":
        (element,) = node.small_elements(index)
        return element
    (number,) = constant.ravel().tolist()
    return int(number) if number.is_integer() and int(number) in HELD_BY_FLOATS else None


def _counted(start: Size | None, limit: Size | None, step: Size | None) -> Size | None:
    """How many numbers there are from a start to a limit, in steps."""
    if not isinstance(start, int) or not isinstance(step, int) or limit is None or step == 0:
        return None
    if isinstance(limit, int):
        # Kernels subtract in int32.
        return len(range(start, limit, step)) if is_within([limit - start]) else None
    known = limit.bounds
    if known is None or step < 0 or known.lower < start or not is_within([known.upper - start]):
        return None
    return quotient(limit + (step - 1 - start), step)


def like_first_rank(node: Node) -> Shapes:
    """As many axes as the first operand."""
    return ((None,) * len(node.shape(0)),)


def resized(node: Node) -> Shapes:
    """The requested sizes, or each size times its scale, rounded as in the kernel."""
    shape = node.shape(0)
    asked: PartialSizes = (None,) * len(shape)
    every_axis = list(range(len(shape)))
    stretched = node.attribute("keep_aspect_ratio_policy", "stretch") == "stretch"
    cropped = node.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    if not stretched or cropped or list(node.attribute("axes", every_axis)) != every_axis:
        return (asked,)
    if node.given(_SIZES_OF_RESIZE):
        asked = node.elements(_SIZES_OF_RESIZE)
    else:
        scales = node.constant(1 if node.version < _RESIZE_WITH_SIZES else _SCALES_OF_RESIZE)
        if scales is not None and scales.size == len(shape):
            asked = tuple(starmap(_scaled, zip(shape, scales.ravel(), strict=True)))
    require(len(asked) == len(shape), "it is asked for other axes")
    return (asked,)


def _scaled(size: Size, scale: np.float32) -> Size | None:
    if not 0 < scale < _LARGEST_SCALE:
        return None
    if isinstance(size, int):
        return int(np.float32(size) * scale)
    factor = float(scale)
    exact = size.bounds is not None and size.bounds.upper * max(factor, 1) <= _EXACT_IN_FLOAT
    if exact and factor.is_integer():
        return size * int(factor)
    halves = math.frexp(factor)[0] == _HALF and factor < 1
    return quotient(size, int(1 / factor)) if exact and halves else None


_SIZES_OF_RESIZE, _SCALES_OF_RESIZE = 3, 2
"""The input positions of sizes, and of scales since the version that accepts sizes."""

_RESIZE_WITH_SIZES = 11
_LARGEST_SCALE = 2**20
_HALF = 0.5


def one_hot(node: Node) -> Shapes:
    """OneHot: one axis more."""
    shape = node.shape(0)
    axis = from_the_front(node.attribute("axis", -1), len(shape) + 1)
    return ((*shape[:axis], None, *shape[axis:]),)


def spectrum(node: Node) -> Shapes:
    """STFT: batch, frames, frequencies and the two parts of a number."""
    open_shape: PartialSizes = (None, None, None, 2)
    try:
        batch, samples, *_ = node.shape(0)
        (step,) = node.integers(1)
        (length,) = node.shape(2) if node.given(2) else node.integers(3)
    except (Rejected, ValueError):
        return (open_shape,)
    if not isinstance(length, int) or step < 1 or (node.given(2) and node.given(3)):
        return (open_shape,)
    frequencies = length // 2 + 1 if node.attribute("onesided", 1) else length
    known = bounds_of_size(samples)
    # The kernel divides in float.
    exact = known is not None and length <= known.lower and known.upper < _EXACT_QUOTIENTS
    frames = quotient(samples + -length, step) + 1 if exact else None
    return ((batch, frames, frequencies, 2),)


_EXACT_QUOTIENTS = 1 << 22
"""Integers below this one have quotients in float that are rounded to no larger integer."""
