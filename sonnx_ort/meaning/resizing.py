"""Resize: elements at the coordinates of others, or means of those around them.

No document of SONNX has it: ONNX Resize, version 19. Before version 11 it does not say where
elements lie. What ONNX leaves open, or says in two ways, is taken so:

- It does not say how accurate coordinates are. A kernel computes each step of their formula, and
  the weights of elements, in float or more exactly. Where that may choose another element than the
  exact coordinate, both are admitted.
- The scale is the given one, or the quotient of the given size. `length_resized / length_original`,
  as the text has it too, is another number where the size is rounded; ONNX's tests do not take it.
- An axis with a scale of 1 keeps its elements, in version 11 also where tf_half_pixel_for_nn would
  move them by its formula.
- Align_corners divides by the size of the result, as ONNX says; its tests divide by one with a
  fraction. It maps a single element to the first one: its formula divides by 0.
- Locations outside of X have the elements at its edge, as ONNX's tests have them.
- How a mean of integers is rounded no document says: up and down are admitted.

An antialiasing filter has no meaning here, for ONNX does not say it as a formula.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor, prod
from typing import Any

import numpy as np

from sonnx_ort.meaning.balls import Interval, NotFollowedError, ball_of, ball_type, ends
from sonnx_ort.meaning.node import BallNode, Node, are_balls, balls
from sonnx_ort.meaning.numbers import (
    FLOAT_FORMATS,
    Array,
    Exact,
    Indices,
    decode,
    encode,
    number,
    tensor,
)
from sonnx_ort.meaning.results import NotDefinedError, Result, copied, relative_error
from sonnx_ort.profile.element_type import ElementType

_FLOAT = FLOAT_FORMATS[ElementType.FLOAT]
_ROUNDING = relative_error(1, _FLOAT)
_HALF = Fraction(1, 2)

_SINCE, _WITH_POLICIES = 11, 18
"""The versions that say where elements lie, and that have policies."""

PART = "part"
"""The name of an attribute that no file has: a `Part`, of which node an excerpt is one element."""


@dataclass(frozen=True, slots=True)
class Part:
    """One element of the result of a Resize, whose X has only the elements that it may read.

    Attributes:
        lengths: The sizes of the axes of the whole X.
        starts: Where the given elements begin on each axis.
        index: The index of the element in the whole result.
    """

    lengths: Sequence[int]
    starts: Sequence[int]
    index: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis, with the lengths and the scale by their names in the document.

    Attributes:
        length: The size of X.
        resized: The size of the result.
        scale: The factor, which may give a size that is no integer.
        start: The start of the region of interest, as a share of the axis.
        end: Its end.
    """

    length: int
    resized: int
    scale: Fraction
    start: Fraction = Fraction(0)
    end: Fraction = Fraction(1)


Step = Callable[[Any], Any]
"""What a kernel makes of a number: the number itself, or an interval around it."""

Formula = Callable[[_Axis, int, Step], Any]
"""The coordinate in X of a place on an axis of the result."""


def _half_pixel(axis: _Axis, place: int, step: Step) -> Any:
    return step(step((place + _HALF) / step(axis.scale)) - _HALF)


def _pytorch_half_pixel(axis: _Axis, place: int, step: Step) -> Any:
    return _half_pixel(axis, place, step) if axis.resized > 1 else step(Fraction(0))


def _align_corners(axis: _Axis, place: int, step: Step) -> Any:
    product_ = step(Fraction(place * (axis.length - 1)))
    return step(product_ / Fraction(axis.resized - 1)) if axis.resized > 1 else product_


def _asymmetric(axis: _Axis, place: int, step: Step) -> Any:
    return step(place / step(axis.scale))


def _half_pixel_for_nearest(axis: _Axis, place: int, step: Step) -> Any:
    return step((place + _HALF) / step(axis.scale))


def _half_pixel_symmetric(axis: _Axis, place: int, step: Step) -> Any:
    scale = step(axis.scale)
    adjustment = step(axis.resized / step(scale * axis.length))
    offset = step(Fraction(axis.length, 2) * step(1 - adjustment))
    return step(step(offset + step((place + _HALF) / scale)) - _HALF)


def _crop(axis: _Axis, place: int, step: Step) -> Any:
    last = axis.length - 1
    if axis.resized <= 1:
        return step(_HALF * step(axis.start + axis.end) * last)
    along = step(step(step(place * step(axis.end - axis.start)) * last) / (axis.resized - 1))
    return step(step(axis.start * last) + along)


_CROP = "tf_crop_and_resize"

