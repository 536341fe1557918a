"""A guard that two operands have one shape, in standard operators.

    Shape(A), Shape(B) -> Equal -> Where(equal, Shape(A), -code) -> Reshape(A) -> A

Nothing is copied: the `Reshape` gives its operand as it is, or fails.
"""

import onnx_ir as ir

from sonnx_ort.rewriting.standard_nodes import StandardNodes


def guard_same_shape(  # noqa: PLR0913 - the operands, the rule, and what is known
    nodes: StandardNodes,
    a: ir.Value,
    b: ir.Value,
    *,
    code: int,
    name: str,
    equal_ranks: bool,
    through: tuple[bool, bool],
) -> tuple[ir.Value, ir.Value]:
    """Let operands through where they have one shape.

    Args:
        nodes: Takes the new nodes.
        a: The first operand.
        b: The second operand.
        code: The code of the rule.
        name: The guard's name.
        equal_ranks: Whether the operands are known to have one rank.
        through: Which of them to let through a guard; both or either.

    Returns:
        Both, those behind a guard that have to be.
    """
    own, other = nodes.shape(a), nodes.shape(b)
    impossible = nodes.constant([-code], "code")
    if not equal_ranks:
        # Equal broadcasts: it would compare a shape of one size to each size of the other.
        ranks = nodes.shape(own), nodes.shape(other)
        decided = _where_equal(nodes, *ranks, impossible)
        other = nodes.add("Reshape", [other, decided], "shape_of_equal_rank", name=f"{name} (rank)")
    decided = _where_equal(nodes, own, other, impossible)
    names = (name, f"{name} (B)" if all(through) else name)
    first, second = (
        nodes.add("Reshape", [value, decided], "of_equal_shape", name=own_name) if passes else value
        for value, passes, own_name in zip((a, b), through, names, strict=True)
    )
    return first, second


def _where_equal(
    nodes: StandardNodes, one: ir.Value, other: ir.Value, impossible: ir.Value
) -> ir.Value:
    equal = nodes.add("Equal", [one, other], "equal")
    return nodes.add("Where", [equal, one, impossible], "shape_or_code")
