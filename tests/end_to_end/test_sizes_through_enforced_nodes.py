"""What is computed from sizes is itself, and never the shape of what computes it.

ONNX Runtime follows sizes through nodes before any run, by the names of operators alone (finding
R22). Whatever it knows of the sizes here, each tensor has the shape that its elements have.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from _pytest.mark.structures import ParameterSet

import sonnx_ort
from sonnx_ort.profile.catalog import ELEMENTWISE_OPERATORS, OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from support.backends import BACKENDS
from support.graphs import parse
from support.operator_cases import OPERATOR_CASES, called
from support.sessions import on_one_thread

LEVELS = ("none", "basic", "extended", "all")

WAYS: Mapping[str, tuple[str, str]] = {
    "vector of one size": ("x", "{0} = Identity({0}_shape)"),
    "vector of two sizes": ("m", "{0} = Identity({0}_shape)"),
    "straight from a Shape": ("x", "{0} = Shape({0}_of)"),
    "two straight from a Shape": ("m", "{0} = Shape({0}_of)"),
    "part of a Shape": ("m", "{0} = Shape<start = 0, end = 1>({0}_of)"),
    "sliced": ("m", "{0} = Slice({0}_shape, first, second, first, second)"),
    "scalar by Gather": ("m", "{0} = Gather({0}_shape, zero)"),
    "vector by Gather": ("m", "{0} = Gather({0}_shape, first)"),
    "by Size": ("m", "{0} = Size({0}_of)"),
    "unsqueezed": ("m", "{0}_one = Gather({0}_shape, zero) {0} = Unsqueeze({0}_one, first)"),
    "squeezed": ("x", "{0} = Squeeze({0}_shape, first)"),
    "joined": (
        "m",
        "{0}_one = Gather({0}_shape, first) {0} = Concat<axis = 0>({0}_one, {0}_shape)",
    ),
    "converted": ("x", "{0}_half = Cast<to = 6>({0}_shape) {0} = Cast<to = 7>({0}_half)"),
}
"""How sizes are got: of which tensors, and the nodes that give operand `{0}` of tensor `{0}_of`."""

OPERANDS = {"x": ("float[4] a_of, float[2] b_of"), "m": ("float[4,2] a_of, float[2,1] b_of")}

OF_THEIR_OWN: Mapping[str, str] = {
    "ArgMax": "narrow = Cast<to = 6>(a) d = ArgMax<axis = 0, keepdims = 0>(narrow)",
    "BitShift": (
        'p = Cast<to = 13>(a) q = Cast<to = 13>(b) r = BitShift<direction = "LEFT">(p, q)'
        " d = Cast<to = 7>(r)"
    ),
    "Cast": "r = Cast<to = 6>(a) d = Cast<to = 7>(r)",
    "Clip": "d = Clip(a, zero, three)",
    "Neg": "r = Neg(a) d = Neg(r)",
    "Slice": "d = Slice(a, first, second, first, second)",
    "Where": "c = Less(b, a) d = Where(c, a, b)",
}


def of_sizes(operator: str) -> str:
    """Nodes that compute `d` of sizes `a` and `b`."""
    if operator in OF_THEIR_OWN:
        return OF_THEIR_OWN[operator]
    names = OPERATORS[operator].operand_names(2)
    node = called(operator, Family.INTEGER, "ab"[: len(names)])
    truth = OPERATORS[operator].result_type is not None
    return f"r = {node} d = Cast<to = 7>(r)" if truth else f"d = {node}"


TAKING_SIZES = {
    name
    for name in ELEMENTWISE_OPERATORS - {"Broadcast"}
    if ElementType.INT64 in OPERATOR_CASES[name].kernels
}
COMPUTED = {name: of_sizes(name) for name in sorted(TAKING_SIZES | OF_THEIR_OWN.keys())}
"""What computes `d` of sizes `a` and `b`, by the operator that is enforced.

What moves elements stands in `WAYS`.
"""

VECTORS_ALONE = {"ArgMax", "Slice"}

READERS = """
    copy = Identity(d)
    shape = Shape(copy)
    size = Size(copy)
    filled = ConstantOfShape(shape)
    spread = Expand(three, shape)
    reshaped = Reshape(copy, shape)
    counted = Range(zero, size, one)
    flat = Reshape(copy, everything)
    of_elements = ConstantOfShape(flat)