_FORMULAS: Mapping[str, Formula] = {
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    _CROP: _crop,
    "tf_half_pixel_for_nn": _half_pixel_for_nearest,
}

_NEAREST: Mapping[str, Callable[[Fraction], int]] = {
    "ceil": ceil,
    "floor": floor,
    "round_prefer_ceil": lambda x: floor(x + _HALF),
    "round_prefer_floor": lambda x: ceil(x - _HALF),
}


def _in_float(x: Any) -> Interval:
    """What a kernel may make of a number that computes in float, or more exactly."""
    around = Interval(x)
    if around.is_exact() and _fits(around.low):
        return around
    return Interval(around, abs(around).high * _ROUNDING)


def _fits(x: Fraction) -> bool:
    """Whether float has a number, which is not far from 1."""
    significand, power = abs(x.numerator), x.denominator
    significand //= significand & -significand or 1
    return power & (power - 1) == 0 and significand.bit_length() <= _FLOAT.precision


def interpolates(attributes: Mapping[str, Any]) -> bool:
    """Whether a node computes elements, or has others than those of X."""
    return attributes.get("mode", "nearest") != "nearest" or _coordinate_mode(attributes) == _CROP


def _coordinate_mode(attributes: Mapping[str, Any]) -> str:
    return str(attributes.get("coordinate_transformation_mode", "half_pixel"))


def _axes(node: Node) -> list[_Axis]:
    """The axes, with the sizes and scales that operands and attributes give.

    Raises:
        NotDefinedError: These do not fit each other.
        NotFollowedError: They are not certain, or what ONNX says of them is not.
    """
    if node.version < _SINCE:
        raise NotFollowedError(f"no document says where its elements lie before version {_SINCE}")
    lengths = _lengths(node)
    named = _named_axes(node, len(lengths))
    scales, sizes = _numbers(node, 2), _numbers(node, 3)
    if bool(scales) == bool(sizes) or len(scales or sizes) != len(named):
        raise NotDefinedError(f"it has {len(scales)} scales and {len(sizes)} sizes of {len(named)}")
    regions, own = _regions(node, len(named)), [lengths[k] for k in named]
    if scales:
        if min(scales) <= 0:
            raise NotDefinedError("a scale is not above 0")
        counts: Sequence[int] = [*map(_resized, own, scales, regions)]
        factors: Sequence[Fraction] = scales
    else:
        counts, factors = _asked_sizes(node, own, list(map(int, sizes)))
    axes = [_Axis(length, length, Fraction(1)) for length in lengths]
    for k, count, factor, (start, end) in zip(named, counts, factors, regions, strict=True):
        axes[k] = _Axis(lengths[k], count, factor, start, end)
    return axes


def _lengths(node: Node) -> list[int]:
    """The sizes of X, also where only a part of it is given."""
    part = node.attributes.get(PART)
    return list(node.operand(0).shape if part is None else part.lengths)


def _named_axes(node: Node, rank: int) -> list[int]:
    named = node.integers("axes", list(range(rank)))
    if any(not -rank <= k < rank for k in named) or len({k % rank for k in named}) < len(named):
        raise NotDefinedError(
            f"not all of the axes {named} are in [{-rank}, {rank - 1}], each once"
        )
    return [k % rank for k in named]


_Region = tuple[Fraction, Fraction]


def _regions(node: Node, count: int) -> list[_Region]:
    """The part of each axis that is resized: all of it, unless the mode crops."""
    if _coordinate_mode(node.attributes) != _CROP:
        return [(Fraction(0), Fraction(1))] * count
    roi = _numbers(node, 1)
    if len(roi) != 2 * count:
        raise NotDefinedError(f"it has {len(roi)} numbers for a region of {count} axes")
    return list(zip(roi, roi[count:], strict=False))


def _asked_sizes(
    node: Node, lengths: Sequence[int], sizes: Sequence[int]
) -> tuple[Sequence[int], Sequence[Fraction]]:
    """The sizes that a node asks for, and the scales of these axes."""
    if min(sizes) < 0 or min(lengths) < 1:
        raise NotDefinedError(f"the axes of sizes {[*lengths]} are resized to {[*sizes]}")
    scales = [Fraction(*pair) for pair in zip(sizes, lengths, strict=True)]
    policy = str(node.attributes.get("keep_aspect_ratio_policy", "stretch"))
    if policy == "stretch" or node.version < _WITH_POLICIES:
        return sizes, scales
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [floor(scale * length + _HALF) for length in lengths], [scale] * len(lengths)


