"""Models that contain `sonnx::Broadcast` themselves: results, violations and bad nodes."""

import logging

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper
from restrictions import broadcast

import sonnx_ort
from sonnx_ort.profile.rule import Status
from support import ort_values
from support.backends import on_each_backend, on_python
from support.broadcasting import (
    assert_identical,
    broadcast_guards,
    broadcast_model,
    numbered,
    results,
    violation,
)
from support.graphs import parse
from support.sessions import LEVELS, quiet

pytestmark = on_each_backend

SENTENCE = "The rule: A dimension is the largest of its axis, or 1."


def feeds_of(*arrays):
    return {f"x{index}": array for index, array in enumerate(arrays)}


def test_one_tensor_may_be_read_twice():
    text = """(float[n] x, float[m,1] y) => (float[?,?] a, float[?,?] c) {
        a, b, c = sonnx.Broadcast(x, y, x)
    }"""
    made = parse(text, domains={"sonnx": 1})
    x, y = np.float32([1, 2]), np.float32([[3], [4]])
    first, third = results(made, {"x": x, "y": y})
    assert first.tolist() == third.tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(("outputs", "kept"), [(["z0", ""], 0), (["", "z1"], 1), (["z0"], 0)])
def test_output_that_nobody_reads_may_be_left_out(outputs, kept):
    arrays = numbered((2, 3), np.float32), numbered((3,), np.float32)
    made = broadcast_model(["float", "float"], [["n", "m"], ["k"]], outputs=outputs)
    (result,) = results(made, feeds_of(*arrays))
    assert_identical(result, broadcast(*arrays)[kept])


@pytest.mark.parametrize("read", [["z0"], ["z1"], ["z2"]])
@pytest.mark.parametrize("level", LEVELS.values(), ids=LEVELS)
def test_violation_fails_the_run_whichever_output_is_read(read, level):
    options = quiet()
    options.graph_optimization_level = level
    made = broadcast_model(["float"] * 3, [["n", 3], ["m", 3], [1]])
    for output in [output for output in made.graph.output if output.name not in read]:
        made.graph.output.remove(output)
    feeds = feeds_of(*(np.zeros(shape, np.float32) for shape in ((2, 3), (4, 3), (1,))))
    error = violation(made, feeds, options)
    assert str(error) == (
        "Broadcast 'the_node' breaks Broadcast.E1: axis 0 has size 2 in X0 and 4 in X1; "
        f"shapes X0 'x0' (2, 3), X1 'x1' (4, 3), X2 'x2' (1,). {SENTENCE}"
    )


def test_rejection_has_its_message():
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(broadcast_model(["float", "bool"], [["n", 3], [2]]))
    assert str(caught.value) == (
        "the model breaks the SONNX profile (edition typed): 1 violation at 1 node\n"
        "1. Broadcast 'the_node': Broadcast.E1 violated: axis 1 has size 3 in X0 and 2 in X1\n"
        "    X0 'x0' float (n, 3) [input]\n"
        "    X1 'x1' bool (2,) [input]\n"
        "    the rule: A dimension is the largest of its axis, or 1. (SONNX Broadcast, Informal "
        "specification, conditions 1 and 2 and step 2)\n"
        "    to fix it: the shapes (n, 3) and (2,) have no common shape; correct the model"
    )


@pytest.mark.parametrize(
    ("shapes", "kept"),
    [(((3,), (1,)), True), (((3,), (4,)), False), (((1,), (3,)), True), (((0,), (1,)), False)],
    ids=str,
)
def test_inputs_that_share_a_symbol_are_broadcast_by_their_sizes_in_the_run(shapes, kept):
    made = broadcast_model(["float", "float"], [["n"], ["n"]])
    arrays = [numbered(shape, np.float32) for shape in shapes]
    if not kept:
        assert violation(made, feeds_of(*arrays)).rule == "Broadcast.E1"
        return
    for result, expected in zip(results(made, feeds_of(*arrays)), broadcast(*arrays), strict=True):
        assert_identical(result, expected)


def test_violation_names_a_tensor_whose_name_has_a_line_break():
    text = "(float[n] x, float[m] y) => (float[?] a) { [n] a, b = sonnx.Broadcast(x, y) }"
    made = parse(text, domains={"sonnx": 1})
    made.graph.input[0].name = made.graph.node[0].input[0] = "x\n0"
    error = violation(made, {"x\n0": np.zeros(3, np.float32), "y": np.zeros(2, np.float32)})
    assert isinstance(error, sonnx_ort.ContractViolation)


