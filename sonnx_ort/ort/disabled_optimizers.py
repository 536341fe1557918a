"""The optimizers of ONNX Runtime that must not act on an enforced model, and their names."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import onnx

from sonnx_ort.facts.optimizers import MUST_BE_OFF


@dataclass(frozen=True, slots=True)
class Optimizer:
    """A graph optimizer that must not act on an enforced model, and a model on which it does.

    ONNX Runtime considers the names of its optimizers internal and ignores unknown ones. So
    disabling one by name is not certain to work.

    Attributes:
        name: Its name in ONNX Runtime.
        effect: What it does, such as "omits x / 1".
        canary: A model in ONNX's textual syntax. If enabled, the optimizer removes at least one of
            the named nodes, or adds another of the same operators; nothing else may do so.
    """

    name: str
    effect: str
    canary: str


OPTIMIZERS_OF_GUARDS = (
    Optimizer(
        "ReshapeFusion",
        "merges the Reshape of a guard with a Reshape after it",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[?] x, int64[?] s) => (float[2,2] y) <int64[2] target = {2, 2}> {
            [guard] c = Reshape(x, s)
            [reshape] y = Reshape(c, target)
        }""",
    ),
    Optimizer(
        "QDQPropagationTransformer",
        "quantizes the output of a guard after a DequantizeLinear again, in 8 bits",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (int32[?] x, int64[?] s) => (float[?] y) <float scale = {0.5}> {
            [dequantize] d = DequantizeLinear(x, scale)
            [guard] y = Reshape(d, s)
        }""",
    ),
)
"""Optimizers that remove guards or their names, or change what they pass on.

Models of every backend have guards.
"""


def _gelu(opset: int) -> str:
    """`x * (erf(x / sqrt(2)) + 1) / 2`, with a product for the last quotient."""
    return f"""<ir_version: 9, opset_import: ["": {opset}]>
    canary (float[1] x) => (float[] z)
    <float[1] root = {{1.4142135}}, float one = {{1}}, float half = {{0.5}}> {{
        [divide] scaled = Div(x, root)
        e = Erf(scaled)
        f = Add(e, one)
        g = Mul(x, f)
        z = Mul(g, half)
    }}"""


def _layer_normalization(opset: int) -> str:
    """`(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * w + b`, of one element per row.

    The Div has no name, because SimplifiedLayerNormFusion, which keeps the Sub, also removes it.
    """
    return f"""<ir_version: 9, opset_import: ["": {opset}]>
    canary (float[2,1] x) => (float[] z)
    <float two = {{2}}, float epsilon = {{1e-5}}, float[1] w = {{3}}, float[1] b = {{5}}> {{
        mean = ReduceMean <axes = [-1]> (x)
        [centre] centred = Sub(x, mean)
        square = Pow(centred, two)
        variance = ReduceMean <axes = [-1]> (square)
        sum = Add(variance, epsilon)
        deviation = Sqrt(sum)
        normal = Div(centred, deviation)
        scaled = Mul(normal, w)
        z = Add(scaled, b)
    }}"""


_OF_DIV = (
    Optimizer(
        "DivMulFusion",
        "replaces (1 / x) * y by y / x",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1] x, float[1] y) => (float[] z) <float[1] one = {1}> {
            [divide] r = Div(one, x)
            [multiply] z = Mul(r, y)
        }""",
    ),
    Optimizer(
        "NoopElimination",
        "removes x / 1",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1] x) => (float[] z) <float[1] one = {1}> {
            a = Abs(x)
            [divide] q = Div(a, one)
            z = Neg(q)
        }""",
    ),
    Optimizer("GeluFusionL1", "fuses Div, Erf, Add and Mul into a Gelu", _gelu(20)),
    Optimizer(
        "GeluFusionL2",
        "fuses Div, Erf, Add and Mul into a Gelu after providers are chosen",
        _gelu(17),
    ),
    Optimizer(
        "LayerNormFusionL1",
        "fuses Sub, Div and others into a LayerNormalization",
        _layer_normalization(17),
    ),
    Optimizer(
        "LayerNormFusionL2",
        "fuses Sub, Div and others into a LayerNormalization after providers are chosen",
        _layer_normalization(16),
    ),
    Optimizer(
        "SimplifiedLayerNormFusion",
        "fuses Div and others into a SimplifiedLayerNormalization",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[2,1] x) => (float[] z)
        <float two = {2}, float epsilon = {1e-5}, float[1] w = {3}> {
            square = Pow(x, two)
            mean = ReduceMean <axes = [-1]> (square)
            sum = Add(mean, epsilon)
            root = Sqrt(sum)
            [divide] normal = Div(x, root)
            z = Mul(normal, w)
        }""",
    ),
    Optimizer(
        "MatMulScaleFusion",
        "merges a Div by one constant into a MatMul beside it",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1,8] x, float[8,1] y) => (float[] z) <float[1,1] three = {3}> {
            product = MatMul(x, y)
            [divide] z = Div(product, three)
        }""",
    ),
)

_OF_SUB = (
    Optimizer(
        "NoopElimination",
        "removes x - 0",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1] x) => (float[] z) <float[1] zero = {0}> {
            a = Abs(x)
            [subtract] d = Sub(a, zero)
            z = Neg(d)
        }""",
    ),
)