def _resized(length: int, scale: Fraction, region: _Region) -> int:
    """The size by a scale, `floor(input_dimension * (roi_end - roi_start) * scale)`."""
    if region[1] - region[0] != 1:
        raise NotFollowedError("ONNX says two sizes for a region with scales")
    exact = length * scale
    found = {floor(exact), floor(float(np.float32(length) * np.float32(float(scale))))}
    if len(found) > 1:
        raise NotFollowedError(f"{length} by {float(scale)} rounds to either of {sorted(found)}")
    return found.pop()


def _numbers(node: Node, place: int) -> list[Fraction]:
    """The numbers of an operand, which have to be certain; none if it is omitted."""
    operand = node.optional(place)
    if operand is None:
        return []
    if not are_balls(operand):
        return [Fraction(each) for each in operand.ravel().tolist()]
    pairs = [ends(ball) if ball.is_finite() else (0, 1) for ball in operand.ravel()]
    if any(low != high for low, high in pairs):
        raise NotFollowedError("its scales or its region are not certain")
    return [Fraction(low) for low, _ in pairs]


def resize(node: Node) -> tuple[Result | Array, ...]:
    """Resize, by elements that are nearest or by means of those around a coordinate.

    Raises:
        NotDefinedError: Operands and attributes do not fit each other.
        NotFollowedError: ONNX does not say what the result is.
    """
    axes, mode = _axes(node), str(node.attributes.get("mode", "nearest"))
    if node.integer("antialias", 0) and mode != "nearest":
        raise NotFollowedError("ONNX has no formula of its antialiasing filter")
    if any(axis.length < 1 <= axis.resized for axis in axes):
        raise NotDefinedError("an axis without elements gets some")
    if interpolates(node.attributes):
        return (_interpolated(node, axes, mode),)
    return (_chosen(node, axes),)


def elements_read(node: Node) -> int:
    """How many elements a Resize reads at most."""
    mode = str(node.attributes.get("mode", "nearest"))
    taps = {"linear": 2, "cubic": 4}.get(mode, 1)
    return prod(axis.resized * (1 if axis.resized == axis.length else taps) for axis in _axes(node))


def _coordinates(node: Node, axis: _Axis, place: int) -> tuple[Fraction, Interval]:
    """The coordinate of a place, exactly and as kernels compute it.

    Raises:
        NotDefinedError: There is no such mode.
    """
    formula = _FORMULAS.get(_coordinate_mode(node.attributes))
    if formula is None:
        raise NotDefinedError(
            f"there is no coordinate_transformation_mode {_coordinate_mode(node.attributes)}"
        )
    exact = formula(axis, place, lambda x: x)
    return exact, Interval(exact) if _is_exact(node) else formula(axis, place, _in_float)


def _is_exact(node: Node) -> bool:
    """Whether nothing is rounded, as over the reals; means of integers are computed in float."""
    over_the_reals = isinstance(node, BallNode) and node.binary is None
    of_integers = node.operand(0).dtype.kind in "iu" and interpolates(node.attributes)
    return over_the_reals and not of_integers


def _is_kept(node: Node, axis: _Axis) -> bool:
    """Whether an axis is not resized."""
    return axis.scale == 1 and _coordinate_mode(node.attributes) != _CROP


def _candidates(node: Node, axis: _Axis, place: int) -> list[int]:
    """The elements of an axis that may be the nearest ones of a place, that by the document first.

    Raises:
        NotDefinedError: There is no such mode.
    """
    if _is_kept(node, axis):
        return [place]
    exact, around = _coordinates(node, axis, place)
    name = str(node.attributes.get("nearest_mode", "round_prefer_floor"))
    if name not in _NEAREST:
        raise NotDefinedError(f"there is no nearest_mode {name}")
    nearest = _NEAREST[name]
    found = [nearest(exact), *range(nearest(around.low), nearest(around.high) + 1)]
    return list(dict.fromkeys(max(0, min(each, axis.length - 1)) for each in found))


def _chosen(node: Node, axes: Sequence[_Axis]) -> Result | Array:
    """The nearest elements, with their bits."""
    x = node.operand(0)
    found = [[_candidates(node, axis, k) for k in range(axis.resized)] for axis in axes]
    firsts = [np.array([each[0] for each in line], np.int64) for line in found]
    made = x[np.ix_(*firsts)] if axes else x.copy()
    if all(len(each) == 1 for line in found for each in line):
        return copied(made)
    if isinstance(node, BallNode):
        raise NotFollowedError("ONNX leaves open which element is the nearest one")
    others: dict[int, Array] = {}
    flat = np.arange(made.size).reshape(made.shape)
    for axis, line in enumerate(found):
        for k, each in enumerate(line):
            for place in flat.take(k, axis).ravel().tolist() if len(each) > 1 else ():
                if place not in others:
                    index = np.unravel_index(place, made.shape)
                    chosen = [some[i] for some, i in zip(found, index, strict=True)]
                    others[place] = np.array([x[c] for c in product(*chosen)][1:], x.dtype)
    nearest = made.ravel()
    unlike = {k: those for k, those in others.items() if _any_differs(nearest[k : k + 1], those)}
    return copied(made, unlike)


