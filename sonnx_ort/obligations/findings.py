"""Finds violations of the general restrictions in a whole graph."""

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
    """Find all violations of the restrictions in a canonical model."""
    nodes = list(every_node(model.graph))
    versions = [model.opset_imports.get(node.domain, 1) for node in nodes]
    return tuple(
        chain(
            _wrong_declarations(model, facts),
            _unused_inputs(model),
            _dead_nodes(nodes),
            chain.from_iterable(map(_defaults, nodes, versions)),
            chain.from_iterable(map(_conversions, nodes, versions, repeat(facts))),
            _missing_declarations(model, facts),
        )
    )


def _missing_declarations(model: ir.Model, facts: Facts) -> Iterator[Finding]:
    for value in defined_values(model.graph):
        if not value.name or value.is_initializer():
            continue
        place = f"value '{value.name}'"
        if value.type is None:
            yield Finding(GR2, place, "the file gives no type")
        if value.shape is None and facts.may_be_tensor(value):
            yield Finding(IMPLICIT_SHAPE, place, "the file gives no shape")


def _conversions(node: ir.Node, version: int, facts: Facts) -> Iterator[Finding]:
    """Operands of two types at an operator that also supports one common type."""
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
        if _is_omitted(node, assumption):
            detail = f"'{assumption.name}' is left out; {assumption.assumed}"
            yield Finding(GR4, _place(node), detail)


def _is_omitted(node: ir.Node, assumption: Assumption) -> bool:
    name, position = assumption.name, assumption.position
    if position is not None:
        return position >= len(node.inputs) or node.inputs[position] is None
    if name == "pads" and node.attributes.get_string("auto_pad", "NOTSET") != "NOTSET":
        # auto_pad computes the pads, so they must be omitted.
        return False
    return name not in node.attributes


def _dead_nodes(nodes: list[ir.Node]) -> Iterator[Finding]:
    for node in dead_nodes(nodes):
        yield Finding(DEAD_NODE, _place(node), "no output of it contributes to one of the graph")


def _unused_inputs(model: ir.Model) -> Iterator[Finding]:
    for value in model.graph.inputs:
        if not value.uses() and not value.is_graph_output():
            yield Finding(UNUSED_INPUT, f"input '{value.name}'", "nothing reads it")


def _wrong_declarations(model: ir.Model, facts: Facts) -> Iterator[Finding]:
    for value in defined_values(model.graph):
        if value.is_graph_input():
            continue
        stated = declared_type(value)
        actual = facts.element_type(value)
        if stated is not None and actual is not None and stated != actual:
            yield Finding(FALSE_CLAIM, f"value '{value.name}'", f"declared {stated}, is {actual}")
        actual_shape = facts.shape(value)
        stated_shape = declared_shape(value)
        if contradict(stated_shape, actual_shape):
            yield Finding(
                FALSE_CLAIM,
                f"value '{value.name}'",
                f"declared {format_shape(stated_shape)}, is {format_shape(actual_shape)}",
            )


def _place(node: ir.Node) -> str:
    return f"{node.op_type} '{label_of(node)}'"


def dead_nodes(nodes: Sequence[ir.Node]) -> list[ir.Node]:
    """Find the nodes that contribute to no output of the graph, in graph order.

    In `nodes`, the nodes of a subgraph follow the node that contains it.
    """
    dead: set[ir.Node] = set()
    for node in reversed(nodes):
        readers = [reader for output in node.outputs for reader in output.consumers()]
        is_output = any(output.is_graph_output() for output in node.outputs)
        if not is_output and all(reader in dead for reader in readers):
            dead.add(node)
    return [node for node in nodes if node in dead]
