"""Expands the operands of a node, or once for all nodes that broadcast the same values.

Expands the operands of a node natively; the expanding operators are guards as well. A node fails if
one of its operands cannot be expanded, and `Expand` fails if sizes differ and neither is 1. It does
not fail for a size of 0 against 1, so that is checked separately:

    Expand(A, Where(Shape(A) + Shape(B) = 1, 2, Shape(B))) -> A
    Expand(B, Shape(of the expanded A)) -> B

    Reshape(A, Max(Shape(A), 1)) -> A       if only A has sizes other than 1
    Expand(B, Shape(A)) -> B

The name of the failing node has the operator, the node and the rule.

Expands operands once for all nodes of a graph that broadcast the same values.

    A, B -> (guards, as in front of one node) -> A', B'

    A', B' -> Div -> C        B', A' -> Sub -> D        C, B' -> Mul -> E

All of them read what the guards pass on, so no run computes one of them before its shapes are
checked. C has the common shape, and depends on all guards: it stands for any operand.
"""

from collections.abc import Iterator, Sequence
from typing import cast

import onnx_ir as ir

from sonnx_ort.custom_ops.failure_channel import guard_name, refusing_guard_name
from sonnx_ort.enforcing.broadcasting import ShapeDecisions, expand, expand_operands
from sonnx_ort.enforcing.native.broadcasting import (
    aligned_shape,
    axes_exempt_from_size_0,
    common_shape,
    index_of_common_shape,
    padded_shapes,
    rank_of,
)
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.enforcing.record import Groups
from sonnx_ort.enforcing.value_info import element_type_of
from sonnx_ort.kernel.catalog import like_first
from sonnx_ort.knowledge.graph_node import reads_elements_of, rule_for
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.obligations.examined_node import BroadcastPlan, ExaminedNode
from sonnx_ort.obligations.findings import dead_nodes
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.requirements.broadcasting import aligned_axes, fit_in_every_run
from sonnx_ort.profile.rule import Status, Subject
from sonnx_ort.terms.operand import Operand

_PAIR = 2

_MAX_OF_INTEGERS = 12
"""The first opset in which Max takes integers."""


def _expanded(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> Sequence[ir.Value]:
    """Expand values, aligned at their last axes, to their common shape.

    Reading all of them fails if there is none.
    """
    few = None if plan.fits else _expanded_in_few_nodes(nodes, label, values, plan)
    return few or expand(nodes, values, plan, common_shape(nodes, label, values, plan))


def _expanded_in_few_nodes(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], plan: BroadcastPlan
) -> Sequence[ir.Value] | None:
    """The expanded values if the common shape need not be computed, else None."""
    operands = plan.operands
    reference = index_of_common_shape(plan)
    if reference is None:
        pair = len(values) == _PAIR
        return _expanded_to_each_other(nodes, label, values, operands) if pair else None
    exempt = axes_exempt_from_size_0(operands, reference)
    if exempt is not None:
        return _expanded_to_positive(nodes, label, values, plan, (reference, exempt))
    if len(values) == _PAIR and rank_of(operands) is not None:
        return _expanded_to_one(nodes, label, values, operands, reference)
    return None


def _expanded_to_positive(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    plan: BroadcastPlan,
    position: tuple[int, Sequence[bool]],
) -> list[ir.Value]:
    """Expand to the shape of one value, after a guard that fails for a size of 0.

    `position` is the position of the value, and for each of its axes whether the size may be 0.
    """
    reference, exempt = position
    sizes = nodes.shape(values[reference])
    if any(exempt) or nodes.opset < _MAX_OF_INTEGERS:
        forbidden = nodes.constant([-1 if axis else 0 for axis in exempt] or [0], "forbidden")
        empty = nodes.add("Equal", [sizes, forbidden], "is_empty")
        kept = _kept_unless(nodes, label, values[reference], sizes, empty)
    else:
        # An empty tensor cannot be reshaped to a shape without a 0.
        positive = nodes.add("Max", [sizes, nodes.constant([1], "one")], "positive_sizes")
        name = refusing_guard_name(BROADCAST.name, label, E1)
        kept = nodes.add("Reshape", [values[reference], positive], "kept", name=name)
    results = expand(nodes, values, plan, sizes)
    results[reference] = kept
    return results


def _kept_unless(
    nodes: StandardNodes, label: str, value: ir.Value, sizes: ir.Value, clash: ir.Value
) -> ir.Value:
    """A value, after a guard that fails if an axis has a clash."""
    code = nodes.constant([-E1.code], "code")
    asked = nodes.add("Where", [clash, code, sizes], "sizes_or_code")
    name = guard_name(BROADCAST.name, label, [E1])
    return nodes.add("Reshape", [value, asked], "kept", name=name)


def _expanded_to_one(
    nodes: StandardNodes,
    label: str,
    values: Sequence[ir.Value],
    operands: Sequence[Operand],
    reference: int,
) -> list[ir.Value]:
    """Expand one of two values of known rank to the shape of the other."""
    results = list(values)
    sizes = nodes.shape(values[reference])
    if _may_clash_at_0(operands):
        clash = _zero_against_one(nodes, *padded_shapes(nodes, values, operands))
        results[reference] = _kept_unless(nodes, label, values[reference], sizes, clash)
    name = refusing_guard_name(BROADCAST.name, label, E1)
    other = 1 - reference
    results[other] = nodes.add("Expand", [values[other], sizes], "expanded", name=name)
    return results


