"""What computes nothing that is read is removed, and false claims are corrected."""

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import sonnx_ort
from support.conformed import require_same_bits
from support.graphs import operators, parse, tensor
from support.sessions import on_one_thread


def test_node_that_nothing_reads_is_removed_with_what_it_reads() -> None:
    before = parse(
        "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Neg(x) b = Add(a, w) y = Abs(x) }"
    )
    after = sonnx_ort.conform(before).model
    assert operators(after) == ["Abs"]
    require_same_bits(before, after, {"x": np.array([-1, 2], np.float32)})


def test_branch_that_nothing_reads_is_removed_with_what_it_reads() -> None:
    before = parse("""(float[2] x, bool c) => (float[2] y) {
        a = Neg(x)
        b = If(c) <then_branch = t () => (float[2] p) { p = Abs(a) },
                   else_branch = e () => (float[2] q) { q = Neg(a) }>
        y = Abs(x)
    }""")
    assert operators(sonnx_ort.conform(before).model) == ["Abs"]


def test_node_that_nothing_reads_stays_if_the_rule_is_left_out() -> None:
    before = parse("(float[2] x) => (float[2] y) { a = Neg(x) y = Abs(x) }")
    after = sonnx_ort.conform(before, ignore="Graph.dead_node").model
    assert operators(after) == ["Neg", "Abs"]


def test_initializer_that_nothing_reads_is_removed() -> None:
    before = parse("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Abs(x) }")
    made = sonnx_ort.conform(before)
    assert (len(made.model.graph.initializer), made.remaining) == (0, ())
    left = sonnx_ort.conform(before, ignore="Graph.unread").model
    assert [tensor.name for tensor in left.graph.initializer] == ["w"]


def test_initializer_that_only_a_dead_node_reads_is_removed_with_it() -> None:
    before = parse(
        "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Add(x, w) y = Abs(x) }"
    )
    made = sonnx_ort.conform(before)
    assert (operators(made.model), len(made.model.graph.initializer)) == (["Abs"], 0)
    left = sonnx_ort.conform(before, ignore="Graph.unread").model
    assert [tensor.name for tensor in left.graph.initializer] == ["w"]


def test_output_that_nothing_reads_stays() -> None:
    """To make it an output of the graph is for the author of the model."""
    made = sonnx_ort.conform(
        parse("(float[1,1,4,4] x) => (float[] y) { y, i = MaxPool<kernel_shape = [2, 2]>(x) }")
    )
    assert [value.name for value in made.model.graph.output] == ["y"]
    assert {o.rule.id for o, _ in made.remaining} == {"Graph.unread"}


def test_constants_that_a_change_replaces_are_removed() -> None:
    before = parse("""(float[2,3] x) => (float[] y)
        <int64[1] s = {0}, int64[1] e = {1}, int64[1] unread = {1}> { y = Slice(x, s, e) }""")
    after = sonnx_ort.conform(before, select="Slice").model
    read = set(after.graph.node[0].input)
    assert {tensor.name for tensor in after.graph.initializer} == {"unread"} | (read - {"x"})


DROPOUTS = {
    "of version 7": (11, "d = Dropout <ratio = 0.5> (x)"),
    "of version 13": (13, "d = Dropout(x)"),
    "not in training": (13, "d = Dropout(x, ratio, off)"),
}


@pytest.mark.parametrize("case", DROPOUTS)
def test_dropout_of_inference_is_removed(case: str) -> None:
    opset, node = DROPOUTS[case]
    before = parse(f"""(float[2] x) => (float[2] y) <float ratio = {{0.5}}, bool off = {{0}}>
        {{ {node} y = Neg(d) }}""")
    before.opset_import[0].version = opset
    after = sonnx_ort.conform(before).model
    assert operators(after) == ["Neg"]
    require_same_bits(before, after, {"x": np.array([np.nan, -0.0], np.float32)})


