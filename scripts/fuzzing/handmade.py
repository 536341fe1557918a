"""Models in which something is cyclic, endless, enormous or nested deeply."""

import tomllib
from pathlib import Path

import onnx
from model_builders.graphs import parse
from onnx import helper

_TEXTS = Path(__file__).with_name("handmade.toml")


def handmade_models() -> dict[str, onnx.ModelProto]:
    """All of them, by name."""
    texts = tomllib.loads(_TEXTS.read_text("utf-8"))
    models = {
        name: parse(text, opset=18 if "Split" in name else 17, domains={"local": 1})
        for name, text in texts.items()
    }
    return (
        models
        | {f"nesting of {depth}": _nested(depth) for depth in (2, 10, 20, 29)}
        | {f"calls of {depth}": _called(depth) for depth in (5, 300)}
    )


def _nested(depth: int) -> onnx.ModelProto:
    """A Div in so many branches; protocol buffers can be copied to a depth of about 30."""
    made = parse("(float[2] x, bool c) => (float[2] z) { z = Div(x, x) }")
    (result,) = made.graph.output
    nodes = [helper.make_node("Div", ["x", "x"], ["z0"])]
    for level in range(depth):
        bodies = []
        for branch, body in enumerate((nodes, [helper.make_node("Relu", ["x"], [f"r{level}"])])):
            value = helper.make_tensor_value_info(body[-1].output[0], onnx.TensorProto.FLOAT, [2])
            bodies.append(helper.make_graph(body, f"body{branch}", [], [value]))
        name = f"z{level + 1}" if level < depth - 1 else result.name
        node = helper.make_node("If", ["c"], [name], then_branch=bodies[0], else_branch=bodies[1])
        nodes = [node]
    made.graph.node[0].CopyFrom(nodes[0])
    return made


def _called(depth: int) -> onnx.ModelProto:
    made = parse("(float[2] x) => (float[2] z) { z = local.f0(x) }", domains={"local": 1})
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    for number in range(depth):
        inner = helper.make_node(f"f{number + 1}", ["a"], ["b"], domain="local")
        if number == depth - 1:
            inner = helper.make_node("Div", ["a", "a"], ["b"])
        made.functions.append(
            helper.make_function("local", f"f{number}", ["a"], ["b"], [inner], imports)
        )
    return made
