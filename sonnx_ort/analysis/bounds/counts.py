"""Operators that give sizes, positions and numbers of elements, and those that make elements."""

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.bounds.rule import (
    BoundedInputs,
    BoundsRule,
    Unbounded,
    constant_bounds,
)
from sonnx_ort.profile.operand import Bounds

_COUNTS = Bounds(0, 2**63 - 1)
_EXACT = 1 << 53
"""ONNX Runtime counts the numbers of a Range in double, which tells integers up to here apart."""


def _counted(inputs: BoundedInputs) -> Sequence[Bounds]:
    """Sizes and positions are never negative; a size may be 0."""
    del inputs
    return [_COUNTS]


def _best(inputs: BoundedInputs) -> Sequence[Bounds | None]:
    return [_or_nothing(inputs, 0), _COUNTS]


def _unique(inputs: BoundedInputs) -> Sequence[Bounds | None]:
    """What is counted is there at least once."""
    return [_or_nothing(inputs, 0), _COUNTS, _COUNTS, Bounds(1, _COUNTS.upper)]


def _or_nothing(inputs: BoundedInputs, index: int) -> Bounds | None:
    try:
        return inputs.bounds(index)
    except Unbounded:
        return None


def _constant(inputs: BoundedInputs) -> Sequence[Bounds | None]:
    return [constant_bounds(inputs.node.outputs[0])]


def _filled(inputs: BoundedInputs) -> Sequence[Bounds]:
    value = inputs.attribute("value", None)
    if not isinstance(value, ir.TensorProtocol) or value.size != 1:
        raise Unbounded
    if not value.dtype.is_integer():
        raise Unbounded
    (element,) = value.numpy().ravel().tolist()
    return [Bounds(element, element)]


def _range(inputs: BoundedInputs) -> Sequence[Bounds]:
    """From the start on, and not as far as the limit; a step of 0 is an error."""
    start, limit, step = inputs.all_bounds()
    spread = Bounds(limit.lower - start.upper, limit.upper - start.lower)
    allowed = inputs.limits
    for bounds in (start, limit, spread):
        if max(abs(bounds.lower), abs(bounds.upper)) > _EXACT:
            raise Unbounded
    if spread.lower < allowed.lower or spread.upper > allowed.upper:
        raise Unbounded
    lower = start.lower if step.lower >= 0 else min(start.lower, limit.lower + 1)
    upper = start.upper if step.upper <= 0 else max(start.upper, limit.upper - 1)
    return [Bounds(lower, upper)]


COUNTS: Mapping[str, BoundsRule] = {
    **dict.fromkeys(("ArgMax", "ArgMin", "NonZero", "Shape", "Size"), _counted),
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Range": _range,
    "TopK": _best,
    "Unique": _unique,
}
"""The operators of this file by name."""
