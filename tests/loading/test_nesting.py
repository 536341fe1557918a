"""Graphs that nest too deep, depend on themselves, or lack the standard operators."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.loading.serialization import nested_graphs
from support.backends import on_each_backend
from support.command import command
from support.graphs import binary_model, parse

DEEPEST = 31
"""The graphs that readers take in one another, if the types inside are those of tensors."""


def told(depth: int) -> str:
    return (
        f"the model nests {depth} graphs in one another, such as If in branches of If. No reader "
        "of ONNX takes messages that are more than 100 deep; nest less"
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
    chosen = ("--operators", "default", "--backend", backend)
    done = command("rewrite", "m.onnx", "-o", "e.onnx", *chosen)
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
    with pytest.raises(sonnx_ort.InvalidModel, match="messages that are more than 100 deep"):
        sonnx_ort.check(made, operators="default")


END = "no node can need its own result, so export the model again"
CYCLES = {
    "{ [one] z = Add(x, z) }": "Add 'one' needs Add 'one'",
    "{ [one] y = Add(x, z) [two] z = Neg(y) }": "Add 'one' needs Neg 'two' needs Add 'one'",
    "{ [before] v = Neg(x) [one] y = Add(v, w) [two] w = Neg(y) [after] z = Neg(w) }": (
        "Add 'one' needs Neg 'two' needs Add 'one'"
    ),
    "{ [one] y = If(p) <then_branch = t () => (o) { o = Neg(z) }, "
    "else_branch = e () => (k) { k = Neg(x) }> [two] z = Neg(y) }": (
        "If 'one' needs Neg 'two' needs If 'one'"
    ),
    "{ [outer] z = If(p) <then_branch = t () => (o) { [one] o = Add(x, b) [two] b = Neg(o) }, "
    "else_branch = e () => (k) { k = Neg(x) }> }": "Add 'one' needs Neg 'two' needs Add 'one'",
}


def refusal(body: str) -> str:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(parse(f"(bool p, float[n] x) => (float[n] z) {body}"), operators="default")
    return str(caught.value)


@pytest.mark.parametrize("body", CYCLES)
def test_cycle(body: str) -> None:
    assert refusal(body) == (
        f"the model is not valid ONNX: its nodes form a cycle: {CYCLES[body]}; {END}"
    )


def test_long_cycle_is_cut_short() -> None:
    nodes = " ".join(f"[n{at}] v{at} = Neg(v{(at + 1) % 5000})" for at in range(5000))
    assert refusal(f"{{ {nodes} z = Neg(v0) }}") == (
        "the model is not valid ONNX: its nodes form a cycle: Neg 'n0' needs Neg 'n1' needs "
        "Neg 'n2' needs Neg 'n3' needs Neg 'n4' needs Neg 'n0' (with 4995 more nodes before the "
        f"last); {END}"
    )


@pytest.mark.parametrize("body", ["{ z = Neg(y) y = Neg(x) }", "{ z = Neg(nothing) }"])
def test_nodes_that_are_only_not_sorted(body: str) -> None:
    assert "must be topologically sorted" in refusal(body)


def test_cycle_is_not_told_where_another_error_comes_first() -> None:
    told = refusal("{ q = Unknown(x) y = Neg(z) z = Neg(y) }")
    assert "No Op registered for Unknown" in told
    assert "cycle" not in told


def test_cycle_in_a_function() -> None:
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "local": 1]>
        g (float[n] x) => (float[n] z) { z = local.f(x) }
        <domain: "local", opset_import: ["": 18]> f (x) => (z) {
            [one] y = Add(x, z) [two] z = Neg(y)
        }""")
    with pytest.raises(sonnx_ort.InvalidModel, match="Add 'one' needs Neg 'two' needs Add 'one'"):
        sonnx_ort.check(made, operators="default")


def without_standard_operators(model: onnx.ModelProto) -> onnx.ModelProto:
    (entry,) = [entry for entry in model.opset_import if not entry.domain]
    model.opset_import.remove(entry)
    return model


BROADCAST = without_standard_operators(
    parse(
        "(float[n,1] A, float[m] B) => (float[] C, float[] D) { C, D = sonnx.Broadcast(A, B) }",
        domains={"sonnx": 1},
    )
)

CALLING = without_standard_operators(
    parse(
        """(float[n] A, float[n] B) => (float[n] C) { C = own.ratio(A, B) }
        <domain: "own", opset_import: ["": 13]>
        ratio (a, b) => (c) { c = Div(a, b) }""",
        domains={"own": 1},
    )
)


@on_each_backend
def test_enforced_broadcast_imports_them_and_runs() -> None:
    feeds = {"A": np.ones((2, 1), np.float32), "B": np.ones(3, np.float32)}
    session = sonnx_ort.InferenceSession(BROADCAST)
    assert [result.shape for result in session.run(None, feeds)] == [(2, 3), (2, 3)]


@on_each_backend
@pytest.mark.parametrize(("model", "version"), [(BROADCAST, 17), (CALLING, 13)])
def test_version_is_that_of_functions_or_a_recent_one(model: onnx.ModelProto, version: int) -> None:
    rewritten = sonnx_ort.rewrite(model)
    assert {entry.domain: entry.version for entry in rewritten.opset_import}[""] == version


@pytest.mark.satisfies("Graph.draft.functions")
@on_each_backend
def test_function_that_is_inlined_runs() -> None:
    feeds = {"A": np.ones(2, np.float32), "B": np.full(2, 4, np.float32)}
    (quotient,) = sonnx_ort.InferenceSession(CALLING).run(None, feeds)
    assert quotient.tolist() == [0.25, 0.25]
