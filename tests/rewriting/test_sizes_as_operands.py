"""A kernel's shape is copied where ONNX Runtime could take the quotient of two sizes for it."""

from collections.abc import Callable, Sequence

import onnx
import pytest
from onnx import helper

import sonnx_ort
from support.graphs import binary_model, tensor

COPIED = ["Div", "Concat", "Reshape"]
PLAIN = ["Div", "Reshape"]


def enforced(
    element_type: str = "int64", shape: Sequence[int | str] | None = ()
) -> onnx.ModelProto:
    return sonnx_ort.rewrite(binary_model("Div", element_type, shape, shape))


@pytest.mark.parametrize(
    ("element_type", "shape", "operators"),
    [
        ("int64", (), COPIED),
        ("int64", None, COPIED),
        ("int64", (1,), PLAIN),
        ("int64", ("n",), PLAIN),
        ("int32", (), PLAIN),
        ("float", (), PLAIN),
    ],
)
def test_shape_is_copied_where_operands_can_be_sizes(
    element_type: str, shape: Sequence[int | str] | None, operators: list[str]
) -> None:
    made = enforced(element_type, shape)
    assert [node.op_type for node in made.graph.node] == operators


def test_rewriting_twice_changes_nothing() -> None:
    once = enforced()
    assert sonnx_ort.rewrite(once) == once


def another_axis(graph: onnx.GraphProto) -> None:
    graph.node[1].attribute[0].i = -1


def more_than_the_shape(graph: onnx.GraphProto) -> None:
    graph.node[1].input.append(graph.node[1].input[0])


def copy_as_output(graph: onnx.GraphProto) -> None:
    graph.output.append(tensor(graph.node[1].output[0], "int64", ["n"]))


def copy_read_elsewhere(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("Identity", [graph.node[1].output[0]], ["leak"]))


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (another_axis, "its outputs do not meet in one guard"),
        (more_than_the_shape, "its outputs can be reached around the guard"),
        (copy_as_output, "its outputs can be reached around the guard"),
        (copy_read_elsewhere, "its outputs can be reached around the guard"),
    ],
)
def test_forged_copy_is_refused(forge: Callable[[onnx.GraphProto], None], reason: str) -> None:
    made = enforced()
    forge(made.graph)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert f"is not what rewrite makes: {reason};" in str(caught.value)
