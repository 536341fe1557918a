"""Enforcement by custom operators of the domain `sonnx`, written in Python.

They check proved rules in each run as well: they are the reference, and this check costs little.
"""

from collections.abc import Collection, Container, Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.ruled_nodes import parameter_texts
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.inspection import (
    CHECKED_ELEMENTS,
    CHECKED_SIZES,
    Inspection,
    value_guard_name,
)
from sonnx_ort.custom_ops.kernel import CustomOperator, for_any_version
from sonnx_ort.enforcing.broadcasting import ShapeDecisions, expand_operands
from sonnx_ort.enforcing.hidden.shapes import (
    hide_misinferred_shapes,
    hide_scalars_after,
    hide_shape,
    oldest_opset_to_pass_on,
)
from sonnx_ort.enforcing.kernel_operands import (
    BY_KERNELS,
    in_one_vector,
    inspected_operands,
    joined,
    ranks_in_run,
)
from sonnx_ort.enforcing.lowering import EnforcingBackend
from sonnx_ort.enforcing.metadata import Original
from sonnx_ort.enforcing.nodes import DATA_TYPES, StandardNodes, computed, record_rules
from sonnx_ort.enforcing.python_kernels import (
    can_keep_standard_node,
    carrier_of,
    constant_nodes,
    has_other_zeros,
    require_kernel,
    require_nothing_waived,
)
from sonnx_ort.enforcing.value_info import converted_back, converted_operands
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.options import Enforcement
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.contract import Contract, contract_to_json
from sonnx_ort.profile.contract_rules import ShapeDemand
from sonnx_ort.profile.element_type import CARRIERS, ElementType
from sonnx_ort.profile.operator import DOMAIN, DOMAIN_VERSION
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Status

_READING_OPERANDS = frozenset({"Cast", "Equal", "Expand", "Reshape", "Shape"})
"""The operators of added nodes that read what the replaced nodes read."""

_WITH_RULES_AGAINST_KERNELS = frozenset(
    custom.name
    for custom in CUSTOM_OPERATORS.values()
    if any(rule.needed_before is not None for rule in custom.operator.all_rules())
)
"""The custom operators that check other rules with other versions of onnxruntime."""

_RESHAPE_BY_INPUT = 5
"""The first opset in which Reshape takes its shape as an input."""

_CAST_BY_NUMBER = 6
"""The first opset in which Cast takes its type as a number."""


