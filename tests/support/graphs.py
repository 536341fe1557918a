"""Small ONNX models."""

from collections.abc import Mapping, Sequence

import onnx
from onnx import helper

OPSET = 17
IR_VERSION = 8

Dimensions = Sequence[int | str | None] | None
"""One size, symbol or None (unknown) per axis; None instead of all: not even the rank is known."""


def data_type(element_type: str) -> int:
    """The ONNX number of an element type: 1 for "float".

    Args:
        element_type: Its ONNX name; an `ElementType` is one.
    """
    return int(onnx.TensorProto.DataType.Value(element_type.upper()))


def tensor(name: str, element_type: str, shape: Dimensions) -> onnx.ValueInfoProto:
    """Declare a tensor.

    Args:
        name: The name of the value.
        element_type: Its ONNX element type.
        shape: Its shape.
    """
    return helper.make_tensor_value_info(name, data_type(element_type), shape)


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
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(domain, version) for domain, version in (domains or {}).items()]
    graph = helper.make_graph(
        list(nodes),
        "graph",
        list(inputs),
        list(outputs),
        initializer=list(initializers),
        value_info=list(value_info),
    )
    return helper.make_model(
        graph, opset_imports=imports, functions=list(functions), ir_version=ir_version
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
    return model(
        [helper.make_node(operator, ["A", "B"], ["C"], name=node)],
        [tensor("A", element_type, a_shape), tensor("B", element_type, b_shape)],
        [tensor("C", element_type, c_shape)],
        opset=opset,
    )


def enforced_model(
    operator: str,
    element_type: str,
    rank: int,
    *,
    node: str = "the_node",
    edition: str = "typed",
) -> onnx.ModelProto:
    """Make the enforced form of one node by hand, without the rewriting pass.

    Args:
        operator: "Div" or "Sub".
        element_type: An ONNX element type that a Python kernel takes.
        rank: The rank of A, B and C, whose sizes are left open.
        node: The name of the node in the original model.
        edition: The edition of the profile.

    Returns:
        `A, B -> sonnx::operator -> data, shape -> Reshape -> C`.
    """
    kernel = helper.make_node(
        operator, ["A", "B"], ["data", "shape"], domain="sonnx", node=node, edition=edition
    )
    channel = helper.make_node("Reshape", ["data", "shape"], ["C"], name=node, allowzero=1)
    open_shape = [None] * rank
    return model(
        [kernel, channel],
        [tensor("A", element_type, open_shape), tensor("B", element_type, open_shape)],
        [tensor("C", element_type, open_shape)],
        domains={"sonnx": 1},
    )
