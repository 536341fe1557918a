"""`make_explicit` writes down what the file leaves out, and changes no result."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import parse, tensor

pytestmark = on_each_backend

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


def test_defaults_stand_in_the_file() -> None:
    rewritten = sonnx_ort.rewrite(made(), **OPTIONS)
    (softmax,) = [node for node in rewritten.graph.node if node.op_type == "Softmax"]
    assert [(a.name, a.i) for a in softmax.attribute] == [("axis", -1)]


def test_types_and_shapes_stand_in_the_file() -> None:
    rewritten = sonnx_ort.rewrite(made(), **OPTIONS)
    declared = {value.name: value for value in rewritten.graph.value_info}
    for name in ("s", "r", "q"):
        assert declared[name] == tensor(name, "float", ["n", 3])


def test_rewriting_twice_changes_nothing() -> None:
    once = sonnx_ort.rewrite(made(), **OPTIONS)
    assert sonnx_ort.rewrite(once, **OPTIONS) == once


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