class PythonBackend(EnforcingBackend):
    """Replaces nodes by custom operators and their guards."""

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model, and import the domain of the custom operators."""
        super().__init__(model, enforcement)
        model.opset_imports[DOMAIN] = DOMAIN_VERSION

    @staticmethod
    def decisions() -> ShapeDecisions:
        """How the backend checks shapes in a run."""
        return BY_KERNELS

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest opset in which a node can be enforced, without a Broadcast in front of it."""
        return _CAST_BY_NUMBER if carrier_of(examined) is not None else _RESHAPE_BY_INPUT

    @staticmethod
    def kept(model: ir.Model, examination: Examination) -> Container[ir.Node]:
        """The nodes whose standard operator is kept: constants, and nodes that no run can violate.

        A waived violation does not count. Nodes whose zeros ONNX Runtime decides otherwise than
        their documents are not among them.
        """
        nodes = examination.nodes
        candidates = [node for node in nodes if can_keep_standard_node(node)]
        never_violated = {
            n.ruled.node
            for n in candidates
            if _only_waived(n) or not (_can_be_checked(n) or has_other_zeros(n))
        }
        others = [node for node in nodes if node.ruled.node not in never_violated]
        checked = {value.node for value in examination.checked_values if value.node is not None}
        return constant_nodes(model, others, checked) | never_violated

    @staticmethod
    def added(examination: Examination) -> Container[str]:
        """The operators of added nodes that read what the replaced nodes read."""
        del examination
        return _READING_OPERANDS

    @staticmethod
    def replaced() -> Collection[str]:
        """The operators that a run checks."""
        return [name for name, operator in OPERATORS.items() if operator.checked_in_runs]

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Return all nodes unchanged: proved rules are checked in a run as well."""
        # Kernels of element-wise operators get the tensors themselves; others, and Broadcasts, read
        # shapes from ONNX Runtime.
        reading_shapes = [
            node
            for node in examination.nodes
            if node.broadcast is not None
            or (not node.ruled.operator.elementwise and _can_be_checked(node))
        ]
        graph, facts = self._model.graph, examination.facts
        hide_scalars_after(graph, self.groups, reading_shapes, facts)
        return examination.nodes

    def enforce(self, examined: ExaminedNode) -> None:
        """Replace a node, in place; its output keeps its name, type and shape.

        Raises:
            SonnxError: There is no kernel for the node, or a rule of it is waived.
        """
        require_kernel(examined)
        require_nothing_waived(examined)
        ruled = examined.ruled
        original, nodes = Original.of(ruled.node), self.groups.nodes(str(ruled.output.name))
        custom = CUSTOM_OPERATORS[ruled.operator.name]
        if isinstance(custom, Inspection):
            results = self._inspected(nodes, examined)
        elif custom.arithmetic is None:
            results = self._computed_after(nodes, examined, custom)
        else:
            results = [self._computed(nodes, examined)]
        self.replace_declared(examined, original, nodes.nodes, results)

    @staticmethod
    def oldest_opset_to_check(checked: CheckedValue) -> int:
        """The oldest opset in which the elements of a value can be checked."""
        oldest = _CAST_BY_NUMBER if checked.element_type in CARRIERS else _RESHAPE_BY_INPUT
        hidden = _is_hidden(checked)
        return max(oldest, oldest_opset_to_pass_on(checked.passed_type, hidden=hidden))

    def check_value(self, nodes: StandardNodes, checked: CheckedValue, value: ir.Value) -> ir.Value:
        """Make a copy of a value that is readable only if all elements are as demanded.

        Raises:
            SonnxError: Its element type is unknown.
        """
        element_type, obligation = checked.element_type, checked.obligation
        guard = value_guard_name(
            obligation.operator,
            obligation.node,
            checked.rule,
            checked.requirement,
            logged=True,
        )
        if _is_hidden(checked):
            value = hide_shape(nodes, value)
        if isinstance(checked.contract, ShapeDemand):
            shapes = [nodes.shape(each) for each in (value, *checked.others)]
            inputs = [joined(nodes, shapes), ranks_in_run(nodes, shapes)]
            demand = {"demand": checked.contract.to_json()}
            shape = nodes.enforced(CHECKED_SIZES.name, inputs, demand, guard=guard)
            return nodes.add("Reshape", [value, shape], "checked")
        elements, entry = value, checked.contract
        if element_type in CARRIERS:
            elements = nodes.cast(value, CARRIERS[element_type], "elements")
        shape = nodes.enforced(
            CHECKED_ELEMENTS[0].name,
            [elements],
            {
                "node": obligation.node,
                "operator": obligation.operator,
                "value": checked.operand.value,
                "element_type": element_type.value,
                "contract": "" if entry is None else contract_to_json(Contract((entry,))),
            },
            guard=guard,
        )
        passed = nodes.add("Reshape", [value, shape], "checked")
        # Shape inference stops at a custom operator.
        passed.type = ir.TensorType(DATA_TYPES[element_type])
        return passed

    def _computed(self, nodes: StandardNodes, examined: ExaminedNode) -> ir.Value:
        """The result of a custom operator that computes."""
        ruled, carrier = examined.ruled, carrier_of(examined)
        operands: Sequence[ir.Value] = ruled.inputs
        if carrier is not None:
            operands = converted_operands(nodes, ruled, operands, carrier)
        operands = expand_operands(nodes, examined, operands, self.decisions())
        result = self._enforced(nodes, examined, operands)
        element_type = examined.element_type
        if carrier is not None and element_type is not None and not ruled.operator.result_type:
            result = converted_back(nodes, result, element_type)
        return result

    def _inspected(self, nodes: StandardNodes, examined: ExaminedNode) -> list[ir.Value]:
        """The results of the standard node, whose first operand gets the checked shape.

        ONNX Runtime has no kernels for bfloat16 but of operators that move elements.
        """
        ruled, element_type = examined.ruled, examined.element_type
        operands = hide_misinferred_shapes(nodes, ruled.inputs, examined)
        shown, (first, *others) = inspected_operands(nodes, examined, operands)
        shape = self._enforced(nodes, examined, shown)
        read = [nodes.add("Reshape", [first, shape], "of_its_shape"), *others]
        if element_type is not ElementType.BFLOAT16 or ruled.operator.moves_elements:
            return computed(nodes, examined, read)
        converted = converted_operands(nodes, ruled, read, CARRIERS[element_type])
        result, *more = computed(nodes, examined, converted)
        if ruled.operator.result_type is None:
            result = converted_back(nodes, result, element_type)
        return [result, *more]

    def _computed_after(
        self, nodes: StandardNodes, examined: ExaminedNode, custom: CustomOperator
    ) -> list[ir.Value]:
        """The results of the standard node after a custom operator that checks its operands."""
        ruled, carrier = examined.ruled, carrier_of(examined)
        operands = list(expand_operands(nodes, examined, ruled.inputs, self.decisions()))
        checked: Sequence[ir.Value] = operands
        if carrier is not None:
            checked = converted_operands(nodes, ruled, checked, carrier)
        passed = self._enforced(nodes, examined, checked)
        element_type = examined.element_type
        position = custom.passed_operand
        converted = checked[position] is not operands[position]
        if converted and element_type is not None:
            passed = nodes.cast(passed, element_type, f"as_{element_type}")
        operands[position] = passed
        return computed(nodes, examined, _with_single(examined, operands))

    def _enforced(
        self, nodes: StandardNodes, examined: ExaminedNode, operands: Sequence[ir.Value]
    ) -> ir.Value:
        """Add the custom operator and its guard, and return the guard's output."""
        ruled = examined.ruled
        custom = CUSTOM_OPERATORS[ruled.operator.name]
        if ruled.operator.repeated_operand is not None and not isinstance(custom, Inspection):
            operands = in_one_vector(nodes, operands)
        rules = [o.rule for o in examined.obligations if o.operator == ruled.operator.name]
        first = len(nodes.nodes)
        result = nodes.enforced(
            custom.name,
            operands,
            {
                "node": ruled.label,
                "edition": self._edition.value,
                **parameter_texts(ruled.node, ruled.operator, nodes.opset),
            },
            guard=guard_name(ruled.operator.name, ruled.label, rules, logged=True),
        )
        kernel = nodes.nodes[first]
        if custom.arithmetic is not None:
            kernel.name, kernel.doc_string = ruled.node.name, ruled.node.doc_string
            kernel.metadata_props.update(ruled.node.metadata_props)
        record_rules(kernel, examined)
        return result


