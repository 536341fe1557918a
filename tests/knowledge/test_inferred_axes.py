"""Results of more axes than memory can hold are refused before inference lists them."""

import pytest

from sonnx_ort.knowledge.bounded_inference import infer
from sonnx_ort.knowledge.inferred_axes import open_axes
from support.child import run_python
from support.graphs import parse

CHECK = """
import resource
import sonnx_ort
from support.graphs import parse

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    sonnx_ort.check(parse(GRAPH))
    print("checked")
except sonnx_ort.InvalidModel as error:
    print(error)
"""

JOINED = " ".join(f"v{n + 1} = Gather(v{n}, v{n})" for n in range(40))
ADDED = " ".join(f"v{n + 1} = Unsqueeze(v{n}, a)" for n in range(1500))
DOUBLED = " ".join(f"v{n + 1} = Concat<axis = 0>(v{n}, v{n})" for n in range(40))
FILLED = "v = ConstantOfShape<value = int64[1] {1}>(n) y = ConstantOfShape(v)"
FROM = "(int64[1, 1] v0) => (int64[] y)"

TOO_MANY = (
    "{}: up to its result, the results of the model's nodes can have more than 524288 axes in "
    "all, which shape inference and sessions list one by one; compute with fewer axes\n"
)
TOO_LONG = (
    "{} '(output y)': its operand '{}' has {} elements, one for each axis, at which shape "
    "inference and ONNX Runtime can end the process; correct the node, or the nodes that compute "
    "its operand\n"
)
REFUSED = {
    "joined": (
        f"{FROM} {{ {JOINED} y = Identity(v40) }}",
        TOO_MANY.format("Gather '(output v18)'"),
    ),
    "added": (
        f"{FROM} <int64[2] a = {{0, 1}}> {{ {ADDED} y = Identity(v1500) }}",
        TOO_MANY.format("Unsqueeze '(output v723)'"),
    ),
    "declared": (
        "(int64[1099511627776] v) => (float[] y) { y = ConstantOfShape(v) }",
        TOO_LONG.format("ConstantOfShape", "v", 1 << 40),
    ),
    "declared for a Reshape": (
        "(float[2] x, int64[1099511627776] v) => (float[] y) { y = Reshape(x, v) }",
        TOO_LONG.format("Reshape", "v", 1 << 40),
    ),
    "doubled": (
        f"(float[2] x) => (float[] y) {{ v0 = Shape(x) {DOUBLED} y = ConstantOfShape(v40) }}",
        TOO_LONG.format("ConstantOfShape", "v40", 1 << 40),
    ),
    "filled": (
        f"() => (float[] y) <int64[1] n = {{1000000000}}> {{ {FILLED} }}",
        TOO_LONG.format("ConstantOfShape", "v", 10**9),
    ),
    "filled as propagated": (
        f"(float[1000000000] x) => (float[] y) {{ n = Shape(x) {FILLED} }}",
        "checked\n",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_too_many_axes_are_refused_or_left_unknown(name: str) -> None:
    graph, answer = REFUSED[name]
    child = run_python(f"GRAPH = {graph!r}{CHECK}", timeout=60)
    assert (child.exit_status, child.stdout) == (0, answer), child


@pytest.mark.parametrize(
    ("vector", "is_open"),
    [
        ("s = Shape(x)", False),
        ("a = Shape(x) s = Concat<axis = 0>(a, one)", False),
        ("a = Shape(x) s = Slice(a, zero, one)", False),
        ("a = Shape(x) b = Gather(a, zero) s = Max(b, one)", False),
        ("a = Shape(x) s = Slice(long, zero, one)", True),
        ("a = NonZero(x) s = Reshape(a, flat)", True),
        ("a = Shape(x) s = ConstantOfShape(a)", True),
        ("s = Range(start, limit, start)", True),
    ],
)
def test_operand_that_may_be_long_is_told_from_one_that_is_short(
    vector: str, is_open: bool
) -> None:
    made = parse(
        "(float[2, n] x, int64[2000] long, int64 start, int64 limit) => (float[] y)"
        "<int64[1] one = {1}, int64[1] zero = {0}, int64[1] flat = {-1}>"
        f"{{ {vector} y = ConstantOfShape(s) }}"
    )
    assert open_axes(made) == ({"y"} if is_open else frozenset())


def test_result_of_a_vector_that_inference_finds_short_is_known() -> None:
    made = parse(
        "() => (float[] y) <int64[1] n = {3}>"
        " { v = ConstantOfShape<value = int64[1] {2}>(n) y = ConstantOfShape(v) }"
    )
    (output,) = infer(made).proto.graph.output
    assert len(output.type.tensor_type.shape.dim) == 3
