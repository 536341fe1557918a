"""Enforcement by standard operators: a guard in front of a node for what a run has to check.

The node itself is kept, and what is proved costs nothing. The rewritten model needs no plugin.
"""

from collections.abc import Container, Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.ruled_nodes import RuledNode
from sonnx_ort.enforcing.broadcasting import ShapeDecisions, expand_read_operands
from sonnx_ort.enforcing.hidden.shapes import (
    hide_misinferred_shapes,
    oldest_opset_to_pass_on,
    oldest_opset_with_hidden_shapes,
)
from sonnx_ort.enforcing.lowering import EnforcingBackend
from sonnx_ort.enforcing.metadata import Original
from sonnx_ort.enforcing.native.decision import Decision, gives_infinity, guards_of
from sonnx_ort.enforcing.native.expansion import BY_OPERATORS
from sonnx_ort.enforcing.native.inputs import prepare_inputs, value_guard
from sonnx_ort.enforcing.native.shared_broadcasts import find_shared_broadcasts, share_broadcasts
from sonnx_ort.enforcing.nodes import (
    ADDED_OPERATORS,
    DATA_TYPES,
    StandardNodes,
    computed,
    keep_as_it_is,
)
from sonnx_ort.enforcing.value_info import (
    converted_back,
    converted_operands,
    restorable_declarations,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.guards.axis_guards import has_equal_ranks
from sonnx_ort.guards.element_guards import with_infinity
from sonnx_ort.guards.guard import GuardedNode, Operands
from sonnx_ort.guards.zeros import SIGNED, loses_signs
from sonnx_ort.options import Enforcement
from sonnx_ort.profile.element_type import TEXT, ElementType
from sonnx_ort.profile.graph import CONTRACT
from sonnx_ort.profile.operator import OWN_DOMAINS
from sonnx_ort.profile.requirements.axes import EqualButOnAxis
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import Status

_GUARDS = 9
"""The first opset with Where and with integer constants."""

_IN_GUARDS_OF: Mapping[str, Sequence[str]] = {
    "Div": ("Conv", "ConvInteger", "Max", "Min", "Where", CONTRACT),
    "Floor": (CONTRACT,),
    "Mul": ("Conv", "ConvInteger", "Where", CONTRACT),
    "Pow": ("Pow",),
    "ReduceSum": ("Softmax", CONTRACT),
    "Slice": ("Softmax",),
    "Sub": ("Slice",),
}
"""The added operators that are in guards of these operators, or of contracts, alone."""

_RANGE = 11
"""The first opset with Range, which guards of shapes of different ranks contain."""

_BFLOAT16 = 13
"""The first opset in which Cast, Reshape and Shape take bfloat16."""


class NativeBackend(EnforcingBackend):
    """Puts guards in front of nodes."""

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model, which needs no custom operators."""
        super().__init__(model, enforcement)
        self._expanded: Container[ir.Node] = ()
        for domain in OWN_DOMAINS:
            model.opset_imports.pop(domain, None)

    @staticmethod
    def decisions() -> ShapeDecisions:
        """How the backend checks shapes in a run."""
        return BY_OPERATORS

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest opset in which a node can be enforced, without a Broadcast in front of it."""
        element_type = examined.element_type
        if element_type is ElementType.BFLOAT16:
            return max(_BFLOAT16, oldest_opset_with_hidden_shapes(examined))
        left = (o for o in examined.obligations if o.status is Status.RUNTIME and o.rule.in_run)
        runtime = [o.rule.requirement for o in left]
        if any(isinstance(each, EqualButOnAxis) for each in runtime):
            return _GUARDS if has_equal_ranks(examined.operands) else _RANGE
        if runtime or gives_infinity(examined, element_type) or _is_signed(examined, element_type):
            return _GUARDS
        return examined.ruled.operator.oldest_kernels

    @staticmethod
    def kept(model: ir.Model, examination: Examination) -> Container[ir.Node]:
        """None: the backend records what is proved at every node."""
        del model, examination
        return ()

    @staticmethod
    def added(examination: Examination) -> Container[str]:
        """The operators of all guards; some of them are in guards of few operators alone."""
        guarded = {node.ruled.operator.name for node in examination.nodes}
        if any(checked.contract is not None for checked in examination.checked_values):
            guarded.add(CONTRACT)
        unused = {name for name, users in _IN_GUARDS_OF.items() if guarded.isdisjoint(users)}
        return ADDED_OPERATORS - unused

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Guard graph inputs, and expand operands, if that decides the shapes of several nodes.

        Returns:
            The nodes with the obligations that are still to be enforced.
        """
        nodes = prepare_inputs(self._model, examination, self.groups, self.reads_shapes)
        shared = find_shared_broadcasts(self._model, nodes)
        self._expanded = share_broadcasts(shared, self.decisions(), self.groups)
        return nodes

    @staticmethod
    def oldest_opset_to_check(checked: CheckedValue) -> int:
        """The oldest opset in which the elements of a value can be checked."""
        hidden = checked.may_be_misinferred or checked.operand.scalar_inputs or checked.shares_sizes
        return max(_GUARDS, oldest_opset_to_pass_on(checked.passed_type, hidden=hidden))

    def check_value(self, nodes: StandardNodes, checked: CheckedValue, value: ir.Value) -> ir.Value:
        """Make a copy of a value that is readable only if all elements are as demanded.

        Raises:
            SonnxError: Its element type is unknown.
        """
        value.type = value.type or ir.TensorType(DATA_TYPES[checked.element_type])
        return value_guard(nodes, checked, value)

    def decision_of(self, examined: ExaminedNode) -> Decision:
        """What a run checks in front of a node.

        Raises:
            SonnxError: Its element type is unknown, or a rule that a run has to check has no guard.
        """
        element_type = _known_element_type(examined)
        guards = guards_of(examined, element_type, self._edition)
        signed = _is_signed(examined, element_type)
        carrier = _carrier(examined.ruled, element_type, signed=signed)
        return Decision(
            examined, _guarded_node(examined, element_type, carrier or element_type), guards
        )

    def guarded_operands(
        self, nodes: StandardNodes, decision: Decision, operands: Operands
    ) -> Operands:
        """The operands of a node, all readable only if its rules are kept that a run checks."""
        examined, guards = decision.examined, decision.guards
        if examined.broadcast is None and (guards.shapes or guards.deciding):
            operands = hide_misinferred_shapes(nodes, operands, examined)
        return decision.guard_operands(nodes, operands)

    def reads_shapes(self, examined: ExaminedNode | CheckedValue) -> bool:
        """Whether nodes read shapes for what is checked, so that none may be inferred wrongly."""
        del examined
        return True

    def enforce(self, examined: ExaminedNode) -> None:
        """Put guards in front of a node, in place; its outputs keep their names.

        Raises:
            SonnxError: Its element type is unknown, or a rule that a run has to check has no guard.
        """
        ruled = examined.ruled
        original = Original.of(ruled.node)
        added = self.groups.nodes(str(ruled.output.name))
        results = self._guarded(added, examined) if _needs_nodes(examined) else None
        if results is None:
            keep_as_it_is(examined)
            if ruled.output.is_graph_output() and ruled.node.graph is not self._model.graph:
                # A Scan does not run without its body's shapes.
                with restorable_declarations([ruled.output]):
                    self.declare_output(examined)
            return
        self.replace_declared(examined, original, added.nodes, results)

    def _guarded(self, nodes: StandardNodes, examined: ExaminedNode) -> list[ir.Value] | None:
        """The results of the node with guards and conversions; None if it needs neither."""
        ruled, decision = examined.ruled, self.decision_of(examined)
        node, element_type = decision.node, decision.node.element_type
        signed = _is_signed(examined, element_type)
        carrier = _carrier(ruled, element_type, signed=signed)
        operands: Operands = ruled.inputs
        if carrier is not None:
            operands = converted_operands(nodes, ruled, operands, carrier)
        expanded = ruled.node in self._expanded
        if examined.broadcast is not None and not expanded:
            operands = expand_read_operands(nodes, examined, operands, self.decisions())
        operands = self.guarded_operands(nodes, decision, operands)
        # The shape of a result from expanded operands is declared anew, which has to be undone.
        infinite = gives_infinity(examined, element_type)
        if not nodes.nodes and not infinite and not signed and not expanded:
            return None
        result, *others = computed(nodes, examined, operands)
        if infinite:
            result = with_infinity(nodes, result, operands, node)
        if signed:
            set_signs = SIGNED[ruled.operator.name]
            result = set_signs(nodes, result, operands, node.computed_in)
        if carrier is not None and ruled.operator.result_type is None:
            # An element of an operand is not rounded.
            result = (
                nodes.cast(result, element_type, f"as_{element_type}")
                if signed
                else converted_back(nodes, result, element_type)
            )
        return [result, *others]


def _is_signed(examined: ExaminedNode, element_type: ElementType | None) -> bool:
    """Whether signs of zeros have to be set that ONNX Runtime may lose."""
    name = examined.ruled.operator.name
    return element_type is not None and loses_signs(name, examined.operands, element_type)


def _guarded_node(
    examined: ExaminedNode, element_type: ElementType, computed_in: ElementType
) -> GuardedNode:
    of_shapes = (o for o in examined.obligations if isinstance(o.rule.requirement, OnShapes))
    return GuardedNode(
        examined.operands,
        element_type,
        computed_in,
        examined.ruled.operator.elementwise,
        examined.foldable,
        names_every_axis=all(each.status is Status.PROVED for each in of_shapes),
    )


def _needs_nodes(examined: ExaminedNode) -> bool:
    """Whether a run may have to check or to convert anything, as the element type decides."""
    operator = examined.ruled.operator
    if operator.checked_in_runs:
        return True
    return not operator.moves_elements and (
        operator.rounds_once or examined.element_type is ElementType.BFLOAT16
    )


def _carrier(ruled: RuledNode, element_type: ElementType, *, signed: bool) -> ElementType | None:
    """The type that a node computes in, if it is not that of its operands.

    ONNX Runtime has no kernels for bfloat16. It does not round float16 values between nodes that it
    computes in float32. Rounding twice by way of float gives the same result, unless the kernel of
    float16 takes a number of its type for an operand that is left out: it rounds by itself. Kernels
    that copy elements of float16 read and give rounded ones. Most of what sets signs of zeros has
    no kernels for float16.
    """
    operator = ruled.operator
    if operator.moves_elements:
        return None
    left_out = len(ruled.inputs) < len(operator.operands)
    as_it_is = operator.copies_float16 or (left_out and _has_float16_defaults(ruled))
    if element_type is ElementType.FLOAT16 and as_it_is:
        return None
    if element_type is ElementType.BFLOAT16:
        return ElementType.FLOAT
    rounds = (operator.rounds_once and operator.result_type is None) or signed
    return ElementType.FLOAT if element_type is ElementType.FLOAT16 and rounds else None


def _has_float16_defaults(ruled: RuledNode) -> bool:
    first = ruled.operator.float16_defaults
    return 0 < first <= ruled.version


def _known_element_type(examined: ExaminedNode) -> ElementType:
    element_type = examined.element_type
    texts = examined.operands[0].element_type == TEXT if examined.operands else False
    if element_type is None and (examined.ruled.operator.moves_elements or texts):
        # Its rules are the same for all types, and its guards read no elements of that type.
        return ElementType.FLOAT
    if element_type is None:
        ruled = examined.ruled
        raise SonnxError(
            f"{ruled.operator.name} '{ruled.label}': the native backend needs the element type "
            f"of '{ruled.inputs[0].name}', which is unknown; declare it in value_info, or use "
            "the python backend"
        )
    if element_type is ElementType.BFLOAT16 and not examined.ruled.operator.computes_bfloat16:
        ruled = examined.ruled
        raise SonnxError(
            f"{ruled.operator.name} '{ruled.label}': ONNX Runtime has no kernel for it in "
            f"{element_type}; convert its operands with Cast"
        )
    return element_type
