"""Element types, and the shapes that ONNX Runtime infers, from `onnx.shape_inference`.

ONNX Runtime uses the same functions. A session does not start if a declared type differs from the
inferred one. Inferred shapes can differ from what the kernels compute, so none of them counts as
certain (`sonnx_ort.knowledge.shapes`).
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain

import onnx
import onnx_ir as ir

from sonnx_ort.custom_ops.catalog import KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.errors import InvalidModel
from sonnx_ort.knowledge.bounded_inference import infer
from sonnx_ort.knowledge.declarations import (
    NOTHING_DECLARED,
    Declarations,
    bodies_in_pairs,
    collected_by_loops,
    constant_tensor,
    declared_of,
    without_declarations,
)
from sonnx_ort.loading.pauses import silenced
from sonnx_ort.loading.serialization import deserialize_type
from sonnx_ort.loading.traversal import (
    ValueNames,
    all_graphs,
    all_nodes,
    defined_values,
    every_node,
)
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.operand import Shape
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN

_logger = logging.getLogger("sonnx_ort")

_UNKNOWN = "sonnx_ort.unknown"
"""A domain unknown to inference, so that the results of its operators are unknown."""


class Inference:
    """The result of `onnx.shape_inference` for a model without uncertain declarations."""

    def __init__(self, model: ir.Model) -> None:
        """Infer the types and shapes of a canonical model, which is not modified."""
        self._believed, self._complete = _inferred(model)
        self._types = dict(_certain_types(model))
        inferred = ((value, told.type) for value, told in self._believed.items())
        self._types.update((value, told) for value, told in inferred if told is not None)
        self._collected = self._declared_for_loops(model)
        if self._collected:
            self._believed, self._complete = _inferred(model, self._collected)

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

    @property
    def decides_results(self) -> bool:
        """Whether a Loop's result can depend on the shapes that are inferred."""
        return self._loops_collect

    def shape(self, value: ir.Value) -> ir.Shape | None:
        """The inferred shape of a value, which may be wrong; None if the rank is unknown."""
        return self._believed[value].shape if value in self._believed else None

    def collected(self) -> Declarations:
        """The scan outputs of Loop bodies of which ONNX Runtime knows a shape, with that shape.

        It gives the shape of the Loop's output if there is no iteration; open sizes are 0 then. It
        follows from all that the file declares, also from what is wrong.
        """
        return self._collected

    def _declared_for_loops(self, model: ir.Model) -> Declarations:
        """What has to be declared of scan outputs of Loops for ONNX Runtime to know as much."""
        collected = tuple(collected_by_loops(model.graph))
        self._loops_collect = bool(collected)
        if not collected:
            return {}
        inferred = inferred_beside_declarations(model, collected, self.type)
        declared: dict[ir.Value, ir.TypeAndShape] = {}
        for value in collected:
            kind, shape = self.type(value) or value.type, merged(value.shape, inferred.get(value))
            if says_more(value.shape, shape):
                # Declarations of other values are not written again; this has to follow without.
                shape = merged(value.shape, self.shape(value))
            if kind is not None and shape is not None:
                declared[value] = ir.TypeAndShape(kind, shape)
        return declared

    def misinferred(self, value: ir.Value, certain: Shape | None) -> bool:
        """Whether ONNX Runtime may infer a rank or sizes that are not certain.

        Single sizes are harmless: ONNX Runtime folds only complete shapes and ranks into constants.
        `certain` is the certain shape; None if the rank is unknown.
        """
        if not self._believed:
            return True
        believed = self.shape(value)
        if believed is None:
            return not self._complete
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


