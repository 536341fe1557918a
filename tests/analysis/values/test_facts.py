"""What is known of one value: what a file declares, where it comes from, what needs it."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.findings import dead_nodes
from sonnx_ort.analysis.values.declarations import declared_shape
from sonnx_ort.analysis.values.graph_node import collected_by_loops
from sonnx_ort.analysis.values.provenance import Provenance
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from support.graphs import parse


def known(graph: str, **constants: np.ndarray) -> tuple[Facts, dict[str, ir.Value]]:
    model = load(parse(graph, domains={"my": 1}, constants=constants)).graph_model
    return Facts(model), dict(ir.convenience.create_value_mapping(model.graph))


@pytest.mark.parametrize(
    ("constant", "told"),
    [
        (np.arange(5), True),
        (np.arange(5000), True),
        (np.zeros((1 << 16) + 1, np.int8), True),
        (np.ones(5, np.float32), True),
        (np.ones(1 << 16, np.float32), True),
        (np.ones((1 << 16) + 1, np.float32), False),
        (np.array(["a", "b"], np.object_), False),
        (np.array(["a"] * ((1 << 16) + 1), np.object_), False),
    ],
    ids=lambda given: f"{given.dtype}[{given.size}]" if isinstance(given, np.ndarray) else None,
)
def test_rules_are_told_the_elements_of_integers_and_of_few_floats(
    constant: np.ndarray, *, told: bool
) -> None:
    facts, values = known("(float[2] x) => (float[2] y) { y = my.Op(k) }", k=constant)
    (operand,) = facts.operands(["A"], [values["k"]])
    assert (operand.constant is not None) is told
    if told:
        np.testing.assert_array_equal(operand.constant, constant)


def test_operand_is_told_by_the_name_of_its_value_and_what_gives_it() -> None:
    facts, values = known(
        "(float[2] x) => (float[2] y) { [r] a = Relu(x) y = Neg(a) }", k=np.ones(1)
    )
    operands = facts.operands(["A", "B", "C"], [values[name] for name in ("x", "a", "y")])
    assert [(o.name, o.value, o.origin) for o in operands] == [
        *(("A", "x", "input"), ("B", "a", "Relu 'r'"), ("C", "y", "Neg"))
    ]
    assert facts.origin(values["k"]) == "initializer"


def test_sparse_constant_is_told_as_one() -> None:
    numbers = onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [1], [1.0])
    indices = onnx.helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0])
    made = parse("(float[6] x) => (float[6] y) { y = Add(x, s) }")
    made.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(numbers, indices, [6]))
    model = load(made).graph_model
    values = ir.convenience.create_value_mapping(model.graph)
    assert Facts(model).origin(values["s"]) == "sparse initializer"


@pytest.mark.parametrize(("node", "may_be_misinferred"), [("Relu(x)", False), ("Det(x)", True)])
def test_shape_that_only_inference_knows_may_be_mistaken(
    node: str, *, may_be_misinferred: bool
) -> None:
    facts, values = known(f"(float[2,2] x) => (float[] y) {{ y = {node} }}")
    assert facts.may_be_misinferred(values["y"]) is may_be_misinferred


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([2, 1, 0], (2, 1, 0)),
        (["n", None, 3], ("n", None, 3)),
        ([-1, -7, 4], (None, None, 4)),
        ([], ()),
        (None, None),
    ],
    ids=str,
)
def test_declared_shape_has_sizes_and_names(
    sizes: list[int | str | None] | None, expected: object
) -> None:
    value = ir.Value(name="x", shape=None if sizes is None else ir.Shape(sizes))
    shape = declared_shape(value)
    assert shape == expected
    assert not any(isinstance(size, ir.SymbolicDim) for size in shape or ())


def test_collected_are_the_outputs_of_loop_bodies_behind_the_states() -> None:
    model = ir.from_proto(
        parse("""(float[n] x, int64 trips, bool go) => (float[] y, float[] s, float[] t) {
            y, s, t = Loop (trips, go, x) <body = body (int64 i, bool going, float[3] state)
                => (bool still, float[3] next, float[3] one, float[] other) {
                    still = Identity(going)
                    next = Relu(state)
                    one = Relu(state)
                    other = Relu(state)
                }>
        }""")
    )
    assert [value.name for value in collected_by_loops(list(model.graph))] == ["one", "other"]


FLOW = """(float[n] x, float[n] y, bool c, int64 trips) => (float[] z)
    <float[1] w = {1}> {
    a = Relu(x)
    b = Add(a, w)
    k = Add(a, y)
    chosen = If(c) <
        then_branch = t () => (float[] p) { p = Neg(a) },
        else_branch = e () => (float[] q) { inner = Constant<value_float = 1.0>() q = Neg(inner) }
    >
    looped = Loop(trips, , b) <
        body = l (int64 i, bool go, float[] state) => (bool on, float[] next) {
            on = Identity(go)
            mixed = Add(state, y)
            next = Identity(mixed)
        }
    >
    z = Add(k, looped)
}"""


@pytest.mark.parametrize(
    ("value", "inputs"),
    [
        ("a", ["x"]),
        ("b", ["x"]),
        ("k", ["x", "y"]),
        ("p", ["x"]),
        ("inner", []),
        ("chosen", ["x", "c"]),
        ("mixed", ["x", "y", "trips"]),
        ("looped", ["x", "y", "trips"]),
        ("z", ["x", "y", "trips"]),
    ],
)
def test_value_depends_on_the_inputs_that_flow_into_it(value: str, inputs: list[str]) -> None:
    model = ir.from_proto(parse(FLOW))
    outputs = (v for node in RecursiveGraphIterator(model.graph) for v in node.outputs)
    (found,) = [v for v in outputs if v.name == value]
    assert [v.name for v in Provenance(model).inputs_affecting([found])] == inputs


def test_state_of_a_loop_depends_on_what_the_body_reads_in_any_trip() -> None:
    model = ir.from_proto(parse(FLOW))
    (loop,) = [node for node in model.graph if node.op_type == "Loop"]
    state = loop.attributes["body"].as_graph().inputs[2]
    behind = Provenance(model).inputs_affecting([state])
    assert [v.name for v in behind] == ["x", "y", "trips"]


@pytest.mark.parametrize(
    ("nodes", "dead"),
    [
        ("[a] y = Neg(x)", []),
        ("[a] y = Neg(x) [b] z = Neg(x)", ["b"]),
        ("[a] y = Neg(x) [b] z = Neg(x) [c] w = Neg(z)", ["b", "c"]),
        ("[b] z = Neg(x) [a] y = Neg(z)", []),
        (
            """[z] z = Neg(x) [i] y = If(c) <
                then_branch = t () => (float[] p) { [p] p = Neg(z) },
                else_branch = e () => (float[] q) { [r] r = Neg(x) [q] q = Neg(x) }>""",
            ["r"],
        ),
    ],
)
def test_node_is_dead_if_nothing_of_it_reaches_an_output(nodes: str, dead: list[str]) -> None:
    graph = f"(float[n] x, bool c) => (float[] y) {{ {nodes} }}"
    model = ir.from_proto(parse(graph))
    found = dead_nodes(list(RecursiveGraphIterator(model.graph)))
    assert [node.name for node in found] == dead