_OF_RELU = (
    Optimizer(
        "FuseReluClip",
        "removes a Relu before a Clip, which may give -0 for 0",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1] x) => (float[] y) <float low = {-1}, float high = {6}> {
            [rectify] r = Relu(x)
            y = Clip(r, low, high)
        }""",
    ),
)

_OF_GEMM = (
    Optimizer(
        "GemmTransposeFusion",
        "takes any Transpose beside a Gemm for one that exchanges both axes",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[2,3] x) => (float[] z) <float[2,1] w = {3, 5}, float[1] b = {7}> {
            [transpose] y = Transpose <perm = [1, 0]> (x)
            z = Gemm(y, w, b)
        }""",
    ),
)

BY_OPERATOR: Mapping[str, tuple[Optimizer, ...]] = {
    "Div": _OF_DIV,
    "Sub": _OF_SUB,
    "Relu": _OF_RELU,
    "Gemm": _OF_GEMM,
}
"""Optimizers that remove operators of the profile, which are left in a model if they are proved, or
not enforced. One that removes several operators together is listed with one of them.
"""

OPTIMIZERS_OF_OPERATORS = tuple(each for several in BY_OPERATOR.values() for each in several)
"""All of these."""

OPTIMIZERS_OF_ZEROS = (
    Optimizer(
        "CommonSubexpressionElimination",
        "computes nodes once whose attributes are 0 and -0",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1] x) => (float[1] y, float[1] z) {
            [of_zero] a = LeakyRelu <alpha = 0.0> (x)
            [of_minus_zero] b = LeakyRelu <alpha = -0.0> (x)
            y = Neg(a)
            z = Neg(b)
        }""",
    ),
)
"""Optimizers that change results of a model with an attribute that is -0."""

UNWANTED_OPTIMIZERS = OPTIMIZERS_OF_GUARDS + OPTIMIZERS_OF_OPERATORS
"""All optimizers that must not act on a rewritten model of any backend."""


def names_of(optimizers: Iterable[Optimizer]) -> list[str]:
    """The names of optimizers without repetitions; one may remove several operators."""
    return list(dict.fromkeys(optimizer.name for optimizer in optimizers))


def names_needed_off(*, rests_on_numbers: bool, has_minus_zero: bool) -> list[str]:
    """The names of the optimizers that must not act on a rewritten model.

    They are those that undo the enforcement, and perhaps those that form other floats than are
    proved, and those that take 0 and -0 for equal.

    Args:
        rests_on_numbers: Whether something is proved of it by floats that a kernel computes.
        has_minus_zero: Whether an attribute of it is -0.
    """
    names = names_of(UNWANTED_OPTIMIZERS)
    names += MUST_BE_OFF if rests_on_numbers else ()
    names += names_of(OPTIMIZERS_OF_ZEROS) if has_minus_zero else ()
    return list(dict.fromkeys(names))


def has_minus_zero(attributes: Iterable[onnx.AttributeProto]) -> bool:
    """Whether an attribute may be the float -0, or a list with it."""
    # Trees have lists of a million floats: their bytes are looked at, and not each number.
    return any(
        _MINUS_ZERO in attribute.SerializeToString()
        for attribute in attributes
        if attribute.type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS)
    )


_MINUS_ZERO = struct.pack("<f", -0.0)
