"""The base class of the backends, which replace nodes of a model.

Puts a check after each value whose elements have to be finite, or within a contract.

    node -> y      becomes      node -> y_unchecked -> (the backend's check) -> y

Whatever read the value before reads the checked one, which has its name.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.enforcing.broadcasting import (
    ShapeDecisions,
)
from sonnx_ort.enforcing.metadata import Groups, Original, write_enforcement
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.enforcing.value_info import declare_output, numbers_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.options import Enforcement


class EnforcingBackend(ABC):
    """Enforces the nodes of one model, in place.

    Attributes:
        groups: Starts the new nodes, and records them.
    """

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model, and write into its metadata how it is enforced."""
        self._model = model
        self._edition = enforcement.demands.edition
        self._contract = enforcement.demands.contract
        self.groups = Groups(model)
        write_enforcement(model, enforcement)

    @staticmethod
    @abstractmethod
    def decisions() -> ShapeDecisions:
        """How the backend checks shapes in a run."""

    @staticmethod
    @abstractmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest opset in which a node can be enforced, without a Broadcast in front of it."""

    @staticmethod
    @abstractmethod
    def kept(model: ir.Model, examination: Examination) -> Container[ir.Node]:
        """The nodes whose standard operator is kept as it is, because they need no enforcement."""

    @staticmethod
    @abstractmethod
    def added(examination: Examination) -> Container[str]:
        """The operators of added nodes that may compute the same as nodes of the model."""

    @staticmethod
    def replaced() -> Collection[str]:
        """The operators whose nodes are all replaced, so that no two are equal."""
        return ()

    @staticmethod
    def broadcasts(examined: ExaminedNode) -> bool:
        """Whether what enforces a node broadcasts or is a Broadcast: nothing has to be expanded."""
        del examined
        return False

    @abstractmethod
    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Do the work that concerns several nodes, before the first is enforced.

        Returns:
            The nodes, with the obligations that are still to be enforced.
        """

    @abstractmethod
    def enforce(self, examined: ExaminedNode) -> None:
        """Enforce a node, in place; its output keeps its name, type and shape.

        Raises:
            SonnxError: The node cannot be enforced.
        """

    @staticmethod
    @abstractmethod
    def oldest_opset_to_check(checked: CheckedValue) -> int:
        """The oldest opset in which the elements of a value can be checked."""

    @abstractmethod
    def check_value(self, nodes: StandardNodes, checked: CheckedValue, value: ir.Value) -> ir.Value:
        """Make a copy of a value that is readable only if all elements are as demanded.

        Args:
            nodes: Takes the new nodes.
            checked: What is known of the value.
            value: The value as it is now.

        Raises:
            SonnxError: Its element type is unknown.
        """

    def replace_declared(
        self,
        examined: ExaminedNode,
        original: Original,
        nodes: Sequence[ir.Node],
        results: Sequence[ir.Value],
    ) -> None:
        """Replace a node by new nodes and results, with an output that is declared anew."""
        node = examined.ruled.node
        self.declare_output(examined)
        pairs = zip(node.outputs, results, strict=True)
        values = {output: result for output, result in pairs if output.name}
        self.groups.replace(original.without_shapes_of(node), node, nodes, values)

    def declare_output(self, examined: ExaminedNode) -> None:
        """Declare what is known of a node's output without the guards of a contract."""
        declare_output(examined, guarded=self._contract.limits_sizes)


Places = Sequence[tuple[CheckedValue, object, str]]
"""Values, each with its graph and its name, which it keeps when its node is replaced."""


def places_of(values: Sequence[CheckedValue]) -> Places:
    """Where values are, before any node is replaced.

    Raises:
        SonnxError: A value that has to be finite is computed by no node.
    """
    return [
        (checked, None if checked.node is None else checked.node.graph, str(checked.value.name))
        for checked in values
    ]


def check_values(model: ir.Model, backend: EnforcingBackend, places: Places) -> None:
    """Put the checks after values, in place, when all nodes are enforced."""
    nodes = every_node(model.graph) if places else []
    values: dict[tuple[object, str], ir.Value] = {
        (node.graph, str(output.name)): output for node in nodes for output in node.outputs
    }
    inputs = {str(value.name): value for value in model.graph.inputs}
    # Each is put in front of all nodes, and the first input's shall be the first.
    for checked, graph, name in reversed(places):
        if graph is None:
            _check_input(backend, checked, inputs[name], model.graph)
    for checked, graph, name in places:
        if graph is not None:
            _check(backend, checked, values[graph, name])


def _check_input(
    backend: EnforcingBackend, checked: CheckedValue, value: ir.Value, graph: ir.Graph
) -> None:
    """Put a check after an input: whatever computes with it reads the checked value.

    ONNX Runtime also runs what nothing reads: an input that no node reads is checked as well.
    """
    nodes, uses = backend.groups.nodes(f"{value.name}_within"), tuple(value.uses())
    given = backend.check_value(nodes, checked, value)
    # ONNX Runtime holds inputs to declared ranks but 0, and a Scan does not run without a rank.
    given.shape = ir.Shape([None] * len(value.shape)) if value.shape else None
    backend.groups.read_after_inputs(graph, nodes, {value: given}, {value: uses})


def _check(backend: EnforcingBackend, checked: CheckedValue, value: ir.Value) -> None:
    """Put a check behind a value; it takes over its name, its readers and its annotations."""
    # Those of before: the check itself reads the value, too.
    name, uses = str(value.name), tuple(value.uses())
    nodes = backend.groups.nodes(name)
    graph, declared = value.graph, value.type
    if graph is None or (producer := value.producer()) is None:
        raise ValueError(f"no node computes '{name}'")
    given = backend.check_value(nodes, checked, value)
    given.type = given.type or declared
    # Elsewhere ONNX Runtime could take a Shape from it, and omit the check.
    given.shape = _shape_of_output(checked, value) if value.is_graph_output() else None
    given.doc_string = value.doc_string
    given.metadata_props.update(value.metadata_props)
    for node, index in uses:
        node.replace_input_with(index, given)
    for index, output in enumerate(graph.outputs):
        if output is value:
            graph.outputs[index] = given
    value.shape, value.doc_string = None, None
    value.metadata_props.clear()
    value.name, given.name = nodes.value("unchecked").name, name
    graph.insert_after(producer, nodes.nodes)
    backend.groups.record_after(nodes, {value: given}, renamed=True)


def _shape_of_output(checked: CheckedValue, value: ir.Value) -> ir.Shape | None:
    """The shape to declare; a Scan does not run without that of what its body returns."""
    place = checked.obligation
    if value.shape is not None or not (place.path and place.path[-1].startswith("Scan '")):
        return value.shape
    if checked.operand.shape is None or checked.operand.scalar_inputs:
        raise SonnxError(
            f"{checked.rule.id}: {place.place} computes '{checked.operand.value}', which the body "
            "returns and whose rank is unknown; declare its shape"
        )
    return numbers_of(checked.operand.shape)
