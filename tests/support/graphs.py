"""Small ONNX models: from parts, of one node, or in ONNX's textual syntax as the scripts' are."""

from collections.abc import Mapping, Sequence

import onnx
from model_builders.graphs import IR_VERSION, OPSET, Dimensions, binary, declared, parse
from onnx import helper


def tensor(name: str, element_type: str, shape: Dimensions) -> onnx.ValueInfoProto:
    """Declare a tensor."""
    number = onnx.TensorProto.DataType.Value(element_type.upper())
    return helper.make_tensor_value_info(name, number, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    *,
    initializers: Sequence[onnx.TensorProto] = (),
    value_info: Sequence[onnx.ValueInfoProto] = (),
    functions: Sequence[onnx.FunctionProto] = (),
    opset: int = OPSET,
    domains: Mapping[str, int] | None = None,
    ir_version: int = IR_VERSION,
) -> onnx.ModelProto:
    """Make a model of one graph; it is not checked.

    Args:
        nodes: The nodes, in order.
        inputs: The graph's inputs.
        outputs: The graph's outputs.
        initializers: The graph's initializers.
        value_info: What the graph claims of the values between.
        functions: Model-local functions.
        opset: The version of the default domain.
        domains: The versions of further domains.
        ir_version: The version of the file format.
    """
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers, value_info=value_info)
    versions = {"": opset, **(domains or {})}
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(
        graph, opset_imports=imports, functions=functions, ir_version=ir_version
    )


def binary_model(
    operator: str,
    element_type: str,
    a_shape: Dimensions,
    b_shape: Dimensions,
    *,
    node: str = "the_node",
    c_shape: Dimensions = None,
    opset: int = OPSET,
) -> onnx.ModelProto:
    """Make a model of one standard node: `A, B -> operator -> C`.

    Args:
        operator: "Div" or "Sub".
        element_type: The ONNX element type of A, B and C.
        a_shape: The declared shape of A.
        b_shape: The declared shape of B.
        node: The name of the node.
        c_shape: The declared shape of C; without it all its sizes are left open.
        opset: The version of the default domain.
    """
    if c_shape is None:
        c_shape = [None] * max(len(a_shape or ()), len(b_shape or ()))
    return binary(operator, element_type, (a_shape, b_shape, c_shape), node, opset=opset)


def operators(model: onnx.ModelProto) -> list[str]:
    """The operators of a model's main graph, in order, those of other domains with their domain."""
    return [f"{n.domain}::{n.op_type}" if n.domain else n.op_type for n in model.graph.node]


def enforced_model(
    operator: str, element_type: str, rank: int, *, edition: str = "typed"
) -> onnx.ModelProto:
    """Make the enforced form of one node by hand, without the rewriting pass.

    Args:
        operator: "Div" or "Sub".
        element_type: An ONNX element type that a Python kernel takes.
        rank: The rank of A, B and C, whose sizes are left open.
        edition: The edition of the profile.

    Returns:
        `A, B -> sonnx::Checked(operator) -> data, shape -> Reshape -> C`.
    """
    operand = declared(element_type, [None] * rank)
    return parse(
        f"""({operand} A, {operand} B) => ({operand} C) {{
            data, shape = sonnx.Checked{operator} <node = "the_node", edition = "{edition}"> (A, B)
            [the_node] C = Reshape <allowzero = 1> (data, shape)
        }}""",
        domains={"sonnx": 1},
    )


PARTS_OF_AN_AXIS = """(float[n] x) => (float[a, 4] y, float[1, b] c, float[1, d] e)
<int64[1] zero = {0}, int64[1] one = {1}, int64[1] four = {4}, int64[2] rows = {-1, 4},
 int64[2] row = {1, -1}, float first = {0}, float by = {1}>
{
    s = Shape(x) k = Div(s, four) end = Mul(k, four)
    [whole] w = Slice(x, zero, end, zero, one)
    [in_rows] y = Reshape<allowzero = 0>(w, rows)
    v, p = TopK<axis = -1, largest = 1, sorted = 1>(x, k)
    [best] c = Reshape<allowzero = 0>(v, row)
    i = Squeeze(k, zero) f = Cast<to = 1>(i) r = Range(first, f, by)
    [counted] e = Reshape<allowzero = 0>(r, row)
}"""
"""The whole rows of an axis, as many of its best elements, and as many numbers."""

LIMITED = """(float[n, 3] x, float[n, 3] d, int32[k] i, uint8[k] u, string[1] s)
    => (float[n, 3] y, int32[k] j, uint8[k] v, string[1] t)
{
    f = Cast<to = 10>(x)
    [sum] a = Add(x, x)
    [quotient] y = Div(a, d)
    j = Identity(i)
    v = Identity(u)
    t = Identity(s)
}"""
"""A graph of inputs of several types, of which contracts say what they may be."""
