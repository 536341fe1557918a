"""The guard of `RepresentableQuotient`: no division of the smallest value by -1.

One pass over A for the smallest value, and only where A has it one over both for a divisor of -1.
"""

import onnx_ir as ir

from sonnx_ort.profile.element_type import smallest_value
from sonnx_ort.rewriting.native.guard import ElementGuard, GuardedNode, Operands, any_true
from sonnx_ort.rewriting.standard_nodes import StandardNodes


def _decide(
    nodes: StandardNodes, operands: Operands, node: GuardedNode, code: int, decided: ir.Value
) -> ir.Value:
    """Look for a divisor of -1, if possible only where A has the smallest value somewhere."""
    a, b = operands
    smallest = nodes.constant(smallest_value(node.element_type), "smallest", node.computed_in)
    at_smallest = nodes.add("Equal", [a, smallest], "is_smallest")
    minus_one = nodes.constant(-1, "minus_one", node.computed_in)
    impossible = nodes.constant([-code], "code")

    # ONNX Runtime's optimizer does not survive some Ifs in branches that it puts in the place of
    # their If.
    in_branch = node.examined.target.in_branch
    rare = nodes if in_branch else nodes.body()
    at_minus_one = rare.add("Equal", [b, minus_one], "is_minus_one")
    both = rare.add("And", [at_smallest, at_minus_one], "overflows")
    some = any_true(rare, both, "some_overflow")
    branch = rare.add("Where", [some, impossible, decided], "shape_or_code")
    if in_branch:
        return branch

    usual = nodes.body()
    kept = usual.add("Identity", [decided], "shape_or_code")
    branches = {
        "then_branch": _branch(rare, branch, "look_for_minus_one"),
        "else_branch": _branch(usual, kept, "no_smallest_value"),
    }
    present = any_true(nodes, at_smallest, "has_smallest")
    return nodes.add("If", [present], "shape_or_code", branches)


def _branch(nodes: StandardNodes, output: ir.Value, name: str) -> ir.Graph:
    output.type = ir.TensorType(ir.DataType.INT64)
    return ir.Graph([], [output], nodes=nodes.nodes, name=name)


REPRESENTABLE_QUOTIENT = ElementGuard(_decide, lambda kind: kind.dtype.kind == "i", lambda _: ())
"""No element of A is the smallest value where the one of B is -1."""
