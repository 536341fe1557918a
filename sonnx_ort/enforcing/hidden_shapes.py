"""Keeps ONNX Runtime from computing a Shape from wrong static shapes.

If ONNX Runtime knows all sizes of a value statically, it computes the Shape from them. These sizes
can be wrong: its kernels contradict them for a PRelu that broadcasts both ways and for a reduction
of an empty tensor. It also accepts tensors of any rank for an input declared as a scalar. A Loop's
state has no static shape, so a Loop without iterations passes a value on and hides its shape until
the run.

If ONNX Runtime knows all sizes of a value, it also removes what nothing but a Shape of it reads:
the node, all in front of it, and their checks. So where nothing but Shapes reads what a checked
node computes, they read a value whose shape is hidden.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import cast

import onnx_ir as ir

from sonnx_ort.enforcing.nodes import StandardNodes, uses_of
from sonnx_ort.enforcing.record import Groups
from sonnx_ort.knowledge.declarations import declared_type
from sonnx_ort.knowledge.facts import Facts, has_scalars, is_control_input
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.targets import CheckedValue
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.rule import Status

_LOOP = 1
"""The first opset with Loop."""

LOOP_OF_BFLOAT16 = 16
"""The first opset in which a Loop's state can be bfloat16."""


def hide_misinferred_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], examined: ExaminedNode
) -> tuple[ir.Value, ...]:
    """Hide the shapes of those operands that ONNX Runtime may infer wrongly."""
    return tuple(
        hide_shape(nodes, value) if may_be_misinferred else value
        for value, may_be_misinferred in zip(values, examined.may_be_misinferred, strict=True)
    )


def hide_shape(nodes: StandardNodes, value: ir.Value) -> ir.Value:
    """Pass a value through a Loop, so that its shape is known only in a run."""
    trips = nodes.constant(0, "no_iteration")
    condition = nodes.constant(True, "condition", ElementType.BOOL)
    body = {"body": _body(nodes, value)}
    return nodes.add("Loop", [trips, condition, value], f"{value.name}_of_any_rank", body)


def oldest_opset_with_hidden_shapes(examined: ExaminedNode) -> int:
    """The oldest opset in which the operands of a node can be hidden."""
    types = {operand.element_type for operand in examined.operands}
    hidden = examined.operands[0].scalar_inputs or any(examined.may_be_misinferred)
    return LOOP_OF_BFLOAT16 if hidden and ElementType.BFLOAT16 in types else _LOOP


def hide_scalars_behind(
    graph: ir.Graph,
    groups: Groups,
    nodes: Iterable[ExaminedNode],
    facts: Facts,
    checked: Iterable[CheckedValue] = (),
) -> None:
    """Hide the shapes of inputs declared as scalars on which operands or these values depend.

    A Scan needs the shape; its body gets a state of unknown shape in any case. ONNX Runtime's
    optimizer replaces a Dropout by its ratio if the ratio is computed.
    """
    read = [*(node.target.inputs for node in nodes), *((each.value,) for each in checked)]
    inputs = dict.fromkeys(v for values in read for v in facts.inputs_behind(values))
    uses = {
        value: [u for u in each if u[0].op_type != "Scan" and not is_control_input(*u)]
        for value, each in uses_of(v for v in inputs if has_scalars([v])).items()
    }
    if uses:
        hiding = groups.nodes("inputs")
        behind = {value: hide_shape(hiding, value) for value in uses}
        groups.read_behind_inputs(graph, hiding, behind, uses)


def _body(nodes: StandardNodes, value: ir.Value) -> ir.Graph:
    boolean = ir.TensorType(ir.DataType.BOOL)
    iteration = nodes.value("iteration")
    iteration.type, iteration.shape = ir.TensorType(ir.DataType.INT64), ir.Shape([])
    go_on, still = nodes.value("go_on"), nodes.value("still")
    for flag in (go_on, still):
        flag.type, flag.shape = boolean, ir.Shape([])
    state, following = nodes.value("state"), nodes.value("next_state")
    state.type = following.type = value.type
    return ir.Graph(
        [iteration, go_on, state],
        [still, following],
        nodes=[ir.node("Identity", [go_on], outputs=[still]), _next_state(state, following)],
        name="nothing",
    )


