"""What the native backend made is told from what only says so."""

from collections.abc import Callable

import numpy as np
import onnx
import onnx.parser
import onnx_ir as ir
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.analysis.waiving import WAIVERS
from sonnx_ort.pipeline import reference_of
from sonnx_ort.profile.rule import Status
from support.graphs import binary_model, parse, tensor
from support.graphs import model as graph_model
from support.waivers import unequal, waiver

Change = Callable[[onnx.ModelProto], None]


def native(model: onnx.ModelProto, **choices: object) -> onnx.ModelProto:
    return sonnx_ort.rewrite(model, backend="native", **choices)


def enforced() -> onnx.ModelProto:
    return native(binary_model("Div", "int32", ["n"], ["m"], c_shape=["k"]))


def test_nodes_in_another_order_are_those_of_the_native_backend() -> None:
    once = enforced()
    constants = [node for node in once.graph.node if node.op_type == "Constant"]
    assert constants
    others = [node for node in once.graph.node if node.op_type != "Constant"]
    reordered = onnx.ModelProto()
    reordered.CopyFrom(once)
    del reordered.graph.node[:]
    reordered.graph.node.extend([*reversed(constants), *others])
    assert reordered != once
    assert native(reordered) == reordered


def guards_of(model: onnx.ModelProto) -> list[str]:
    return [n.name for n in model.graph.node if "breaks the SONNX profile" in n.name]


def test_texts_and_metadata_of_nodes_and_values_come_back() -> None:
    original = binary_model("Div", "int32", ["n"], ["m"], c_shape=["k"])
    (divide,) = original.graph.node
    for bearer in (divide, original.graph.output[0]):
        bearer.doc_string = f"about {bearer.name}"
        bearer.metadata_props.add(key="layer", value=f"of {bearer.name}")
    back = reference_of(native(original).SerializeToString())
    assert back.graph == sonnx_ort.rewrite(original, backend="python").graph


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_rewriting_a_bundled_model_twice_changes_nothing(name: str, broadcast: str) -> None:
    try:
        once = native(sonnx_ort.models.load(name), broadcast=broadcast, operators="all,-Graph")
    except sonnx_ort.ModelRejected:
        return
    assert native(once, operators="all,-Graph") == once


@pytest.mark.parametrize("text", ["", "null", "[]", "[" * 9999])
def test_nonsense_about_enforcement_is_passed_over(text: str) -> None:
    model = binary_model("Div", "float", ["n"], ["m"])
    model.metadata_props.add(key="sonnx_ort.enforced", value=text)
    assert guards_of(native(model))


def test_graph_object_is_recognized() -> None:
    once = enforced()
    again = sonnx_ort.rewrite(ir.from_proto(once), backend="native")
    assert guards_of(ir.to_proto(again)) == guards_of(once)


@pytest.mark.parametrize("left_out", [0, 1])
def test_rewriting_a_broadcast_with_an_output_left_out_twice_changes_nothing(left_out: int) -> None:
    outputs = ["z", "u"]
    read, outputs[left_out] = outputs[1 - left_out], ""
    node = helper.make_node("Broadcast", ["x", "y"], outputs, domain="sonnx")
    inputs = [tensor("x", "float", ["n"]), tensor("y", "float", ["m"])]
    once = native(graph_model([node], inputs, [tensor(read, "float", None)], domains={"sonnx": 1}))
    assert native(once) == once


@pytest.mark.parametrize("choices", [{}, {"broadcast": "explicit"}, {"backend": "python"}], ids=str)
def test_model_that_is_enforced_stays_as_it_is_whatever_is_asked_for(
    choices: dict[str, str],
) -> None:
    assert sonnx_ort.rewrite(enforced(), **choices) == enforced()


def test_report_says_that_the_model_checks_what_is_left_to_the_run() -> None:
    obligations = sonnx_ort.check(enforced(), operators="default").obligations
    left = [o.evidence for o in obligations if o.status is Status.RUNTIME]
    assert left == [
        "axis 0 is n in A and m in B; the model checks it in each run",
        "the elements of B depend on the inputs; the model checks it in each run",
        "the elements depend on the inputs; the model checks it in each run",
    ]


def another_code(model: onnx.ModelProto) -> None:
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.t.raw_data == np.int64(-21).tobytes():
                attribute.t.raw_data = np.int64(1).tobytes()


def around_the_guard(model: onnx.ModelProto) -> None:
    model.graph.node[-1].input[0] = "A"


def always_true(model: onnx.ModelProto) -> None:
    (equal, *_) = [node for node in model.graph.node if node.op_type == "Equal"]
    equal.input[1] = equal.input[0]


