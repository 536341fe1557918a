"""Numbers that ONNX Runtime forms and the nodes of the model do not, or that nobody computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from support.graphs import parse
from support.sessions import on_one_thread
from support.soundness.arrays import Array

pytestmark = pytest.mark.upstream

_TERMS = 100_000


@dataclass(frozen=True)
class Case:
    """A model of which an optimizer makes one that computes something else.

    Attributes:
        optimizer: The optimizer.
        text: The model, without constants that are given as arrays.
        feeds: What it is run with.
        as_written: What its nodes give.
        optimized: What it gives at the highest level.
    """

    optimizer: str
    text: str
    feeds: Mapping[str, Array]
    as_written: float
    optimized: float


def _pixel(number: float, dtype: str = "float32") -> Array:
    return np.full((1, 1, 1, 1), number, dtype)


_BATCH = "float[1] s = {1e20}, float[1] zero = {0}, float[1] one = {1}"

FOLDED = [
    Case(
        "ConvMulFusion",
        """(float[1,1,1,1] x) => (float[] y)
        <float[1,1,1,1] w = {1e20}, float[1,1,1,1] m = {1e20}> { c = Conv(x, w)  y = Mul(c, m) }""",
        {"x": _pixel(1e-20)},
        1e20,
        np.inf,
    ),
    Case(
        "ConvAddFusion",
        """(float[1,1,1,1] x) => (float[] y)
        <float[1,1,1,1] w = {-1}, float[1] b = {3e38}, float[1,1,1,1] a = {3e38}>
        { c = Conv(x, w, b)  y = Add(c, a) }""",
        {"x": _pixel(3e38)},
        3e38,
        np.inf,
    ),
    Case(
        "ConvBNFusion",
        f"""(float[1,1,1,1] x) => (float[] y) <float[1,1,1,1] w = {{1e20}}, {_BATCH}>
        {{ c = Conv(x, w)  y = BatchNormalization<epsilon = 0.0>(c, s, zero, zero, one) }}""",
        {"x": _pixel(1e-20)},
        1e20,
        np.inf,
    ),
    Case(
        "MatMul_BatchNormalization_Fusion",
        f"""(float[1,1] x) => (float[] y) <float[1,1] w = {{1e20}}, {_BATCH}>
        {{ c = MatMul(x, w)  y = BatchNormalization<epsilon = 0.0>(c, s, zero, zero, one) }}""",
        {"x": np.full((1, 1), 1e-20, np.float32)},
        1e20,
        np.inf,
    ),
    Case(
        "MatMulScaleFusion",
        """(float[1,1] x, float[1,1] z) => (float[] y) <float s = {1e-20}>
        { c = Mul(x, s)  y = MatMul(c, z) }""",
        {"x": np.full((1, 1), 1e20, np.float32), "z": np.full((1, 1), 1e20, np.float32)},
        1e20,
        np.inf,
    ),
    Case(
        "QDQSelectorActionTransformer",
        f"""(uint8[1,{_TERMS}] x) => (float[] y) <float s = {{1}}, uint8 zero = {{0}}>
        {{ [constant] w = ConstantOfShape<value = uint8[1] {{255}}>(shape)
          a = DequantizeLinear(x, s, zero)  b = DequantizeLinear(w, s, zero)  y = MatMul(a, b) }}
        """.replace("<float s", f"<int64[2] shape = {{{_TERMS}, 1}}, float s"),
        {"x": np.full((1, _TERMS), 255, np.uint8)},
        255.0 * 255 * _TERMS,
        255.0 * 255 * _TERMS - 2.0**33,
    ),
]
"""Constants that are multiplied or added before the run, a factor that is applied later, and sums
that are kept in another type."""


def _result(text: str, feeds: Mapping[str, Array], level: str, off: str = "") -> Any:
    options = on_one_thread(level)
    options.add_session_config_entry("optimization.disable_specified_optimizers", off)
    session = ort.InferenceSession(parse(text).SerializeToString(), options)
    return session.run(None, dict(feeds))[0]


@pytest.mark.parametrize("case", FOLDED, ids=lambda case: case.optimizer)
def test_optimized_model_gives_another_number(case: Case) -> None:
    """Once it gives what the nodes give, this optimizer may act where numbers are proved."""
    found = {level: _result(case.text, case.feeds, level) for level in ("none", "all")}
    assert {level: float(array.ravel()[0]) for level, array in found.items()} == {
        "none": pytest.approx(case.as_written, rel=1e-4),
        "all": pytest.approx(case.optimized, rel=1e-4),
    }


@pytest.mark.parametrize("case", FOLDED, ids=lambda case: case.optimizer)
def test_number_is_that_of_the_nodes_without_the_optimizer(case: Case) -> None:
    found = _result(case.text, case.feeds, "all", off=case.optimizer)
    assert float(found.ravel()[0]) == pytest.approx(case.as_written, rel=1e-4)


_BLOCK = 256


@pytest.mark.parametrize(
    "nodes", ["y = Gemm(a, b, c)", "product = MatMul(a, b)  y = Add(product, c)"]
)
def test_gemm_adds_each_block_of_products_to_c(nodes: str) -> None:
    """Once the products are summed first, the rule of Gemm need not round sums in the size of C."""
    b = np.zeros((_TERMS, 1), np.float32)
    b[::_BLOCK] = 4.1
    text = f"(float[1,{_TERMS}] a, float[{_TERMS},1] b, float[1,1] c) => (float[] y) {{ {nodes} }}"
    a, c = np.ones((1, _TERMS), np.float32), np.full((1, 1), 1e8, np.float32)
    model = _result(text, {"a": a, "b": b, "c": c}, "all")
    # Each block is rounded up to 8, the distance of floats at 1e8.
    assert float(model.ravel()[0]) - 1e8 == 8 * len(b[::_BLOCK])
    assert float(b.sum(dtype=np.float64)) == pytest.approx(4.1 * len(b[::_BLOCK]))


@pytest.mark.parametrize(
    ("operator", "result"), [("MaxPool", -3.4028234663852886e38), ("AveragePool", 0.0)]
)
def test_window_in_the_padding_alone_gives_what_no_element_is(operator: str, result: float) -> None:
    """Once it is an error or NaN, the rules of pooling need not speak of such windows."""
    attributes = "<kernel_shape = [2], dilations = [3], pads = [1, 1]>"
    text = f"(float[1,1,2] x) => (float[] y) {{ y = {operator}{attributes}(x) }}"
    given = {"x": np.full((1, 1, 2), 5, np.float32)}
    found = ort.InferenceSession(parse(text, opset=20).SerializeToString()).run(None, given)[0]
    assert found.ravel().tolist() == [result]


def _of_one(node: str, kind: str, numbers: Sequence[float], opset: int) -> list[float]:
    made = parse(f"({kind}[n] x) => ({kind}[] y) {{ {node} }}", opset=opset)
    dtype = {"float": "float32", "double": "float64"}.get(kind, kind)
    session = ort.InferenceSession(made.SerializeToString())
    found: list[float] = session.run(None, {"x": np.array(numbers, dtype)})[0].tolist()
    return found


def test_gelu_by_tanh_is_positive_left_of_0() -> None:
    """Once it is not, the rule of Gelu may say that it is at most 0 there."""
    (found,) = _of_one('y = Gelu<approximate = "tanh">(x)', "float", [-5.015613555908203], 20)
    assert 0 < found < 1e-6


@pytest.mark.parametrize(
    ("kind", "numbers", "results"),
    [("double", [-40, 800], [0, np.inf]), ("float16", [100], [np.inf]), ("float", [800], [800])],
)
def test_softplus_without_a_kernel_overflows(
    kind: str, numbers: list[float], results: list[float]
) -> None:
    """Once it has kernels for all types, its rule may speak of all."""
    assert _of_one("y = Softplus(x)", kind, numbers, 18) == results


def test_clip_of_float16_takes_bounds_that_are_not_rounded() -> None:
    """Once they are rounded, the rule of Clip before version 11 may round them."""
    text = "(float16[1] x) => (float[] y) { c = Clip<min = 0.1>(x)  y = Cast<to = 1>(c) }"
    session = ort.InferenceSession(parse(text, opset=10).SerializeToString())
    found = session.run(None, {"x": np.zeros(1, np.float16)})[0]
    assert found.tolist() == [float(np.float32(0.1))] != [float(np.float16(0.1))]


def test_scale_of_a_range_that_overflows_is_infinite() -> None:
    """Once it is finite, the rule of DynamicQuantizeLinear need not look at the difference."""
    text = "(float[2] x) => (float[] s) { y, s, z = DynamicQuantizeLinear(x) }"
    given = {"x": np.array([-3e38, 3e38], np.float32)}
    found = ort.InferenceSession(parse(text).SerializeToString()).run(None, given)[0]
    assert np.isinf(found)


def test_concat_takes_an_empty_operand_of_other_sizes() -> None:
    """Once it is an error, the rules of Concat need not look at sizes of empty operands."""
    text = "(float[n,3] x, float[m,2] w) => (float[] y) { y = Concat<axis = 1>(x, w) }"
    given = {"x": np.ones((2, 3), np.float32), "w": np.ones((0, 2), np.float32)}
    found = ort.InferenceSession(parse(text).SerializeToString()).run(None, given)[0]
    # Two columns are what their memory had before.
    assert (found.shape, found[:, :3].tolist()) == ((2, 5), [[1.0] * 3] * 2)


def test_where_gives_0_for_a_byte_that_is_no_bool():
    text = "(bool[4] c, float[4] x, float[4] y) => (float[4] z) { z = Where(c, x, y) }"
    session = ort.InferenceSession(parse(text).SerializeToString(), on_one_thread())
    condition = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    operands = {"x": np.full(4, 5, np.float32), "y": np.full(4, 7, np.float32)}
    (result,) = session.run(None, {"c": condition, **operands})
    assert result.tolist() == [7, 5, 0, 0]