def test_dropout_that_gives_an_output_becomes_an_identity() -> None:
    before = parse("(float[2] x) => (float[2] y) { y = Dropout(x) }")
    after = sonnx_ort.conform(before).model
    assert operators(after) == ["Identity"]
    require_same_bits(before, after, {"x": np.array([1, 2], np.float32)})


KEPT = {
    "in training": "d = Dropout(x, ratio, on) y = Neg(d)",
    "perhaps in training": "d = Dropout(x, ratio, open) y = Neg(d)",
    "of which the mask is read": "d, mask = Dropout(x, ratio) m = Not(mask) y = Where(m, x, d)",
}


@pytest.mark.parametrize("case", KEPT)
def test_other_dropout_stays(case: str) -> None:
    before = parse(f"""(float[2] x, bool open) => (float[2] y)
        <float ratio = {{0.5}}, bool on = {{1}}> {{ {KEPT[case]} }}""")
    assert "Dropout" in operators(sonnx_ort.conform(before).model)


def test_false_declaration_is_corrected() -> None:
    before = parse("(float[2,3] x) => (float[2,3] y) { a = Neg(x) y = Abs(a) }")
    before.graph.value_info.append(tensor("a", "float", [3, 2]))
    after = sonnx_ort.conform(before).model
    assert list(after.graph.value_info) == [tensor("a", "float", [2, 3])]


def test_of_a_false_declaration_no_other_size_is_kept_that_nodes_may_contradict() -> None:
    """ONNX Runtime believes nothing of the claim as it is, and would believe what is corrected."""
    before = parse(
        "(float[3,k,n] x) => (float[3,m] y) <int64[1] axis = {2}, float[3,0] none = {}>"
        " { a = Squeeze(x, axis) y = Add(a, none) }"
    )
    before.graph.value_info.append(tensor("a", "float", [1, 3]))
    after = sonnx_ort.conform(before).model
    assert tensor("a", "float", [3, None]) in after.graph.value_info
    require_same_bits(before, after, {"x": np.ones((3, 0, 1), np.float32)})


def test_false_declaration_of_an_output_of_a_body_is_corrected() -> None:
    """Beside what is written down of other values, a Scan would not run with it."""
    before = parse("""(float[2,3] x, bool c) => (float[] y) {
        y = If(c) <then_branch = t () => (float[3,2] p) { p = Abs(x) },
                   else_branch = e () => (float[2,3] q) { q = Neg(x) }>
    }""")
    (node,) = sonnx_ort.conform(before).model.graph.node
    bodies = {a.name: a.g for a in node.attribute}
    assert list(bodies["then_branch"].output) == [tensor("p", "float", [2, 3])]


FALSE_OUTPUTS = {
    "of another size": ("float[n,3]", ["m", 2], ["m", 3]),
    "of another rank": ("float[2,n]", [2, "m", 3], [2, None]),
}


@pytest.mark.parametrize("case", FALSE_OUTPUTS)
def test_false_shape_of_an_output_is_corrected(case: str) -> None:
    """No run gives it; the name and the type, and what may be so, stay."""
    operand, claimed, expected = FALSE_OUTPUTS[case]
    before = parse(f"({operand} x) => (float[] y) {{ y = Neg(x) }}")
    del before.graph.output[:]
    before.graph.output.append(tensor("y", "float", claimed))
    conformed = sonnx_ort.conform(before)
    assert list(conformed.model.graph.output) == [tensor("y", "float", expected)]
    assert "Graph.false_claim" not in {o.rule.id for o, _ in conformed.remaining}
    assert [str(change) for change in conformed.changes if "Graph.false_claim" in change.rules] == [
        "value 'y': correct the declaration"
    ]
    require_same_bits(before, conformed.model, {"x": np.ones((2, 3), np.float32)})


