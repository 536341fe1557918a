"""Every node in which two models differ is told of, and no other."""

import onnx
import pytest

import sonnx_ort
from sonnx_ort.evidence.record import Change, changes
from support.backends import BACKENDS
from support.graphs import parse

TWO_NODES = """
    (float[3] x, float[3] y) => (float[3] z) {{
        [divide] q = Div(x, y)
        [{name}] z = {operator}(q{more})
    }}"""


def two_nodes(operator: str, *, name: str = "last", more: str = "") -> onnx.ModelProto:
    return parse(TWO_NODES.format(operator=operator, name=name, more=more))


def test_same_model_has_no_changes():
    assert changes(two_nodes("Abs"), two_nodes("Abs")) == ()


@pytest.mark.parametrize(("after", "became"), [
    (two_nodes("Neg"), ("Neg 'last'",)),
    (two_nodes("Abs", name="renamed"), ("Abs 'renamed'",)),
    (two_nodes("Add", more=", x"), ("Add 'last'",)),
], ids=["operator", "name", "inputs"])  # fmt: skip
def test_node_that_differs_is_told_of(after, became):
    assert changes(two_nodes("Abs"), after) == (Change("Abs 'last'", (), became),)


def test_attribute_that_differs_is_told_of():
    one, other = (
        parse(f"(float[3] x) => (float[3] y) {{ [soft] y = Softmax <axis = {axis}> (x) }}")
        for axis in (0, -1)
    )
    assert changes(one, other) == (Change("Softmax 'soft'", (), ("Softmax 'soft'",)),)


def test_what_a_node_says_for_people_makes_no_difference():
    described = two_nodes("Abs")
    described.graph.node[0].doc_string = "the mean"
    described.graph.node[0].metadata_props.add(key="by", value="hand")
    assert changes(two_nodes("Abs"), described) == ()


def test_node_that_is_gone_becomes_nothing():
    shorter = parse("(float[3] x, float[3] y) => (float[3] q) { [divide] q = Div(x, y) }")
    assert changes(two_nodes("Abs"), shorter) == (Change("Abs 'last'", (), ()),)


def test_node_that_nothing_led_to_is_added():
    longer = two_nodes("Abs")
    longer.graph.node.add(op_type="Neg", name="new", input=["x"], output=["n"])
    assert changes(two_nodes("Abs"), longer) == (Change("", (), ("Neg 'new'",)),)


def test_alias_of_the_default_domain_is_no_change():
    alias = two_nodes("Abs")
    alias.graph.node[0].domain = "ai.onnx"
    alias.opset_import[0].domain = "ai.onnx"
    assert changes(two_nodes("Abs"), alias) == ()


def test_change_in_a_subgraph_has_its_path_and_leaves_the_node_around_it():
    original = sonnx_ort.models.load("div_in_if")
    (told, _) = changes(original, sonnx_ort.rewrite(original))
    assert told.node == "Div 'divide'"
    assert told.path == ("If 'choose' then_branch",)
    assert told.became[0] == "sonnx::CheckedDiv 'divide'"


@BACKENDS
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_changes_and_kept_nodes_together_are_the_rewritten_model(name, backend):
    """Counted by hand: what is in no change has to be in both models, as it is."""
    original = sonnx_ort.models.load(name)
    try:
        rewritten = sonnx_ort.rewrite(
            original, broadcast="explicit", operators="all,-Graph", backend=backend
        )
    except sonnx_ort.SonnxError:
        return
    told = [change for change in changes(original, rewritten) if not change.path]
    before = [named(node) for node in original.graph.node]
    kept = [node for node in before if node not in {change.node for change in told}]
    made = dict.fromkeys(node for change in told for node in change.became)
    assert sorted([*kept, *made]) == sorted(named(node) for node in rewritten.graph.node)


def named(node: onnx.NodeProto) -> str:
    domain = f"{node.domain}::" if node.domain else ""
    return f"{domain}{node.op_type} '{node.name or f'(output {node.output[0]})'}'"