def _expanded_to_each_other(
    nodes: StandardNodes, label: str, values: Sequence[ir.Value], operands: Sequence[Operand]
) -> list[ir.Value]:
    """Expand each of two values to the shape of the other."""
    one, other = values
    if _may_clash_at_0(operands):
        sizes, wanted = padded_shapes(nodes, values, operands)
        # 2 cannot be reached from 0 or 1 and be compatible with the other.
        impossible = nodes.constant([2], "impossible")
        clash = _zero_against_one(nodes, sizes, wanted)
        wanted = nodes.add("Where", [clash, impossible, wanted], "sizes_or_impossible")
    else:
        wanted = nodes.shape(other)
    name = refusing_guard_name(BROADCAST.name, label, E1)
    first = nodes.add("Expand", [one, wanted], "expanded", name=name)
    second = nodes.add("Expand", [other, nodes.shape(first)], "expanded", name=f"{name} (B)")
    return [first, second]


def _zero_against_one(nodes: StandardNodes, one: ir.Value, other: ir.Value) -> ir.Value:
    """For each axis of two shapes of equal rank, whether one size is 0 and the other 1."""
    sums = nodes.add("Add", [one, other], "sums")
    return nodes.add("Equal", [sums, nodes.constant([1], "one")], "is_0_against_1")


def _may_clash_at_0(operands: Sequence[Operand]) -> bool:
    """Whether two operands may have sizes of 0 and 1 on the same axis."""
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands):
        return True
    return any(
        not fit_in_every_run(operands, sizes)
        and all(size in (0, 1) for size in sizes if isinstance(size, int))
        for _, sizes in aligned_axes(shapes)
    )


BY_OPERATORS = ShapeDecisions(
    common=common_shape, expanded=_expanded, aligned=aligned_shape, oldest_opset=9
)
"""Checks by standard operators."""


_FEWEST = 2
"""The minimum number of nodes; the operands of a single node are expanded with it."""


Sharing = list[ExaminedNode]
"""Nodes of one graph, in its order, whose operands are expanded once, in front of the first.

None of them reads other values than the operands of the first and results that have their common
shape; each reads all of these operands, or such a result.
"""


def find_shared_broadcasts(model: ir.Model, nodes: Sequence[ExaminedNode]) -> list[Sharing]:
    """Find the nodes that can share a Broadcast; the nodes to enforce are in graph order."""
    version, in_order = model.opset_imports[STANDARD_DOMAIN], every_node(model.graph)
    # A run need not reach a dead node, and a guard names the first of the nodes that share it.
    dead = set(dead_nodes(in_order))
    expandable = {n.target.node: n for n in nodes if _can_share(n)}
    found: dict[tuple[object, frozenset[ir.Value]], Sharing] = {}
    after: dict[ir.Value, Sharing] = {}
    for node in in_order:
        examined = expandable.get(node)
        if examined is None:
            source = _keeping_shape(node, version)
            if source in after:
                after[node.outputs[0]] = after[source]
        elif node not in dead:
            shared = next(_reached(examined, after), None)
            if shared is None:
                operands = frozenset(examined.target.inputs)
                shared = found.setdefault((node.graph, operands), [])
            shared.append(examined)
            after[examined.target.output] = shared
    return [shared for shared in found.values() if len(shared) >= _FEWEST]


def _can_share(examined: ExaminedNode) -> bool:
    """Whether a Broadcast in front makes the shapes of a node's operands equal, and no more."""
    plan, subject = examined.broadcast, Subject.EQUAL_SHAPES
    if plan is None or plan.alignment is not None or any(plan.single):
        return False
    if examined.target.operator is BROADCAST:
        return False
    # There is no Expand for bfloat16.
    types = {element_type_of(examined), *(operand.element_type for operand in examined.operands)}
    about_shapes = (o for o in examined.obligations if o.rule.requirement.subject is subject)
    return ElementType.BFLOAT16 not in types and all(
        obligation.status is Status.PROVED for obligation in about_shapes
    )


def _keeping_shape(node: ir.Node, version: int) -> ir.Value | None:
    """The input whose elements a node reads, and whose shape its result has; None for others."""
    rule = rule_for(node, version)
    if rule is None or rule.shapes is not like_first or 0 not in reads_elements_of(node):
        return None
    return node.inputs[0]


def _reached(examined: ExaminedNode, after: dict[ir.Value, Sharing]) -> Iterator[Sharing]:
    """The Broadcasts one of whose results a node reads, together with what they expand."""
    if any(examined.may_be_misinferred):
        # If only the shape of the result was read, ONNX Runtime would remove the guards as well.
        return
    values, graph = examined.target.inputs, examined.target.node.graph
    for shared in (after[value] for value in values if value in after):
        first = shared[0].target
        of_graph = first.node.graph is graph
        if of_graph and all(v in first.inputs or after.get(v) is shared for v in values):
            yield shared


def share_broadcasts(
    found: Sequence[Sharing], decisions: ShapeDecisions, groups: Groups
) -> frozenset[ir.Node]:
    """Expand the operands of nodes that share a Broadcast, in place.

    Args:
        found: The nodes.
        decisions: How shapes are checked.
        groups: Takes what is inserted.

    Returns:
        The nodes, which read the expanded operands now.
    """
    for shared in found:
        first = shared[0]
        target, nodes = first.target, groups.nodes(str(first.target.output.name))
        expanded = expand_operands(nodes, first, target.inputs, decisions)
        pairs = zip(target.inputs, expanded, strict=True)
        instead = {value: other for value, other in pairs if other is not value}
        groups.record_after(nodes, instead)
        cast(ir.Graph, target.node.graph).insert_before(target.node, nodes.nodes)
        for value, other in instead.items():
            other.type = value.type
        for examined in shared:
            node = examined.target.node
            for index, read in enumerate(node.inputs):
                if read in instead:
                    node.replace_input_with(index, instead[read])
    return frozenset(examined.target.node for shared in found for examined in shared)
