"""Short descriptions of expectations, for the cells of a table."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.models.example import (
    Approximation,
    Classification,
    Expectation,
    Outputs,
    Rejection,
    RunViolation,
    StaticViolation,
    differing_elements,
    same_elements,
)
from sonnx_ort.terms.operand import first_index, format_shape

Array = npt.NDArray[Any]

_SHOWN_ELEMENTS = 6
_SHOWN_OUTPUTS = 3


def describe(expected: Expectation) -> str:
    """Describe an expectation, or an actual result in the same terms, in a few words."""
    match expected:
        case Outputs(values):
            return _outputs(values)
        case Rejection(violations):
            return f"rejected: {_grouped(violations)}"
        case RunViolation():
            return f"refused in the run: {expected.rule} at {expected.node}, {_operands(expected)}"
        case Classification(_, labels, correct):
            return f"{correct} of {labels.size} right, before and after"
        case Approximation(values, tolerance):
            return f"{_outputs(values)}, within {tolerance:g}"


def describe_difference(name: str, expected: Array, actual: Array) -> str:
    """Describe the first differing element, or the types and shapes if these differ.

    Returns:
        A few words; empty if nothing differs.
    """
    if same_elements(expected, actual):
        return ""
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        was, now = (f"{a.dtype} {format_shape(a.shape)}" for a in (expected, actual))
        return f"{name} is {now}, not {was}"
    index = first_index(differing_elements(expected, actual))
    at = str(list(index)) if index else ""
    return f"{name}{at} = {_element(actual[index])}, not {_element(expected[index])}"


def _outputs(values: Mapping[str, Array]) -> str:
    shown = [f"{name} = {_elements(value)}" for name, value in values.items()]
    if len(shown) > _SHOWN_OUTPUTS:
        shown[_SHOWN_OUTPUTS:] = [f"... {len(values)} outputs"]
    return "; ".join(shown)


def _elements(array: Array) -> str:
    shown = ", ".join(_element(element) for element in array.ravel()[:_SHOWN_ELEMENTS])
    more = f", ... {array.size} elements" if array.size > _SHOWN_ELEMENTS else ""
    return f"[{shown}{more}]"


def _element(element: np.generic) -> str:
    return str(element) if element.dtype.kind in "biu" else f"{float(element):.6g}"


def _grouped(violations: tuple[StaticViolation, ...]) -> str:
    nodes: dict[str, list[str]] = {}
    for violation in violations:
        nodes.setdefault(violation.rule, []).append(violation.node)
    return "; ".join(f"{rule} at {', '.join(found)}" for rule, found in nodes.items())


def _operands(violation: RunViolation) -> str:
    if violation.index is None or violation.values is None:
        return " against ".join(format_shape(shape) for shape in violation.shapes)
    return f"{' and '.join(map(str, violation.values))} at {list(violation.index)}"
