"""Enforcement by compiled custom operators, of the domain `sonnx.compiled`.

One node takes the place of another, checks all its rules in each run, also proved ones, and
computes:

    A, B -> Div -> C        A, B -> sonnx.compiled::CheckedDiv -> C

It broadcasts by itself what a Broadcast in front of it would expand, also one of the model whose
results nothing else reads. What has no compiled kernel is enforced as by the native backend, so a
model is recognized in the same way. So is a node of floats whose shapes are proved: it stays, and
ONNX Runtime fuses it and chooses layouts as ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import cast

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.compiled.catalog import COMPILED_OPERATORS, compiled_name
from sonnx_ort.enforcing.broadcasting import operand_type
from sonnx_ort.enforcing.compiled_guards import CompiledGuard, guard_of_node, guard_of_value
from sonnx_ort.enforcing.metadata import Original
from sonnx_ort.enforcing.native.backend import NativeBackend
from sonnx_ort.enforcing.native.decision import Decision
from sonnx_ort.enforcing.nodes import DATA_TYPES, StandardNodes, record_rules
from sonnx_ort.enforcing.python_kernels import has_other_zeros
from sonnx_ort.errors import escaped
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.guards.guard import Operands
from sonnx_ort.options import Enforcement
from sonnx_ort.profile.element_type import CARRIERS, ElementType
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import COMPILED_DOMAIN, DOMAIN_VERSION
from sonnx_ort.profile.rule import Status, Subject

_COMPUTED_ONCE = frozenset({ElementType.FLOAT, ElementType.DOUBLE})
"""The types of floats that ONNX Runtime computes in themselves."""


class CompiledBackend(NativeBackend):
    """Replaces nodes by compiled operators, and puts guards in front of others."""

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model, and write into its metadata how it is enforced."""
        super().__init__(model, enforcement)
        self._guards_by_kernel = enforcement.guards_by_kernel
        self._in_front: dict[ir.Node, ExaminedNode] = {}
        self._staying: set[ir.Node] = set()

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest opset in which a node can be enforced, without a Broadcast in front of it."""
        return 1 if has_compiled_kernel(examined) else NativeBackend.oldest_opset(examined)

    @staticmethod
    def broadcasts(examined: ExaminedNode) -> bool:
        """Whether the kernel of a node broadcasts or is a Broadcast: nothing has to be expanded."""
        return has_compiled_kernel(examined)

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Guard graph inputs if that decides the shapes of several nodes without kernels.

        Returns:
            The nodes, with the obligations that are still to be enforced. A Broadcast that the
            kernel of another node does is not among them.
        """
        compiled = {n.ruled.node: n for n in examination.nodes if has_compiled_kernel(n)}
        kept = {checked.node for checked in examination.checked_values}
        for node, examined in compiled.items():
            reader = _only_reader(node) if _is_broadcast(examined) else None
            if reader not in compiled or node in kept:
                continue
            # An operator that reads a single element gives another result if its kernel expands it.
            if not compiled[reader].ruled.operator.single:
                self._in_front[reader] = examined
        # A kernel that broadcasts is faster than an Expand and a node that stays.
        self._staying = {
            node for node, each in compiled.items() if node not in self._in_front and _stays(each)
        }
        compiled = {node: n for node, n in compiled.items() if node not in self._staying}
        others = tuple(n for n in examination.nodes if n.ruled.node not in compiled)
        prepared = super().prepare(replace(examination, nodes=others))
        by_node = compiled | {n.ruled.node: n for n in prepared}
        done = {examined.ruled.node for examined in self._in_front.values()}
        nodes = (examined.ruled.node for examined in examination.nodes)
        return [by_node[node] for node in nodes if node not in done]

    def guarded_operands(
        self, nodes: StandardNodes, decision: Decision, operands: Operands
    ) -> Operands:
        """The operands of a node, the first one after a Guard if that can test all rules."""
        guard = self._guard_of(decision)
        if guard is None:
            return super().guarded_operands(nodes, decision, operands)
        return [self._add_guard(guard, nodes, operands), *operands[1:]]

    def reads_shapes(self, examined: ExaminedNode | CheckedValue) -> bool:
        """Whether nodes read shapes for what is checked, because no Guard does."""
        if not self._guards_by_kernel:
            return True
        if isinstance(examined, CheckedValue):
            return guard_of_value(examined) is None
        if examined.broadcast is not None or not examined.ruled.operator.checked_in_runs:
            return True
        decision = self.decision_of(examined)
        return bool(decision.rules) and self._guard_of(decision) is None

    def check_value(self, nodes: StandardNodes, checked: CheckedValue, value: ir.Value) -> ir.Value:
        """Make a copy of a value that is readable only if all elements are as demanded.

        Raises:
            SonnxError: Its element type is unknown.
        """
        guard = guard_of_value(checked) if self._guards_by_kernel else None
        if guard is None:
            return super().check_value(nodes, checked, value)
        value.type = value.type or ir.TensorType(DATA_TYPES[guard.kind])
        return self._add_guard(guard, nodes, [value, *checked.others])

    def _guard_of(self, decision: Decision) -> CompiledGuard | None:
        """The Guard that tests all rules of a decision; None if there is none."""
        if not self._guards_by_kernel or not decision.rules:
            return None
        return guard_of_node(decision.examined, decision.node, decision.rules)

    def _add_guard(
        self, guard: CompiledGuard, nodes: StandardNodes, operands: Sequence[ir.Value]
    ) -> ir.Value:
        self._model.opset_imports[COMPILED_DOMAIN] = DOMAIN_VERSION
        return guard.add_to(nodes, operands)

    def enforce(self, examined: ExaminedNode) -> None:
        """Replace a node, or put guards in front of it, in place; its outputs keep their names.

        Raises:
            SonnxError: The node has no compiled kernel, and the native backend cannot enforce it.
        """
        if examined.ruled.node in self._staying or not has_compiled_kernel(examined):
            super().enforce(examined)
            return
        node, in_front = examined.ruled.node, self._in_front.get(examined.ruled.node)
        if in_front is None:
            self._replace_by_kernel(examined, examined.ruled.inputs, Original.of(node))
            return
        original = Original.of(node, in_front.ruled.node)
        obligations = (*examined.obligations, *in_front.obligations)
        both = replace(examined, obligations=obligations, broadcast=in_front.broadcast)
        self._replace_by_kernel(both, in_front.ruled.inputs, original)
        cast(ir.Graph, in_front.ruled.node.graph).remove(in_front.ruled.node, safe=True)

    def _replace_by_kernel(
        self, examined: ExaminedNode, operands: Sequence[ir.Value], original: Original
    ) -> None:
        ruled = examined.ruled
        self._model.opset_imports[COMPILED_DOMAIN] = DOMAIN_VERSION
        names = self.groups.nodes(
            next(str(output.name) for output in ruled.node.outputs if output.name)
        )
        results = [
            names.value("result") if output.name else ir.Value(name="")
            for output in ruled.node.outputs
        ]
        node = ir.node(
            compiled_name(ruled.operator),
            operands,
            {"node": escaped(ruled.label), **self._attributes(examined)},
            domain=COMPILED_DOMAIN,
            outputs=results,
            name=escaped(ruled.node.name or ""),
            doc_string=ruled.node.doc_string,
            metadata_props=ruled.node.metadata_props,
        )
        record_rules(node, examined)
        self.replace_declared(examined, original, [node], results)

    def _attributes(self, examined: ExaminedNode) -> Mapping[str, str | int]:
        """What a kernel has to know: its rules, which operands it broadcasts, and their names.

        Operands that it does not broadcast have the common shape, or break the rule on equal
        shapes.
        """
        own = {} if _is_broadcast(examined) else self._own_attributes(examined)
        plan, in_front = examined.broadcast, self._in_front.get(examined.ruled.node)
        if plan is None:
            return own
        names = {f"operand_{i}": escaped(operand.value) for i, operand in enumerate(plan.operands)}
        if _is_broadcast(examined):
            return names
        if in_front is not None:
            own["broadcast"] = escaped(in_front.ruled.label)
        operands = zip(examined.ruled.operand_names, plan.expanded, strict=True)
        expanded = (name for name, needed in operands if needed or in_front is not None)
        return {**own, "expanded": " ".join(expanded), **names}

    def _own_attributes(self, examined: ExaminedNode) -> dict[str, str | int]:
        """The edition, and what ONNX Runtime needs to compute an operator."""
        own: dict[str, str | int] = {"edition": self._edition.value}
        ruled = examined.ruled
        if COMPILED_OPERATORS[ruled.operator.name].standard is None:
            return own
        version = operator_version(ruled.operator.name, ruled.version)
        given = {n: cast(str | int, ruled.attributes[n]) for n in ruled.further_attributes}
        return {**own, "version": version, **given}


