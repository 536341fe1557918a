"""What a Loop or Scan hands to its body and takes back, and that analyses of loops end."""

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from sonnx_ort import Status
from sonnx_ort.analysis.values.graph_node import GraphNode
from sonnx_ort.facts.iterations import Iteration
from sonnx_ort.facts.iterations import iteration_of as iteration_of_node
from sonnx_ort.facts.iterations import loop_of as loop_of_node
from support.child import run_python
from support.graphs import parse

_INPUTS = "(float[2,3] x, float[2,3] w, int64 trips, bool go)"
_LOOP = (
    "Loop({}) <body = b (int64 i, bool g{}) => (bool still{}) {{ still = Identity(g)"
    " p1 = Relu(s) q1 = Relu(t) e = Relu(t) }}>"
)
_SCAN = (
    "Scan<{}body = b (float[] s, float[] t) => (float[] s1, float[] t1, float[] e)"
    " {{ s1 = Relu(s) t1 = Relu(t) e = Relu(t) }}>(x, w)"
)


def node_of(text: str) -> ir.Node:
    """The node; it is not checked."""
    made = parse(f"{_INPUTS} => (y) {{ {text} }}", domains={"com.example": 1})
    return ir.from_proto(made.graph.node[0])


def iteration_of(node: ir.Node, version: int) -> Iteration | None:
    return iteration_of_node(GraphNode(node, version))


def named(*values: ir.Value) -> str:
    return " ".join(str(value.name) for value in values)


def described(found: Iteration | None) -> list[str] | None:
    if found is None:
        return None
    return [
        *(f"counts {value.name}" for value in found.counters),
        *(f"goes around {named(s.initial, s.taken, s.given, s.final)}" for s in found.states),
        *(f"part {named(taken, tensor)} axis {axis}" for taken, tensor, axis in found.elements),
        *(f"collected {named(*pair)}" for pair in found.collected),
    ]


LOOPS = [
    (
        "y, z, c = " + _LOOP.format("trips, go, x, w", ", float[] s, float[] t", ", p1, q1, e"),
        [
            *("counts i", "counts g"),
            *("goes around x s p1 y", "goes around w t q1 z"),
            "collected c e",
        ],
    ),
    (
        "y, z = " + _LOOP.format("trips, , x", ", float[] s", ", p1, e"),
        [*("counts i", "counts g"), *("goes around x s p1 y", "collected z e")],
    ),
    ("y = " + _LOOP.format("trips, go", "", ", e"), ["counts i", "counts g", "collected y e"]),
    ("y = " + _LOOP.format("trips", "", ", e"), ["counts i", "counts g", "collected y e"]),
]


@pytest.mark.parametrize(("text", "expected"), LOOPS)
@pytest.mark.parametrize("version", [1, 10, 11, 17, 25])
def test_loop_of_every_version(text: str, expected: list[str], version: int) -> None:
    assert described(loop_of_node(GraphNode(node_of(text), version))) == expected
    assert described(iteration_of(node_of(text), version)) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("y, z = " + _SCAN.format("num_scan_inputs = 1, "),
     ["goes around x s s1 y", "part t w axis 0", "collected z t1"]),
    ("y, z, c = " + _SCAN.format("num_scan_inputs = 1, scan_input_axes = [1], "),
     ["goes around x s s1 y", "part t w axis 1", "collected z t1", "collected c e"]),
    ("y = " + _SCAN.format("num_scan_inputs = 2, scan_input_axes = [1, -1], "),
     ["part s x axis 1", "part t w axis -1", "collected y s1"]),
    ("y, z = " + _SCAN.format(""), ["goes around x s s1 y", "goes around w t t1 z"]),
    ("y = " + _SCAN.format("num_scan_inputs = 3, "), None),
    ("y = " + _SCAN.format("num_scan_inputs = 2, scan_input_axes = [1], "), None),
    ("y = " + _SCAN.format("num_scan_inputs = 1, scan_input_axes = [0, 1], "), None),
    ("y = com.example." + _SCAN.format("num_scan_inputs = 1, "), None),
])  # fmt: skip
@pytest.mark.parametrize("version", [9, 25])
def test_scan_without_a_batch(text: str, expected: list[str] | None, version: int) -> None:
    assert described(iteration_of(node_of(text), version)) == expected


@pytest.mark.parametrize("version", [8, 7])
def test_nothing_is_known_of_a_scan_with_a_batch(version: int) -> None:
    assert iteration_of(node_of("y = " + _SCAN.format("num_scan_inputs = 1, ")), version) is None


@pytest.mark.parametrize("scanned", [-1, 3, 1 << 62])
def test_nothing_is_known_of_a_scan_of_more_than_there_is(scanned: int) -> None:
    node = node_of("y = " + _SCAN.format(f"num_scan_inputs = {scanned}, "))
    assert iteration_of(node, 17) is None


@pytest.mark.parametrize(
    "text",
    ["y = Relu(x)", "y = com.example." + _LOOP.format("trips, go", "", ", e"), "y = Loop(trips)"],
)
def test_nothing_is_known_of_other_nodes(text: str) -> None:
    assert iteration_of(node_of(text), 17) is None


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


@pytest.mark.thorough
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
