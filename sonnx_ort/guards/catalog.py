"""The guard of each kind of requirement."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sonnx_ort.guards.element_guards import (
    DIFFERENCE_WITHIN_INT32,
    EXACT_POWER,
    NUMBERS_UNDER_CROSSED_BOUNDS,
    REPRESENTABLE_QUOTIENT,
    elements_guard,
    lines_guard,
)
from sonnx_ort.guards.guard import DecidingGuard
from sonnx_ort.guards.shape_guards import (
    axes_named_once_guard,
    equal_but_on_axis_guard,
    inferable_size_guard,
    slice_guard,
)
from sonnx_ort.guards.term_guards import term_guard
from sonnx_ort.profile.contract_rules import OnSizes
from sonnx_ort.profile.requirements.arithmetic import (
    DifferenceWithinInt32,
    ExactPower,
    InfinityForZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.axes import (
    AxesNamedOnce,
    EqualButOnAxis,
    LinesAboveNegativeInfinity,
)
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds, OnElements
from sonnx_ort.profile.requirements.reshaping import InferableSize, Slicing
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import Requirement

DECIDING_GUARDS: Mapping[type, DecidingGuard] = MappingProxyType(
    {
        RepresentableQuotient: REPRESENTABLE_QUOTIENT,
        ExactPower: EXACT_POWER,
        DifferenceWithinInt32: DIFFERENCE_WITHIN_INT32,
        NumbersUnderCrossedBounds: NUMBERS_UNDER_CROSSED_BOUNDS,
    }
)
"""The guards of elements, and of shapes of single operands."""

_MADE_GUARDS: Mapping[type, Callable[[Any], DecidingGuard | None]] = MappingProxyType(
    {
        OnElements: elements_guard,
        InfinityForZeroDivisor: elements_guard,
        OnShapes: term_guard,
        OnSizes: term_guard,
        Slicing: slice_guard,
        LinesAboveNegativeInfinity: lines_guard,
        EqualButOnAxis: equal_but_on_axis_guard,
        InferableSize: inferable_size_guard,
        AxesNamedOnce: axes_named_once_guard,
    }
)
"""What makes the guards that depend on more of a requirement than its kind."""


def deciding_guard(requirement: Requirement) -> DecidingGuard | None:
    """The guard of a requirement, or None."""
    make = _MADE_GUARDS.get(type(requirement))
    return DECIDING_GUARDS.get(type(requirement)) if make is None else make(requirement)
