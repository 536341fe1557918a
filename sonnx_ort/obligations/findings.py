"""Looks at a whole graph for what the general restrictions demand."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import onnx_ir as ir

from sonnx_ort.knowledge.declarations import declared_shape, declared_type
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.knowledge.schemas import Assumption, assumptions, convertible_inputs
from sonnx_ort.loading.traversal import defined_values, every_node
from sonnx_ort.obligations.obligation import Finding
from sonnx_ort.obligations.targets import label_of
from sonnx_ort.profile.general import (
    DEAD_NODE,
    FALSE_CLAIM,
    GR2,
    GR3,
    GR4,
    IMPLICIT_SHAPE,
    UNUSED_INPUT,
)
from sonnx_ort.profile.operand import contradict, format_shape


def find(model: ir.Model, facts: Facts) -> tuple[Finding, ...]:
    """Find everything that the restrictions do not allow.

    Args:
        model: A canonical model; not modified.
        facts: What is known of its values.
    """
    nodes = list(every_node(model.graph))
    versions = [model.opset_imports.get(node.domain, 1) for node in nodes]
    return tuple(
        chain(
            _false_claims(model, facts),
            _unused_inputs(model),
            _dead_nodes(nodes),
            chain.from_iterable(map(_defaults, nodes, versions)),
            chain.from_iterable(map(_conversions, nodes, versions, repeat(facts))),
            _left_to_inference(model, facts),
        )
    )


def _left_to_inference(model: ir.Model, facts: Facts) -> Iterator[Finding]:
    for value in defined_values(model.graph):
        if not value.name or value.is_initializer():
            continue
        place = f"value '{value.name}'"
        if value.type is None:
            yield Finding(GR2, place, "the file gives no type")
        if value.shape is None and facts.may_be_tensor(value):
            yield Finding(IMPLICIT_SHAPE, place, "the file gives no shape")


def _conversions(node: ir.Node, version: int, facts: Facts) -> Iterator[Finding]:
    """Operands of two types where the operator would take them of one as well."""
    pairs = convertible_inputs(node.op_type, version, node.domain)
    if not pairs:
        return
    types = {i: facts.element_type(v) for i, v in enumerate(node.inputs) if v is not None}
    for one, other in pairs:
        first, second = types.get(one.position), types.get(other.position)
        if None not in (first, second) and first != second:
            detail = f"{one.name} is {first} and {other.name} is {second}; one is converted"
            yield Finding(GR3, _place(node), detail)
            return


def _defaults(node: ir.Node, version: int) -> Iterator[Finding]:
    for assumption in assumptions(node.op_type, version, node.domain):
        if _is_left_out(node, assumption):
            detail = f"'{assumption.name}' is left out; {assumption.assumed}"
            yield Finding(GR4, _place(node), detail)


def _is_left_out(node: ir.Node, assumption: Assumption) -> bool:
    name, position = assumption.name, assumption.position
    if position is not None:
        return position >= len(node.inputs) or node.inputs[position] is None
    if name == "pads" and node.attributes.get_string("auto_pad", "NOTSET") != "NOTSET":
        # They come from auto_pad then, and must not be given.
        return False
    return name not in node.attributes


def _dead_nodes(nodes: list[ir.Node]) -> Iterator[Finding]:
    for node in dead_nodes(nodes):
        yield Finding(DEAD_NODE, _place(node), "no output of it contributes to one of the graph")


def _unused_inputs(model: ir.Model) -> Iterator[Finding]:
    for value in model.graph.inputs:
        if not value.uses() and not value.is_graph_output():
            yield Finding(UNUSED_INPUT, f"input '{value.name}'", "nothing reads it")


def _false_claims(model: ir.Model, facts: Facts) -> Iterator[Finding]:
    for value in defined_values(model.graph):
        if value.is_graph_input():
            continue
        claimed = declared_type(value)
        known = facts.element_type(value)
        if claimed is not None and known is not None and claimed != known:
            yield Finding(FALSE_CLAIM, f"value '{value.name}'", f"declared {claimed}, is {known}")
        known_shape = facts.shape(value)
        claimed_shape = declared_shape(value)
        if contradict(claimed_shape, known_shape):
            yield Finding(
                FALSE_CLAIM,
                f"value '{value.name}'",
                f"declared {format_shape(claimed_shape)}, is {format_shape(known_shape)}",
            )


def _place(node: ir.Node) -> str:
    return f"{node.op_type} '{label_of(node)}'"


def dead_nodes(nodes: Sequence[ir.Node]) -> list[ir.Node]:
    """Find the nodes of which no output contributes to one of the graph.

    Args:
        nodes: All nodes of a model, those of a subgraph behind the node that it belongs to.

    Returns:
        The dead ones, in their order.
    """
    dead: set[ir.Node] = set()
    for node in reversed(nodes):
        readers = [reader for output in node.outputs for reader in output.consumers()]
        given_out = any(output.is_graph_output() for output in node.outputs)
        if not given_out and all(reader in dead for reader in readers):
            dead.add(node)
    return [node for node in nodes if node in dead]
