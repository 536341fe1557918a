"""Element types, and the shapes that ONNX Runtime takes for known: `onnx.shape_inference`.

ONNX Runtime infers types and shapes by the same functions. A model whose types are not the inferred
ones does not start; a shape that is inferred may be another than what the kernels compute, so none
of them is taken for certain (`sonnx_ort.analysis.shapes`).
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import chain

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.bounded_inference import infer
from sonnx_ort.analysis.constants import constant_tensor
from sonnx_ort.analysis.declarations import collected_by_loops, without_claims
from sonnx_ort.custom_ops.catalog import KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.process import silenced
from sonnx_ort.loading.traversal import ValueNames, defined_values
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import DOMAIN
from sonnx_ort.profile.operand import Shape

_logger = logging.getLogger("sonnx_ort")


class Inference:
    """What `onnx.shape_inference` says of a model without the claims in its file."""

    def __init__(self, model: ir.Model) -> None:
        """Infer types and shapes.

        Args:
            model: A canonical model; not modified.
        """
        premises = without_claims(model)
        inferred, self._complete = _inferred(premises)
        self._failed = inferred is None
        self._inferred = _counterparts(model, premises if inferred is None else inferred)
        self._believed = self._inferred
        kept = list(collected_by_loops(model.graph))
        if kept:
            # ONNX Runtime believes what is declared of these.
            believed, self._complete = _inferred(without_claims(model, kept))
            self._failed = believed is None
            self._believed = {} if believed is None else _counterparts(model, believed)

    def element_type(self, value: ir.Value) -> ir.DataType | None:
        """The element type of a value; None if it is unknown.

        Args:
            value: A value of the model.
        """
        inferred = self._inferred[value].dtype if value in self._inferred else None
        if inferred is None and (constant := constant_tensor(value)) is not None:
            return constant.dtype
        return inferred

    def may_be_tensor(self, value: ir.Value) -> bool:
        """Whether a value is a tensor, or nothing tells that it is a sequence or optional.

        Args:
            value: A value of the model.
        """
        inferred = self._inferred[value].type if value in self._inferred else None
        known = value.type if inferred is None else inferred
        return not isinstance(known, ir.SequenceType | ir.OptionalType)

    def mistaken(self, value: ir.Value, certain: Shape | None) -> bool:
        """Whether ONNX Runtime may take the rank or sizes for known that are not certain.

        What it knows of some sizes is harmless: only of a whole shape, or of a rank, ONNX Runtime
        makes a constant.

        Args:
            value: A value of the model.
            certain: What is certain of its shape; None if not even the rank is.
        """
        if self._failed:
            return True
        believed = self._believed[value].shape if value in self._believed else None
        if believed is None:
            return False
        if certain is None or len(certain) != len(believed):
            return True
        if all(isinstance(size, int) for size in believed):
            return list(believed) != list(certain)
        return not self._complete


def _inferred(model: ir.Model) -> tuple[ir.Model | None, bool]:
    """A copy of a model with types and shapes, and whether all was followed; None if it fails."""
    _spell_out(model)
    with silenced("onnx_ir"):
        try:
            inferred = infer(ir.to_proto(model))
            return ir.from_proto(inferred.proto), inferred.complete
        except InvalidModel:
            raise
        except Exception as error:  # noqa: BLE001 - any failure means that nothing is known
            _logger.debug("onnx.shape_inference failed: %s", error)
            return None, False


def _counterparts(model: ir.Model, copy: ir.Model) -> dict[ir.Value, ir.Value]:
    """For each value of a model that of a copy with the same nodes in the same order."""
    given, copied = _by_name(model.graph), _by_name(copy.graph)
    pairs = {value: copied[name] for name, value in given.items() if name in copied}
    pairs.update(zip(_within(model.graph), _within(copy.graph), strict=True))
    return pairs


def _spell_out(model: ir.Model) -> None:
    """Put nodes of the same types in the place of those of our domain, which the engine lacks."""
    own = [node for node in RecursiveGraphIterator(model.graph) if node.domain == DOMAIN]
    if not own:
        return
    shape = ir.val(ValueNames(model).fresh("shape"), ir.DataType.INT64)
    model.graph.inputs.append(shape)
    for node in own:
        graph, nodes = node.graph, list(_of_the_same_types(node, shape))
        if isinstance(graph, ir.Graph) and len(nodes) == len(node.outputs):
            results = [each.outputs[0] for each in nodes]
            ir.convenience.replace_nodes_and_values(
                graph, node, [node], nodes, node.outputs, results
            )


def _of_the_same_types(node: ir.Node, shape: ir.Value) -> Iterator[ir.Node]:
    """A node for each output, of its type and of no known shape."""
    if node.op_type == BROADCAST.name:
        yield from (ir.node("Expand", [value, shape]) for value in node.inputs)
        return
    kernels = [kernel for kernel in KERNEL_DEFINITIONS if kernel.name == node.op_type]
    types = {kernel.output for kernel in kernels}
    alike = [i for i in range(len(node.inputs)) if all(_is_like(k, i) for k in kernels)]
    if len(types) == 1:
        yield ir.node("Cast", [shape], {"to": ir.DataType[types.pop().upper()]})
    elif alike:
        yield ir.node("Reshape", [node.inputs[alike[0]], shape])
    # Behind its result a kernel gives the shape of that.
    yield ir.node("Identity", [shape])


def _is_like(kernel: KernelDefinition, position: int) -> bool:
    """Whether a kernel's result is of the type of one of its inputs."""
    return kernel.inputs[position : position + 1] == (kernel.output,)


def _by_name(graph: ir.Graph) -> dict[str | None, ir.Value]:
    """What the main graph is given; the copy has some initializers among its inputs."""
    return {value.name: value for value in chain(graph.inputs, graph.initializers.values())}


def _within(graph: ir.Graph) -> Iterator[ir.Value]:
    """What nodes and subgraphs define, in one order for the graph and its copy."""
    given: Iterable[ir.Value] = set(chain(graph.inputs, graph.initializers.values()))
    # An output that is left out has no name, and may be gone in the copy.
    return (value for value in defined_values(graph) if value not in given and value.name)
