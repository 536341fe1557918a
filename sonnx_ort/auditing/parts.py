"""Parts of a graph as models of their own, with arrays for the values that they read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from sonnx_ort.comparing.isolated_run import Array
from sonnx_ort.loading.traversal import bodies_of


def names_read(node: onnx.NodeProto) -> tuple[str, ...]:
    """The values that a node reads: its inputs, and what its subgraphs read from outside."""
    captured = (name for body in bodies_of(node) for name in names_captured(body))
    return tuple(dict.fromkeys((*filter(None, node.input), *captured)))


def names_captured(body: onnx.GraphProto) -> Iterator[str]:
    """The values that a graph reads and does not define."""
    own = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
    own |= {tensor.values.name for tensor in body.sparse_initializer}
    own |= {name for node in body.node for name in node.output}
    read = (name for node in body.node for name in names_read(node))
    for name in (*read, *(value.name for value in body.output)):
        if name and name not in own:
            yield name


def part(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    outputs: Iterable[str],
    arrays: Mapping[str, Array],
    constants: Mapping[str, onnx.TensorProto],
) -> onnx.ModelProto:
    """Some nodes of a graph as a model.

    Args:
        model: The model of the graph.
        nodes: The nodes, in an order in which they can run.
        outputs: The values that are its outputs.
        arrays: Values that the nodes may read; those that they do read are inputs.
        constants: Initializers that they may read.
    """
    made = onnx.ModelProto()
    made.ir_version = model.ir_version
    made.opset_import.extend(model.opset_import)
    graph = made.graph
    graph.name = "part"
    graph.node.extend(nodes)
    computed = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in names_read(node))
    for name in read:
        if name in computed:
            continue
        if name in constants:
            graph.initializer.append(constants[name])
        elif name in arrays:
            graph.input.append(declared(name, arrays[name]))
    for name in outputs:
        graph.output.add(name=name)
    return made


def declared(name: str, array: Array) -> onnx.ValueInfoProto:
    """The declaration of a value with the type and rank of an array.

    With its sizes ONNX Runtime would refuse a branch that the run does not take.
    """
    element_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, element_type, [None] * array.ndim)


def body_as_model(
    model: onnx.ModelProto, body: onnx.GraphProto, feeds: Mapping[str, Array]
) -> onnx.ModelProto:
    """The body of a node as a model, whose inputs are all values that it gets or captures.

    Args:
        model: The model of the node.
        body: The body.
        feeds: Values for its inputs and for those that it captures.
    """
    made = onnx.ModelProto()
    made.ir_version = model.ir_version
    made.opset_import.extend(model.opset_import)
    made.graph.CopyFrom(body)
    del made.graph.input[:]
    names = dict.fromkeys((*(value.name for value in body.input), *names_captured(body)))
    made.graph.input.extend(declared(name, feeds[name]) for name in names if name in feeds)
    return made


def constants_of(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """The dense initializers of a graph, by name."""
    return {tensor.name: tensor for tensor in graph.initializer}


def array_of(tensor: onnx.TensorProto) -> Array:
    """The elements of a tensor in a dtype that an element type has."""
    return np.asarray(numpy_helper.to_array(tensor))
