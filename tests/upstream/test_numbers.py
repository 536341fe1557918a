"""What ONNX Runtime computes of integers beyond int32 or double, and of float16."""

import platform
import signal

import numpy as np
import onnxruntime as ort
import pytest

from support.changes import before_and_since
from support.child import run_python
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread

pytestmark = pytest.mark.upstream

LARGE = 3_000_000_000
RIGHTLY = "int64 is compared rightly"


def computed(node: str, elements: list[int]) -> list[int]:
    made = parse(
        "(int64[n] a) => (int64[] y) <int64[1] zero = {0}, int64 low = {-7}, int64 high = {7}>"
        f" {{ {node} }}"
    )
    session = ort.InferenceSession(made.SerializeToString())
    result: list[int] = session.run(None, {"a": np.array(elements, np.int64)})[0].tolist()
    return result


@pytest.mark.parametrize(
    ("node", "mistaken", "right"),
    [
        ("y = Max(a, zero)", [0] * 4, [LARGE] * 4),
        ("y = Min(a, zero)", [LARGE] * 4, [0] * 4),
        ("y = Clip(a, low, high)", [LARGE] * 4, [7] * 4),
        ("y = Sign(a)", [-1] * 4, [1] * 4),
    ],
)
def test_number_above_int32_counts_as_smaller(
    node: str, mistaken: list[int], right: list[int]
) -> None:
    """Once all supported versions are right, bounds and random graphs need not leave int64 out."""
    assert computed(node, [LARGE] * 4) == before_and_since(RIGHTLY, mistaken, right)


def test_p_relu_multiplies_what_is_not_below_zero() -> None:
    """Once all supported versions are right, a bundled model can have an infinite operand."""
    made = parse("(float[4] x, float[4] slope) => (float[4] y) { y = PRelu(x, slope) }")
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    x, slope = np.float32([np.inf, -np.inf, 1, 2]), np.float32([2, 2, np.inf, 0.5])
    [found] = session.run(None, {"x": x, "slope": slope})
    wrong, right = [np.nan, np.nan, np.nan, 2], [np.inf, -np.inf, 1, 2]
    expected = before_and_since("PRelu multiplies only what is below zero", wrong, right)
    np.testing.assert_array_equal(found, np.float32(expected))


@pytest.mark.parametrize(
    ("node", "elements", "mistaken", "right"),
    [
        ("y = ReduceMax<keepdims = 0>(a)", [0, 0, 0, LARGE], 0, LARGE),
        ("y = ReduceMin<keepdims = 0>(a)", [0, 0, 0, 0, 0, 0, LARGE, LARGE], LARGE, 0),
    ],
)
def test_reduction_gives_the_wrong_element(
    node: str, elements: list[int], mistaken: int, right: int
) -> None:
    """Once all supported versions are right, random graphs need not leave int64 out."""
    assert computed(node, elements) == before_and_since(RIGHTLY, mistaken, right)


def test_product_is_computed_in_double() -> None:
    """Once it is not, `sonnx_ort.facts.elements` can state larger products."""
    large = 2**53 + 1
    expected = before_and_since("ReduceProd of int64 is computed in double", large, large - 1)
    assert computed("y = ReduceProd<keepdims = 0>(a)", [large]) == expected


def test_comparisons_are_right() -> None:
    made = parse("(int64[n] a, int64[n] b) => (bool[] y) { y = Less(a, b) }")
    session = ort.InferenceSession(made.SerializeToString())
    feeds = {"a": np.zeros(4, np.int64), "b": np.full(4, LARGE, np.int64)}
    assert session.run(None, feeds)[0].tolist() == [True] * 4


DIVIDE = """
import numpy as np, onnxruntime as ort
from support.graphs import binary_model

def divide(a, b, element_type):
    model = binary_model("Div", element_type, [None], [None])
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    print("running", flush=True)
    operands = (np.array([value], element_type) for value in (a, b))
    return session.run(None, dict(zip("AB", operands)))[0].tolist()
"""


