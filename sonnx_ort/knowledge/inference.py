"""Element types, and the shapes that ONNX Runtime takes for known: `onnx.shape_inference`.

ONNX Runtime infers types and shapes by the same functions. A model whose types are not the inferred
ones does not start; a shape that is inferred may be another than what the kernels compute, so none
of them is taken for certain (`sonnx_ort.knowledge.shapes`).
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
    without_claims,
)
from sonnx_ort.loading.source import silenced
from sonnx_ort.loading.traversal import ValueNames, all_graphs, every_node
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.operand import Shape
from sonnx_ort.profile.operator import DOMAIN

_logger = logging.getLogger("sonnx_ort")


class Inference:
    """What `onnx.shape_inference` says of a model without the claims in its file."""

    def __init__(self, model: ir.Model) -> None:
        """Infer types and shapes.

        Args:
            model: A canonical model; not modified.
        """
        self._believed, self._complete = _inferred(model)
        self._types = dict(_given(model))
        inferred = ((value, told.type) for value, told in self._believed.items())
        self._types.update((value, told) for value, told in inferred if told is not None)
        kept = frozenset(collected_by_loops(model.graph))
        if kept:
            # ONNX Runtime believes what is declared of these.
            self._believed, self._complete = _inferred(model, kept)

    def element_type(self, value: ir.Value) -> ir.DataType | None:
        """The element type of a value; None if it is unknown.

        Args:
            value: A value of the model.
        """
        if value in self._types:
            return self._types[value].dtype
        constant = constant_tensor(value)
        return None if constant is None else constant.dtype

    def may_be_tensor(self, value: ir.Value) -> bool:
        """Whether a value is a tensor, or nothing tells that it is a sequence or optional.

        Args:
            value: A value of the model.
        """
        known = self._types.get(value, value.type)
        return not isinstance(known, ir.SequenceType | ir.OptionalType)

    def mistaken(self, value: ir.Value, certain: Shape | None) -> bool:
        """Whether ONNX Runtime may take the rank or sizes for known that are not certain.

        What it knows of some sizes is harmless: only of a whole shape, or of a rank, ONNX Runtime
        makes a constant.

        Args:
            value: A value of the model.
            certain: What is certain of its shape; None if not even the rank is.
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


def _given(model: ir.Model) -> Iterator[tuple[ir.Value, ir.TypeProtocol]]:
    """The types that no node has a part in: of the model's inputs, and of all tensors in it."""
    for graph in (model.graph, *model.graph.subgraphs()):
        for value in graph.initializers.values():
            if value.const_value is not None and not value.is_graph_input():
                yield value, ir.TensorType(value.const_value.dtype)
    yield from ((value, value.type) for value in model.graph.inputs if value.type is not None)


def _inferred(
    model: ir.Model, kept: Container[ir.Value] = ()
) -> tuple[Mapping[ir.Value, ir.TypeAndShape], bool]:
    """The inferred types and shapes, and whether all was followed; none where inference fails."""
    with silenced("onnx_ir"):
        try:
            premises = without_claims(model, kept)
            _spell_out(model, premises)
            inferred = infer(premises)
            return dict(_told(model.graph, inferred.proto.graph)), inferred.complete
        except InvalidModel:
            raise
        except Exception as error:  # noqa: BLE001 - any failure means that nothing is known
            _logger.debug("onnx.shape_inference failed: %s", error)
            return {}, False


def _told(graph: ir.Graph, inferred: onnx.GraphProto) -> Iterator[tuple[ir.Value, ir.TypeAndShape]]:
    """What is said of the values of a graph and of its subgraphs, which have names of their own."""
    for body, written in chain([(graph, inferred)], bodies_in_pairs(graph, inferred)):
        types = {tensor.name: _type_of(tensor) for tensor in written.initializer}
        declared = chain(written.output, written.value_info, written.input)
        types.update((value.name, value.type) for value in declared if value.HasField("type"))
        outputs = (output for node in body for output in node.outputs)
        for value in chain(body.inputs, body.initializers.values(), outputs):
            # An output that is left out has no name.
            if value.name and value.name in types:
                yield value, _deserialized(types[value.name])


def _deserialized(proto: onnx.TypeProto) -> ir.TypeAndShape:
    return ir.TypeAndShape(
        ir.serde.deserialize_type_proto_for_type(proto),
        ir.serde.deserialize_type_proto_for_shape(proto),
    )


def _type_of(tensor: onnx.TensorProto) -> onnx.TypeProto:
    return onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)


def _spell_out(model: ir.Model, premises: onnx.ModelProto) -> None:
    """Put nodes of the same types in the place of those of our domain, which the engine lacks."""
    if not any(node.domain == DOMAIN for node in every_node(model.graph)):
        return
    shape = ValueNames(model).fresh("shape")
    premises.graph.input.append(
        onnx.helper.make_tensor_value_info(shape, onnx.TensorProto.INT64, None)
    )
    # Bodies first: a node that is written anew is a copy of the old one.
    for graph in reversed(all_graphs(premises)):
        nodes = [each for node in graph.node for each in _spelled_out(node, shape)]
        del graph.node[:]
        graph.node.extend(nodes)


def _spelled_out(node: onnx.NodeProto, shape: str) -> list[onnx.NodeProto]:
    if node.domain != DOMAIN:
        return [node]
    nodes = list(_of_the_same_types(node, shape))
    if len(nodes) != len(node.output):
        return [node]
    for each, output in zip(nodes, node.output, strict=True):
        each.output.append(output)
    return nodes


def _of_the_same_types(node: onnx.NodeProto, shape: str) -> Iterator[onnx.NodeProto]:
    """A node for each output, of its type and of no known shape, that does not name it yet."""
    make = onnx.helper.make_node
    if node.op_type == BROADCAST.name:
        yield from (make("Expand", [name, shape], []) for name in node.input)
        return
    kernels = [kernel for kernel in KERNEL_DEFINITIONS if kernel.name == node.op_type]
    types = {kernel.output for kernel in kernels}
    alike = [i for i in range(len(node.input)) if all(_is_like(k, i) for k in kernels)]
    if len(types) == 1:
        yield make("Cast", [shape], [], to=ir.DataType[types.pop().upper()])
    elif alike:
        yield make("Reshape", [node.input[alike[0]], shape], [])
    # Behind its result a kernel gives the shape of that.
    yield make("Identity", [shape], [])


def _is_like(kernel: KernelDefinition, position: int) -> bool:
    """Whether a kernel's result is of the type of one of its inputs."""
    return kernel.inputs[position : position + 1] == (kernel.output,)
