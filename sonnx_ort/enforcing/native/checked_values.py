"""The guard behind a value whose elements have to be finite, or within a contract.

y -> any outside? -> y's shape or [-code] -> Reshape(y) -> y
"""

import onnx_ir as ir

from sonnx_ort.custom_ops.inspection import value_guard_name
from sonnx_ort.enforcing.hidden_shapes import hide_shape
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.errors import SonnxError
from sonnx_ort.guards.guard import GuardedNode
from sonnx_ort.guards.value_guards import breach
from sonnx_ort.obligations.checked_values import CheckedValue
from sonnx_ort.profile.contract_rules import OnSizes
from sonnx_ort.profile.element_type import ElementType


def value_guard(nodes: StandardNodes, checked: CheckedValue, value: ir.Value) -> ir.Value:
    """The value, readable only if its elements are as demanded.

    Raises:
        SonnxError: No operator compares numbers of its type with the limits.
    """
    # ONNX Runtime takes tensors of any rank for an input that is declared as a scalar.
    of_any_rank = checked.node is None and checked.operand.scalar_inputs
    read = hide_shape(nodes, value) if checked.may_be_misinferred or of_any_rank else value
    requirement, obligation = checked.requirement, checked.obligation
    kind = ElementType.INT64 if isinstance(requirement, OnSizes) else checked.element_type
    known = GuardedNode(obligation.operands, kind, kind)
    try:
        found = breach(nodes, requirement, [read, *checked.others], known)
    except ValueError as reason:
        raise SonnxError(
            f"{checked.rule.id}: '{checked.operand.value}' {reason}; give a smaller one, or use "
            "the python backend"
        ) from reason
    shape, code = nodes.shape(read), nodes.constant([-checked.rule.code], "code")
    may_be_scalar = checked.operand.scalar_inputs or not checked.operand.shape
    # ONNX Runtime renames what it inlines of a branch: guards are found by names in between.
    returned = bool(obligation.path) and value.is_graph_output()
    name = value_guard_name(obligation.operator, obligation.node, checked.rule, requirement)
    if may_be_scalar or returned:
        # A scalar's shape has no element to hold a code, so its rank is used.
        decided = nodes.add("Where", [found, code, nodes.shape(shape)], "rank_or_code")
        shape = nodes.add("Reshape", [shape, decided], "shape_if_within", name=name)
        return nodes.add("Reshape", [read, shape], "checked")
    decided = nodes.add("Where", [found, code, shape], "shape_or_code")
    return nodes.add("Reshape", [read, decided], "checked", name=name)
