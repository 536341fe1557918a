"""Analyses of nested loops and of sizes that double end, and leave open what is beyond limits."""

import onnx
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from sonnx_ort import Status
from support.child import run_python
from support.graphs import parse

CHECK = """
import resource
import sonnx_ort
from support.graphs import parse

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
chain = " ".join(TEXT.format(level, level + 1) for level in range(LEVELS))
graph = (
    "(float[n] x, float[m] y) => (float[] z) <int64[1] three = {3}>"
    f" {{ a = Shape(x) b = Shape(y) s0 = Add(a, b) {chain} z = ConstantOfShape(s{LEVELS}) }}"
)
sonnx_ort.check(parse(graph))
print("checked")
"""


def nested_loops(depth: int) -> onnx.ModelProto:
    """Loops within each other; the innermost result is appended to a value of each of them."""
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Div", ["x", "x"], ["z0"])]
    for level in range(depth):
        inner = nodes[-1].output[0]
        nodes += [
            helper.make_node("Identity", [f"c{level}"], [f"go{level}"]),
            helper.make_node("Concat", [f"s{level}", inner], [f"t{level}"], axis=0),
        ]
        body = helper.make_graph(
            nodes,
            f"body{level}",
            [
                info(f"i{level}", TensorProto.INT64, []),
                info(f"c{level}", TensorProto.BOOL, []),
                info(f"s{level}", TensorProto.FLOAT, None),
            ],
            [info(f"go{level}", TensorProto.BOOL, []), info(f"t{level}", TensorProto.FLOAT, None)],
        )
        nodes = [helper.make_node("Loop", ["trips", "", "x"], [f"z{level + 1}"], body=body)]
    made = parse("(float[n] x, int64 trips) => (float[] z) { z = Relu(x) }")
    del made.graph.node[:]
    nodes[0].output[0] = "z"
    made.graph.node.extend(nodes)
    return made


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("s{1} = Mul(s{0}, s{0})", 40),
        ("s{1} = Add(s{0}, s{0})", 15000),
        ("p{0} = Mul(s{0}, s{0}) s{1} = Div(p{0}, three)", 40),
    ],
    ids=["products", "sums", "quotients"],
)
def test_check_of_sizes_that_double_ends(text: str, levels: int) -> None:
    child = run_python(f"TEXT, LEVELS = {text!r}, {levels}{CHECK}", timeout=120)
    assert (child.exit_status, child.stdout) == (0, "checked\n"), child


def test_sizes_within_the_limits_are_compared() -> None:
    made = parse(
        "(float[n] x, float[m] y) => (float[] z) { p = Concat<axis = 0>(x, y)"
        " q = Concat<axis = 0>(x, y) z = Div(p, q) }"
    )
    (found,) = [
        each
        for each in sonnx_ort.check(made, operators="default").obligations
        if each.rule.id == "Div.float.R1"
    ]
    assert found.status is Status.PROVED


@pytest.mark.parametrize("depth", [3, 25])
def test_check_of_nested_loops_ends(depth: int) -> None:
    script = (
        "import resource, onnx, sonnx_ort\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        f"model = onnx.load_from_string({nested_loops(depth).SerializeToString()!r})\n"
        "print(len(sonnx_ort.check(model, operators='Div').obligations) > 0)\n"
    )
    child = run_python(script, timeout=120)
    assert (child.exit_status, child.stdout) == (0, "True\n"), child
