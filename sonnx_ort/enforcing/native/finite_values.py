"""The guard behind a value whose elements have to be finite.

y -> Greater, Less -> any outside -> y's shape or [-code] -> Reshape(y) -> y
"""

import onnx_ir as ir

from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.custom_ops.inspection import finite_guard_name
from sonnx_ort.enforcing.hidden_shapes import hide_shape
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.guards.element_guards import not_within
from sonnx_ort.guards.guard import any_true
from sonnx_ort.obligations.findings import FiniteValue
from sonnx_ort.profile.graph import FINITE, finite_limits


def finite_guard(nodes: StandardNodes, checked: FiniteValue, value: ir.Value) -> ir.Value:
    """The value, readable only if its elements are finite."""
    element_type, operand = checked.element_type, checked.operand
    compared = CARRIERS.get(element_type, element_type)
    read = hide_shape(nodes, value) if checked.may_be_misinferred else value
    elements = read
    if element_type in CARRIERS:
        elements = nodes.cast(read, compared, "compared")
    outside = not_within(nodes, elements, compared, finite_limits(element_type.dtype))
    found = any_true(nodes, outside, "any_outside")
    shape, code = nodes.shape(read), nodes.constant([-FINITE.code], "code")
    may_be_scalar = operand.scalar_inputs or not operand.shape
    # ONNX Runtime renames what it inlines of a branch: guards are found by names in between.
    returned = bool(checked.obligation.path) and value.is_graph_output()
    name = finite_guard_name(checked.obligation.operator, checked.obligation.node, operand.value)
    if may_be_scalar or returned:
        # A scalar's shape has no element to hold a code, so its rank is used.
        decided = nodes.add("Where", [found, code, nodes.shape(shape)], "rank_or_code")
        shape = nodes.add("Reshape", [shape, decided], "shape_if_finite", name=name)
        return nodes.add("Reshape", [read, shape], "finite")
    decided = nodes.add("Where", [found, code, shape], "shape_or_code")
    return nodes.add("Reshape", [read, decided], "finite", name=name)
