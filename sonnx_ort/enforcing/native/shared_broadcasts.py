"""Expands operands once for all nodes of a graph that broadcast the same values.

    A, B -> (guards, as in front of one node) -> A', B'

    A', B' -> Div -> C        B', A' -> Sub -> D        C, B' -> Mul -> E

All of them read what the guards pass on, so no run computes one of them before its shapes are
checked. C has the common shape, and depends on all guards: it stands for any operand.
"""

from collections.abc import Iterator, Sequence
from typing import cast

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.findings import dead_nodes
from sonnx_ort.analysis.values.graph_node import reads_elements_of, rule_for
from sonnx_ort.enforcing.broadcasting import ShapeDecisions, expand_operands
from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.facts.operators import like_first
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.rule import Status, Subject

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
    expandable = {n.ruled.node: n for n in nodes if _can_share(n)}
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
                operands = frozenset(examined.ruled.inputs)
                shared = found.setdefault((node.graph, operands), [])
            shared.append(examined)
            after[examined.ruled.output] = shared
    return [shared for shared in found.values() if len(shared) >= _FEWEST]


def _can_share(examined: ExaminedNode) -> bool:
    """Whether a Broadcast in front makes the shapes of a node's operands equal, and no more."""
    plan, subject = examined.broadcast, Subject.EQUAL_SHAPES
    if plan is None or plan.alignment is not None or any(plan.single):
        return False
    if examined.ruled.operator is BROADCAST:
        return False
    # There is no Expand for bfloat16.
    types = {examined.element_type, *(operand.element_type for operand in examined.operands)}
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
    values, graph = examined.ruled.inputs, examined.ruled.node.graph
    for shared in (after[value] for value in values if value in after):
        first = shared[0].ruled
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
        ruled, nodes = first.ruled, groups.nodes(str(first.ruled.output.name))
        expanded = expand_operands(nodes, first, ruled.inputs, decisions)
        pairs = zip(ruled.inputs, expanded, strict=True)
        instead = {value: other for value, other in pairs if other is not value}
        groups.record_after(nodes, instead)
        cast(ir.Graph, ruled.node.graph).insert_before(ruled.node, nodes.nodes)
        for value, other in instead.items():
            other.type = value.type
        for examined in shared:
            node = examined.ruled.node
            for index, read in enumerate(node.inputs):
                if read in instead:
                    node.replace_input_with(index, instead[read])
    return frozenset(examined.ruled.node for shared in found for examined in shared)
