"""What is special in floating point: zeros, infinities, NaN, rounding and the ends of the range.

ONNX Runtime's `run` takes and gives no bfloat16 arrays, so a model that computes in bfloat16 has
float32 inputs and outputs; every bfloat16 is a float32, and the casts at the edges change nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx

from model_builders.bundle import Array, Bundle, binary, bundle, runs
from model_builders.expected import NODE_NAMES
from model_builders.graphs import parse
from sonnx_ort.models import Case, Outputs
from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS
from sonnx_ort.profile.element_type import ElementType

_BFLOAT16 = ElementType.BFLOAT16.dtype
_TO_BFLOAT16, _TO_FLOAT = onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT

Pairs = tuple[tuple[float, float], ...]

_INF, _NAN = np.inf, np.nan

_DIVISIONS = (
    *((a, b) for a in (1.0, -1.0, 0.0, -0.0, _INF, -_INF, _NAN) for b in (0.0, -0.0)),
    *((a, b) for a in (0.0, -0.0) for b in (1.0, -1.0, _INF, -_INF)),
    *((a, b) for a in (1.0, -1.0, _INF, -_INF) for b in (_INF, -_INF)),
    *((_INF, 2.0), (-_INF, 2.0), (_NAN, 1.0), (1.0, _NAN)),
)
_SUBTRACTIONS = (
    *((a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)),
    *((a, b) for a in (_INF, -_INF) for b in (_INF, -_INF)),
    *((1.5, 1.5), (1.0, _INF), (1.0, -_INF), (_INF, 1.0), (_NAN, 1.0), (1.0, _NAN)),
)


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for element_type in FLOAT_FORMATS:
        dtype = element_type.dtype
        rounded_divisions, rounded_subtractions = _rounded(element_type)
        yield _bundle(
            f"div_zeros_and_infinities_{dtype}",
            f"x/0, 0/0, signed zeros and infinities in {dtype}; the editions differ at x/0.",
            *("Div", np.array(_DIVISIONS).astype(dtype)),
        )
        yield _bundle(
            f"div_rounding_{dtype}",
            f"Quotients in {dtype} are rounded to nearest even, subnormal ones too.",
            *("Div", np.array(rounded_divisions).astype(dtype)),
        )
        yield _bundle(
            f"sub_special_{dtype}",
            f"Differences in {dtype} of zeros, infinities, ties and the ends of the range.",
            *("Sub", np.array(_SUBTRACTIONS + rounded_subtractions).astype(dtype)),
        )


def _bundle(name: str, shows: str, operator: str, pairs: Array) -> Bundle:
    a, b = pairs.T
    return bundle(name, shows, _model(operator, a), map(_at_the_edges, runs(operator, a, b)))


def _model(operator: str, operand: Array) -> onnx.ModelProto:
    if operand.dtype != _BFLOAT16:
        return binary(operator, operand)
    tensor = f"float[{operand.size}]"
    return parse(f"""({tensor} A, {tensor} B) => ({tensor} C) {{
        A_bfloat16 = Cast <to = {_TO_BFLOAT16}> (A)
        B_bfloat16 = Cast <to = {_TO_BFLOAT16}> (B)
        [{NODE_NAMES[operator]}] C_bfloat16 = {operator}(A_bfloat16, B_bfloat16)
        C = Cast <to = {_TO_FLOAT}> (C_bfloat16)
    }}""")


def _at_the_edges(inside: Case) -> Case:
    """Give what goes in and comes out."""
    if inside.inputs["A"].dtype != _BFLOAT16 or not isinstance(inside.expected, Outputs):
        return inside
    inputs, outputs = (
        {name: array.astype(np.float32) for name, array in arrays.items()}
        for arrays in (inside.inputs, inside.expected.values)
    )
    return replace(inside, inputs=inputs, expected=Outputs(outputs))


def _rounded(element_type: ElementType) -> tuple[Pairs, Pairs]:
    """Give divisions and subtractions that are rounded, and some at the ends of the range."""
    binary_format = FLOAT_FORMATS[element_type]
    epsilon = 2.0 ** (1 - binary_format.precision)
    tiny = 2.0**binary_format.smallest_exponent * epsilon
    largest = (2.0 - epsilon) * 2.0**binary_format.largest_exponent
    divisions = (
        *((1.0, 3.0), (2.0, 3.0), (-1.0, 10.0), (1.0, 49.0), (7.0, -5.0)),
        *((tiny, 2.0), (3 * tiny, 2.0), (-tiny, 4.0), (5 * tiny, 3.0)),
        *((largest, 0.5), (-largest, 0.5), (largest, largest), (1.0, largest)),
    )
    subtractions = (
        *((1.0, epsilon / 4), (1.0, epsilon / 2), (1 + epsilon, epsilon / 2)),
        *((2 * tiny, tiny), (tiny, 2 * tiny), (largest, -largest), (-largest, largest)),
    )
    return divisions, subtractions