def _next_state(state: ir.Value, following: ir.Value) -> ir.Node:
    """A node whose output has the state's type; a Loop without iterations never computes it."""
    if isinstance(state.type, ir.SequenceType) and isinstance(state.type.elem_type, ir.TensorType):
        # Identity takes sequences since opset 14.
        return ir.node(
            "SequenceEmpty", [], {"dtype": state.type.elem_type.dtype.value}, outputs=[following]
        )
    return ir.node("Identity", [state], outputs=[following])


def values_read_for_shapes(model: ir.Model, examination: Examination) -> tuple[ir.Value, ...]:
    """The values that only Shapes read, behind nodes that a run has to check, sorted by name."""
    checked = {
        examined.target.node
        for examined in examination.nodes
        if any(o.rule.in_run and o.status is Status.RUNTIME for o in examined.obligations)
    }
    checked.update(value.node for value in examination.checked_values if value.node is not None)
    nodes = every_node(model.graph)
    if not any(_reads_shape(node, 0) for node in nodes):
        return ()
    owners = {body: node for node in nodes for body in subgraphs_of(node)}
    unneeded = checked - _needed(model.graph, nodes, owners)
    return tuple(sorted(_read_behind(unneeded, owners), key=lambda value: str(value.name)))


def oldest_opset_to_hide(values: Iterable[ir.Value], facts: Facts) -> int:
    """The oldest opset in which the shapes of values can be hidden."""
    types = {facts.element_type(value) or declared_type(value) for value in values}
    return LOOP_OF_BFLOAT16 if ElementType.BFLOAT16 in types else 1


def hide_from_shapes(values: Iterable[ir.Value], groups: Groups) -> None:
    """Let Shapes read values whose shapes are known only in a run."""
    for value in values:
        nodes, readers = groups.nodes(str(value.name)), tuple(value.uses())
        given = hide_shape(nodes, value)
        given.type = value.type
        producer = cast(ir.Node, value.producer())
        cast(ir.Graph, producer.graph).insert_after(producer, nodes.nodes)
        for node, index in readers:
            if _reads_shape(node, index):
                node.replace_input_with(index, given)
        groups.record_behind(nodes, {value: given})


def _needed(
    graph: ir.Graph, nodes: Iterable[ir.Node], owners: dict[ir.Graph, ir.Node]
) -> set[ir.Node]:
    """The nodes whose elements a run needs, or which nothing reads: ONNX Runtime keeps both."""
    needed: set[ir.Node] = set()
    found = [*_producers(graph.outputs), *filter(_is_unread, nodes)]
    while found:
        node = found.pop()
        if node in needed:
            continue
        needed.add(node)
        read = [v for i, v in enumerate(node.inputs) if not _reads_shape(node, i)]
        found += _producers([*read, *(v for body in subgraphs_of(node) for v in body.outputs)])
        if (owner := owners.get(cast(ir.Graph, node.graph))) is not None:
            found.append(owner)
    return needed


def _read_behind(nodes: Collection[ir.Node], owners: dict[ir.Graph, ir.Node]) -> Iterator[ir.Value]:
    """The operands of all Shapes that nodes lead to, each once."""
    found, seen, given = list(nodes), set(nodes), set[ir.Value]()
    while found:
        node = found.pop()
        following = [use.node for output in node.outputs for use in output.uses()]
        if any(output.is_graph_output() for output in node.outputs):
            following += filter(None, [owners.get(cast(ir.Graph, node.graph))])
        for output in node.outputs:
            if output not in given and any(_reads_shape(*use) for use in output.uses()):
                given.add(output)
                yield output
        found += [each for each in dict.fromkeys(following) if each not in seen]
        seen.update(following)


def _producers(values: Iterable[ir.Value | None]) -> Iterator[ir.Node]:
    return (node for v in values if v is not None and (node := v.producer()) is not None)


def _is_unread(node: ir.Node) -> bool:
    """Whether nothing reads a node; ONNX Runtime keeps it, unless it is a Shape."""
    read = any(output.uses() or output.is_graph_output() for output in node.outputs)
    return not read and not _reads_shape(node, 0)


def _reads_shape(node: ir.Node, index: int) -> bool:
    return node.op_type == "Shape" and node.domain == STANDARD_DOMAIN and index == 0