def _is_hidden(checked: CheckedValue) -> bool:
    """Whether ONNX Runtime would take a declared shape, or memory of the size of another value."""
    if isinstance(checked.contract, ShapeDemand):
        return checked.operand.scalar_inputs
    return checked.shares_sizes and checked.element_type in CARRIERS


def check_for_any_version(model: ir.Model, edition: Edition) -> None:
    """Have the custom operators of a model check the rules of every version of onnxruntime."""
    for node in every_node(model.graph):
        if node.domain == DOMAIN and node.op_type in _WITH_RULES_AGAINST_KERNELS:
            node.attributes["edition"] = ir.AttrString("edition", for_any_version(edition))


def _with_single(examined: ExaminedNode, operands: Sequence[ir.Value]) -> Sequence[ir.Value]:
    """The operands, unexpanded where the node reads a single element."""
    plan = examined.broadcast
    if plan is None or not any(plan.single):
        return operands
    choices = zip(examined.ruled.inputs, operands, plan.single, strict=True)
    return [own if single else expanded for own, expanded, single in choices]


def _can_be_checked(examined: ExaminedNode) -> bool:
    """Whether a run can check any rule of the node, proved or not.

    Nothing is left to check of an operator that moves elements if constants decide it alone.
    """
    in_run = [obligation for obligation in examined.obligations if obligation.rule.in_run]
    if not examined.ruled.operator.moves_elements:
        return bool(in_run)
    return not all(_decided_by_constants(obligation) for obligation in in_run)


def _decided_by_constants(obligation: Obligation) -> bool:
    """Whether a rule is proved whatever the shapes of a run are."""
    operands = [replace(operand, shape=None, bounds=None) for operand in obligation.operands]
    judgement, _ = obligation.rule.judge([operand.name for operand in operands], operands)
    return judgement.status is Status.PROVED


def _only_waived(examined: ExaminedNode) -> bool:
    """Whether only waived violations are not proved."""
    decided = (o.status for o in examined.obligations if o.rule.in_run)
    unproved = {status for status in decided if status is not Status.PROVED}
    return examined.broadcast is None and unproved == {Status.VIOLATED}
