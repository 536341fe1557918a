"""What broadcasts a model gets, what is advised, and what is written down."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend, on_guarding, on_python
from support.graphs import binary_model, parse, tensor

pytestmark = on_each_backend


def explicit(made, **choices):
    return sonnx_ort.rewrite(made, broadcast="explicit", **choices)


def expanded(made):
    """The values that are expanded, by the names that they have in the model."""
    hidden = {n.output[0]: n.input[2] for n in made.graph.node if n.op_type == "Loop"}
    values = [node.input[0] for node in made.graph.node if node.op_type == "Expand"]
    return [hidden.get(value, value) for value in values]


@on_python
def test_equal_shapes_give_what_rejecting_gives():
    made = binary_model("Div", "float", ["n", 3], ["n", 3])
    assert explicit(made).graph == sonnx_ort.rewrite(made).graph


@on_guarding
def test_unknown_types_are_broadcast_all_the_same():
    text = "(float[2] a) => (float[2] c) { m = their.domain.Mystery(a) [div] c = Div(m, a) }"
    made = parse(text, domains={"their.domain": 1})
    assert expanded(explicit(made)) == ["m"] or expanded(explicit(made)) == ["m", "a"]


@on_guarding
def test_new_values_take_no_name_that_is_taken():
    taken = ["C_expanded", "C_common_shape", "C_common", "C_operand_shape", "C_operand_shapes"]
    made = binary_model("Div", "float", ["n"], ["m"])
    for name in taken:
        made.graph.node.append(helper.make_node("Relu", ["A"], [name]))
        made.graph.output.append(tensor(name, "float", ["n"]))
    produced = [name for node in explicit(made).graph.node for name in node.output]
    assert len(produced) == len(set(produced))


OPTIONS = {"make_explicit": True}


def made() -> onnx.ModelProto:
    return parse("""(float[n,3] a, float[n,3] b) => (float[n,3] z) {
        [softmax] s = Softmax(a)
        [relu] r = Relu(b)
        [div] q = Div(s, r)
        [sub] z = Sub(q, r)
    }""")


def findings(proto: onnx.ModelProto) -> list[str]:
    return [finding.rule.id for finding in sonnx_ort.check(proto, operators="default").findings]


def test_findings_about_the_models_own_nodes_are_gone() -> None:
    before = findings(made())
    assert {"GR2", "GR4"} <= set(before)
    rewritten = sonnx_ort.rewrite(made(), **OPTIONS)
    own = {"softmax", "relu", "s", "r", "q", "z"}
    left = [
        f
        for f in sonnx_ort.check(rewritten, operators="default").findings
        if f.place.split("'")[1] in own
    ]
    assert left == []


@pytest.mark.parametrize("node", ["Max(a, b)", "MatMul(a, b)"])
def test_what_rewriting_made_is_recognized_with_its_defaults_written_down(node: str) -> None:
    choices = {"operators": "all,-Graph", **OPTIONS}
    model = parse(f"(float[] a, float[] b) => (float[] z) {{ z = {node} }}")
    once = sonnx_ort.rewrite(model, **choices)
    again = sonnx_ort.rewrite(once, **choices)
    assert sonnx_ort.rewrite(again, **choices) == again


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
def test_results_stay_the_same(broadcast: str) -> None:
    feeds = {"a": np.ones((2, 3), np.float32), "b": np.full((2, 3), 4, np.float32)}
    results = [
        ort.InferenceSession(
            sonnx_ort.rewrite(
                made(), broadcast=broadcast, make_explicit=wanted
            ).SerializeToString(),
            sonnx_ort.register(),
        ).run(None, feeds)[0]
        for wanted in (False, True)
    ]
    np.testing.assert_array_equal(*results)


def test_declarations_of_the_file_are_left_as_they_are() -> None:
    claimed = made()
    claimed.graph.value_info.append(tensor("s", "float", ["their", "own"]))
    rewritten = sonnx_ort.rewrite(claimed, **OPTIONS)
    assert tensor("s", "float", ["their", "own"]) in rewritten.graph.value_info


def test_types_and_shapes_behind_custom_operators_stand_in_the_file() -> None:
    model = parse("""(float[n,3] a, float[n,3] b) => (float[n,3] z) {
        [sub] d = Sub(a, b)
        r = Relu(b)
        s = Exp(r)
        z = Concat<axis = 0>(d, s)
    }""")
    once = sonnx_ort.rewrite(model, backend="python")
    again = sonnx_ort.rewrite(once, backend="python", **OPTIONS)
    declared = {value.name: value for value in again.graph.value_info}
    for name in ("r", "s"):
        assert declared[name] == tensor(name, "float", ["n", 3])