def false_shape_of_an_operand(model: onnx.ModelProto) -> None:
    (equal, *_) = [node for node in model.graph.node if node.op_type == "Equal"]
    model.graph.value_info.append(tensor(equal.input[0], "int64", [2]))


def renamed_guard(model: onnx.ModelProto) -> None:
    (guard, *_) = [n for n in model.graph.node if "breaks the SONNX profile" in n.name]
    guard.name = "Div 'another' breaks the SONNX profile; nothing"


def original_that_never_was(model: onnx.ModelProto) -> None:
    for node in model.graph.node:
        for entry in node.metadata_props:
            entry.value = entry.value.replace('"Div"', '"Add"')


def record_without_sense(model: onnx.ModelProto) -> None:
    for node in model.graph.node:
        for entry in node.metadata_props:
            if entry.key == "sonnx_ort.original":
                entry.value = "{}"


def other_edition(model: onnx.ModelProto) -> None:
    for entry in model.metadata_props:
        entry.value = entry.value.replace("typed", "preliminary")


def metadata_without_sense(model: onnx.ModelProto) -> None:
    for entry in model.metadata_props:
        entry.value = "[]"


def no_metadata(model: onnx.ModelProto) -> None:
    del model.metadata_props[:]


CHANGES = [
    another_code,
    around_the_guard,
    always_true,
    false_shape_of_an_operand,
    renamed_guard,
    original_that_never_was,
    record_without_sense,
    other_edition,
    metadata_without_sense,
    no_metadata,
]


@pytest.mark.parametrize("change", CHANGES)
def test_model_that_only_says_so_is_enforced_like_any_other(change: Change) -> None:
    forged = enforced()
    change(forged)
    again = native(forged)
    assert again != forged
    (node,) = [n for n in again.graph.node if n.op_type == "Div"]
    makers = {output: n.name for n in again.graph.node for output in n.output}
    assert makers[node.input[0]].startswith("Div 'the_node' breaks the SONNX profile;")


@pytest.mark.parametrize("change", CHANGES)
def test_model_that_only_says_so_refuses_what_the_original_refuses(change: Change) -> None:
    forged = enforced()
    change(forged)
    session = sonnx_ort.InferenceSession(forged, backend="native")
    a, zero, short = (np.array(values, np.int32) for values in ([1, 2], [1, 0], [1]))
    with pytest.raises(sonnx_ort.ContractViolation):
        session.run(None, {"A": a, "B": zero})
    # What is left of the forged guard may fail before ours does.
    with pytest.raises(Exception, match="breaks"):
        session.run(None, {"A": a, "B": short})


def test_bare_node_beside_an_enforced_one_is_enforced() -> None:
    once = enforced()
    once.graph.node.append(helper.make_node("Div", ["A", "B"], ["D"], name="slipped_in"))
    once.graph.output.append(tensor("D", "int32", ["k"]))
    again = native(once)
    assert any(name.startswith("Div 'slipped_in' breaks") for name in guards_of(again))


MIXED = parse("""(float[n] A, float[m] B, float[n] D) => (float[n] C, float[n] E, float[n] F) {
    [divide] C = Div(A, B)
    [add] E = Add(D, C)
    [multiply] F = Mul(D, E)
}""")


def test_operators_that_are_not_enforced_yet_are_asked_for_in_vain() -> None:
    once = native(MIXED, operators="Div")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        native(once, operators="Add,Div,Sub")
    assert str(caught.value) == (
        "the model is already rewritten, without Add; rewrite the original model with these "
        "operators as well"
    )
    with pytest.raises(sonnx_ort.SonnxError, match="without Add, Div; rewrite"):
        native(native(MIXED, operators="Mul"), operators="Add,Div")


@pytest.mark.parametrize("operators", ["Div", "Div,Sub", "Sub"])
def test_model_that_is_enforced_for_more_operators_stays(operators: str) -> None:
    once = native(MIXED, operators="Add,Div")
    assert native(once, operators=operators) == once


def test_report_of_an_enforced_model_tells_of_all_operators() -> None:
    report = sonnx_ort.check(native(MIXED, operators="Div"), operators="default")
    told = {(o.node, o.rule.id): (o.enforced, o.evidence) for o in report.obligations}
    checked = "the model checks it in each run"
    assert {place: checked in evidence for place, (_, evidence) in told.items()} == {
        (node, rule): (node, rule) == ("divide", "Div.float.R1")
        for node, operator in (("divide", "Div"), ("add", "Add"), ("multiply", "Mul"))
        for rule in (f"{operator}.float.R2", f"{operator}.float.RG1", f"{operator}.float.R1")
    }
    assert {node: enforced for (node, _), (enforced, _) in told.items()} == {
        "divide": True, "add": False, "multiply": False,
    }  # fmt: skip


