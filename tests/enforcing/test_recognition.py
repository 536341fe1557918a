"""Nodes in the domain `sonnx` are what `rewrite` made, or the model is refused."""

from collections.abc import Callable

import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.graphs import binary_model, parse, tensor

Forgery = Callable[[onnx.GraphProto], None]


def enforced() -> onnx.ModelProto:
    return sonnx_ort.rewrite(binary_model("Div", "float", ["n"], ["n"], c_shape=["n"]))


def result_as_output(graph: onnx.GraphProto) -> None:
    graph.output.append(tensor(graph.node[0].output[0], "float", ["n"]))


def shape_as_output(graph: onnx.GraphProto) -> None:
    graph.output.append(tensor(graph.node[0].output[1], "int64", ["n"]))


def result_read_elsewhere(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("Relu", [graph.node[0].output[0]], ["leak"]))


def shape_of_something_else(graph: onnx.GraphProto) -> None:
    graph.node.insert(0, helper.make_node("Shape", ["A"], ["own_shape"]))
    graph.node[2].input[1] = "own_shape"


def another_guard(graph: onnx.GraphProto) -> None:
    graph.node[1].op_type = "Expand"


def guard_with_attribute(graph: onnx.GraphProto) -> None:
    graph.node[1].attribute.append(helper.make_attribute("allowzero", 1))


def renamed_guard(graph: onnx.GraphProto) -> None:
    graph.node[1].name = "Div 'another_node' breaks the SONNX profile"


def unknown_operator(graph: onnx.GraphProto) -> None:
    graph.node[0].op_type = "Unheard"


def one_input(graph: onnx.GraphProto) -> None:
    del graph.node[0].input[1]


def more_attributes(graph: onnx.GraphProto) -> None:
    graph.node[0].attribute.append(helper.make_attribute("unchecked", 1))


def unknown_edition(graph: onnx.GraphProto) -> None:
    next(a for a in graph.node[0].attribute if a.name == "edition").s = b"none"


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (result_as_output, "its outputs can be reached around the guard"),
        (shape_as_output, "its outputs can be reached around the guard"),
        (result_read_elsewhere, "its outputs can be reached around the guard"),
        (shape_of_something_else, "its outputs can be reached around the guard"),
        (another_guard, "its guard is Expand, not a plain Reshape"),
        (guard_with_attribute, "its guard is Reshape, not a plain Reshape"),
        (renamed_guard, "its guard does not bear its name"),
        (unknown_operator, "there is no operator 'Unheard' in that domain"),
        (one_input, "it has 1 inputs and 2 outputs"),
        (more_attributes, "its attributes are not 'node' and 'edition', all strings"),
        (unknown_edition, "there is no edition 'none'"),
    ],
)
def test_forged_node_is_refused(forge: Forgery, reason: str) -> None:
    made = enforced()
    forge(made.graph)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "node 'the_node' is in the domain 'sonnx', but `rewrite` does not make such a node: "
        f"{reason}; use the standard operator, which `rewrite` enforces"
    )


SOFTMAX = "(float[n,m,k] x) => (float[n,m,k] y) { [s] y = Softmax <axis = 1> (x) }"


def imported_in(opset: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        next(i for i in model.opset_import if not i.domain).version = opset

    return change


def said_to_be_newer(model: onnx.ModelProto) -> None:
    next(a for a in model.graph.node[0].attribute if a.name == "version").s = b"13"


@pytest.mark.parametrize(
    ("forge", "made_for", "imported"), [(imported_in(13), 12, 13), (said_to_be_newer, 13, 12)]
)
def test_rules_of_another_version_are_refused(
    forge: Callable[[onnx.ModelProto], None], made_for: int, imported: int
) -> None:
    forged = sonnx_ort.rewrite(parse(SOFTMAX, opset=12), operators="Softmax", backend="python")
    forge(forged)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(forged, operators="Softmax")
    assert (
        f"it checks the rules of version {made_for} of the standard operators, and the model "
        f"imports version {imported};"
    ) in str(caught.value)


def test_text_that_is_not_utf_8_is_refused() -> None:
    made = enforced()
    made.graph.node[0].attribute[0].s = b"\xff\xfe"
    with pytest.raises(sonnx_ort.InvalidModel, match="its attributes are not 'node' and 'edition'"):
        sonnx_ort.rewrite(made)


@pytest.mark.parametrize("earlier", ["Div", "Where", "CastOperand"])
def test_model_of_an_earlier_version_is_refused(earlier: str) -> None:
    made = enforced()
    made.graph.node[0].op_type = earlier
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.InferenceSession(made)
    assert str(caught.value) == (
        f"node '{made.graph.node[0].name}' is sonnx::{earlier}, made by an earlier version of "
        "`rewrite`; ONNX Runtime may take its result for a shape; rewrite the original model "
        "again"
    )


def test_other_edition_is_refused() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(enforced(), edition="preliminary")
    assert str(caught.value) == (
        "node 'the_node' is already enforced with the edition 'typed'; rewrite the original model "
        "with 'preliminary'"
    )


def test_enforced_operator_in_a_function_is_refused() -> None:
    made = enforced()
    body = [
        helper.make_node("Div", ["a", "b"], ["r", "s"], domain="sonnx", node="d", edition="typed")
    ]
    imports = [helper.make_opsetid("sonnx", 1)]
    made.functions.append(helper.make_function("own", "f", ["a", "b"], ["r"], body, imports))
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model-local function 'f' contains operators of the domain 'sonnx', which only "
        "`rewrite` may insert; use the standard operators"
    )


def test_unknown_version_of_the_domain_is_refused() -> None:
    made = enforced()
    next(o for o in made.opset_import if o.domain == "sonnx").version = 2
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model imports version 2 of the domain 'sonnx'; only version 1 exists"
    )


def test_import_that_no_node_uses_says_nothing() -> None:
    made = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
    made.opset_import.append(helper.make_opsetid("sonnx", 1000))
    imports = {entry.domain: entry.version for entry in sonnx_ort.rewrite(made).opset_import}
    assert imports["sonnx"] == 1


def test_node_of_a_mixed_model_is_enforced_beside_one_that_is() -> None:
    made = enforced()
    made.graph.node.append(helper.make_node("Sub", ["C", "B"], ["D"], name="late"))
    made.graph.output.append(tensor("D", "float", ["n"]))
    rewritten = sonnx_ort.rewrite(made)
    assert [n.op_type for n in rewritten.graph.node if n.domain == "sonnx"] == [
        "CheckedDiv",
        "CheckedSub",
    ]


def test_report_of_a_rewritten_model_says_what_it_enforces() -> None:
    report = sonnx_ort.check(enforced(), operators="default")
    assert [(o.rule.id, o.node, o.status, o.evidence) for o in report.obligations] == [
        ("Div.float.R1", "the_node", "runtime", "the model enforces it with sonnx::CheckedDiv")
    ]


def test_forged_node_is_refused_by_check_too() -> None:
    made = enforced()
    result_as_output(made.graph)
    with pytest.raises(sonnx_ort.InvalidModel):
        sonnx_ort.check(made, operators="default")