def inferred_beside_declarations(
    model: ir.Model,
    values: Collection[ir.Value],
    type_of: Callable[[ir.Value], ir.TypeProtocol | None],
) -> Mapping[ir.Value, ir.Shape]:
    """The shapes of values as ONNX Runtime infers them, beside what the file declares of them.

    All other declarations count, as does what is declared of these values where others read them.

    Args:
        model: The canonical model.
        values: The values.
        type_of: Gives the type of a value if it is known.
    """
    with silenced("onnx_ir"):
        try:
            opaque = _reading_sequences(model.graph)
            kept = {v: ir.TypeAndShape(type_of(v), None) for node in opaque for v in node.outputs}
            kept.update(declared_of(defined_values(model.graph)))
            proto = without_declarations(model, kept)
            _replace_custom_nodes(model, proto)
            apart = _set_apart(model, proto, values)
            _hide(proto, frozenset(output.name for node in opaque for output in node.outputs))
            inferred = infer(proto).proto
        except InvalidModel:
            raise
        except Exception as error:  # noqa: BLE001 - nothing is known after any failure
            _logger.debug("onnx.shape_inference failed: %s", error)
            return {}
    types = {v.name: v.type for graph in all_graphs(inferred) for v in graph.value_info}
    known = {v: deserialize_type(types[name]).shape for v, name in apart.items() if name in types}
    return {value: shape for value, shape in known.items() if shape is not None}


def _reading_sequences(graph: ir.Graph) -> Sequence[ir.Node]:
    """The nodes that take tensors from sequences that other nodes make.

    ONNX Runtime knows no shapes of the elements of these; inference does.
    """
    return [
        node
        for node in every_node(graph)
        if node.op_type in ("ConcatFromSequence", "SequenceAt") and node.domain == STANDARD_DOMAIN
        if node.inputs and node.inputs[0] not in graph.inputs
    ]


def _hide(proto: onnx.ModelProto, outputs: frozenset[str | None]) -> None:
    """Make the nodes with these outputs unknown to inference."""
    hidden = [node for node in all_nodes(proto) if outputs.intersection(node.output)]
    if hidden:
        proto.opset_import.add(domain=_UNKNOWN, version=1)
    for node in hidden:
        node.domain = _UNKNOWN


def _set_apart(
    model: ir.Model, proto: onnx.ModelProto, values: Collection[ir.Value]
) -> Mapping[ir.Value, str]:
    """Compute values under other names first, so that nothing is declared of these.

    Returns:
        The other name of each value.
    """
    names, apart = ValueNames(model), dict[ir.Value, str]()
    pairs = ((model.graph, proto.graph), *bodies_in_pairs(model.graph, proto.graph))
    producers = ((value, value.producer()) for value in values)
    graphs = {value: node.graph for value, node in producers if node is not None}
    for graph, written in pairs:
        own = {str(value.name): value for value in values if graphs.get(value) is graph}
        nodes = []
        for node in written.node if own else ():
            nodes.append(node)
            for index, name in enumerate(node.output):
                if name in own:
                    apart[own[name]] = node.output[index] = names.fresh(name)
                    nodes.append(onnx.helper.make_node("Identity", [node.output[index]], [name]))
        if nodes:
            del written.node[:]
            written.node.extend(nodes)
    return apart


def merged(declared: ir.Shape | None, inferred: ir.Shape | None) -> ir.Shape | None:
    """What ONNX Runtime makes of both: where they contradict each other, it keeps what both say."""
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if len(declared) != len(inferred):
        return None
    pairs = [
        (own, size if isinstance(size, int) and size >= 0 else own)
        for own, size in zip(declared, inferred, strict=True)
    ]
    if any(isinstance(own, int) and own != size for own, size in pairs):
        return ir.Shape(
            [None if isinstance(own, int) and own != size else own for own, size in pairs]
        )
    return ir.Shape([size for _, size in pairs])


def says_more(one: ir.Shape | None, other: ir.Shape | None) -> bool:
    """Whether a shape has a rank, or sizes, that another one does not have."""
    if one is None:
        return False
    if other is None or len(one) != len(other):
        return True
    pairs = zip(one, other, strict=True)
    return any(isinstance(size, int) and size != known for size, known in pairs)


def _inferred(
    model: ir.Model, kept: Declarations = NOTHING_DECLARED
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
