"""What is special in the numbers: zeros, infinities, NaN, rounding, wrapping, sparse tensors.

ONNX Runtime's `run` takes and gives no bfloat16 arrays, so a model that computes in bfloat16 has
float32 inputs and outputs; every bfloat16 is a float32, and the casts at the edges change nothing.
"""

from collections.abc import Iterator

import numpy as np
import onnx
import restrictions
from onnx import helper, numpy_helper

from model_builders.bundle import Bundle, bundle, explicit, rejections, runs
from model_builders.graphs import Dimensions, binary, parse
from model_builders.outcome import Array, element_type_of
from sonnx_ort.meaning.numbers import FLOAT_FORMATS
from sonnx_ort.models import Citation
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

_BFLOAT16 = ElementType.BFLOAT16.dtype
_TO_BFLOAT16, _TO_FLOAT = onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT

Pairs = tuple[tuple[float, float], ...]

_SEED = 0
_NODE_NAMES = {"Div": "divide", "Sub": "subtract"}
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
            yield bundle(name, shows, _model(operator, a), runs(A=a, B=b))


def integers() -> Iterator[Bundle]:
    """Integer division, where C1 and C2 can be broken, and subtraction, which wraps."""
    for sign in ("", "u"):
        yield from (_quotients(np.iinfo(f"{sign}int{bits}")) for bits in (8, 16, 32, 64))
    for sign in ("", "u"):
        yield from (_differences(np.iinfo(f"{sign}int{bits}")) for bits in (8, 16, 32, 64))


def sparse_tensors() -> Iterator[Bundle]:
    """A sparse tensor, which the profile does not support."""
    model = parse("(float[3] A) => (float[3] C) { [divide] C = Div(A, B) }")
    elements = numpy_helper.from_array(np.array([3, 5], np.float32), "B")
    indices = numpy_helper.from_array(np.array([0, 2], np.int64), "B_indices")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(elements, indices, [3]))
    yield bundle(
        "div_sparse_initializer",
        "A sparse divisor is rejected before any run.",
        model,
        rejections("Div.float.RG1", "Div.R2"),
    )


def random_examples() -> Iterator[Bundle]:
    """The examples of the ONNX page on Div whose tensors are random, drawn from a fixed seed."""
    draw, shape = np.random.RandomState(_SEED), (3, 4, 5)

    def floats(*size: int) -> tuple[Array, Array]:
        a, b = draw.randn(*shape), draw.rand(*size)
        return a.astype(np.float32), b.astype(np.float32) + np.float32(1)

    def example(name: str, shows: str, a: Array, b: Array, section: str) -> Bundle:
        quotients = restrictions.outcome("Div", (a, b), element_type_of(a), Edition.TYPED)
        assert isinstance(quotients, np.ndarray)  # noqa: S101 - no divisor is zero
        uses, source = runs(A=a, B=b, C=quotients), Citation("ONNX, operator Div", section)
        return bundle(name, shows, _binary("Div", a), uses, source)

    yield example(
        "onnx_div_random",
        "Sixty random quotients in float32, each the nearest to the exact one.",
        *floats(*shape),
        "test_div",
    )
    drawn = [draw.randint(24, size=shape, dtype=np.uint8) for _ in range(2)]
    x, y = (array + np.uint8(least) for least, array in enumerate(drawn))
    yield example(
        *("onnx_div_uint8", "Sixty random quotients in uint8, truncated.", x, y, "test_div_uint8")
    )
    a, b = floats(shape[-1])
    yield bundle(
        "onnx_div_broadcast",
        "ONNX broadcasts (5,) to (3, 4, 5); the profile rejects it, or has it written out.",
        parse("(float[3,4,5] A, float[5] B) => (float[?,?,?] C) { [divide] C = Div(A, B) }"),
        [*rejections("Div.float.R1", "Div.R1 Div.R4"), *explicit(*runs(A=a, B=b))],
        Citation("ONNX, operator Div", "test_div_bcast"),
    )


def _model(operator: str, operand: Array) -> onnx.ModelProto:
    if operand.dtype != _BFLOAT16:
        return _binary(operator, operand)
    tensor = f"float[{operand.size}]"
    return parse(f"""({tensor} A, {tensor} B) => ({tensor} C) {{
        A_bfloat16 = Cast <to = {_TO_BFLOAT16}> (A)
        B_bfloat16 = Cast <to = {_TO_BFLOAT16}> (B)
        [{_NODE_NAMES[operator]}] C_bfloat16 = {operator}(A_bfloat16, B_bfloat16)
        C = Cast <to = {_TO_FLOAT}> (C_bfloat16)
    }}""")


def _binary(operator: str, operand: Array, shape: Dimensions = None) -> onnx.ModelProto:
    """A model of one node, of operands of one shape."""
    shapes = [operand.shape if shape is None else shape] * 3
    return binary(operator, element_type_of(operand), shapes, _NODE_NAMES[operator])


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
    pairs = {"": [[7, 6, 0, high, high, high, high - 1], [2, 7, 5, 1, 2, high, high]]}
    if low:
        first, second = [-7, 7, -7, 7, low, low, high], [2, -2, -2, 2, 2, 1, -1]
        pairs[""] = [[*first, high, -1, 0], [*second, low, high, low]]
    pairs["x/0"] = [[6, -5 if low else 5, 0], [3, 0, 0]]
    if low:
        pairs["smallest/-1"] = [[low, -7, low], [1, -1, -1]]
    shows = " towards zero; x/0 and smallest/-1 are refused." if low else "; x/0 is refused."
    return bundle(
        f"div_{dtype}",
        f"Quotients in {dtype} are truncated{shows}",
        _binary("Div", np.array(0, dtype), ("n",)),
        [use for what, (a, b) in pairs.items() for use in runs(what, A=a, B=b)],
    )


def _differences(limits: np.iinfo) -> Bundle:
    dtype, low, high = limits.dtype, limits.min, limits.max
    return bundle(
        f"sub_{dtype}",
        f"Differences in {dtype} wrap modulo 2^{limits.bits}.",
        _binary("Sub", np.array(0, dtype), ("n",)),
        runs(A=[low, high, low, 0, 0, 5, high], B=[1, low, high, low, high, 3, high]),
    )
