"""The base class of the backends, which replace nodes of a model; plans and applies what they do.

Puts a check behind each value whose elements have to be finite, or within a contract.

    node -> y      becomes      node -> y_unchecked -> (the backend's check) -> y

Whatever read the value before reads the checked one, which has its name.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.broadcasting import (
    ShapeDecisions,
    expand_operands,
    lower_broadcast,
    oldest_opset_with_broadcast,
)
from sonnx_ort.enforcing.hidden_shapes import (
    declare_outputs,
    declared_outputs,
    hide_from_shapes,
    hide_further_knowledge,
    keep_rank,
    oldest_opset_to_hide,
    values_read_for_shapes,
)
from sonnx_ort.enforcing.nodes import StandardNodes, computed, keep_as_it_is
from sonnx_ort.enforcing.record import Groups, Original, write_enforcement
from sonnx_ort.enforcing.value_info import declare_only, declare_output, drop_unproved_sizes
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.functions import differing_operators
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.targets import CheckedValue
from sonnx_ort.options import Choices, Enforcement
from sonnx_ort.profile.catalog import kernels_since
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import STANDARD_DOMAIN


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
        node = examined.target.node
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
    """Put the checks behind values, in place, when all nodes are enforced."""
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
    """Put a check behind an input: whatever computes with it reads the checked value."""
    nodes, uses = backend.groups.nodes(f"{value.name}_within"), tuple(value.uses())
    if not uses:
        return
    given = backend.check_value(nodes, checked, value)
    given.type = given.type or value.type
    # ONNX Runtime holds inputs to declared ranks but 0, and a Scan does not run without a rank.
    given.shape = ir.Shape([None] * len(value.shape)) if value.shape else None
    for node, index in uses:
        node.replace_input_with(index, given)
    graph.insert_before(graph[0], nodes.nodes)
    backend.groups.record_behind(nodes, {value: given})


def _check(backend: EnforcingBackend, checked: CheckedValue, value: ir.Value) -> None:
    name, uses = str(value.name), tuple(value.uses())
    nodes = backend.groups.nodes(name)
    graph, declared = value.graph, value.type
    if graph is None or (producer := value.producer()) is None:
        raise ValueError(f"no node computes '{name}'")
    given = backend.check_value(nodes, checked, value)
    given.type = given.type or declared
    # Elsewhere ONNX Runtime could take a Shape from it, and leave out the check.
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
    backend.groups.record_behind(nodes, {value: given}, renamed=True)


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
    return ir.Shape([size if isinstance(size, int) else None for size in checked.operand.shape])


if TYPE_CHECKING:
    from sonnx_ort.certificates import Proofs


def _class_of(backend: Backend) -> type[EnforcingBackend]:
    """What enforces with a backend; the others are not imported."""
    match backend:
        case Backend.PYTHON:
            from sonnx_ort.enforcing.python_backend import PythonBackend

            return PythonBackend
        case Backend.NATIVE:
            from sonnx_ort.enforcing.native.backend import NativeBackend

            return NativeBackend
        case Backend.COMPILED:
            from sonnx_ort.enforcing.compiled_backend import CompiledBackend

            return CompiledBackend


@dataclass(frozen=True, slots=True)
class Plan:
    """How the nodes of a model are enforced.

    Attributes:
        examination: All obligations of the model.
        choices: The backend and the demands.
        kept: The nodes whose standard operator needs no enforcement.
        opset: The opset that enforcement needs; 0 if there is nothing to enforce.
        checked: The values whose elements each run has to check.
        for_shapes: The values behind checked nodes that are read for their shapes alone.
        proofs: What is certified, if that is asked for: no other shape is declared.
    """

    examination: Examination
    choices: Choices
    kept: Container[ir.Node]
    opset: int
    checked: Places = ()
    for_shapes: tuple[ir.Value, ...] = ()
    proofs: "Proofs | None" = None

    @property
    def changes(self) -> bool:
        """Whether any node has to be enforced, or any value checked."""
        return self.opset > 0


def plan_enforcement(
    model: ir.Model, examination: Examination, choices: Choices, proofs: "Proofs | None" = None
) -> Plan:
    """Plan how to enforce a canonical model that has no violations except waived ones."""
    backend, nodes = _class_of(choices.backend), examination.nodes
    checked = examination.checked_values
    kept = backend.kept(model, examination)
    if not checked and not nodes:
        return Plan(examination, choices, kept, 0)
    for_shapes = values_read_for_shapes(model, examination)
    of_nodes = (_oldest_opset(examined, backend) for examined in nodes)
    of_values = map(backend.oldest_opset_to_check, checked)
    of_shapes = oldest_opset_to_hide(for_shapes, examination.facts)
    opset = max(of_shapes, *of_nodes, *of_values)
    return Plan(examination, choices, kept, opset, places_of(checked), for_shapes, proofs)


def apply_plan(model: ir.Model, plan: Plan) -> None:
    """Enforce the nodes of a model, in place.

    Raises:
        SonnxError: A node cannot be enforced in this model.
    """
    if not plan.changes:
        return
    examination, choices, kind = plan.examination, plan.choices, _class_of(plan.choices.backend)
    before = model.opset_imports[STANDARD_DOMAIN]
    raise_opset(model, (examined.target.node for examined in examination.nodes), plan.opset)
    replaced = choices.demands.operators.intersection(kind.replaced())
    declared = declared_outputs(model.graph)
    of_loops = declare_outputs(model.graph, examination.facts)
    drop_unproved_sizes(model, examination.facts, replaced, kind.added(examination))
    if plan.proofs is not None:
        declare_only(model, plan.proofs.shape_named)
    runtime = kernels_since(examination.runtime)
    enforcement = Enforcement(choices.demands, before, choices.backend, choices.certified, runtime)
    backend = kind(model, enforcement)
    for output in declared:
        if output.value.shape is None:
            keep_rank(output, examination.facts, backend.groups)
    hide_from_shapes(plan.for_shapes, backend.groups)
    for examined in backend.prepare(examination):
        if examined.target.operator is BROADCAST and not kind.broadcasts(examined):
            _lower_broadcast(backend, examined)
        elif examined.target.node in plan.kept:
            _keep(backend, examined)
        else:
            backend.enforce(examined)
    check_values(model, backend, plan.checked)
    hide_further_knowledge(model, of_loops, backend.groups, sparing=plan.proofs is not None)
    if plan.proofs is not None:
        # Results that were declared on the way.
        declare_only(model, plan.proofs.shape_named)


def _lower_broadcast(backend: EnforcingBackend, examined: ExaminedNode) -> None:
    stem = next(str(output.name) for output in examined.target.node.outputs if output.name)
    nodes = backend.groups.nodes(stem)
    node, values = examined.target.node, lower_broadcast(nodes, examined, backend.decisions())
    backend.groups.replace(Original.of(node), node, nodes.nodes, values)


def _keep(backend: EnforcingBackend, examined: ExaminedNode) -> None:
    """Keep the standard operator, behind a Broadcast if one is needed."""
    target = examined.target
    if examined.broadcast is None:
        keep_as_it_is(examined)
        return
    original, nodes = Original.of(target.node), backend.groups.nodes(str(target.output.name))
    operands = expand_operands(nodes, examined, target.inputs, backend.decisions())
    results = computed(nodes, examined, operands)
    backend.replace_declared(examined, original, nodes.nodes, results)


def _oldest_opset(examined: ExaminedNode, backend: type[EnforcingBackend]) -> int:
    if examined.broadcast is None or backend.broadcasts(examined):
        return backend.oldest_opset(examined)
    oldest = oldest_opset_with_broadcast(examined, backend.decisions())
    own = examined.target.operator is BROADCAST
    return oldest if own else max(oldest, backend.oldest_opset(examined))


def raise_opset(model: ir.Model, replaced: Iterable[ir.Node], oldest: int) -> None:
    """Raise the opset of a model if it is older than needed.

    Raises:
        InvalidModel: An operator that is not replaced differs in the newer opset.
    """
    version = model.opset_imports[STANDARD_DOMAIN]
    needed = max(version, oldest)
    gone = set(replaced)
    kept = (node for node in every_node(model.graph) if node not in gone)
    differing = differing_operators(kept, version, needed)
    if differing:
        raise InvalidModel(
            f"the model imports version {version} of the ONNX operators, but enforcement needs "
            f"version {needed}, which defines {', '.join(differing)} differently; convert the "
            "model with onnx.version_converter"
        )
    model.opset_imports[STANDARD_DOMAIN] = needed
