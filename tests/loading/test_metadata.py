"""Metadata of every part of a model comes out as it went in: each entry once."""

from collections.abc import Iterator

import onnx
import onnx_ir as ir
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.loading.traversal import all_nodes
from support.backends import on_each_backend


def annotated() -> onnx.ModelProto:
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 20, "local": 1]>
        g (bool p, float[n] x) => (float[n] z) <float[1] w = {1}> {
            [divide] y = Div(x, x)
            [chosen] v = If(p) <
                then_branch = t () => (float[n] o) <float[1] u = {2}> { [inner] o = Mul(y, u) },
                else_branch = e () => (float[n] k) { [other] k = local.f(y) }
            >
            [constant] c = Constant<value = float[1] {3}>()
            s = Add(w, c)
            z = Mul(v, s)
        }
        <domain: "local", opset_import: ["": 20]> f (a) => (b) { [inside] b = Neg(a) }""")
    made.graph.value_info.append(helper.make_tensor_value_info("y", 1, ["n"]))
    for name, part in parts(made):
        for key in ("source", "reviewed by"):
            part.metadata_props.add(key=key, value=f"{key} of {name}")
    return made


def parts(made: onnx.ModelProto) -> Iterator[tuple[str, object]]:
    """Everything in a model that has metadata, with its name."""
    yield "model", made
    yield "graph", made.graph
    yield "input x", made.graph.input[1]
    yield "output z", made.graph.output[0]
    for value in made.graph.value_info:
        yield f"value {value.name}", value
    for tensor in made.graph.initializer:
        yield f"initializer {tensor.name}", tensor
    for function in made.functions:
        yield f"function {function.name}", function
    for node in all_nodes(made):
        yield f"node {node.name}", node
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield f"constant of {node.name}", attribute.t
            for tensor in attribute.g.initializer:
                yield f"initializer {tensor.name}", tensor
            if attribute.HasField("g"):
                yield f"branch {attribute.g.name}", attribute.g


def metadata(made: onnx.ModelProto) -> dict[str, list[tuple[str, str]]]:
    return {
        name: sorted((e.key, e.value) for e in part.metadata_props if "sonnx" not in e.key)
        for name, part in parts(made)
        if not name.startswith("node ") or name.removeprefix("node ") in KEPT
    }


KEPT = ("inner", "constant", "chosen")
"""The nodes that nothing replaces."""


def held_to(original: onnx.ModelProto, made: onnx.ModelProto) -> None:
    before, after = metadata(original), metadata(made)
    kept = [name for name in before if not (name == "function f" and not made.functions)]
    assert {name: after.get(name) for name in kept} == {name: before[name] for name in kept}


@on_each_backend
def test_rewritten_model(backend: str) -> None:
    original = annotated()
    once = sonnx_ort.rewrite(original, backend=backend)
    held_to(original, once)
    assert sonnx_ort.rewrite(once, backend=backend) == once


def test_conformed_model() -> None:
    original = annotated()
    original.graph.input[1].type.tensor_type.shape.Clear()
    held_to(original, sonnx_ort.conform(original).model)


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_model_of_the_graph_library(backend: str) -> None:
    original = annotated()
    made = sonnx_ort.rewrite(ir.from_proto(original), backend=backend)
    assert isinstance(made, ir.Model)
    weights = made.graph.initializers["w"].const_value
    assert weights is not None
    assert weights.metadata_props == dict(metadata(original)["initializer w"])