@pytest.mark.skipif(
    platform.machine().lower() not in {"x86_64", "amd64"}, reason="only x86 processors trap"
)
@pytest.mark.parametrize("element_type", ["int32", "int64"])
def test_smallest_by_minus_one_ends_the_process(element_type):
    """Once it raises, `Div.int.C2` guards a number only, no longer the process."""
    child = run_python(DIVIDE, f"divide(np.iinfo('{element_type}').min, -1, '{element_type}')")
    assert (child.killed_by, child.stdout) == (signal.SIGFPE, "running\n"), child


@pytest.mark.parametrize(("element_type", "smallest"), [("int8", -(2**7)), ("int16", -(2**15))])
def test_smallest_by_minus_one_wraps_in_narrow_types(element_type, smallest):
    """Once it raises, `Div.int.C2` has company."""
    child = run_python(DIVIDE, f"print(divide({smallest}, -1, '{element_type}'))")
    assert (child.exit_status, child.stdout) == (0, f"running\n[{smallest}]\n"), child


@pytest.mark.parametrize(
    "element_type",
    [
        *("int32", "uint64"),
        *(pytest.param(t, marks=pytest.mark.thorough) for t in ("int8", "int64", "uint8")),
    ],
)
def test_zero_divisor_raises(element_type):
    """Older versions died; should a newer one, `Div.int.C1` guards the process again."""
    child = run_python(
        DIVIDE,
        f"""
        try:
            divide(1, 0, '{element_type}')
        except Exception as error:
            print(error)
        """,
    )
    assert child.exit_status == 0, child
    assert "Integer division by zero" in child.stdout, child


GENERATOR = np.random.default_rng(0)
X, Y = ((GENERATOR.random(500) * 9 + 1).astype(np.float16) for _ in range(2))

each_level = pytest.mark.parametrize("level", LEVELS)


def computed_at(nodes, level):
    model = parse(f"(float16[n] x, float16[n] y) => (float16[] z) {{ {nodes} }}")
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    return session.run(None, {"x": X, "y": Y})[0]


KEPT_IN_FLOAT32 = {
    "read at once": ("t = Div(x, y) z = Sub(t, y)", X / Y - Y),
    "behind a Reshape": ("t = Div(x, y) s = Shape(x) u = Reshape(t, s) z = Sub(u, y)", X / Y - Y),
    "behind a Relu": ("t = Mul(x, y) u = Relu(t) z = Add(u, y)", X * Y + Y),
    "behind a Cast": (
        "t = Mul(x, y) u = Cast <to = 1> (t) v = Ceil(u) z = Cast <to = 10> (v)",
        np.ceil(X * Y),
    ),
    "a conversion to float16 in front of a node": (
        (
            "a = Cast <to = 1> (x) b = Cast <to = 1> (y) t = Mul(a, b) u = Cast <to = 10> (t) "
            "z = Add(u, y)"
        ),
        X * Y + Y,
    ),
}


@each_level
@pytest.mark.parametrize("name", KEPT_IN_FLOAT32)
def test_result_between_two_nodes_is_not_rounded(name, level):
    """Once it is, a chain of float16 has the same bits with both backends."""
    nodes, rounded = KEPT_IN_FLOAT32[name]
    assert (computed_at(nodes, level) != rounded).any()


@each_level
def test_result_that_leaves_the_model_is_rounded(level):
    assert (computed_at("z = Div(x, y)", level) == X / Y).all()


@each_level
def test_two_conversions_that_a_model_has_stay(level):
    """The way to round between nodes: there and back, and there again."""
    nodes = (
        "a = Cast <to = 1> (x) b = Cast <to = 1> (y) t = Mul(a, b) u = Cast <to = 10> (t) "
        "v = Cast <to = 1> (u) w = Cast <to = 10> (v) z = Add(w, y)"
    )
    assert (computed_at(nodes, level) == X * Y + Y).all()
