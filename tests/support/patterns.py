"""What ONNX Runtime's optimizers look for around operators of the profile, a model for each.

The table has the optimizers of onnxruntime 1.32.0 that read such operators on the CPU, but for
those of attention layers, embeddings and weights of four bits, and for ConvAddActivationFusion,
which finds nothing where NchwcTransformer was before it. The others look for operators that the
profile does not speak of, or leave models alone that run on the CPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from support.graphs import parse
from support.sessions import LEVELS

Shapes = Mapping[str, tuple[int, ...]]

TAKEN = "taken"
"""The name of the node that the optimizer takes away in each model."""


@dataclass(frozen=True)
class Pattern:
    """A model that an optimizer changes, with a rule of the profile that only a run decides.

    Attributes:
        optimizer: The name under which ONNX Runtime knows the optimizer, or its group.
        level: The lowest level of optimization at which it changes the model.
        text: The model.
        kept: The shapes of inputs that keep all rules.
        broken: Shapes of some inputs with which a run breaks one.
        told: The names of the nodes whose rule that is, of which one is told.
        broadcast: Whether broadcasting is written out.
        survives: The backends behind whose guards the optimizer still takes the node away.
        opset: The version of the standard operators.
    """

    optimizer: str
    level: str
    text: str
    kept: Shapes
    broken: Shapes
    told: tuple[str, ...] = ("guarded",)
    broadcast: str = "reject"
    survives: frozenset[str] = frozenset()
    opset: int = 17

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which the optimizer changes the model."""
        names = tuple(LEVELS)
        return names[names.index(self.level) :]

    def model(self) -> onnx.ModelProto:
        """Make the model."""
        return parse(self.text, opset=self.opset)

    def feeds(self, *, breaking: bool = False) -> dict[str, npt.NDArray[np.generic]]:
        """Positive numbers for the inputs, the same ones each time.

        Args:
            breaking: Whether a rule is to be broken.
        """
        generator = np.random.default_rng(1)
        shapes = {**self.kept, **self.broken} if breaking else self.kept
        feeds = {}
        for declared in self.model().graph.input:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(declared.type.tensor_type.elem_type)
            numbers = generator.integers(1, 9, shapes[declared.name])
            feeds[declared.name] = np.asarray(numbers % 2 if dtype == np.bool_ else numbers, dtype)
        return feeds


_NATIVE = frozenset({"native"})
_PYTHON = frozenset({"python"})

_WEIGHTS = "float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}"
_SCALES = "float[4] w = {1, 2, 3, 4}, float[4] b = {4, 3, 2, 1}"
_QUANTIZED = "float s = {0.5}, uint8 o = {3}"
_INTEGER_WEIGHTS = "uint8[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, uint8 wz = {2}"
_KERNELS = "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,2,1,1] b = {4, 3}"

_ROWS: Shapes = {"x": (2, 4), "y": (2, 4)}
_MORE_ROWS: Shapes = {"y": (3, 4)}
_IN_FRONT = "(float[k,4] x, float[n,4] y) => (float[] z)"

_GELU = f"""{_IN_FRONT} <float root = {{1.4142135}}, float one = {{1}}, float half = {{0.5}}> {{
    [guarded] v = Add(x, y)
    d = Div(v, root)
    e = Erf(d)
    [taken] f = Add(e, one)
    g = Mul(v, f)
    z = Mul(g, half)
}}"""
_LAYER_NORMALIZATION = f"""{_IN_FRONT}
<float two = {{2}}, float epsilon = {{1e-5}}, {_SCALES}> {{
    [guarded] v = Add(x, y)
    mean = ReduceMean <axes = [-1]> (v)
    centred = Sub(v, mean)
    square = Pow(centred, two)
    variance = ReduceMean <axes = [-1]> (square)
    sum = Add(variance, epsilon)
    [taken] deviation = Sqrt(sum)
    normal = Div(centred, deviation)
    scaled = Mul(normal, w)
    z = Add(scaled, b)
}}"""
_SIMPLIFIED_NORMALIZATION = f"""{_IN_FRONT}
<float two = {{2}}, float epsilon = {{1e-5}}, {_SCALES}> {{
    [guarded] v = Add(x, y)
    square = Pow(v, two)
    mean = ReduceMean <axes = [-1]> (square)
    sum = Add(mean, epsilon)
    [taken] root = Sqrt(sum)
    normal = Div(v, root)
    z = Mul(normal, w)
}}"""
_TANH_GELU = (
    "float c = {0.044715}, float s = {0.7978845834732056}, float one = {1}, float h = {0.5}"
)
_FAST_GELU_OF_PRODUCTS = f"""{_IN_FRONT} <{_TANH_GELU}> {{
    [guarded] v = Add(x, y)
    p = Mul(v, c)
    square = Mul(v, p)
    sum = Add(square, one)
    scaled = Mul(v, s)
    t = Mul(scaled, sum)
    u = Tanh(t)
    [taken] a = Add(u, one)
    half = Mul(v, h)
    g = Mul(half, a)
    z = Neg(g)
}}"""
_FAST_GELU_OF_POWERS = f"""{_IN_FRONT} <{_TANH_GELU}, float three = {{3}}> {{
    [guarded] v = Add(x, y)
    cube = Pow(v, three)
    p = Mul(cube, c)
    sum = Add(v, p)
    t = Mul(sum, s)
    u = Tanh(t)
    [taken] a = Add(u, one)
    half = Mul(v, h)
    g = Mul(half, a)
    z = Neg(g)
}}"""