def _any_differs(one: Array, those: Array) -> bool:
    return any(one.tobytes() != those[k : k + 1].tobytes() for k in range(those.size))


Taps = tuple[tuple[int, Interval], ...]
"""Elements of an axis with their weights."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What a place on an axis may be made of: one of some taps, or nothing of X."""

    taps: tuple[Taps, ...]
    may_be_outside: bool = False


_OF_WEIGHTS: Mapping[str, int] = {"linear": 2, "cubic": 128}
"""How many units of float, of 1 + |a|, roundings may move a weight."""


def _place(node: Node, axis: _Axis, mode: str, place: int) -> _Place:
    """What a place of the result may be made of, on one axis."""
    if _is_kept(node, axis):
        return _Place((((place, Interval(1)),),))
    cropped = _coordinate_mode(node.attributes) == _CROP
    _, around = _coordinates(node, axis, place)
    outside = cropped and (around.low < 0 or around.high > axis.length - 1)
    if outside and (around.high < 0 or around.low > axis.length - 1):
        return _Place((), may_be_outside=True)
    if mode == "nearest":
        made: list[Taps] = [((k, Interval(1)),) for k in _candidates(node, axis, place)]
    else:
        made = [_taps(node, axis, mode, *each) for each in _pieces(around)]
    return _Place(tuple(made), outside)


def _pieces(around: Interval) -> Iterator[tuple[int, Interval]]:
    """The integers below a coordinate, and how far it is from each."""
    for below in range(floor(around.low), floor(around.high) + 1):
        low, high = (max(Fraction(0), min(end - below, Fraction(1))) for end in _ends(around))
        yield below, Interval.between(low, high)


def _ends(x: Interval) -> tuple[Fraction, Fraction]:
    return x.low, x.high


def _taps(node: Node, axis: _Axis, mode: str, below: int, along: Interval) -> Taps:
    """The elements around a coordinate with their weights, those at edges put together.

    Raises:
        NotDefinedError: There is no such mode.
        NotFollowedError: All weights may be 0.
    """
    match mode:
        case "linear":
            weights, factor = [1 - along, along], Fraction(0)
        case "cubic":
            factor = Fraction(float(np.float32(node.attributes.get("cubic_coeff_a", -0.75))))
            weights = [
                _outer(along + 1, factor),
                _inner(along, factor),
                _inner(1 - along, factor),
                _outer(2 - along, factor),
            ]
        case _:
            raise NotDefinedError(f"there is no mode {mode}")
    is_exact = _is_exact(node)
    if not is_exact and (mode == "cubic" or not along.is_exact() or along.low not in (0, 1)):
        off = _OF_WEIGHTS[mode] * (1 + abs(factor)) * _ROUNDING
        weights = [Interval(weight, off) for weight in weights]
    first = below - len(weights) // 2 + 1
    pairs = [*zip(range(first, first + len(weights)), weights, strict=True)]
    if node.integer("exclude_outside", 0):
        pairs = [(k, weight) for k, weight in pairs if 0 <= k < axis.length]
        total = sum((weight for _, weight in pairs), Interval())
        if not total != 0:
            raise NotFollowedError("the weights inside of X may sum up to 0")
        pairs = [(k, weight / total) for k, weight in pairs]
        if not is_exact:
            # A sum and a quotient are rounded.
            off = relative_error(5, _FLOAT)
            pairs = [(k, Interval(weight, abs(weight).high * off)) for k, weight in pairs]
    last = axis.length - 1
    # Weights that are 0 count as well: kernels may split the element of an edge into two halves.
    return tuple((max(0, min(k, last)), weight) for k, weight in pairs)


def _is_certainly(weight: Interval, number: int) -> bool:
    return bool(weight == number)


def _inner(distance: Interval, a: Fraction) -> Interval:
    """The weight of an element at a distance up to 1, by Keys' cubic convolution."""
    return ((a + 2) * distance - (a + 3)) * distance * distance + 1


