"""Which float tensors hold no -0: what is certain, held against what the kernels compute."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from sonnx_ort.analysis.values.derived import derived
from sonnx_ort.analysis.values.minus_zeros import GAP_RULES, NegativeZeros
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.analysis.values.value_types import ValueTypes
from sonnx_ort.loading.canonical import load_canonical
from support.graphs import parse
from support.sessions import on_one_thread

TYPES = {"float": np.float32, "double": np.float64}

NONE, SOME, ALL = "may hold -0", "holds no -0", "holds no minus sign"

CONSTANTS = {
    "zero": [0.0],
    "minus_zero": [-0.0],
    "one": [1.0],
    "minus": [-1.0],
    "few": [2.5, 0.5],
    "tiny": [1e-30],
    "huge": [1e30],
}

GIVEN = "positive = Abs(x)  no = Add(x, zero)  far = Log(positive)  other = Abs(w)"
"""A tensor of each kind; the numbers of `far` are far from 0, but not all of `no`."""

CASES = [
    ("Identity(x)", NONE),
    ("Identity(no)", SOME),
    ("Identity(zero)", ALL),
    ("Identity(minus_zero)", NONE),
    ("Identity(minus)", SOME),
    ("Abs(x)", ALL),
    ("Exp(x)", ALL),
    ("Sigmoid(x)", ALL),
    ("Softmax(x)", ALL),
    ("Log(x)", SOME),
    ("Relu(x)", NONE),
    ("Relu(no)", ALL),
    ("Sqrt(x)", NONE),
    ("Sqrt(no)", ALL),
    ("Add(x, x)", NONE),
    ("Add(x, minus_zero)", NONE),
    ("Add(x, zero)", SOME),
    ("Add(no, minus_zero)", SOME),
    ("Add(positive, one)", ALL),
    ("Sub(x, x)", NONE),
    ("Sub(x, zero)", NONE),
    ("Sub(x, minus_zero)", SOME),
    ("Sub(x, one)", SOME),
    ("Sub(no, positive)", SOME),
    ("Mul(x, x)", ALL),
    ("Mul(no, positive)", NONE),
    ("Mul(no, one)", NONE),
    ("Mul(positive, positive)", ALL),
    ("Mul(far, few)", SOME),
    ("Mul(few, far)", SOME),
    ("Mul(far, minus)", NONE),
    ("Mul(far, zero)", NONE),
    ("Div(no, one)", NONE),
    ("Div(positive, positive)", ALL),
    ("Div(far, few)", SOME),
    ("Div(far, minus)", NONE),
    ("Div(minus, positive)", NONE),
    ("Max(x, positive)", NONE),
    ("Max(no, positive)", SOME),
    ("Min(no, positive)", SOME),
    ("Min(x, minus)", NONE),
    ("Clip(x, zero_s)", NONE),
    ("Clip(x, one_s)", ALL),
    ("Clip(x, one_s, minus_s)", NONE),
    ("Clip(no, minus_s, one_s)", SOME),
    ("Clip(positive, zero_s)", ALL),
    ("Cast<to = {type}>(i)", SOME),
    ("Cast<to = {type}>(u)", ALL),
    ("Cast<to = {type}>(c)", ALL),
    ("Cast<to = {type}>(no)", NONE),
    ("Cast<to = {type}>(far)", SOME),
    ("Cast<to = {type}>(positive)", ALL),
    ("Concat<axis = 1>(no, positive)", SOME),
    ("Concat<axis = 1>(no, x)", NONE),
    ("Concat<axis = 1>(no, other)", NONE),
    ("Where(c, no, positive)", SOME),
    ("Where(c, zero, x)", NONE),
    ("Pad(no, pads)", SOME),
    ("Pad(no, pads, minus_zero_s)", NONE),
    ("Pad(no, cuts)", NONE),
    ('Pad<mode = "edge">(no, pads)', SOME),
    ("ReduceMax(no)", SOME),
    ("ReduceMin<axes = [1]>(no)", SOME),
    ("ReduceMax(x)", NONE),
    ("ReduceL1<axes = [1]>(x)", ALL),
    ("ReduceL2<axes = [0]>(x)", ALL),
    ("ReduceSumSquare<axes = [1]>(x)", ALL),
    ("ReduceMean<axes = [1]>(no)", NONE),
    ("ReduceMean<axes = [1]>(positive)", ALL),
    ("ReduceSum(x, first)", NONE),
    ("ReduceSum(no, first)", SOME),
    ("ReduceSum<keepdims = 0>(positive, second)", ALL),
    ("DepthToSpace<blocksize = 1>(no_4)", SOME),
    ("Expand(no, ones)", SOME),
    ("Flatten(no)", SOME),
    ("Gather(no, first)", SOME),
    ("GatherElements(no, place)", SOME),
    ("GatherND(no, place)", NONE),
    ("Reshape(no, flat)", SOME),
    ("ReverseSequence(no, lengths)", NONE),
    ("Slice(no, first, second)", SOME),
    ("SpaceToDepth<blocksize = 1>(no_4)", SOME),
    ("Split(no)", SOME),
    ("Squeeze(no_3, first)", SOME),
    ("Tile(no, sizes)", SOME),
    ("Transpose(no)", SOME),
    ("Unsqueeze(no, first)", SOME),
    ("Transpose(x)", NONE),
    ("Neg(no)", NONE),
]


def of(expression: str, element_type: str) -> onnx.ModelProto:
    kind = 1 if element_type == "float" else 11
    given = f"{GIVEN}  no_3 = Unsqueeze(no, first)  no_4 = Reshape(no, image)"
    dtype = TYPES[element_type]
    floats = {name: np.array(elements, dtype) for name, elements in CONSTANTS.items()}
    scalars = {
        f"{name}_s": np.array(CONSTANTS[name][0], dtype)
        for name in ("zero", "minus_zero", "one", "minus")
    }
    integers = {
        "image": [-1, 2, 1, 1],
        "lengths": [0, 1],
        "place": [[0]],
        "pads": [0, 1, 1, 1],
        "cuts": [0, 1, -1, 1],
        "first": [0],
        "second": [1],
        "sizes": [2, 1],
        "ones": [3, 1, 1],
        "flat": [-1],
    }
    return parse(
        f"({element_type}[n,2] x, {element_type}[k,2] w, bool[m,2] c, int32[m,2] i, uint8[m,2] u)"
        f" => ({element_type}[] y) {{ {given}  y = {expression.replace('{type}', str(kind))} }}",
        constants={**floats, **scalars, **{n: np.array(v) for n, v in integers.items()}},
    )


def gap_of(model: onnx.ModelProto) -> float:
    graph = load_canonical(model).graph_model
    certain = derived(graph, ValueTypes(graph))
    gaps = NegativeZeros(
        17, Facts(graph).element_type, certain.established("shape"), certain.shared
    )
    return gaps.of(graph.graph.outputs[0])


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize(("expression", "told"), CASES)
def test_what_is_certain_of_a_result(expression: str, told: str, element_type: str) -> None:
    gap = gap_of(of(expression, element_type))
    assert told == (ALL if gap == np.inf else SOME if gap > 0 else NONE)


def numbers(dtype: type[np.floating], rows: int, rng: np.random.Generator) -> np.ndarray:
    limits = np.finfo(dtype)
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, limits.tiny, limits.max, limits.min]
    special += [float(limits.smallest_subnormal), -float(limits.smallest_subnormal)]
    special += [1 - limits.epsneg, 1 + limits.eps]
    random = rng.standard_normal((rows, 2)) * rng.choice([1, 1e-30, 1e30], (rows, 2))
    chosen = np.where(rng.random((rows, 2)) < 0.5, rng.choice(special, (rows, 2)), random)
    return chosen.astype(dtype)


LENGTHS = range(1, 71)
"""Kernels keep signs by length: vectors of several widths compute what lies in front of a rest."""


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize(("expression", "told"), CASES)
def test_no_kernel_gives_a_number_within_the_gap(
    expression: str, told: str, element_type: str
) -> None:
    model = of(expression, element_type)
    gap = gap_of(model)
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    rng = np.random.default_rng(len(expression))
    for rows in LENGTHS:
        x = numbers(TYPES[element_type], rows, rng)
        feeds = {
            "x": x,
            "w": x,
            "c": rng.integers(0, 2, x.shape).astype(bool),
            "i": rng.integers(-3, 3, x.shape).astype(np.int32),
            "u": rng.integers(0, 3, x.shape).astype(np.uint8),
        }
        (y,) = session.run(None, feeds)
        signed = y[np.signbit(y) & ~np.isnan(y)]
        assert told == NONE or (signed <= -gap).all()


@pytest.mark.parametrize("element_type", TYPES)
def test_no_logarithm_of_a_number_beside_1_is_within_the_gap(element_type: str) -> None:
    dtype = TYPES[element_type]
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    one = np.array(1, dtype).view(unsigned)
    steps = np.arange(-(1 << 20), 1 << 20).astype(unsigned)
    x = (one + steps).view(dtype).reshape(-1, 2)
    model = parse(f"({element_type}[n,2] x) => ({element_type}[n,2] y) {{ y = Log(x) }}")
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    (y,) = session.run(None, {"x": x})
    assert (y[np.signbit(y)] <= -gap_of(model)).all()
    assert not np.signbit(y[x >= 1]).any()


def test_every_rule_is_tried() -> None:
    assert {expression.partition("(")[0].partition("<")[0] for expression, _ in CASES} >= set(
        GAP_RULES
    )


def test_nothing_is_known_of_other_types() -> None:
    model = parse("(float16[n] x) => (float16[n] y) { y = Abs(x) }")
    assert gap_of(model) == 0


def test_a_flag_by_which_a_reduction_may_copy_leaves_nothing_known() -> None:
    model = parse(
        "(float[n] x) => (float[n] y) { y = ReduceSumSquare<noop_with_empty_axes = 1>(x) }",
        opset=18,
    )
    assert gap_of(model) == 0


def test_a_product_that_may_be_rounded_to_zero_may_be_minus_zero() -> None:
    far = "(float[n] x) => (float[n] y) { l = Log(x)  y = Mul(l, c) }"
    of_tiny = parse(far, constants={"c": np.array([1e-36], np.float32)})
    assert gap_of(of_tiny) == 0
    of_small = parse(far, constants={"c": np.array([1e-20], np.float32)})
    assert gap_of(of_small) > 0


def test_a_chain_that_is_too_long_is_not_looked_at() -> None:
    links = " ".join(f"v{i + 1} = Identity(v{i})" for i in range(2000))
    model = parse(f"(float[n] x) => (float[n] y) {{ v0 = Abs(x) {links} y = Identity(v2000) }}")
    assert gap_of(model) == 0