ENDING = {
    "index that a run gives": "i = Gather<axis = 0>(x, k)",
    "constant index beyond the axis": "i = Gather<axis = 0>(x, nine)",
    "shape that a run gives": "i = Reshape(x, k)",
    "sizes that may not fit": "i = Add(x, w)",
    "integer divisor that may be 0": "i = Div(k, k)",
    "operator of another domain": "i = ai.onnx.ml.ArrayFeatureExtractor(x, k)",
    "branch with one of these": (
        "i = If(c) <then_branch = t () => (float[n] p) { p = Gather<axis = 0>(x, k) }, "
        "else_branch = e () => (float[2] q) { q = Neg(x) }>"
    ),
    "one of these, and what it reads": "h = Neg(x) i = Gather<axis = 0>(h, k)",
}

HARMLESS = {
    "element-wise": "i = Neg(x)",
    "sizes that fit": "i = Add(x, x)",
    "constant index within the axis": "i = Gather<axis = 0>(x, one)",
    "division of floats": "i = Div(x, x)",
    "branch without any": (
        "i = If(c) <then_branch = t () => (float[2] p) { p = Abs(x) }, "
        "else_branch = e () => (float[2] q) { q = Neg(x) }>"
    ),
}


def with_dead(nodes: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 20, "ai.onnx.ml": 3]> '
        "g (float[2] x, float[n] w, int64[2] k, bool c) => (float[2] y) "
        "<int64[1] nine = {9}, int64[1] one = {1}> { y = Abs(x) " + nodes + " }"
    )


@pytest.mark.parametrize("rounding", [False, True])
@pytest.mark.parametrize("nodes", ENDING.values(), ids=ENDING)
def test_dead_node_that_may_end_a_run_stays(nodes: str, rounding: bool) -> None:
    before = with_dead(nodes)
    made = sonnx_ort.conform(before, rounding=rounding, measure=False)
    assert len(made.model.graph.node) == len(before.graph.node)
    assert (
        "ONNX Runtime runs it although nothing reads it, and it may end a run; remove it from the "
        'file, or accept it with ignore="Graph.dead_node"'
    ) in {reason for o, reason in made.remaining if o.rule.id == "Graph.dead_node"}


def test_dead_node_that_may_end_a_run_gives_no_output() -> None:
    before = with_dead("i = MaxPool<kernel_shape = [1]>(w)")
    made = sonnx_ort.conform(before, name_outputs=True)
    assert [output.name for output in made.model.graph.output] == ["y"]
    assert sonnx_ort.conform(made.model, name_outputs=True).changes == ()


def test_dead_node_is_named_though_a_change_of_its_reader_was_tried() -> None:
    """LessOrEqual is written by other nodes, and the dead one is not: it may end a run."""
    made = sonnx_ort.conform(
        parse(
            "(float[n] x, float[m] y, float[k] u) => (bool[n] z) {"
            " z = LessOrEqual(x, x) [divide] d = Div(x, y) [compare] w = LessOrEqual(d, u) }",
            opset=13,
        )
    )
    for report in (made.report, sonnx_ort.check(made.model)):
        dead = [o.node for o in report.violations if o.rule.id == "Graph.dead_node"]
        assert dead == ["divide", "compare"]


@pytest.mark.parametrize("nodes", HARMLESS.values(), ids=HARMLESS)
def test_dead_node_that_ends_no_run_is_removed(nodes: str) -> None:
    assert operators(sonnx_ort.conform(with_dead(nodes)).model) == ["Abs"]


def test_onnxruntime_runs_what_nothing_reads() -> None:
    session = ort.InferenceSession(
        with_dead(ENDING["index that a run gives"]).SerializeToString(), on_one_thread("all")
    )
    feeds = {
        "x": np.ones(2, np.float32),
        "w": np.ones(2, np.float32),
        "k": np.array([0, 9]),
        "c": np.array(True),
    }
    with pytest.raises(InvalidArgument, match="indices element out of data bounds"):
        session.run(None, feeds)
