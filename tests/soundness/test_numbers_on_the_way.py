"""Numbers that a kernel forms on the way are in no interval that forgets them.

Each graph makes a kernel round, overflow or underflow before its result, give an element that no
operand had, or read an attribute as its type does: its results lie within what is known of them.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.profile.contract import Contract, ValueContract
from support.graphs import parse
from support.sessions import on_one_thread
from support.soundness.operator_runs import misfit

Array = npt.NDArray[Any]


class Given(NamedTuple):
    """A graph with an input x, its opset, its constants and what it is run with."""

    graph: str
    x: Array
    opset: int = 20
    constants: dict[str, Array] = {}  # noqa: RUF012 - never changed


def floats(*numbers: float, shape: tuple[int, ...] = (-1,)) -> Array:
    return np.array(numbers, np.float32).reshape(shape)


def pooled(attributes: str, count: int, operator: str = "MaxPool") -> Given:
    text = f"(float[1,1,{count}] x) => (float[] y) {{ y = {operator}<{attributes}>(x) }}"
    return Given(text, floats(*[5.0] * count, shape=(1, 1, count)))


def of(expression: str, *numbers: float, opset: int = 20) -> Given:
    text = f"(float[{len(numbers)}] x) => (float[] y) {{ y = {expression} }}"
    return Given(text, floats(*numbers), opset)


def of_halves(expression: str, *numbers: float, opset: int = 20) -> Given:
    text = f"(float16[{len(numbers)}] x) => (float16[] y) {{ y = {expression} }}"
    return Given(text, np.array(numbers, np.float16), opset)


CHECKERED = np.where(np.indices((4, 4)).sum(axis=0) % 2, 1, -1).reshape(1, 1, 4, 4)


def resized(attributes: str) -> Given:
    return Given(
        f'(float[1,1,4,4] x) => (float[] y) {{ y = Resize<mode = "cubic", {attributes}>(x, , s) }}',
        CHECKERED.astype(np.float32),
        constants={"s": floats(1, 1, 1.7, 1.7)},
    )


def normalized(scale: float, variance: float, x: float, **others: float) -> Given:
    numbers = {"s": scale, "v": variance, "b": 0.0, "m": 0.0} | others
    return Given(
        "(float[1,1] x) => (float[] y) { y = BatchNormalization(x, s, b, m, v) }",
        floats(x, shape=(1, 1)),
        constants={name: floats(number) for name, number in numbers.items()},
    )


CASES = {
    "a factor underflows": normalized(1e-37, 1e18, 1.5e18),
    "a factor overflows": normalized(1e30, 1e-30, 1e-30),
    "a shift overflows": normalized(1.0, 1e-12, 3e32, m=3e34),
    "a variance below 0": normalized(1.0, -1.0, 1.0),
    "a spread overflows": Given(
        "(float[2] x) => (uint8[2] q, float s, uint8 z) { q, s, z = DynamicQuantizeLinear(x) }",
        floats(-3e38, 3e38),
    ),
    "factors have an infinite product": of("Selu<alpha = 3.4e38>(x)", -1.0, 0.0, 1.0),
    "a negative factor": of("Selu<gamma = -2.0>(x)", -1.0, 0.0, 1.0),
    "a slope that falls": of("HardSigmoid<alpha = -0.5>(x)", -1.0, 0.0, 1.0),
    "a slope of any size": of("HardSigmoid<alpha = 3e38>(x)", -2.0, 0.0, 2.0),
    "a gate below 0": of('Gelu<approximate = "tanh">(x)', -5.015613555908203),
    "limits of a wider type": of_halves("Clip<min = 0.1, max = 0.7>(x)", -1, 0.5, 1, opset=10),
    "a limit beyond the type": of_halves("Clip<min = 1e5, max = 2e5>(x)", -1, 1, opset=10),
    "a factor of a wider type": of_halves("LeakyRelu<alpha = 0.1>(x)", -1, -3, 1),
    "any coefficient": resized("cubic_coeff_a = -100.0"),
    "weights that are divided": resized("cubic_coeff_a = -0.75, exclude_outside = 1"),
    "the largest number of none": pooled("kernel_shape = [2], dilations = [3], pads = [1, 1]", 2),
    "the mean of none": pooled(
        "kernel_shape = [2], dilations = [3], pads = [1, 1]", 2, "AveragePool"
    ),
    "a window after the last": pooled(
        "kernel_shape = [2], strides = [3], pads = [0, 1], ceil_mode = 1", 3
    ),
    "memory that nobody wrote": Given(
        "(float[a,b] x) => (float[] y) { i = Shape(x) p = Expand(one, i)"
        " w = Compress<axis = 0>(p, no) y = Concat<axis = 1>(x, w) }",
        floats(*[5.0] * 6, shape=(2, 3)),
        constants={"one": floats(5), "no": np.zeros(2, bool)},
    ),
    "a partial sum overflows": Given(
        "(float[3] x) => (float[] y) { y = Mean(x, m, x) }",
        floats(3e38, 3e38, 1.0),
        constants={"m": floats(-3e38)},
    ),
}


def known(given: Given) -> tuple[onnx.ModelProto, list[Interval | None]]:
    model = parse(given.graph, opset=given.opset, constants=given.constants)
    ends = float(given.x.min()), float(given.x.max())
    loaded = load_canonical(model).graph_model
    numbers = Facts(loaded).numbers_under(Contract((ValueContract("x", ends),)))
    return model, [numbers.established("interval").get(output) for output in loaded.graph.outputs]


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize("case", CASES)
def test_results_lie_within_what_is_known(case: str, level: str) -> None:
    model, intervals = known(CASES[case])
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    outputs = session.run(None, {"x": CASES[case].x})
    pairs = [(i, o) for i, o in zip(intervals, outputs, strict=True) if i is not None]
    assert [misfit(*pair) for pair in pairs] == [""] * len(pairs)


REFUSED = [
    of_halves("Softplus(x)", 1, 100, opset=18),
    of("LeakyRelu<alpha = nan>(x)", 1.0),
    of("HardSigmoid<beta = inf>(x)", 1.0),
    of("Elu<alpha = -1.0>(x)", 1.0),
    of("Celu<alpha = 0.0>(x)", 1.0),
    of("Selu<alpha = -1.0>(x)", 1.0),
]
"""Attributes of which nothing is known, or by which an operator is another function."""


@pytest.mark.parametrize("given", REFUSED, ids=lambda given: given.graph)
def test_nothing_is_known_of_other_attributes(given: Given) -> None:
    assert known(given)[1] == [None]


TERMS, LARGE = 20_000, 1e8
SUMS = {
    "a Gemm and its C": "y = Gemm(x, w, c)",
    "a Gemm by halves": "y = Gemm<alpha = 0.5, beta = 0.5>(x, w, c)",
    "a product and a sum": "p = MatMul(x, w) y = Add(p, c)",
    "a sum and a product": "p = MatMul(x, w) y = Add(c, p)",
    "a product that is reshaped": "p = MatMul(x, w) r = Reshape(p, s) y = Add(r, c)",
    "a product that is scaled": "p = MatMul(x, w) r = Mul(p, half) y = Add(r, c)",
    "a Sum of two": "p = Gemm(x, w) y = Sum(p, c)",
    "a convolution and its bias": "r = Reshape(x, i) f = Reshape(w, i) y = Conv(r, f, b)",
    "a convolution and a sum": "r = Reshape(x, i) f = Reshape(w, i) p = Conv(r, f) y = Add(p, d)",
}
"""Sums of products that a kernel may add block by block to a large number."""


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize("block", [1, 64, 128, 256, 512])
@pytest.mark.parametrize("form", SUMS)
def test_sums_in_blocks_lie_within_what_is_known(form: str, block: int, level: str) -> None:
    weights = np.zeros((TERMS, 1), np.float32)
    weights[::block] = 4.1
    constants = {
        "w": weights,
        "c": floats(LARGE),
        "b": floats(LARGE),
        "d": floats(LARGE, shape=(1, 1, 1, 1)),
        "half": floats(0.5, shape=()),
        "s": np.array([1, 1]),
        "i": np.array([1, TERMS, 1, 1]),
    }
    graph = f"(float[1,{TERMS}] x) => (float[] y) {{ {SUMS[form]} }}"
    given = Given(graph, np.ones((1, TERMS), np.float32), constants=constants)
    model, (interval,) = known(given)
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    (output,) = session.run(None, {"x": given.x})
    assert interval is not None
    assert misfit(interval, output) == ""
    assert interval.whole.lower > LARGE / 4


def test_nothing_is_known_of_a_sum_with_what_a_branch_gives() -> None:
    """The condition is constant: a session makes one Gemm of the branch and the sum."""
    branch = "() => (float[1,1] {0}) {{ {0} = MatMul(x, w) }}"
    graph = f"""(float[1,{TERMS}] x) => (float[] y) {{
        p = If(yes) <then_branch = one {branch.format("q")}, else_branch = two {branch.format("r")}>
        y = Add(p, c) }}"""
    constants = {
        "w": np.ones((TERMS, 1), np.float32),
        "c": floats(LARGE),
        "yes": np.array(True),
    }
    given = Given(graph, np.ones((1, TERMS), np.float32), constants=constants)
    assert known(given)[1] == [None]
