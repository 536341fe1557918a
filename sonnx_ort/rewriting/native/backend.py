"""Enforcement by standard operators: a guard in front of a node for what is left to the run.

The node itself stays, and what is proved costs nothing. No plugin is needed to run the outcome.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligations import Examination
from sonnx_ort.analysis.targets import Target
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.element_type import ElementType, smallest_value
from sonnx_ort.profile.judgement import Status
from sonnx_ort.rewriting.broadcast_lowering import expand_operands
from sonnx_ort.rewriting.broadcast_nodes import lower_broadcast, oldest_opset_of_broadcast
from sonnx_ort.rewriting.enforced_metadata import record_rules
from sonnx_ort.rewriting.enforcement import Enforcement
from sonnx_ort.rewriting.hidden_shape import hide_mistakable_shapes
from sonnx_ort.rewriting.known_output import DATA_TYPES, declare_output, element_type_of
from sonnx_ort.rewriting.native.broadcast import BY_OPERATORS
from sonnx_ort.rewriting.native.division import DivisionDomain, guard_domain, with_infinity
from sonnx_ort.rewriting.native.inputs import prepare_inputs
from sonnx_ort.rewriting.native.needs import Needs, has_infinity
from sonnx_ort.rewriting.native.record import GroupRecorder, Original, write_enforcement
from sonnx_ort.rewriting.native.shapes import guard_same_shape
from sonnx_ort.rewriting.replacement import replace_node
from sonnx_ort.rewriting.scalar_inputs import oldest_opset_of_scalars
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_FIRST_THAT_BROADCASTS = 7
"""The oldest version in which ONNX Runtime has kernels for Div and Sub."""

_GUARDS = 9
"""The first version that has Where, and constants of integers."""

_BFLOAT16 = 13
"""The first version in which Cast, Reshape and Shape take bfloat16."""


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
        if left or examined.broadcast is not None or has_infinity(examined):
            return _GUARDS
        return _FIRST_THAT_BROADCASTS

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Guard the inputs where that decides the shapes of several nodes.

        Args:
            examination: All that the profile demands of the model.

        Returns:
            The nodes with what is left to enforce.
        """
        return prepare_inputs(self._model, examination, self._names, self._recorder)

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
            nodes, values = lower_broadcast(examined, self._names, self._opset, BY_OPERATORS)
            self._recorder.record(nodes, original)
            replace_node(target.node, nodes, values)
            return
        added = StandardNodes(self._names, str(target.output.name), self._opset)
        result = self._guarded(added, examined)
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

    def _guarded(self, nodes: StandardNodes, examined: ExaminedNode) -> ir.Value | None:
        """The node behind its guards and between conversions; None if it can stay as it is."""
        target, needs = examined.target, Needs.of(examined, self._edition)
        # ONNX Runtime has no kernels for bfloat16; float32 has enough bits to round twice.
        carrier = ElementType.FLOAT if needs.element_type is ElementType.BFLOAT16 else None
        computed_in = DATA_TYPES[carrier or needs.element_type]
        operands = target.inputs
        if carrier is not None:
            operands = tuple(nodes.cast(v, computed_in, f"{v.name}_as_{carrier}") for v in operands)
        if examined.broadcast is not None:
            operands = expand_operands(
                nodes, target.label, operands, examined.broadcast, BY_OPERATORS
            )
        elif needs.guarded:
            operands = hide_mistakable_shapes(nodes, operands, examined.operands)
        operands = _of_equal_shape(nodes, target, needs, operands)
        operands = _in_the_domain(nodes, target, needs, operands, computed_in)
        if not nodes.nodes and not needs.infinity:
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
        if needs.infinity:
            result = with_infinity(nodes, result, operands[1], computed_in)
        if carrier is not None:
            element_type = needs.element_type
            result = nodes.cast(result, DATA_TYPES[element_type], f"as_{element_type}")
        return result


def _of_equal_shape(
    nodes: StandardNodes, target: Target, needs: Needs, operands: tuple[ir.Value, ...]
) -> tuple[ir.Value, ...]:
    if not needs.shapes:
        return operands
    a, b = operands
    return guard_same_shape(
        nodes,
        a,
        b,
        code=needs.shapes[0].code,
        name=guard_name(target.operator.name, target.label, needs.shapes),
        equal_ranks=needs.equal_ranks,
        through=needs.through,
    )


def _in_the_domain(
    nodes: StandardNodes,
    target: Target,
    needs: Needs,
    operands: tuple[ir.Value, ...],
    computed_in: ir.DataType,
) -> tuple[ir.Value, ...]:
    if not needs.zero and not needs.overflow:
        return operands
    a, b = operands
    domain = DivisionDomain(
        zero=needs.zero[0].code if needs.zero else None,
        overflow=needs.overflow[0].code if needs.overflow else None,
        smallest=smallest_value(needs.element_type),
        element_type=computed_in,
        may_be_scalar=needs.may_be_scalar,
        foldable=needs.foldable_divisor,
        in_branch=target.in_branch,
    )
    name = guard_name(target.operator.name, target.label, [*needs.zero, *needs.overflow])
    return guard_domain(nodes, a, b, domain, name=name)
