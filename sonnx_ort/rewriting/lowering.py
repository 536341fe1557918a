"""Puts a backend's nodes into a model."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Protocol

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.opset import differing_operators
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.operator import Operator
from sonnx_ort.rewriting.broadcast_lowering import (
    ShapeDecisions,
    expand_operands,
    lower_broadcast,
    oldest_opset_with_broadcast,
)
from sonnx_ort.rewriting.native.backend import NativeBackend
from sonnx_ort.rewriting.native.catalog import has_guard
from sonnx_ort.rewriting.options import Backend, Choices, Enforcement
from sonnx_ort.rewriting.python.backend import PythonBackend
from sonnx_ort.rewriting.replacement import computed, drop_legacy_attributes, record_rules
from sonnx_ort.rewriting.scan_outputs import Passed, declared_outputs, keep_rank
from sonnx_ort.rewriting.standard_nodes import StandardNodes
from sonnx_ort.rewriting.value_info import declare_output, drop_unfounded_sizes


class Lowering(Protocol):
    """Makes a backend's nodes."""

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model whose nodes are to be enforced."""
        ...

    @staticmethod
    def decisions() -> ShapeDecisions:
        """How it decides about shapes in a run."""
        ...

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest version of the standard operators in which a node can be enforced.

        What a Broadcast takes is left out.
        """
        ...

    @staticmethod
    def left(model: ir.Model, nodes: Sequence[ExaminedNode]) -> Container[ir.Node]:
        """The nodes of which the standard operator is left, for it is the same in every run."""
        ...

    @staticmethod
    def added(nodes: Sequence[ExaminedNode]) -> Container[str]:
        """The operators of nodes that are added, and may be computed like nodes of the model."""
        ...

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Do what concerns several nodes together, before the first is enforced.

        Returns:
            The nodes with what is left to enforce.
        """
        ...

    def nodes(self, stem: str) -> StandardNodes:
        """Start new nodes."""
        ...

    def replace(
        self, examined: ExaminedNode, nodes: Sequence[ir.Node], values: Mapping[ir.Value, ir.Value]
    ) -> None:
        """Put nodes in the place of one."""
        ...

    def record(self, passed: Passed) -> None:
        """Take down what was put behind a value."""
        ...

    def enforce(self, examined: ExaminedNode) -> None:
        """Enforce an element-wise node, in place; its output keeps its name, type and shape."""
        ...


_LOWERINGS: Mapping[Backend, type[Lowering]] = {
    Backend.PYTHON: PythonBackend,
    Backend.NATIVE: NativeBackend,
}


def require_enforceable(operators: Iterable[Operator]) -> None:
    """Demand that some backend can enforce every rule that a run can break.

    Args:
        operators: Operators of ONNX.

    Raises:
        ValueError: An operator has no kernel, and a rule of it no guard.
    """
    for operator in operators:
        for rule in operator.all_rules():
            known = operator.name in CUSTOM_OPERATORS or has_guard(rule.requirement)
            if rule.in_run and not known:
                raise ValueError(
                    f"the operator {operator.name} cannot be enforced: it has no file in "
                    f"custom_ops/, and there is no guard for the rule {rule.id} "
                    f"({type(rule.requirement).__name__})"
                )


require_enforceable(OPERATORS[name] for name in STANDARD_OPERATORS)


def lower(model: ir.Model, examination: Examination, choices: Choices) -> bool:
    """Enforce every node of a model that the profile constrains.

    Args:
        model: A canonical model without violations; changed in place.
        examination: All that the profile demands of it.
        choices: How to enforce that.

    Returns:
        Whether anything had to be changed.

    Raises:
        SonnxError: A node cannot be enforced in the model as it is.
    """
    lowering = _LOWERINGS[choices.backend]
    left = lowering.left(model, examination.nodes)
    untouched = all(n.target.node in left and n.broadcast is None for n in examination.nodes)
    if not examination.nodes or (untouched and examination.enforced):
        return False
    before = model.opset_imports[STANDARD_DOMAIN]
    oldest = max(_oldest_opset(examined, lowering) for examined in examination.nodes)
    raise_opset(model, (examined.target.node for examined in examination.nodes), oldest)
    native = choices.backend is Backend.NATIVE
    replaced = frozenset() if native else choices.demands.operators
    added = lowering.added(examination.nodes)
    declared = declared_outputs(model.graph)
    drop_unfounded_sizes(model, examination.facts, replaced, added)
    backend = lowering(model, Enforcement(choices.demands, before))
    for output in (output for output in declared if output.value.shape is None):
        for passed in keep_rank(output, examination.facts, backend.nodes):
            backend.record(passed)
    for examined in backend.prepare(examination):
        if examined.target.operator is BROADCAST:
            stem = next(str(output.name) for output in examined.target.node.outputs if output.name)
            nodes = backend.nodes(stem)
            values = lower_broadcast(nodes, examined, backend.decisions())
            backend.replace(examined, nodes.nodes, values)
        elif examined.target.node in left:
            _leave(backend, examined)
        else:
            backend.enforce(examined)
    return True


def _leave(backend: Lowering, examined: ExaminedNode) -> None:
    """Let the standard operator compute, behind the Broadcast if there has to be one."""
    target = examined.target
    if examined.broadcast is None:
        record_rules(target.node, examined)
        drop_legacy_attributes(examined)
        return
    nodes = backend.nodes(str(target.output.name))
    operands = expand_operands(nodes, examined, target.inputs, backend.decisions())
    result = computed(nodes, examined, operands)
    declare_output(examined)
    backend.replace(examined, nodes.nodes, {target.output: result})


def _oldest_opset(examined: ExaminedNode, lowering: type[Lowering]) -> int:
    if examined.target.operator is BROADCAST:
        return oldest_opset_with_broadcast(examined, lowering.decisions())
    oldest = lowering.oldest_opset(examined)
    if examined.broadcast is None:
        return oldest
    return max(oldest, oldest_opset_with_broadcast(examined, lowering.decisions()))


def raise_opset(model: ir.Model, replaced: Iterable[ir.Node], oldest: int) -> None:
    """Raise the version of the standard operators where it is too old.

    Args:
        model: The model, before enforcement; its imports are changed.
        replaced: The nodes that will be replaced; what they mean in the newer version is no
            matter.
        oldest: The oldest version that will do.

    Raises:
        InvalidModel: Another operator of the model means something else in that version.
    """
    version = model.opset_imports[STANDARD_DOMAIN]
    needed = max(version, oldest)
    gone = set(replaced)
    kept = (node for node in every_node(model.graph) if node not in gone)
    differing = differing_operators(kept, version, needed)
    if differing:
        raise InvalidModel(
            f"the model imports version {version} of the ONNX operators, and enforcement needs "
            f"version {needed}, which defines {', '.join(differing)} differently; convert the "
            "model with onnx.version_converter"
        )
    model.opset_imports[STANDARD_DOMAIN] = needed