def declare_a_type(model: onnx.ModelProto) -> None:
    model.graph.value_info.append(tensor("C_operand_shape", "float", None))


def declare_a_shape(model: onnx.ModelProto) -> None:
    model.graph.value_info.append(tensor("C_operand_shape", "int64", [7]))


@pytest.mark.parametrize("change", [declare_a_type, declare_a_shape])
def test_model_that_declares_other_types_or_shapes_is_not_taken_for_enforced(
    change: Change,
) -> None:
    changed = enforced()
    change(changed)
    again = native(changed)
    assert len(again.graph.node) > len(changed.graph.node)
    assert native(again) == again
    told = [{e.key: e.value for e in node.metadata_props} for node in again.graph.node]
    groups = {entries["sonnx_ort.group"] for entries in told if "sonnx_ort.group" in entries}
    assert sum("sonnx_ort.original" in entries for entries in told) == len(groups)


CALLING = parse(
    """(float[n] A, float[m] B) => (float[n] C, float[n] D) {
        [divide] C = Div(A, B)
        D = own.larger(A, B)
    }
    <domain: "own", opset_import: ["": 17]>
    larger (a, b) => (c) { [largest] c = Max(a, b) }""",
    domains={"own": 1},
)


def test_function_stays_where_none_of_its_operators_is_enforced() -> None:
    once = native(CALLING, operators="Div")
    assert [node.op_type for node in once.graph.node][-1] == "larger"
    assert native(once, operators="Div") == once
    assert native(once, operators="Sub") == once


def test_function_is_inlined_where_one_of_its_operators_is_enforced() -> None:
    once = native(CALLING, operators="Max")
    assert {"larger", "Max"}.intersection(node.op_type for node in once.graph.node) == {"Max"}
    assert native(once, operators="Max") == once


def test_model_that_is_enforced_without_what_its_functions_hold_is_recognized() -> None:
    once = native(CALLING, operators="Div")
    with pytest.raises(sonnx_ort.SonnxError, match="already rewritten, without Max; rewrite"):
        native(once, operators="Div,Max")


def test_function_of_what_is_not_taken_for_enforced_is_inlined() -> None:
    changed = native(CALLING, operators="Div")
    declare_a_type(changed)
    kinds = {node.op_type for node in native(changed, operators="Max").graph.node}
    assert kinds & {"larger", "Max"} == {"Max"}


def test_model_whose_metadata_lost_a_waiver_is_not_taken_for_enforced() -> None:
    once = native(unequal(), waivers=[waiver("Div.float.R1")])
    assert not sonnx_ort.check(once, operators="default").ok
    (told,) = [entry for entry in once.metadata_props if entry.key == WAIVERS]
    once.metadata_props.remove(told)
    (found,) = sonnx_ort.check(once, operators="default").violations
    assert found.rule.id == "Graph.false_claim"


def test_size_that_a_file_claims_behind_a_guard_is_not_taken_for_enforced() -> None:
    text = "(float[n] A, float[m] B) => (float[] D) { [subtract] c = Sub(A, B) D = Relu(c) }"
    once = native(parse(text))
    (declared,) = [value for value in once.graph.value_info if value.name == "c"]
    declared.type.tensor_type.shape.dim[0].dim_value = 7
    assert len(native(once).graph.node) > len(once.graph.node)


def test_what_an_imitation_tells_of_its_groups_is_forgotten() -> None:
    changed = native(
        parse(
            """(float[n] A, float[m] B) => (float[] C, float[] D, float[] E) {
                C, D = sonnx.Broadcast(A, B)
                E = Div(A, B)
            }""",
            domains={"sonnx": 1},
        )
    )
    declare_a_type(changed)
    told = [{e.key for e in node.metadata_props} for node in native(changed).graph.node]
    assert sum("sonnx_ort.original" in keys for keys in told) == 1


def test_state_of_a_scan_without_a_declared_type() -> None:
    """The value that keeps its rank has none either: a shape without a type is not written."""
    made = native(
        parse(
            "(int64 i) => (float y) <float x = {1}, double[2,2] z = {7,1,1,-1}> {"
            " s = ReduceSum(z) y = Div(x, x) ones = Constant<value_ints = [1, 1]>()"
            " last, all = Scan<num_scan_inputs = 1, body = b (double[] t, double[2] u)"
            " => (double t, double[] w) { v = Gather(ones, i) w = Identity(t) }>(s, s) }"
        )
    )
    assert "s_of_its_rank" in {name for node in made.graph.node for name in node.output}
    assert native(made) == made