def _outer(distance: Interval, a: Fraction) -> Interval:
    """The weight of an element at a distance from 1 to 2."""
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a


def _interpolated(node: Node, axes: Sequence[_Axis], mode: str) -> Array:
    """The elements of which each is a mean, or one that is given for what is outside."""
    part = node.attributes.get(PART)
    indices = [range(axis.resized) for axis in axes]
    starts: Sequence[int] = [0] * len(axes)
    if part is not None:
        indices, starts = [range(k, k + 1) for k in part.index], part.starts
    x = node.operand(0)
    if x.dtype.kind not in "Oiu":
        raise NotFollowedError("no document says what a mean of these elements is")
    integers, elements = not are_balls(x), balls(x)
    places = [
        [_place(node, axis, mode, k) for k in line]
        for axis, line in zip(axes, indices, strict=True)
    ]
    given = _element_outside(node)
    made = [_element(node, elements, those, starts, given, integers) for those in product(*places)]
    return tensor(made, [len(line) for line in indices])


def _element(  # noqa: PLR0913, PLR0917 - what an element is made of
    node: Node,
    x: Exact,
    places: Sequence[_Place],
    starts: Sequence[int],
    given: Any,
    integers: bool,
) -> Any:
    """A mean of elements of X, or all that it may be where its place is not certain."""
    found = []
    for taps in product(*(place.taps for place in places)):
        terms = _terms(x, taps, starts)
        if len(terms) == 1 and not terms[0][1]:
            found.append(terms[0][0])
            continue
        total, magnitude = sum(each for each, _ in terms), sum(abs(each) for each, _ in terms)
        roundings = len(terms) + 2 * max(count for _, count in terms)
        if integers:
            # Integers are converted, too, and there is no format of theirs.
            off = magnitude * ball_of(relative_error(roundings + 2, _FLOAT))
            found.append(_either_integer(total + ball_type()(0, off.upper())))
        else:
            found.append(node.rounded(total, roundings, magnitude))
    if any(place.may_be_outside for place in places):
        found.append(_either_integer(given) if integers else given)
    made, *others = found
    for other in others:
        made = made.union(other)
    return made


def _element_outside(node: Node) -> Any:
    """The element of what lies outside, which is converted to the type of X."""
    said = np.float32(node.attributes.get("extrapolation_value", 0.0))
    if not np.isfinite(said):
        raise NotFollowedError("extrapolation_value is NaN or infinite")
    value, binary = Fraction(float(said)), node.format()
    if binary is not None:
        held = decode(encode(number(value), binary), binary)
        if not held.is_finite:
            raise NotFollowedError("extrapolation_value is beyond the type")
        value = held.value
    return ball_of(value)


def _either_integer(ball: Any) -> Any:
    """The ball of the integers next to the numbers of a ball."""
    return ball.floor().union(ball.ceil())


def _terms(x: Exact, taps: Sequence[Taps], starts: Sequence[int]) -> list[tuple[Any, int]]:
    """The products of elements and weights, each with the number of its weights that are not 1."""
    terms = []
    for chosen in product(*taps):
        element = x[tuple(k - start for (k, _), start in zip(chosen, starts, strict=True))]
        weights = [weight for _, weight in chosen if not _is_certainly(weight, 1)]
        for weight in weights:
            element = element * _ball(weight)
        terms.append((element, len(weights)))
    return terms


def _ball(weight: Interval) -> Any:
    return ball_of(weight.low).union(ball_of(weight.high))


def window_of(node: Node, index: Sequence[int]) -> tuple[Indices, Part]:
    """The flat indices of the elements of X that an element of the result may read.

    They are a window, in its shape; the `Part` makes of an excerpt of them this element.
    """
    axes, mode = _axes(node), str(node.attributes.get("mode", "nearest"))
    starts, lines = [], []
    for axis, k in zip(axes, index, strict=True):
        taps = _place(node, axis, mode, k).taps
        read = [place for each in taps for place, _ in each] or [0]
        starts.append(min(read))
        lines.append(range(min(read), max(read) + 1))
    lengths = [axis.length for axis in axes]
    flat = np.ravel_multi_index(np.ix_(*lines), tuple(lengths))
    return np.asarray(flat), Part(lengths, starts, [int(k) for k in index])


def resized_shape(node: Node) -> tuple[int, ...]:
    """The shape of the result of a Resize.

    Raises:
        NotDefinedError: Operands and attributes do not fit each other.
        NotFollowedError: ONNX does not say what the size is.
    """
    return tuple(axis.resized for axis in _axes(node))
