"""What is special in the numbers: zeros, infinities, NaN, rounding, wrapping, sparse tensors.

ONNX Runtime's `run` takes and gives no bfloat16 arrays, so a model that computes in bfloat16 has
float32 inputs and outputs; every bfloat16 is a float32, and the casts at the edges change nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper, numpy_helper

from model_builders import bundle as make
from model_builders.bundle import Array, Bundle, bundle
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


def floats() -> Iterator[Bundle]:
    """Div and Sub in each type of floats."""
    for element_type in FLOAT_FORMATS:
        dtype = element_type.dtype
        divisions, subtractions = _rounded(element_type)
        for name, shows, operator, pairs in (
            (
                f"div_zeros_and_infinities_{dtype}",
                f"x/0, 0/0, signed zeros and infinities in {dtype}; the editions differ at x/0.",
                *("Div", _DIVISIONS),
            ),
            (
                f"div_rounding_{dtype}",
                f"Quotients in {dtype} are rounded to nearest even, subnormal ones too.",
                *("Div", divisions),
            ),
            (
                f"sub_special_{dtype}",
                f"Differences in {dtype} of zeros, infinities, ties and the ends of the range.",
                *("Sub", _SUBTRACTIONS + subtractions),
            ),
        ):
            a, b = np.array(pairs).astype(dtype).T
            cases = map(_at_the_edges, make.runs(operator, a, b))
            yield bundle(name, shows, _model(operator, a), cases)


def integers() -> Iterator[Bundle]:
    """Integer division, where C1 and C2 can be broken, and subtraction, which wraps."""
    for sign in ("", "u"):
        yield from (_quotients(np.iinfo(f"{sign}int{bits}")) for bits in (8, 16, 32, 64))
    for sign in ("", "u"):
        yield from (_differences(np.iinfo(f"{sign}int{bits}")) for bits in (8, 16, 32, 64))
    yield bundle(
        "div_constant_divisor",
        "A constant divisor without zeros keeps C1 in every run.",
        _divided_by(make.int32([3, -4, 5])),
        make.in_both_editions(make.int32([3, -2, -2]), A=make.int32([10, 10, -10])),
    )
    yield bundle(
        "div_constant_zero_divisor",
        "A constant integer divisor with a zero in it is rejected before any run.",
        _divided_by(make.int32([3, 0, 5])),
        make.rejections("Div.int.C1", "Div.R5"),
    )


def sparse_tensors() -> Iterator[Bundle]:
    """A sparse tensor, which the profile does not support."""
    model = parse("(float[3] A) => (float[3] C) { [divide] C = Div(A, B) }")
    elements = numpy_helper.from_array(make.float32([3, 5]), "B")
    indices = numpy_helper.from_array(np.array([0, 2], np.int64), "B_indices")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(elements, indices, [3]))
    yield bundle(
        "div_sparse_initializer",
        "A sparse divisor is rejected before any run.",
        model,
        make.rejections("Div.float.RG1", "Div.R2"),
    )


def products() -> Iterator[Bundle]:
    """What an optimizer would change."""
    one, x, y = make.float32([1]), make.float32([49]), make.float32(range(1, 17))
    # A double holds the product of two float32 exactly, so that the cast is the only rounding.
    product = make.quotients(one, x).astype(np.float64) * y.astype(np.float64)
    text = """(float[1] x, float[n] y) => (float[n] C) {
        [divide] reciprocal = Div(one, x)
        C = Mul(reciprocal, y)
    }"""
    yield bundle(
        "reciprocal_product",
        "(1/x) * y is rounded twice; ONNX Runtime's optimizer may not make y/x of it.",
        parse(text, constants={"one": one}),
        make.in_both_editions(product.astype(np.float32), x=x, y=y),
    )


def _model(operator: str, operand: Array) -> onnx.ModelProto:
    if operand.dtype != _BFLOAT16:
        return make.binary(operator, operand)
    tensor = f"float[{operand.size}]"
    return parse(f"""({tensor} A, {tensor} B) => ({tensor} C) {{
        A_bfloat16 = Cast <to = {_TO_BFLOAT16}> (A)
        B_bfloat16 = Cast <to = {_TO_BFLOAT16}> (B)
        [{make.NODE_NAMES[operator]}] C_bfloat16 = {operator}(A_bfloat16, B_bfloat16)
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


def _quotients(limits: np.iinfo) -> Bundle:
    dtype, low, high = limits.dtype, limits.min, limits.max
    by_zero = [[6, -5, 0], [3, 0, 0]] if low else [[6, 5, 0], [3, 0, 0]]
    pairs = {"": [[7, 6, 0, high, high, high, high - 1], [2, 7, 5, 1, 2, high, high]]}
    if low:
        first, second = [-7, 7, -7, 7, low, low, high], [2, -2, -2, 2, 2, 1, -1]
        pairs[""] = [[*first, high, -1, 0], [*second, low, high, low]]
    pairs["x/0"] = by_zero
    if low:
        pairs["smallest/-1"] = [[low, -7, low], [1, -1, -1]]
    cases = []
    for what, (a, b) in pairs.items():
        cases += make.runs("Div", np.array(a, dtype), np.array(b, dtype), what)
    shows = " towards zero; x/0 and smallest/-1 are refused." if low else "; x/0 is refused."
    return bundle(
        f"div_{dtype}",
        f"Quotients in {dtype} are truncated{shows}",
        make.binary("Div", np.array(0, dtype), ("n",)),
        cases,
    )


def _differences(limits: np.iinfo) -> Bundle:
    dtype, smallest, largest = limits.dtype, limits.min, limits.max
    a = np.array([smallest, largest, smallest, 0, 0, 5, largest], dtype)
    b = np.array([1, smallest, largest, smallest, largest, 3, largest], dtype)
    return bundle(
        f"sub_{dtype}",
        f"Differences in {dtype} wrap modulo 2^{limits.bits}.",
        make.binary("Sub", a, ("n",)),
        make.runs("Sub", a, b),
    )


def _divided_by(divisor: Array) -> onnx.ModelProto:
    text = "(int32[3] A) => (int32[3] C) { [divide] C = Div(A, B) }"
    return parse(text, constants={"B": divisor})
