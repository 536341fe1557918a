"""Enforcement by standard operators: a guard in front of a node for what is left to the run.

The node itself stays, and what is proved costs nothing. No plugin is needed to run the outcome.
"""

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.agreement import Agreement, find_agreements, settle
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligations import Examination
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.element_type import ElementType, Family, smallest_value
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.requirements.division import (
    InfinityForZeroDivisor,
    NonZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.broadcast_lowering import expand_operands
from sonnx_ort.rewriting.broadcast_nodes import lower_broadcast, oldest_opset_of_broadcast
from sonnx_ort.rewriting.enforced_metadata import record_rules
from sonnx_ort.rewriting.enforcement import Enforcement
from sonnx_ort.rewriting.known_output import DATA_TYPES, declare_output, element_type_of
from sonnx_ort.rewriting.native_agreement import guard_inputs
from sonnx_ort.rewriting.native_broadcast import common_shape_by_operators
from sonnx_ort.rewriting.native_division import DivisionDomain, guard_domain, with_infinity
from sonnx_ort.rewriting.native_record import GroupRecorder, Original, write_enforcement
from sonnx_ort.rewriting.native_shapes import guard_same_shape
from sonnx_ort.rewriting.replacement import Uses, put_behind_inputs, replace_node, uses_of
from sonnx_ort.rewriting.scalar_inputs import (
    hide_declarations,
    oldest_opset_of_scalars,
    scalars_behind,
)
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_FIRST_THAT_BROADCASTS = 7
"""The oldest version in which ONNX Runtime has kernels for Div and Sub."""

_GUARDS = 9
"""The first version that has Where, and constants of integers."""

_BFLOAT16 = 13
"""The first version in which Cast, Reshape and Shape take bfloat16."""

_SMALL_INTEGERS = 14
"""The first version in which Div and Sub take integers of 8 and 16 bits."""

_SMALL = frozenset({ElementType.INT8, ElementType.INT16, ElementType.UINT8, ElementType.UINT16})


class NativeBackend:
    """Puts guards in front of nodes."""

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model.

        Args:
            model: The model whose nodes are to be enforced.
            enforcement: How they are to be enforced.
        """
        self._model = model
        self._edition = enforcement.edition
        self._recorder = GroupRecorder()
        self._names = ValueNames(model)
        self._opset = model.opset_imports.get(STANDARD_DOMAIN, 1)
        model.opset_imports.pop(DOMAIN, None)
        write_enforcement(model, enforcement)

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest version of the standard operators in which a node can be enforced.

        Args:
            examined: The node.
        """
        if examined.target.operator is BROADCAST:
            oldest = max(oldest_opset_of_broadcast(examined), oldest_opset_of_scalars(examined))
            return max(_GUARDS, oldest)
        if element_type_of(examined) is ElementType.BFLOAT16:
            return max(_BFLOAT16, oldest_opset_of_scalars(examined))
        left = any(o.status is Status.RUNTIME and o.rule.in_run for o in examined.obligations)
        if left or examined.broadcast is not None or _has_infinity(examined):
            return _GUARDS
        return _FIRST_THAT_BROADCASTS

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Guard the inputs where that decides the shapes of several nodes.

        Args:
            examination: All that the profile demands of the model.

        Returns:
            The nodes with what is left to enforce.
        """
        scalars = scalars_behind(examination.nodes, examination.facts)
        if scalars:
            uses = uses_of(scalars)
            nodes = StandardNodes(self._names, "inputs", self._opset)
            self._put_behind(nodes, hide_declarations(nodes, scalars), uses)
        agreements = find_agreements(self._model, examination.nodes, examination.facts)
        if agreements:
            self._guard_inputs(agreements)
        resting = {id(node) for agreement in agreements for node in agreement.resting}
        return [settle(n) if id(n) in resting else n for n in examination.nodes]

    def _guard_inputs(self, agreements: Sequence[Agreement]) -> None:
        uses = uses_of(place.value for a in agreements for place in a.axes)
        nodes = StandardNodes(self._names, "inputs", self._opset)
        self._put_behind(nodes, guard_inputs(nodes, agreements), uses)

    def _put_behind(
        self, nodes: StandardNodes, behind: Mapping[ir.Value, ir.Value], uses: Uses
    ) -> None:
        pairs = tuple((str(v.name), str(guarded.name)) for v, guarded in behind.items())
        self._recorder.record(nodes.nodes, Original(None, inputs=pairs))
        put_behind_inputs(self._model.graph, uses, nodes.nodes, behind)

    def enforce(self, examined: ExaminedNode) -> None:
        """Put guards in front of a node, in place; its outputs keep their names.

        Args:
            examined: The node, with its obligations.

        Raises:
            SonnxError: Its element type follows from nothing.
        """
        target = examined.target
        original = Original.of(target.node)
        if target.operator is BROADCAST:
            nodes, values = lower_broadcast(
                examined, self._names, self._opset, common_shape_by_operators
            )
            self._recorder.record(nodes, original)
            replace_node(target.node, nodes, values)
            return
        added = StandardNodes(self._names, str(target.output.name), self._opset)
        result = self._guarded(added, examined, _known_element_type(examined))
        if result is None:
            record_rules(target.node, examined)
            target.node.attributes.clear()
            if target.output.is_graph_output() and target.node.graph is not self._model.graph:
                # A Scan does not run without its body's shapes.
                declare_output(examined)
            return
        declare_output(examined)
        self._recorder.record(added.nodes, original.without_shapes_of(target.node))
        replace_node(target.node, added.nodes, {target.output: result})

    def _guarded(
        self, nodes: StandardNodes, examined: ExaminedNode, element_type: ElementType
    ) -> ir.Value | None:
        """The node behind its guards and between conversions; None if it can stay as it is."""
        target = examined.target
        carrier = self._carrier(element_type)
        computed_in = DATA_TYPES[carrier or element_type]
        operands = target.inputs
        if carrier is not None:
            operands = tuple(nodes.cast(v, computed_in, f"{v.name}_as_{carrier}") for v in operands)
        if examined.broadcast is not None:
            operands = expand_operands(
                nodes, target.label, operands, examined.broadcast, common_shape_by_operators
            )
        operands = self._of_equal_shape(nodes, examined, element_type, operands)
        operands = self._in_the_domain(nodes, examined, element_type, operands, computed_in)
        infinity = _has_infinity(examined)
        if not nodes.nodes and not infinity:
            return None
        result = nodes.value("result")
        node = ir.node(
            target.node.op_type,
            operands,
            outputs=[result],
            name=target.node.name,
            doc_string=target.node.doc_string,
            metadata_props=target.node.metadata_props,
        )
        record_rules(node, examined)
        nodes.nodes.append(node)
        if infinity:
            result = with_infinity(nodes, result, operands[1], computed_in)
        if carrier is not None:
            result = nodes.cast(result, DATA_TYPES[element_type], f"as_{element_type}")
        return result

    def _of_equal_shape(
        self,
        nodes: StandardNodes,
        examined: ExaminedNode,
        element_type: ElementType,
        operands: tuple[ir.Value, ...],
    ) -> tuple[ir.Value, ...]:
        rules = self._left_to_the_run(examined, element_type, SameShape)
        if not rules:
            return operands
        a, b = operands
        return guard_same_shape(
            nodes,
            a,
            b,
            code=rules[0].code,
            name=guard_name(examined.target.operator.name, examined.target.label, rules),
            equal_ranks=_equal_ranks(examined),
            through=_through_guard(examined),
        )

    def _in_the_domain(
        self,
        nodes: StandardNodes,
        examined: ExaminedNode,
        element_type: ElementType,
        operands: tuple[ir.Value, ...],
        computed_in: ir.DataType,
    ) -> tuple[ir.Value, ...]:
        if element_type.family is not Family.INTEGER:
            return operands
        kinds = (NonZeroDivisor, InfinityForZeroDivisor)
        zero = self._left_to_the_run(examined, element_type, *kinds)
        overflow = self._left_to_the_run(examined, element_type, RepresentableQuotient)
        if smallest_value(element_type) == 0:
            # The type is known by its declaration alone, so that no fact speaks of it.
            overflow = []
        if not zero and not overflow:
            return operands
        a, b = operands
        domain = DivisionDomain(
            zero=zero[0].code if zero else None,
            overflow=overflow[0].code if overflow else None,
            smallest=smallest_value(element_type),
            element_type=computed_in,
            may_be_scalar=_may_be_scalar(examined),
        )
        name = guard_name(examined.target.operator.name, examined.target.label, [*zero, *overflow])
        return guard_domain(nodes, a, b, domain, name=name), b

    def _left_to_the_run(
        self, examined: ExaminedNode, element_type: ElementType, *kinds: type
    ) -> list[Rule]:
        """The rules of these kinds that a run decides, in the order of decision."""
        operator = examined.target.operator
        binding = operator.rules(self._edition, element_type.family)
        return [
            o.rule
            for o in examined.obligations
            if o.status is Status.RUNTIME
            and o.operator == operator.name
            and o.rule in binding
            and isinstance(o.rule.requirement, kinds)
        ]

    def _carrier(self, element_type: ElementType) -> ElementType | None:
        """The type that stands in for one that ONNX Runtime cannot divide or subtract.

        Exact: float32 has enough bits to round twice, and int32 all values and quotients.
        """
        if element_type is ElementType.BFLOAT16:
            return ElementType.FLOAT
        if element_type in _SMALL and self._opset < _SMALL_INTEGERS:
            return ElementType.INT32
        return None


def _known_element_type(examined: ExaminedNode) -> ElementType:
    element_type = element_type_of(examined)
    if element_type is None:
        target = examined.target
        raise SonnxError(
            f"{target.operator.name} '{target.label}': the native backend needs to know the "
            f"element type of '{target.inputs[0].name}', which follows from nothing and is not "
            "declared; declare it in value_info, or use the python backend"
        )
    return element_type


def _equal_ranks(examined: ExaminedNode) -> bool:
    """Whether the operands of the node itself are known to be of one rank."""
    if examined.broadcast is not None:
        return all(examined.broadcast.expanded)
    if examined.operands[0].scalar_inputs:
        return False
    ranks = {None if o.shape is None else len(o.shape) for o in examined.operands}
    return len(ranks) == 1 and None not in ranks


def _through_guard(examined: ExaminedNode) -> tuple[bool, bool]:
    """Which operands have to pass the guard.

    One is enough to stop the run. But where ONNX Runtime knows all sizes of the other one, it takes
    these for the result's, and leaves out the node and its guard if only the Shape of that is read.
    """
    if examined.broadcast is not None:
        return True, True
    a_known, b_known = (
        operand.shape is not None and all(isinstance(size, int) for size in operand.shape)
        for operand in examined.operands
    )
    a, b = examined.target.inputs
    if b_known and not a_known:
        return not _open_input(a), True
    return True, not _open_input(b)


def _open_input(value: ir.Value) -> bool:
    """Whether a value is an input of which ONNX Runtime does not know all sizes."""
    shape = value.shape
    open_shape = shape is None or any(not isinstance(size, int) for size in shape)
    return value.is_graph_input() and value.producer() is None and open_shape


def _may_be_scalar(examined: ExaminedNode) -> bool:
    """Whether the operands may have no axes, given that they have one shape."""
    operands = examined.operands
    return operands[0].scalar_inputs or not any(operand.shape for operand in operands)


def _has_infinity(examined: ExaminedNode) -> bool:
    """Whether the result is +inf wherever B is zero, in whatever type has an infinity."""
    element_type = element_type_of(examined)
    if element_type is None or element_type.family is not Family.FLOAT:
        return False
    requirements = (obligation.rule.requirement for obligation in examined.obligations)
    return any(isinstance(requirement, InfinityForZeroDivisor) for requirement in requirements)
