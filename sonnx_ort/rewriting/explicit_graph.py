"""Writes down what a graph leaves out: the general restrictions GR2 and GR4."""

import onnx_ir as ir
from onnx_ir.passes.common import AddDefaultAttributesPass
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.facts import Facts
from sonnx_ort.loading.value_names import defined_values
from sonnx_ort.profile.domain import DOMAIN


def make_graph_explicit(model: ir.Model, facts: Facts) -> None:
    """Write types, shapes and defaults of attributes into a graph.

    Only what follows is written: a declaration that the file makes is left as it is, and a symbol
    only if the model's inputs are declared with it.

    Args:
        model: The model, before its nodes are replaced; changed in place.
        facts: What is known of its values.
    """
    symbols = _declared_symbols(model)
    for value in defined_values(model.graph):
        if value.type is None:
            dtype = _data_type(facts.element_type(value))
            value.type = None if dtype is None else ir.TensorType(dtype)
        if value.shape is None and value.type is not None:
            shape = facts.shape(value)
            if shape is not None:
                known = [d if isinstance(d, int) or d in symbols else None for d in shape]
                value.shape = ir.Shape(known)
    AddDefaultAttributesPass()(model)
    for node in RecursiveGraphIterator(model.graph):
        if _is_guard(node):
            # A guard is recognized by having none.
            node.attributes.clear()


def _declared_symbols(model: ir.Model) -> set[str | None]:
    return {
        dimension.value
        for value in model.graph.inputs
        for dimension in value.shape or ()
        if isinstance(dimension, ir.SymbolicDim)
    }


def _data_type(element_type: str | None) -> ir.DataType | None:
    return None if element_type is None else ir.DataType[element_type.upper()]


def _is_guard(node: ir.Node) -> bool:
    producer = node.inputs[0].producer() if node.inputs and node.inputs[0] is not None else None
    return producer is not None and producer.domain == DOMAIN and node.op_type == "Reshape"
