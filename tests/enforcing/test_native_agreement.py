"""One look at the inputs for all nodes whose shapes rest on their agreement."""

import re
from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.graphs import parse

CHAIN = """(float[n, k] x, float[n, k] y, float[n] w)
    => (float[] p, float[] q) {
    a = Relu(x)
    [first] p = Div(a, y)
    b = Mul(p, p)
    [second] q = Sub(b, x)
}"""


def enforced() -> onnx.ModelProto:
    return sonnx_ort.rewrite(parse(CHAIN), backend="native")


def plain_session() -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(enforced().SerializeToString(), options)


def feeds(x: tuple[int, int], y: tuple[int, int], w: int = 7) -> dict[str, np.ndarray]:
    shapes = {"x": x, "y": y, "w": (w,)}
    return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


def test_nodes_have_no_guards_of_their_own() -> None:
    operators = Counter(node.op_type for node in enforced().graph.node)
    assert (operators["Reshape"], operators["Div"], operators["Sub"]) == (2, 1, 1)


def test_every_reader_of_an_input_reads_it_behind_the_guard() -> None:
    nodes = {node.name or node.op_type: node for node in enforced().graph.node}
    assert list(nodes["Relu"].input) == ["inputs_x_agreed"]
    assert list(nodes["first"].input) == ["a", "inputs_y_agreed"]
    assert list(nodes["second"].input) == ["b", "inputs_x_agreed"]


def test_guard_tells_what_has_to_agree_and_for_whom() -> None:
    (name,) = [n.name for n in enforced().graph.node if n.op_type == "Reshape" and "x" in n.input]
    assert name == (
        "Div 'first' breaks the SONNX profile; the last four digits of the dimension below tell "
        "the rule: 11 Div.float.R1; input 'x' has to agree with 'y' on 'n' for Div 'first', "
        "Sub 'second'"
    )


def test_inputs_that_agree_give_what_the_original_gives() -> None:
    p, q = plain_session().run(None, feeds((2, 3), (2, 3)))
    np.testing.assert_array_equal(p, np.ones((2, 3)))
    np.testing.assert_array_equal(q, np.zeros((2, 3)))


def test_input_of_the_same_symbol_that_no_node_divides_may_be_of_any_size() -> None:
    plain_session().run(None, feeds((2, 3), (2, 3), w=5))


@pytest.mark.parametrize("y", [(1, 3), (2, 1), (1, 1), (3, 3)])
def test_inputs_that_do_not_agree_are_refused_by_a_plain_session(y: tuple[int, int]) -> None:
    told = r"Name:'Div 'first' breaks the SONNX profile;.*got -11$"
    with pytest.raises(Exception, match=re.compile(told, re.DOTALL)):
        plain_session().run(None, feeds((2, 3), y))


def test_our_session_says_which_node_fails_and_with_which_shapes() -> None:
    session = sonnx_ort.InferenceSession(parse(CHAIN), backend="native")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds((2, 3), (1, 3)))
    violation = caught.value
    assert (violation.rule, violation.node) == ("Div.float.R1", "first")
    assert violation.shapes == ((2, 3), (1, 3))


def test_node_says_that_its_rule_about_shapes_needs_no_check_of_its_own() -> None:
    (node,) = [n for n in enforced().graph.node if n.name == "second"]
    metadata = {entry.key: entry.value for entry in node.metadata_props}
    assert metadata["sonnx_ort.proved"] == "Sub.float.R2 Sub.float.RG1 Sub.float.R1"


def test_more_nodes_than_a_name_can_list_are_counted() -> None:
    nodes = "\n".join(f"[d{i}] r{i} = Div(x, y)" for i in range(9))
    outputs = ", ".join(f"float[] r{i}" for i in range(9))
    graph = f"(float[n] x, float[n] y) => ({outputs}) {{ {nodes} }}"
    made = sonnx_ort.rewrite(parse(graph), backend="native")
    guards = [node.name for node in made.graph.node if node.op_type == "Reshape"]
    assert [name.rpartition("; ")[2] for name in guards] == [
        "input 'x' has to agree with 'y' on 'n' for 9 nodes",
        "input 'y' has to agree with 'x' on 'n' for 9 nodes",
    ]
