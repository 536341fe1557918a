"""Looks at a whole graph for what the general restrictions demand."""

from collections.abc import Iterator
from itertools import chain

import onnx
import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.declarations import declared_shape, declared_type
from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.finding import Finding
from sonnx_ort.analysis.liveness import dead_nodes
from sonnx_ort.analysis.targets import label_of
from sonnx_ort.loading.value_names import defined_values
from sonnx_ort.profile.general import (
    DEAD_NODE,
    FALSE_CLAIM,
    GR2,
    GR3,
    GR4,
    UNUSED_INPUT,
)
from sonnx_ort.profile.operand import contradict, format_shape


def find(model: ir.Model, facts: Facts) -> tuple[Finding, ...]:
    """Find everything that the restrictions do not allow.

    Args:
        model: A canonical model; not modified.
        facts: What is known of its values.
    """
    nodes = list(RecursiveGraphIterator(model.graph))
    return tuple(
        chain(
            _false_claims(model, facts),
            _unused_inputs(model),
            _dead_nodes(nodes),
            chain.from_iterable(_defaults(node, model) for node in nodes),
            chain.from_iterable(_conversions(node, facts) for node in nodes),
            _implicit_types(model),
        )
    )


def _implicit_types(model: ir.Model) -> Iterator[Finding]:
    for value in defined_values(model.graph):
        if not value.name or value.is_initializer():
            continue
        if value.type is None:
            yield Finding(GR2, f"value '{value.name}'", "the file gives neither type nor shape")
        elif value.shape is None:
            yield Finding(GR2, f"value '{value.name}'", "the file gives no shape")


def _conversions(node: ir.Node, facts: Facts) -> Iterator[Finding]:
    """Pow alone takes operands of two types and converts one."""
    if node.domain != "" or node.op_type != "Pow" or len(node.inputs) < 2:
        return
    types = [facts.element_type(value) for value in node.inputs if value is not None]
    if None not in types and len(set(types)) > 1:
        yield Finding(
            GR3, _place(node), f"its operands are {types[0]} and {types[1]}; one is converted"
        )


def _defaults(node: ir.Node, model: ir.Model) -> Iterator[Finding]:
    version = model.opset_imports.get(node.domain)
    try:
        schema = onnx.defs.get_schema(node.op_type, version or 1, node.domain)
    except onnx.defs.SchemaError:
        return
    for name, attribute in schema.attributes.items():
        if attribute.required or name in node.attributes or not attribute.default_value.name:
            continue
        value = onnx.helper.get_attribute_value(attribute.default_value)
        shown = value.decode() if isinstance(value, bytes) else value
        yield Finding(GR4, _place(node), f"'{name}' is left out; ONNX assumes {shown!r}")


def _dead_nodes(nodes: list[ir.Node]) -> Iterator[Finding]:
    for node in dead_nodes(nodes):
        yield Finding(DEAD_NODE, _place(node), "no output of it contributes to one of the graph")


def _unused_inputs(model: ir.Model) -> Iterator[Finding]:
    for value in model.graph.inputs:
        if not value.uses() and not value.is_graph_output():
            yield Finding(UNUSED_INPUT, f"input '{value.name}'", "nothing reads it")


def _false_claims(model: ir.Model, facts: Facts) -> Iterator[Finding]:
    for value in defined_values(model.graph):
        if value.is_graph_input() or value.is_initializer():
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
