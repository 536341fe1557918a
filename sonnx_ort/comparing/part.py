"""Some nodes of a graph as a model, which reads the other values as inputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import onnx
from onnx import helper

from sonnx_ort.comparing.isolated_run import Array
from sonnx_ort.loading.traversal import names_needed


def part(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    outputs: Iterable[onnx.ValueInfoProto],
    declaration: Callable[[str], onnx.ValueInfoProto | None],
    constants: Mapping[str, onnx.TensorProto],
) -> onnx.ModelProto:
    """Some nodes of a graph as a model.

    `declaration` gives the input for a value that the nodes read and do not compute; None for one
    that is no input.
    """
    made = onnx.ModelProto()
    made.ir_version = model.ir_version
    made.opset_import.extend(model.opset_import)
    graph = made.graph
    graph.name = "part"
    graph.node.extend(nodes)
    graph.output.extend(outputs)
    for name in names_read(nodes):
        if name in constants:
            graph.initializer.append(constants[name])
        if (found := declaration(name)) is not None:
            graph.input.append(found)
    return made


def names_read(nodes: Sequence[onnx.NodeProto]) -> list[str]:
    """The names of the values that nodes read and do not compute, each once."""
    computed = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in names_needed(node))
    return [name for name in read if name not in computed]


def declared(name: str, array: Array) -> onnx.ValueInfoProto:
    """The declaration of a value with the type and rank of an array.

    The sizes are left open: with them ONNX Runtime would refuse a branch that the run does not
    take.
    """
    element_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, element_type, [None] * array.ndim)


def constants_of(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """The dense initializers of a graph, by name."""
    return {tensor.name: tensor for tensor in graph.initializer}
