"""Models with a Div or Sub that ONNX Runtime's optimizers would take away."""

import math
from dataclasses import dataclass

import onnx

from support.graphs import parse
from support.sessions import LEVELS


@dataclass(frozen=True)
class Fusion:
    """A model, and the optimizer that takes nodes of it away.

    Attributes:
        optimizer: The name under which ONNX Runtime knows the optimizer.
        model: A model that keeps to the profile, with operands of one shape.
        level: The lowest level of optimization at which it does so.
        losses: What the verification says is wrong then.
    """

    optimizer: str
    model: onnx.ModelProto
    level: str
    losses: str = "Div 'divide' is gone"

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which it does so."""
        names = tuple(LEVELS)
        return names[names.index(self.level) :]


def reciprocal_times_y(element_type: str = "float") -> onnx.ModelProto:
    """`(1 / x) * y`."""
    one = f"{element_type}[1]"
    return parse(f"""({one} x, {one} y) => ({element_type}[] z) <{one} one = {{1}}> {{
        [divide] r = Div(one, x)
        z = Mul(r, y)
    }}""")


def without_effect(operator: str, neutral: int) -> onnx.ModelProto:
    """`-(abs(x) op neutral)`."""
    return parse(f"""(float[1] x) => (float[] z) <float[1] neutral = {{{neutral}}}> {{
        absolute = Abs(x)
        [{operator.lower()}] r = {operator}(absolute, neutral)
        z = Neg(r)
    }}""")


def gelu(opset: int) -> onnx.ModelProto:
    """`x * (erf(x / sqrt(2)) + 1) / 2`, with a product for the last quotient."""
    text = f"""(float[1] x) => (float[] z)
    <float[1] root = {{{math.sqrt(2)}}}, float one = {{1}}, float half = {{0.5}}> {{
        [divide] scaled = Div(x, root)
        e = Erf(scaled)
        f = Add(e, one)
        g = Mul(x, f)
        z = Mul(g, half)
    }}"""
    return parse(text, opset=opset)


def layer_normalization(opset: int) -> onnx.ModelProto:
    """`(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * w + b`, of one element a row."""
    text = """(float[2,1] x) => (float[] z)
    <float two = {2}, float epsilon = {1e-5}, float[1] w = {3}, float[1] b = {5}> {
        mean = ReduceMean <axes = [-1]> (x)
        [centre] centred = Sub(x, mean)
        square = Pow(centred, two)
        variance = ReduceMean <axes = [-1]> (square)
        sum = Add(variance, epsilon)
        deviation = Sqrt(sum)
        [divide] normal = Div(centred, deviation)
        scaled = Mul(normal, w)
        z = Add(scaled, b)
    }"""
    return parse(text, opset=opset)


def root_mean_square_normalization() -> onnx.ModelProto:
    """`x / sqrt(mean(x^2) + epsilon) * w`, of one element a row."""
    return parse("""(float[2,1] x) => (float[] z)
    <float two = {2}, float epsilon = {1e-5}, float[1] w = {3}> {
        square = Pow(x, two)
        mean = ReduceMean <axes = [-1]> (square)
        sum = Add(mean, epsilon)
        root = Sqrt(sum)
        [divide] normal = Div(x, root)
        z = Mul(normal, w)
    }""")


def scaled_product() -> onnx.ModelProto:
    """`(x @ y) / 3`, of one element."""
    return parse("""(float[1,8] x, float[8,1] y) => (float[] z) <float[1,1] three = {3}> {
        product = MatMul(x, y)
        [divide] z = Div(product, three)
    }""")


_NORMALIZED = "Sub 'centre' is gone; Div 'divide' is gone"

FUSIONS = {
    "reciprocal": Fusion(
        "DivMulFusion",
        reciprocal_times_y(),
        "basic",
        "Div 'divide': its operand A is no longer the constant 'one'",
    ),
    "x / 1": Fusion("NoopElimination", without_effect("Div", 1), "basic", "Div 'div' is gone"),
    "x - 0": Fusion("NoopElimination", without_effect("Sub", 0), "basic", "Sub 'sub' is gone"),
    "Gelu of opset 20": Fusion("GeluFusionL1", gelu(20), "basic"),
    "Gelu of opset 17": Fusion("GeluFusionL2", gelu(17), "extended"),
    "LayerNormalization of opset 17": Fusion(
        "LayerNormFusionL1", layer_normalization(17), "basic", _NORMALIZED
    ),
    "LayerNormalization of opset 16": Fusion(
        "LayerNormFusionL2", layer_normalization(16), "extended", _NORMALIZED
    ),
    "RMSNormalization": Fusion(
        "SimplifiedLayerNormFusion", root_mean_square_normalization(), "extended"
    ),
    "scaled MatMul": Fusion("MatMulScaleFusion", scaled_product(), "extended"),
}
