"""Plans how the nodes of a model are enforced, and does it: the backend is chosen here."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.broadcasting import (
    expand_operands,
    lower_broadcast,
    oldest_opset_with_broadcast,
)
from sonnx_ort.enforcing.hidden.loop_outputs import declare_outputs, hide_further_knowledge
from sonnx_ort.enforcing.hidden.read_shapes import (
    hide_from_shapes,
    oldest_opset_to_hide,
    values_read_for_shapes,
)
from sonnx_ort.enforcing.hidden.scan_outputs import declared_outputs, keep_rank
from sonnx_ort.enforcing.lowering import EnforcingBackend, Places, check_values, places_of
from sonnx_ort.enforcing.metadata import Original, forget_declarations
from sonnx_ort.enforcing.nodes import computed, keep_as_it_is
from sonnx_ort.enforcing.value_info import (
    declare_only,
    drop_unproved_sizes,
    restorable_declarations,
)
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.functions import differing_operators
from sonnx_ort.loading.traversal import index_of
from sonnx_ort.options import Choices, Enforcement
from sonnx_ort.profile.catalog import kernels_since
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import STANDARD_DOMAIN

if TYPE_CHECKING:
    from sonnx_ort.analysis.certificates import Proofs


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
        for_shapes: The values after checked nodes that are read for their shapes alone.
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
    examination = examination.once_rewritten
    backend, nodes = _class_of(choices.backend), examination.nodes
    checked = examination.checked_values
    kept = backend.kept(model, examination)
    if not checked and not nodes:
        return Plan(examination, choices, kept, 0)
    for_shapes = values_read_for_shapes(index_of(model.graph), examination)
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
    index = index_of(model.graph)
    gone = {examined.ruled.node for examined in examination.nodes}
    raise_opset(model, [node for node in index.nodes if node not in gone], plan.opset)
    replaced = choices.demands.operators.intersection(kind.replaced())
    declared = declared_outputs(index.nodes)
    forget_declarations(index.values)
    with restorable_declarations(index.values):
        of_loops = declare_outputs(index, examination.facts)
        drop_unproved_sizes(index, examination.facts, replaced, kind.added(examination))
        if plan.proofs is not None:
            declare_only(index, plan.proofs.shape_named)
    runtime = kernels_since(examination.runtime)
    enforcement = Enforcement(
        choices.demands,
        before,
        model.ir_version,
        choices.backend,
        choices.certified,
        runtime,
        examination.rests_on_numbers,
        choices.backend is Backend.COMPILED and choices.guards_by_kernel,
    )
    backend = kind(model, enforcement)
    for output in declared:
        if output.value.shape is None:
            keep_rank(output, examination.facts, backend.groups)
    hide_from_shapes(plan.for_shapes, backend.groups)
    for examined in backend.prepare(examination):
        if examined.ruled.operator is BROADCAST and not kind.broadcasts(examined):
            _lower_broadcast(backend, examined)
        elif examined.ruled.node in plan.kept:
            _keep(backend, examined)
        else:
            backend.enforce(examined)
    check_values(model, backend, plan.checked)
    hide_further_knowledge(model, of_loops, backend.groups, sparing=plan.proofs is not None)
    if plan.proofs is not None:
        # Results that were declared on the way.
        declare_only(index_of(model.graph), plan.proofs.shape_named)


def _lower_broadcast(backend: EnforcingBackend, examined: ExaminedNode) -> None:
    stem = next(str(output.name) for output in examined.ruled.node.outputs if output.name)
    nodes = backend.groups.nodes(stem)
    node, values = examined.ruled.node, lower_broadcast(nodes, examined, backend.decisions())
    backend.groups.replace(Original.of(node), node, nodes.nodes, values)


def _keep(backend: EnforcingBackend, examined: ExaminedNode) -> None:
    """Keep the standard operator, after a Broadcast if one is needed."""
    ruled = examined.ruled
    if examined.broadcast is None:
        keep_as_it_is(examined)
        return
    original, nodes = Original.of(ruled.node), backend.groups.nodes(str(ruled.output.name))
    operands = expand_operands(nodes, examined, ruled.inputs, backend.decisions())
    results = computed(nodes, examined, operands)
    backend.replace_declared(examined, original, nodes.nodes, results)


def _oldest_opset(examined: ExaminedNode, backend: type[EnforcingBackend]) -> int:
    if examined.broadcast is None or backend.broadcasts(examined):
        return backend.oldest_opset(examined)
    oldest = oldest_opset_with_broadcast(examined, backend.decisions())
    own = examined.ruled.operator is BROADCAST
    return oldest if own else max(oldest, backend.oldest_opset(examined))


def raise_opset(model: ir.Model, kept: Iterable[ir.Node], oldest: int) -> None:
    """Raise the opset of a model if it is older than needed.

    Args:
        model: The model.
        kept: The nodes that are not replaced.
        oldest: The oldest opset that enforcement can use.

    Raises:
        InvalidModel: An operator that is not replaced differs in the newer opset.
    """
    version = model.opset_imports[STANDARD_DOMAIN]
    needed = max(version, oldest)
    differing = differing_operators(kept, version, needed)
    if differing:
        raise InvalidModel(
            f"the model imports version {version} of the ONNX operators, but enforcement needs "
            f"version {needed}, which defines {', '.join(differing)} differently; convert the "
            "model with onnx.version_converter"
        )
    model.opset_imports[STANDARD_DOMAIN] = needed
