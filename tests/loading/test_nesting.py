"""A model that nests too deep for readers is refused with the depth, and never written."""

from pathlib import Path

import onnx
import onnxruntime
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.loading.serialization import nested_graphs
from support.command import command
from support.graphs import binary_model, parse

DEEPEST = 31
"""The graphs that readers take in one another, if the types inside are those of tensors."""


def told(depth: int) -> str:
    return (
        f"the model nests {depth} graphs in one another, as branches of If in branches of If, and "
        "messages more than 100 deep, which no reader of ONNX takes; nest less"
    )


def nested(depth: int, body: str) -> bytes:
    """A model whose innermost branch has nodes that give r0."""
    nodes, name = body, "r0"
    for level in range(1, depth + 1):
        nodes = (
            f"r{level} = If(c) <then_branch = t{level} () => (int64[k] {name}) {{ {nodes} }}, "
            f"else_branch = e{level} () => (int64[k] e{level}) {{ e{level} = Shape(x) }}>"
        )
        name = f"r{level}"
    made = parse(f"(float[n] x, float[n] w, bool c) => (int64[k] {name}) {{ {nodes} }}")
    content: bytes = made.SerializeToString()
    return content


DIVIDE = "[divide] q = Div(x, w) r0 = Shape(q)"


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST])
def test_what_is_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int, backend: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(nested(depth, DIVIDE))
    done = command("rewrite", "m.onnx", "-o", "e.onnx", "--backend", backend)
    if done.returncode == 0:
        assert command("check", "e.onnx", "-q", "--operators", "default").returncode == 0
        onnxruntime.InferenceSession("e.onnx", sonnx_ort.register(backend=backend))
    else:
        assert (done.returncode, done.stderr) == (2, f"sonnx-ort: {told(DEEPEST + 1)}\n")
        assert [path.name for path in Path().iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_model_and_session_that_would_be_too_deep(backend: str) -> None:
    content = nested(DEEPEST, DIVIDE)
    onnxruntime.InferenceSession(content)
    for call in (sonnx_ort.rewrite, sonnx_ort.InferenceSession):
        with pytest.raises(sonnx_ort.SonnxError) as caught:
            call(content, backend=backend)
        assert str(caught.value) == told(DEEPEST + 1)


@pytest.mark.parametrize("depth", [40, 400, 10_000])
def test_object_that_no_reader_takes(depth: int) -> None:
    made = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
    graph = made.graph
    for _ in range(depth):
        node = graph.node.add(op_type="If", input=["p"], output=["z"])
        attribute = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        graph = attribute.g
    assert nested_graphs(made) == depth
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(made, operators="default")
    assert str(caught.value) == told(depth)


def test_types_count_too() -> None:
    made = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
    declared = helper.make_tensor_type_proto(1, None)
    for _ in range(45):
        declared = helper.make_sequence_type_proto(declared)
    made.graph.input.append(helper.make_value_info("deep", declared))
    for _ in range(5):
        held = onnx.TypeProto()
        held.sequence_type.elem_type.CopyFrom(made.graph.input[-1].type)
        made.graph.input[-1].type.CopyFrom(held)
    with pytest.raises(sonnx_ort.InvalidModel, match="and messages more than 100 deep"):
        sonnx_ort.check(made, operators="default")