"""

CONSTANTS = (
    "int64 zero = {0}, int64 one = {1}, int64 three = {3}, int64[1] first = {0},"
    " int64[1] second = {1}, int64[1] everything = {-1}"
)

Arrays = Mapping[str, npt.NDArray[np.int64]]


def graph(operator: str, way: str) -> onnx.ModelProto:
    """A model that computes `d` of sizes, and reads its shape and its elements in many ways."""
    tensors, text = WAYS[way]
    sizes = " ".join(f"{name}_shape = Shape({name}_of) {text.format(name)}" for name in ("a", "b"))
    return parse(
        f"""({OPERANDS[tensors]}) => (int64[] d, int64[] shape, int64[] size, float[] filled,
            int64[] spread, int64[] reshaped, int64[] counted, float[] of_elements)
        <{CONSTANTS}> {{ {sizes} {COMPUTED[operator]} {READERS} }}""",
        opset=18,
    )


FOLLOWED = {"Add", "Div", "Mul", "Sub"}
"""The operators through which ONNX Runtime follows sizes."""


def cases() -> list[ParameterSet]:
    return [
        pytest.param(operator, way, marks=() if operator in FOLLOWED else pytest.mark.thorough)
        for operator, way in itertools.product(COMPUTED, WAYS)
        if operator not in VECTORS_ALONE or way not in ("scalar by Gather", "by Size", "squeezed")
    ]


def outputs(session: ort.InferenceSession) -> Arrays:
    feeds = {v.name: np.ones(v.shape, np.float32) for v in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def own(enforced: onnx.ModelProto, level: str) -> ort.InferenceSession:
    return sonnx_ort.InferenceSession(enforced, on_one_thread(level), operators="all,-Graph")


def plain(enforced: onnx.ModelProto, level: str) -> ort.InferenceSession:
    options = sonnx_ort.register(sonnx_ort.register(on_one_thread(level)), backend="compiled")
    return ort.InferenceSession(enforced.SerializeToString(), options)


Start = Callable[[onnx.ModelProto, str], ort.InferenceSession]


def wrong(found: Arrays, d: npt.NDArray[np.int64]) -> Sequence[str]:
    """The outputs that are not what `d` has them be."""
    expected = {
        "d": d,
        "shape": np.array(d.shape, np.int64),
        "size": np.array(d.size),
        "filled": np.zeros(d.shape, np.float32),
        "spread": np.full(d.shape, 3),
        "reshaped": d,
        "counted": np.arange(d.size),
        "of_elements": np.zeros(d.reshape(-1), np.float32),
    }
    return [f"{name}: {found[name]}" for name, e in expected.items() if not _same(found[name], e)]


def _same(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> bool:
    return one.shape == other.shape and np.array_equal(one, other)


@BACKENDS
@pytest.mark.parametrize(("operator", "way"), cases())
def test_shape_of_what_sizes_give_is_its_own(operator: str, way: str, backend: str) -> None:
    original = graph(operator, way)
    untouched = ort.InferenceSession(original.SerializeToString(), on_one_thread("none"))
    d = outputs(untouched)["d"]
    enforced = sonnx_ort.rewrite(original, operators="all,-Graph", backend=backend)
    starts: Mapping[str, Start] = {"own": own, "plain": plain}
    found = {
        f"{session}, level {level}": wrong(outputs(start(enforced, level)), d)
        for session, start in starts.items()
        for level in LEVELS
    }
    assert not {where: what for where, what in found.items() if what}


REPEATED_KEYS = """
(float16[4,1,8] queries, float16[2,8,8] keys, bool[1] divisible, int64[1] length)
=> (float16[2,2,8,8] shifted) <int64[1] one = {1}> {
    query_heads = Shape<start = 0, end = 1>(queries)
    key_heads = Shape<start = 0, end = 1>(keys)
    plane = Concat<axis = 0>(one, length)
    zeros = ConstantOfShape(plane)
    bias = Cast<to = 10>(zeros)
    quotient = Div(query_heads, key_heads)
    repeats = Where(divisible, quotient, one)
    apart = Unsqueeze(keys, one)
    shape = Concat<axis = 0>(key_heads, repeats, length, length)
    repeated = Expand(apart, shape)
    shifted = Add(repeated, bias)
}"""


@BACKENDS
@pytest.mark.parametrize("level", LEVELS)
def test_quotient_of_two_sizes_takes_the_memory_of_no_vector_of_two(
    level: str, backend: str
) -> None:
    """As attention does that reads each key for several queries: 4 / 2 is no shape, `plane` is."""
    keys = np.arange(128, dtype=np.float16).reshape(2, 8, 8)
    given = {
        "queries": np.ones((4, 1, 8), np.float16),
        "keys": keys,
        "divisible": np.array([True]),
        "length": np.array([8]),
    }
    made = parse(REPEATED_KEYS, opset=24)
    session = sonnx_ort.InferenceSession(made, on_one_thread(level), backend=backend)
    assert np.array_equal(session.run(None, given)[0], np.stack([keys, keys], 1))
