"""Writes down what a file omits: types, shapes, and the values that ONNX assumes.

Nothing that is computed changes: a type or shape is written only where it is proved.
"""

from typing import cast

import onnx_ir as ir

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.change import set_input, stored_constant
from sonnx_ort.conforming.defaults import omitted_inputs, write_attributes
from sonnx_ort.loading.traversal import ValueNames, defined_values, every_node
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.graph import GR2, GR4, GRAPH, IMPLICIT_SHAPE
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
    """Declare the type and the shape that a value lacks, if these rules want them."""
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