def has_compiled_kernel(examined: ExaminedNode) -> bool:
    """Whether a compiled kernel enforces a node.

    A node of constants is kept if all its rules are proved: ONNX Runtime folds only standard ones.
    It is not if ONNX Runtime would fold it to other zeros.
    """
    element_type = examined.element_type
    if not (_broadcasts_equally(examined) or _computes(examined)):
        return False
    plan = examined.broadcast
    aligns_as_old_versions = plan is not None and plan.alignment is not None
    if examined.waived or aligns_as_old_versions:
        return False
    in_run = [obligation for obligation in examined.obligations if obligation.rule.in_run]
    if any(obligation.status is Status.VIOLATED for obligation in in_run):
        return False
    proved = all(o.status is Status.PROVED for o in in_run)
    if all(examined.foldable) and proved and not has_other_zeros(examined):
        return False
    return bool(in_run) or element_type in CARRIERS


def _stays(examined: ExaminedNode) -> bool:
    """Whether the standard operator stays, though there is a kernel, because nothing is lost.

    All rules are proved and speak of shapes, and ONNX Runtime computes floats in their own type,
    once, with the same bits. Kernels of integers check elements, and cost nothing; those of 16-bit
    floats round.
    """
    in_run = [obligation for obligation in examined.obligations if obligation.rule.in_run]
    shapes_proved = all(
        o.status is Status.PROVED and o.rule.requirement.subject is Subject.EQUAL_SHAPES
        for o in in_run
    )
    ruled = examined.ruled
    return (
        shapes_proved
        and examined.broadcast is None
        and not _is_broadcast(examined)
        and examined.element_type in _COMPUTED_ONCE
        and not has_other_zeros(examined)
        and not ruled.further_attributes
        and ruled.version >= ruled.operator.oldest_kernels
    )


