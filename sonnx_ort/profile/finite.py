"""`Graph.finite`: no NaN and no infinity in a float value. A rule of our own.

It is off unless it is asked for by one of two names beside those of operators. ONNX Runtime has
such a check in special builds only.
"""

import functools
from typing import Any

import ml_dtypes
import numpy as np

from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.elements import OnElements, on_elements
from sonnx_ort.profile.rule import Illustration, Rule
from sonnx_ort.profile.source import Source, Standing, Words
from sonnx_ort.terms.elements import NumberSet

FINITE_OUTPUTS = "Graph.finite"
"""The name by which a caller asks for it at the float outputs of the main graph."""

FINITE_VALUES = "Graph.finite_values"
"""The name by which a caller asks for it at every float that a node computes, outputs included."""

_WIDE = 4
"""The bytes of the narrowest float that is compared in its own type."""


def finite_limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and largest number that is finite in a type.

    16-bit floats are compared in float, and ONNX Runtime may leave out the rounding before. So for
    these it is the largest float that is rounded to a finite number.
    """
    largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    if dtype.itemsize < _WIDE:
        step = largest - float(np.nextafter(dtype.type(largest), dtype.type(0)))
        largest = float(np.nextafter(np.float32(largest + step / 2), np.float32(0)))
    return -largest, largest


@functools.cache
def finite_elements(value: str) -> OnElements:
    """The requirement on a value of this name: that all elements are finite numbers."""
    return on_elements(
        value,
        NumberSet("NaN or infinite", finite_limits, admits_nan=False),
        Illustration(
            "y [1.0, -2.5]",
            "y [1.0, inf]",
            "keep the operands in the domain and range of the node, for example with Clip",
        ),
    )


FINITE = Rule(
    "Graph.finite",
    1314,
    "Every element of the value is a finite number: neither NaN nor an infinity.",
    Source(
        "SONNX graph",
        "none",
        None,
        Standing.OWN,
        Words.OURS,
        "No document demands it, and it is off by default. Among the operators, the name "
        f"`{FINITE_OUTPUTS}` selects it for the float outputs of the graph. `{FINITE_VALUES}` "
        "selects it for every float that a node computes, in subgraphs too, so that the error "
        "names the node of the first one. Neither name is part of `profile`. It covers float16, "
        "float, double and bfloat16 tensors; a value that nothing reads is not checked.",
    ),
    finite_elements("output"),
    survived=True,
    unenforced="ONNX Runtime 1.32.0 silently continues to compute with NaN and infinities.",
)


def computing_operator(name: str) -> Operator:
    """The operator of a node that computes a value, as a name in messages; without rules."""
    return Operator(name=name, operands=("output",), versions=(), contracts={})