@on_python
def test_plain_session_says_operator_node_and_rule(caplog):
    made = sonnx_ort.rewrite(broadcast_model(["float", "float"], [["n"], ["m"]], node="spread"))
    session = ort.InferenceSession(made.SerializeToString(), sonnx_ort.register(quiet()))
    feeds = feeds_of(np.zeros(3, np.float32), np.zeros(2, np.float32))
    with caplog.at_level(logging.ERROR, "sonnx_ort"), pytest.raises(Exception) as caught:  # noqa: PT011
        session.run(None, feeds)
    assert (
        "Name:'Broadcast 'spread' breaks the SONNX profile; the last four digits of this message "
        "tell the rule: 0071 Broadcast.E1' Status Message: "
    ) in str(caught.value)
    assert str(caught.value).rstrip().endswith("0071")
    (message,) = caplog.messages
    assert message == (
        "Broadcast 'spread' breaks Broadcast.E1: axis 0 has size 3 in X0 and 2 in X1; shapes "
        f"X0 'x0' (3,), X1 'x1' (2,). {SENTENCE}"
    )


def test_known_shapes_need_no_check():
    made = sonnx_ort.rewrite(broadcast_model(["float", "float"], [(2, 3), (3,)]))
    assert broadcast_guards(made) == []


@on_python
@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize("choice", ["reject", "explicit"])
def test_it_is_the_same_in_both_editions_and_whatever_becomes_of_other_operators(edition, choice):
    made = broadcast_model(["float", "float"], [["n"], ["m"]])
    rewritten = sonnx_ort.rewrite(made, edition=edition, broadcast=choice)
    assert rewritten.graph == sonnx_ort.rewrite(made).graph


@pytest.mark.parametrize(
    ("element_type", "dtype", "opset"),
    [
        *(("float", np.float32, opset) for opset in (5, 7, 8, 12, 13, 18, 21)),
        *(("bool", np.bool_, opset) for opset in (7, 8, 13, 21)),
        *(("float16", np.float16, opset) for opset in (7, 8, 13, 21)),
        *(("bfloat16", ort_values.BFLOAT16, opset) for opset in (13, 18, 21)),
    ],
)
def test_every_opset_version(element_type, dtype, opset):
    arrays = numbered((2, 3), dtype), numbered((3,), dtype)
    made = broadcast_model([element_type] * 2, [["n", "m"], ["k"]], opset=opset)
    _, result = results(made, feeds_of(*arrays))
    assert_identical(result, broadcast(*arrays)[1])


def test_facts_flow_through_it():
    text = """(float[n,3] x, float[m] y) => (float[?,?] c) {
        [spread] a, b = sonnx.Broadcast(x, y)
        [divide] c = Div(a, b)
    }"""
    made = parse(text, domains={"sonnx": 1})
    report = sonnx_ort.check(made, operators="default", broadcast="explicit")
    checked = [o.rule.id for o in report.obligations if o.status is Status.RUNTIME]
    assert checked == ["Broadcast.E1"]


READERS_OF_SHAPES = {
    "the first result": ("<float[4] a>", "s = Shape(a)"),
    "the second result": ("<float[4] b>", "s = Shape(b)"),
    "what both results make": ("<float[4] c>", "c = Div(a, b)\n s = Shape(c)"),
}


@pytest.mark.parametrize(
    ("declared", "nodes"), READERS_OF_SHAPES.values(), ids=READERS_OF_SHAPES.keys()
)
def test_check_runs_although_a_declared_size_would_do_without_it(declared, nodes):
    graph = f"{{ a, b = sonnx.Broadcast(x, y)\n {nodes} }}"
    made = parse(
        f"(float[n] x, float[4] y) => (int64[1] s) {declared} {graph}", domains={"sonnx": 1}
    )
    error = violation(made, {"x": np.ones(3, np.float32), "y": np.ones(4, np.float32)})
    assert error.rule == "Broadcast.E1"


def test_facts_about_bfloat16_flow_through_it():
    text = """(bfloat16[?] x, bfloat16[?] y, bfloat16[?] z) => (bfloat16[?] c) {
        [first] a, b = sonnx.Broadcast(x, y)
        [second] c, d = sonnx.Broadcast(b, z)
    }"""
    chained = parse(text, domains={"sonnx": 1})
    arrays = {
        name: numbered((size,), ort_values.BFLOAT16)
        for name, size in (("x", 3), ("y", 1), ("z", 3))
    }
    (result,) = results(chained, arrays)
    assert result.tolist() == [1, 1, 1]


@pytest.mark.satisfies("Broadcast.signature", "Broadcast.attributes")
@pytest.mark.parametrize(
    "name", ["no input", "missing optional input", "attribute", "more outputs than inputs"]
)
def test_node_that_is_no_broadcast_is_invalid(name):
    made = broadcast_model(["float", "float"], [["n"], ["m"]])
    node = made.graph.node[0]
    match name:
        case "no input":
            del node.input[:]
            del made.graph.output[1]
        case "missing optional input":
            node.input[1] = ""
        case "attribute":
            node.attribute.append(helper.make_attribute("axis", 1))
        case _:
            node.output.append("z2")
    with pytest.raises(sonnx_ort.InvalidModel, match="the_node"):
        sonnx_ort.rewrite(made)