def _quantized(operator: str, sizes: tuple[str, str], behind: str, rest: str = "") -> str:
    """An operator between conversions from and to uint8."""
    x, y = sizes
    conditions = "bool[3] k, " if operator == "Where" else ""
    operands = "k, a, b" if operator == "Where" else "a, b"
    return f"""({conditions}uint8[{x}] x, uint8[{y}] y{rest}) => (float[] z) <{_QUANTIZED}> {{
        a = DequantizeLinear(x, s, o)
        b = DequantizeLinear(y, s, o)
        [taken] c = {operator}({operands})
        d = QuantizeLinear(c, s, o)
        e = DequantizeLinear(d, s, o)
        {behind}
    }}"""


def _between_quantizations(operator: str, conditions: Shapes) -> dict[str, Pattern]:
    shapes: Shapes = {**conditions, "x": (3,), "y": (3,)}
    # A Where stays what it is behind the custom operator that looks at its operands.
    python = _PYTHON if operator == "Where" else frozenset()
    return {
        f"QLinear{operator} of guarded operands": Pattern(
            "QDQSelectorActionTransformer",
            "extended",
            _quantized(operator, ("3", "n"), "z = Neg(e)"),
            shapes,
            {"y": (1,)},
            told=(TAKEN,),
            survives=python and python | _NATIVE,
        ),
        f"QLinear{operator} in front of a guard": Pattern(
            "QDQSelectorActionTransformer",
            "extended",
            _quantized(operator, ("3", "3"), "[guarded] z = Mul(e, q)", ", float[n] q"),
            {**shapes, "q": (3,)},
            {"q": (1,)},
            survives=python | _NATIVE,
        ),
    }


