"""Element types, and the shapes that ONNX Runtime infers, from `onnx.shape_inference`.

ONNX Runtime uses the same functions. A session does not start if a declared type differs from the
inferred one. Inferred shapes can differ from what the kernels compute, so none of them counts as
certain (`sonnx_ort.knowledge.shapes`).
"""

import logging
from collections.abc import Container, Iterator, Mapping
from itertools import chain

import onnx
import onnx_ir as ir

from sonnx_ort.custom_ops.catalog import KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.errors import InvalidModel
from sonnx_ort.knowledge.bounded_inference import infer
from sonnx_ort.knowledge.declarations import (
    bodies_in_pairs,
    collected_by_loops,
    constant_tensor,
    without_declarations,
)
from sonnx_ort.loading.pauses import silenced
from sonnx_ort.loading.serialization import deserialize_type
from sonnx_ort.loading.traversal import ValueNames, all_graphs, every_node
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.operand import Shape
from sonnx_ort.profile.operator import DOMAIN

_logger = logging.getLogger("sonnx_ort")


class Inference:
    """The result of `onnx.shape_inference` for a model without uncertain declarations."""

    def __init__(self, model: ir.Model) -> None:
        """Infer the types and shapes of a canonical model, which is not modified."""
        self._believed, self._complete = _inferred(model)
        self._types = dict(_certain_types(model))
        inferred = ((value, told.type) for value, told in self._believed.items())
        self._types.update((value, told) for value, told in inferred if told is not None)
        kept = frozenset(collected_by_loops(model.graph))
        if kept:
            # ONNX Runtime uses the declarations of these.
            self._believed, self._complete = _inferred(model, kept)

    def type(self, value: ir.Value) -> ir.TypeProtocol | None:
        """The type of a value, without its shape; None if it is unknown."""
        if value in self._types:
            return self._types[value]
        constant = constant_tensor(value)
        return None if constant is None else ir.TensorType(constant.dtype)

    def element_type(self, value: ir.Value) -> ir.DataType | None:
        """The element type of a value; None if it is unknown."""
        known = self.type(value)
        return None if known is None else known.dtype

    def may_be_tensor(self, value: ir.Value) -> bool:
        """Whether a value is not known to be a sequence or an optional."""
        known = self._types.get(value, value.type)
        return not isinstance(known, ir.SequenceType | ir.OptionalType)

    def misinferred(self, value: ir.Value, certain: Shape | None) -> bool:
        """Whether ONNX Runtime may infer a rank or sizes that are not certain.

        Single sizes are harmless: ONNX Runtime folds only complete shapes and ranks into constants.
        `certain` is the certain shape; None if the rank is unknown.
        """
        if not self._believed:
            return True
        believed = self._believed[value].shape if value in self._believed else None
        if believed is None:
            return False
        if certain is None or len(certain) != len(believed):
            return True
        if all(isinstance(size, int) for size in believed):
            return list(believed) != list(certain)
        return not self._complete


def _certain_types(model: ir.Model) -> Iterator[tuple[ir.Value, ir.TypeProtocol]]:
    """Types that do not depend on nodes: of the model's inputs and of all initializers."""
    for graph in (model.graph, *model.graph.subgraphs()):
        for value in graph.initializers.values():
            if value.const_value is not None and not value.is_graph_input():
                yield value, ir.TensorType(value.const_value.dtype)
    yield from ((value, value.type) for value in model.graph.inputs if value.type is not None)


def _inferred(
    model: ir.Model, kept: Container[ir.Value] = ()
) -> tuple[Mapping[ir.Value, ir.TypeAndShape], bool]:
    """The inferred types and shapes, and whether inference was complete; empty if it fails."""
    with silenced("onnx_ir"):
        try:
            undeclared = without_declarations(model, kept)
            _replace_custom_nodes(model, undeclared)
            inferred = infer(undeclared)
            return dict(_types_by_value(model.graph, inferred.proto.graph)), inferred.complete
        except InvalidModel:
            raise
        except Exception as error:  # noqa: BLE001 - nothing is known after any failure
            _logger.debug("onnx.shape_inference failed: %s", error)
            return {}, False


def _types_by_value(
    graph: ir.Graph, inferred: onnx.GraphProto
) -> Iterator[tuple[ir.Value, ir.TypeAndShape]]:
    """The types of the values of a graph and of its subgraphs, whose names are scoped."""
    for body, written in chain([(graph, inferred)], bodies_in_pairs(graph, inferred)):
        types = {tensor.name: _type_of(tensor) for tensor in written.initializer}
        declared = chain(written.output, written.value_info, written.input)
        types.update((value.name, value.type) for value in declared if value.HasField("type"))
        outputs = (output for node in body for output in node.outputs)
        for value in chain(body.inputs, body.initializers.values(), outputs):
            # An omitted output has no name.
            if value.name and value.name in types:
                yield value, deserialize_type(types[value.name])


def _type_of(tensor: onnx.TensorProto) -> onnx.TypeProto:
    return onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)


def _replace_custom_nodes(model: ir.Model, undeclared: onnx.ModelProto) -> None:
    """Replace nodes of our domain, unknown to inference, by standard nodes of the same types."""
    if not any(node.domain == DOMAIN for node in every_node(model.graph)):
        return
    shape = ValueNames(model).fresh("shape")
    undeclared.graph.input.append(
        onnx.helper.make_tensor_value_info(shape, onnx.TensorProto.INT64, None)
    )
    # Bodies first: a node that is written anew is a copy of the old one.
    for graph in reversed(all_graphs(undeclared)):
        nodes = [each for node in graph.node for each in _replacements(node, shape)]
        del graph.node[:]
        graph.node.extend(nodes)


def _replacements(node: onnx.NodeProto, shape: str) -> list[onnx.NodeProto]:
    if node.domain != DOMAIN:
        return [node]
    nodes = list(_nodes_of_same_types(node, shape))
    if len(nodes) != len(node.output):
        return [node]
    for each, output in zip(nodes, node.output, strict=True):
        each.output.append(output)
    return nodes


def _nodes_of_same_types(node: onnx.NodeProto, shape: str) -> Iterator[onnx.NodeProto]:
    """A standard node per output, of its type and of unknown shape, without output names yet."""
    make = onnx.helper.make_node
    if node.op_type == BROADCAST.name:
        yield from (make("Expand", [name, shape], []) for name in node.input)
        return
    kernels = [kernel for kernel in KERNEL_DEFINITIONS if kernel.name == node.op_type]
    types = {kernel.output for kernel in kernels}
    same_type = [i for i in range(len(node.input)) if all(_has_output_type(k, i) for k in kernels)]
    if len(types) == 1:
        yield make("Cast", [shape], [], to=ir.DataType[types.pop().upper()])
    elif same_type:
        yield make("Reshape", [node.input[same_type[0]], shape], [])
    # A kernel's second output is the shape of its result.
    yield make("Identity", [shape], [])


def _has_output_type(kernel: KernelDefinition, position: int) -> bool:
    """Whether a kernel's result has the type of this input."""
    return kernel.inputs[position : position + 1] == (kernel.output,)
