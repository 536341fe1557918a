"""Files whose functions stand for very many nodes, or call themselves, are refused when read."""

import onnx
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.loading.growth import MOST_NODES, require_few_nodes
from sonnx_ort.loading.source import read
from support.graphs import parse

IMPORTS = [helper.make_opsetid("", 17), helper.make_opsetid("l", 1)]


def model(*calls: list[str], domain: str = "l", guarded: bool = False) -> onnx.ModelProto:
    """A model that calls F0; each function calls, one after the other, what is listed for it."""
    made = parse("(float[2] x, bool c) => (float[2] z) { z = l.F0(x) }", domains={"l": 1})
    for number, called in enumerate(calls):
        ends = ["a", *(f"t{n}" for n in range(len(called) - 1)), "c"]
        nodes = [
            helper.make_node(
                name, [ends[n]], [ends[n + 1]], domain=domain if name[0] == "F" else ""
            )
            for n, name in enumerate(called)
        ]
        if guarded:
            body = helper.make_graph(nodes, "body", [], [onnx.ValueInfoProto(name="c")])
            node = helper.make_node("If", ["a"], ["c"], then_branch=body, else_branch=body)
            nodes = [node]
        made.functions.append(helper.make_function("l", f"F{number}", ["a"], ["c"], nodes, IMPORTS))
    return made


def doubling(depth: int) -> list[list[str]]:
    return [*([f"F{n + 1}"] * 2 for n in range(depth)), ["Relu"]]


def refusal(made: onnx.ModelProto) -> str:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        read(made)
    return str(caught.value)


@pytest.mark.parametrize(("depth", "nodes"), [
    (15, "32,768"), (20, "1,048,576"), (60, "1,000,000,000,000"), (20_000, "1,000,000,000,000"),
])  # fmt: skip
def test_functions_that_double_are_refused(depth: int, nodes: str) -> None:
    said = refusal(model(*doubling(depth)))
    most = max(MOST_NODES, 16 * (2 * depth + 2))
    assert said == (
        f"replacing each call by its model-local function, as ONNX Runtime does, gives {nodes} "
        f"nodes or more, and at most {most:,} are taken; make fewer calls"
    )


def test_calls_in_branches_count() -> None:
    assert "replacing each call" in refusal(model(*doubling(15), guarded=True))


def test_name_of_the_standard_domain_is_no_way_around() -> None:
    made = model(*doubling(15))
    for function in made.functions:
        function.domain = "ai.onnx"
        for node in function.node:
            node.domain = "" if node.op_type != "Relu" else "ai.onnx"
    made.graph.node[0].domain = ""
    assert "replacing each call" in refusal(made)


@pytest.mark.parametrize("calls", [[["F0"]], [["F1"], ["Relu", "F0"]], [["Relu"], ["F1"]]])
def test_function_that_calls_itself_is_refused(calls: list[list[str]]) -> None:
    assert "calls itself, directly or through other functions; ONNX allows no recursion" in refusal(
        model(*calls)
    )


def test_functions_that_stand_for_few_nodes_are_taken() -> None:
    require_few_nodes(model(*doubling(13)))
    require_few_nodes(model(*([f"F{n + 1}"] for n in range(3000)), ["Relu"]))


def test_large_weights_are_no_way_around() -> None:
    made = model(*doubling(15))
    weights = onnx.numpy_helper.from_array(__import__("numpy").ones(1 << 15, "float32"), "w")
    made.graph.initializer.append(weights)
    with pytest.raises(sonnx_ort.InvalidModel, match="replacing each call"):
        sonnx_ort.InferenceSession(made)