PATTERNS = {
    "Gemm with a guarded bias": Pattern(
        "MatMulAddFusion",
        "basic",
        f"""(float[k,3] x) => (float[] z) <{_WEIGHTS}, float[1,4] c = {{1, 2, 3, 4}}> {{
            p = MatMul(x, w)
            [taken] z = Add(p, c)
        }}""",
        {"x": (1, 3)},
        {"x": (2, 3)},
        told=(TAKEN,),
    ),
    "Gemm in front of a guard": Pattern(
        "MatMulAddFusion",
        "basic",
        f"""(float[2,3] x, float[2,4] c, float[n,4] y) => (float[] z) <{_WEIGHTS}> {{
            p = MatMul(x, w)
            [taken] q = Add(p, c)
            [guarded] z = Mul(q, y)
        }}""",
        {"x": (2, 3), "c": (2, 4), "y": (2, 4)},
        {"y": (1, 4)},
        survives=_NATIVE,
    ),
    "FusedGemm in front of a guard": Pattern(
        "GemmActivationFusion",
        "extended",
        f"""(float[2,3] x, float[2,4] c, float[n,4] y) => (float[] z) <{_WEIGHTS}> {{
            p = MatMul(x, w)
            q = Add(p, c)
            [taken] r = Relu(q)
            [guarded] z = Mul(r, y)
        }}""",
        {"x": (2, 3), "c": (2, 4), "y": (2, 4)},
        {"y": (1, 4)},
        survives=_NATIVE,
    ),
    "BiasGelu behind a guard": Pattern(
        "BiasGeluFusion",
        "extended",
        """(float[4] x, float[n] y) => (float[] z) <float[4] b = {1, 2, 3, 4}> {
            [guarded] v = Mul(x, y)
            [taken] s = Add(v, b)
            z = Gelu(s)
        }""",
        {"x": (4,), "y": (4,)},
        {"y": (1,)},
        survives=_NATIVE,
        opset=20,
    ),
    "BiasGelu in front of a guard": Pattern(
        "BiasGeluFusion",
        "extended",
        """(float[4] x, float[n] y) => (float[] z) <float[4] b = {1, 2, 3, 4}> {
            [taken] s = Add(x, b)
            g = Gelu(s)
            [guarded] z = Mul(g, y)
        }""",
        {"x": (4,), "y": (4,)},
        {"y": (1,)},
        survives=_NATIVE,
        opset=20,
    ),
    "Gelu of opset 17": Pattern(
        "GeluFusionL2", "extended", _GELU, _ROWS, _MORE_ROWS, broadcast="explicit"
    ),
    "Gelu of opset 20": Pattern(
        "GeluFusionL1", "basic", _GELU, _ROWS, _MORE_ROWS, broadcast="explicit", opset=20
    ),
    "FastGelu of products": Pattern(
        "FastGeluFusion",
        "extended",
        _FAST_GELU_OF_PRODUCTS,
        _ROWS,
        _MORE_ROWS,
        broadcast="explicit",
    ),
    "FastGelu of powers": Pattern(
        "FastGeluFusion",
        "extended",
        _FAST_GELU_OF_POWERS,
        _ROWS,
        _MORE_ROWS,
        broadcast="explicit",
        opset=13,
    ),
    "QuickGelu": Pattern(
        "QuickGeluFusion",
        "extended",
        f"""{_IN_FRONT} <float alpha = {{1.702}}> {{
            [guarded] v = Add(x, y)
            a = Mul(v, alpha)
            s = Sigmoid(a)
            [taken] z = Mul(v, s)
        }}""",
        _ROWS,
        _MORE_ROWS,
        broadcast="explicit",
    ),
    "QuickGelu behind a guard": Pattern(
        "QuickGeluFusion",
        "extended",
        """(float[k] x, float[n] y) => (float[] z) {
            [guarded] v = Add(x, y)
            s = Sigmoid(v)
            [taken] z = Mul(v, s)
        }""",
        {"x": (2,), "y": (2,)},
        {"y": (1,)},
        survives=_NATIVE,
    ),
    "LayerNormalization of opset 17": Pattern(
        "LayerNormFusionL1", "basic", _LAYER_NORMALIZATION, _ROWS, _MORE_ROWS, broadcast="explicit"
    ),
    "LayerNormalization of opset 16": Pattern(
        "LayerNormFusionL2",
        "extended",
        _LAYER_NORMALIZATION,
        _ROWS,
        _MORE_ROWS,
        broadcast="explicit",
        opset=16,
    ),
    "SimplifiedLayerNormalization": Pattern(
        "SimplifiedLayerNormFusion",
        "extended",
        _SIMPLIFIED_NORMALIZATION,
        _ROWS,
        _MORE_ROWS,
        broadcast="explicit",
    ),
    "SkipLayerNormalization of guarded operands": Pattern(
        "SkipLayerNormFusion",
        "extended",
        f"""(float[k,3,4] x, float[k,3,4] y) => (float[] z) <{_SCALES}> {{
            [taken] v = Add(x, y)
            z = LayerNormalization(v, w, b)
        }}""",
        {"x": (2, 3, 4), "y": (2, 3, 4)},
        {"y": (1, 3, 4)},
        told=(TAKEN,),
    ),
    "SkipLayerNormalization in front of a guard": Pattern(
        "SkipLayerNormFusion",
        "extended",
        f"""(float[2,3,4] x, float[2,3,4] y, float[n,3,4] q) => (float[] z) <{_SCALES}> {{
            [taken] v = Add(x, y)
            u = LayerNormalization(v, w, b)
            [guarded] z = Mul(u, q)
        }}""",
        {"x": (2, 3, 4), "y": (2, 3, 4), "q": (2, 3, 4)},
        {"q": (1, 3, 4)},
        survives=_NATIVE,
    ),
    "SkipLayerNormalization with a bias": Pattern(
        "BiasSkipLayerNormFusion",
        "extended",
        f"""(float[k,3,4] x, float[k,3,4] y, float[n,3,4] q) => (float[] z)
        <{_SCALES}, float[4,4] m = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 8}}> {{
            p = MatMul(x, m)
            [taken] a = Add(p, b)
            v = Add(a, y)
            u = LayerNormalization(v, w, b)
            [guarded] z = Mul(u, q)
        }}""",
        {"x": (2, 3, 4), "y": (2, 3, 4), "q": (2, 3, 4)},
        {"q": (3, 3, 4)},
        broadcast="explicit",
    ),
    "sum of a convolution, guarded": Pattern(
        "ConvAddFusion",
        "basic",
        f"""(float[k,1,2,2] x) => (float[] z) <{_KERNELS}> {{
            c = Conv(x, w)
            [taken] z = Add(c, b)
        }}""",
        {"x": (1, 1, 2, 2)},
        {"x": (2, 1, 2, 2)},
        told=(TAKEN,),
    ),
    "sum of a convolution in front of a guard": Pattern(
        "ConvAddFusion",
        "basic",
        f"""(float[1,1,2,2] x, float[k,2,1,1] y) => (float[] z) <{_KERNELS}> {{
            c = Conv(x, w)
            [taken] d = Add(c, b)
            [guarded] z = Mul(d, y)
        }}""",
        {"x": (1, 1, 2, 2), "y": (1, 2, 1, 1)},
        {"y": (2, 2, 1, 1)},
        survives=_NATIVE,
    ),
    "product of a convolution, guarded": Pattern(
        "ConvMulFusion",
        "basic",
        f"""(float[k,1,2,2] x) => (float[] z) <{_KERNELS}> {{
            c = Conv(x, w)
            [taken] z = Mul(c, b)
        }}""",
        {"x": (1, 1, 2, 2)},
        {"x": (2, 1, 2, 2)},
        told=(TAKEN,),
    ),
    "product of a convolution in front of a guard": Pattern(
        "ConvMulFusion",
        "basic",
        f"""(float[1,1,2,2] x, float[k,2,1,1] y) => (float[] z) <{_KERNELS}> {{
            c = Conv(x, w)
            [taken] d = Mul(c, b)
            [guarded] z = Add(d, y)
        }}""",
        {"x": (1, 1, 2, 2), "y": (1, 2, 1, 1)},
        {"y": (2, 2, 1, 1)},
        survives=_NATIVE,
    ),
    "Where of a Not, guarded": Pattern(
        "NotWhereFusion",
        "basic",
        """(bool[k] c, float[n] x, float[m] y) => (float[] z) {
            [taken] d = Not(c)
            [guarded] z = Where(d, x, y)
        }""",
        {"c": (3,), "x": (3,), "y": (3,)},
        {"y": (1,)},
    ),
    "Where of a Not in front of a guard": Pattern(
        "NotWhereFusion",
        "basic",
        """(bool[3] c, float[3] x, float[3] y, float[n] q) => (float[] z) {
            [taken] d = Not(c)
            w = Where(d, x, y)
            [guarded] z = Add(w, q)
        }""",
        {"c": (3,), "x": (3,), "y": (3,), "q": (3,)},
        {"q": (1,)},
        survives=_NATIVE,
    ),
    "factor of a MatMul": Pattern(
        "MatMulScaleFusion",
        "extended",
        """(float[1,1] x, float[n,2] q) => (float[] z)
        <float[1,1] s = {3}, float[1,2] w = {1, 2}> {
            [taken] a = Mul(x, s)
            b = MatMul(a, w)
            [guarded] z = Add(b, q)
        }""",
        {"x": (1, 1), "q": (1, 2)},
        {"q": (2, 2)},
    ),
    "x + 0, guarded": Pattern(
        "NoopElimination",
        "basic",
        """(float[k] x) => (float[] z) <float[1] zero = {0}> {
            v = Abs(x)
            [taken] a = Add(v, zero)
            z = Neg(a)
        }""",
        {"x": (1,)},
        {"x": (2,)},
        told=(TAKEN,),
    ),
    "x * 1 in front of a guard": Pattern(
        "NoopElimination",
        "basic",
        """(float[1] x, float[n] y) => (float[] z) <float[1] one = {1}> {
            v = Abs(x)
            [taken] a = Mul(v, one)
            [guarded] z = Add(a, y)
        }""",
        {"x": (1,), "y": (1,)},
        {"y": (2,)},
    ),
    "DynamicQuantizeMatMul in front of a guard": Pattern(
        "DynamicQuantizeMatMulFusion",
        "extended",
        f"""(float[n,3] x, float[m,4] y) => (float[] z) <{_INTEGER_WEIGHTS}, float ws = {{0.5}}> {{
            xq, xs, xz = DynamicQuantizeLinear(x)
            i = MatMulInteger(xq, w, xz, wz)
            f = Cast <to = 1> (i)
            s = Mul(xs, ws)
            [taken] p = Mul(f, s)
            [guarded] z = Add(p, y)
        }}""",
        {"x": (2, 3), "y": (2, 4)},
        {"y": (3, 4)},
        broadcast="explicit",
    ),
    "MatMulIntegerToFloat in front of a guard": Pattern(
        "MatMulIntegerToFloatFusion",
        "extended",
        """(uint8[1,3] x, float[1,1] xs, float[1,1] ws, float[n,1] q) => (float[] z)
        <uint8[3,1] w = {1, 2, 3}, uint8 wz = {2}, uint8 xz = {7}> {
            i = MatMulInteger(x, w, xz, wz)
            f = Cast <to = 1> (i)
            s = Mul(xs, ws)
            [taken] p = Mul(f, s)
            [guarded] z = Add(p, q)
        }""",
        {"x": (1, 3), "xs": (1, 1), "ws": (1, 1), "q": (1, 1)},
        {"q": (2, 1)},
        survives=_NATIVE,
    ),
    "Where of a constant between quantizations": Pattern(
        "WhereDummyDq",
        "extended",
        f"""(bool[3] k, uint8[3] x, float[n] q) => (float[] z) <{_QUANTIZED}, float y = {{1}}> {{
            a = DequantizeLinear(x, s, o)
            [taken] c = Where(k, a, y)
            d = QuantizeLinear(c, s, o)
            e = DequantizeLinear(d, s, o)
            [guarded] z = Mul(e, q)
        }}""",
        {"k": (3,), "x": (3,), "q": (3,)},
        {"q": (2,)},
        broadcast="explicit",
    ),
    **_between_quantizations("Add", {}),
    **_between_quantizations("Mul", {}),
    **_between_quantizations("Where", {"k": (3,)}),
    "Transpose of guarded operands": Pattern(
        "TransposeOptimizer",
        "basic",
        """(float[a,b] x, float[c,d] y) => (float[] z) {
            t = Transpose <perm = [1, 0]> (x)
            u = Transpose <perm = [1, 0]> (y)
            [guarded] v = Max(t, u)
            [taken] z = Transpose <perm = [1, 0]> (v)
        }""",
        {"x": (3, 2), "y": (3, 2)},
        {"y": (1, 2)},
    ),
    "Transpose in front of a guard": Pattern(
        "TransposeOptimizer",
        "basic",
        """(float[3,2] x, float[3,2] y, float[n,2] q) => (float[] z) {
            t = Transpose <perm = [1, 0]> (x)
            u = Transpose <perm = [1, 0]> (y)
            v = Max(t, u)
            [taken] w = Transpose <perm = [1, 0]> (v)
            [guarded] z = Mul(w, q)
        }""",
        {"x": (3, 2), "y": (3, 2), "q": (3, 2)},
        {"q": (1, 2)},
        survives=_NATIVE,
    ),
    "equal nodes behind equal guards": Pattern(
        "CommonSubexpressionElimination",
        "basic",
        """(float[a] x, float[b] y) => (float[] z) {
            [taken] t = Max(x, y)
            [guarded] u = Max(x, y)
            z = Mul(t, u)
        }""",
        {"x": (3,), "y": (3,)},
        {"y": (1,)},
        told=(TAKEN, "guarded"),
        survives=_NATIVE,
    ),
    "convolutions in blocks, in front of a guard": Pattern(
        "NchwcTransformer",
        "all",
        """(float[1,1,2,2] x, float[1,1,2,2] y, float[n,16,2,2] q) => (float[] z)
        <float[16,1,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}> {
            c = Conv(x, w)
            d = Conv(y, w)
            [taken] a = Add(c, d)
            e = Relu(a)
            [guarded] z = Mul(e, q)
        }""",
        {"x": (1, 1, 2, 2), "y": (1, 1, 2, 2), "q": (1, 16, 2, 2)},
        {"q": (2, 16, 2, 2)},
        survives=_NATIVE,
    ),
}