def _only_reader(node: ir.Node) -> ir.Node | None:
    """The node whose operands are both results of a Broadcast, if nothing else reads them."""
    uses = [use for output in node.outputs for use in output.uses()]
    readers = {use.node for use in uses}
    returned = any(output.is_graph_output() for output in node.outputs)
    if len(readers) != 1 or returned or len(node.outputs) != 2:
        return None
    (reader,) = readers
    reads_results = reader.graph is node.graph and tuple(reader.inputs) == tuple(node.outputs)
    return reader if reads_results else None


def _is_broadcast(examined: ExaminedNode) -> bool:
    return examined.ruled.operator is BROADCAST


def _computes(examined: ExaminedNode) -> bool:
    """Whether there is a kernel for a node: its operator, type, attributes and broadcasting."""
    ruled = examined.ruled
    compiled = COMPILED_OPERATORS.get(ruled.operator.name)
    if compiled is None or examined.element_type not in compiled.types:
        return False
    standard = compiled.standard
    if standard is None:
        return compiled.takes(len(ruled.inputs)) and not ruled.further_attributes
    return (
        ruled.version >= standard.oldest_version
        and set(ruled.further_attributes) <= set(standard.attributes)
        and not _expands_for_another_result(examined)
    )


def _expands_for_another_result(examined: ExaminedNode) -> bool:
    """Whether ONNX Runtime gives other results if it broadcasts an operand that is to be expanded.

    An operand that certainly has one element is not: no backend expands it.
    """
    plan = examined.broadcast
    return plan is not None and any(
        expanded and not single and operand.name in examined.ruled.operator.single
        for operand, expanded, single in zip_longest(plan.operands, plan.expanded, plan.single)
    )


def _broadcasts_equally(examined: ExaminedNode) -> bool:
    """Whether a node is a Broadcast of operands of one type.

    ONNX Runtime knows the types of several results only if they are the same. It does not run a
    body that returns a result of unknown rank.
    """
    if not _is_broadcast(examined) or examined.ruled.further_attributes:
        return False
    first, *others = (operand_type(examined, index) for index in range(len(examined.operands)))
    of_one_type = ElementType.named(first) is not None and all(each == first for each in others)
    returned = any(output.is_graph_output() for output in examined.ruled.node.outputs)
    return of_one_type and not (returned and examined.ruled.path)
