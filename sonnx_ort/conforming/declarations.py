"""Writes down what a file omits: types, shapes, the values that ONNX assumes, and outputs.

Nothing that is computed changes: a type or shape is written only where it is proved.
"""

from collections.abc import Container, Mapping
from typing import cast

import onnx_ir as ir

from sonnx_ort.conforming.change import set_input, stored_constant
from sonnx_ort.conforming.defaults import omitted_inputs, write_attributes
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.knowledge.value_types import optional_outputs, undefined_outputs
from sonnx_ort.loading.traversal import ValueNames, defined_values, every_node, label_of
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.graph import EDGES, GR2, GR4, GRAPH, IMPLICIT_SHAPE, UNREAD
from sonnx_ort.profile.operator import DOMAIN

ALL = frozenset({GR2.id, GR4.id, IMPLICIT_SHAPE.id})
"""The rules on what stands in a file."""


def meet_graph_rules(model: ir.Model, demands: Demands) -> None:
    """Make a graph explicit before the rules on graphs, if asked for, are decided on it."""
    if GRAPH in demands.operators:
        make_graph_explicit(model, Facts(model))


def make_graph_explicit(
    model: ir.Model,
    facts: Facts,
    rules: frozenset[str] = ALL,
    violated: frozenset[ir.Node] = frozenset(),
    *,
    in_words: bool = False,
) -> None:
    """Write inferred types, shapes and default attributes into a graph, in place.

    Only proved facts are written, and existing declarations are kept. A symbol is written only if
    the model's inputs declare it. If a Loop collects values, no shape is written of which ONNX
    Runtime knows less: it decides the shape of the Loop's output if there is no iteration.

    `rules` are to be met. The attributes of `violated` nodes are written in any case; with
    `in_words`, those too that ONNX states in words alone.
    """
    symbols = _declared_symbols(model)
    for value in defined_values(model.graph):
        producer = value.producer()
        if producer is None or producer.domain != DOMAIN:
            _declare(value, facts, rules, symbols)
    for node in every_node(model.graph):
        # A guard of the python backend is recognized by having no attributes.
        if not _is_guard(node) and (GR4.id in rules or node in violated):
            write_attributes(node, model.opset_imports, facts, in_words=in_words)


def _declare(
    value: ir.Value, facts: Facts, rules: frozenset[str], symbols: frozenset[str | None]
) -> None:
    if value.type is None and GR2.id in rules:
        value.type = facts.type(value)
    if value.shape is None and value.type is not None and IMPLICIT_SHAPE.id in rules:
        shape = facts.shape_to_declare(value)
        if shape is not None:
            known = [d if isinstance(d, int) or d in symbols else None for d in shape]
            value.shape = ir.Shape(known)


def _declared_symbols(model: ir.Model) -> frozenset[str | None]:
    return frozenset(
        dimension.value
        for value in model.graph.inputs
        for dimension in value.shape or ()
        if isinstance(dimension, ir.SymbolicDim)
    )


def _is_guard(node: ir.Node) -> bool:
    producer = node.inputs[0].producer() if node.inputs and node.inputs[0] is not None else None
    return producer is not None and producer.domain == DOMAIN and node.op_type == "Reshape"


def add_outputs(
    model: ir.Model, names: ValueNames, rules: Container[str], without: Container[str]
) -> Mapping[str, tuple[str, ...]]:
    """Make what nodes of the main graph omit, or give in vain, outputs of it, in place.

    Args:
        model: The model.
        names: Its names.
        rules: The rules to keep: Graph.edges for what is omitted, Graph.unread for what is unread.
        without: The labels of nodes, and the names of unread values, that stay as they are.

    Returns:
        The names of all outputs of each node that left some out, by its label; and the name of each
        unread value that is an output now, by itself.
    """
    given: dict[str, tuple[str, ...]] = {}
    for node in model.graph:
        unread = [v for v in unread_outputs(node) if UNREAD.id in rules and v.name not in without]
        given |= {str(value.name): (str(value.name),) for value in unread}
        left_out = []
        if EDGES.id in rules and label_of(node) not in without:
            left_out = _name_outputs(node, model.opset_imports.get(node.domain, 1), names)
        if left_out:
            given[label_of(node)] = tuple(str(output.name) for output in node.outputs)
        model.graph.outputs.extend([*unread, *left_out])
    return given


def unread_outputs(node: ir.Node) -> list[ir.Value]:
    """The named outputs of a node that nothing reads, if something reads another one."""
    read = [bool(output.uses()) or output.is_graph_output() for output in node.outputs]
    pairs = zip(node.outputs, read, strict=True)
    return [output for output, is_read in pairs if output.name and not is_read] if any(read) else []


def _name_outputs(node: ir.Node, version: int, names: ValueNames) -> list[ir.Value]:
    """Name the outputs that a node omits, and give them."""
    left_out = [
        each
        for each in optional_outputs(node.op_type, version, node.domain)
        if each.position >= len(node.outputs) or not node.outputs[each.position].name
    ]
    if not left_out:
        return []
    node.resize_outputs(max(len(node.outputs), left_out[-1].position + 1))
    for parameter in left_out:
        name = names.fresh(f"{node.outputs[0].name}_{parameter.name.lower()}")
        node.outputs[parameter.position].name = name
    return [node.outputs[parameter.position] for parameter in left_out]


def omit_outputs(model: ir.Model) -> None:
    """Leave out the outputs of nodes that no draft defines and nothing reads, in place."""
    for node in every_node(model.graph):
        undefined = undefined_outputs(
            node.op_type, model.opset_imports.get(node.domain, 1), node.domain
        )
        for parameter in undefined:
            output = (
                node.outputs[parameter.position] if parameter.position < len(node.outputs) else None
            )
            if output is not None and not output.uses() and not output.is_graph_output():
                output.name, output.type, output.shape = "", None, None
        given = [position for position, output in enumerate(node.outputs) if output.name]
        if undefined and given:
            node.resize_outputs(given[-1] + 1)


def declare_outputs(model: ir.Model, facts: Facts) -> None:
    """Write the types and shapes of the outputs of a graph, in place, as far as they are known."""
    for value in model.graph.outputs:
        _declare(value, facts, ALL, _declared_symbols(model))


def give_inputs(model: ir.Model, facts: Facts, names: ValueNames, rule: str) -> None:
    """Give each node the omitted inputs that a rule wants, in place."""
    for node in every_node(model.graph):
        for position, elements in list(omitted_inputs(node, model.opset_imports, facts, rule)):
            stem = node.outputs[0].name if node.outputs else node.op_type
            graph, name = cast(ir.Graph, node.graph), names.fresh(f"{stem}_default")
            value, made = stored_constant(graph, name, elements, model.ir_version)
            if made is not None:
                node.prepend(made)
            set_input(node, position, value)
            # ONNX allows a Split one of the two.
            node.attributes.pop("num_outputs", None)
