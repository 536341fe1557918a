"""A guard that integer division is defined, and the preliminary edition's infinity.

Both in standard operators, in as few passes over the data as there are: one over B for zeros, one
over A for the smallest value, and only where A has it one over both for a divisor of -1.
"""

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from sonnx_ort.rewriting.standard_nodes import StandardNodes

_SMALL_REDUCTION = 12
"""The first version of the standard operators that reduces 8-bit integers."""

_COMPARED = (ir.DataType.INT32, ir.DataType.INT64)
"""The integers that every version of Equal takes."""


@dataclass(frozen=True, slots=True)
class DivisionDomain:
    """What is left to a run of an integer division's domain.

    Attributes:
        zero: The code of the rule that a zero divisor breaks; None if none can be zero.
        overflow: The code of the rule that smallest / -1 breaks; None if that cannot be.
        smallest: The smallest value of the operands' type.
        element_type: The type in which they are compared.
        may_be_scalar: Whether the operands may have no axes.
        foldable: Whether ONNX Runtime may compute B before all runs: its Div ends the start of a
            session then if B has a zero, wherever the node stands, and without its name.
        in_branch: Whether the node stands in a branch of an If. ONNX Runtime's optimizer does not
            survive some Ifs in branches that it puts in the place of their If.
    """

    zero: int | None
    overflow: int | None
    smallest: int
    element_type: ir.DataType
    may_be_scalar: bool
    foldable: bool
    in_branch: bool


def guard_domain(
    nodes: StandardNodes, a: ir.Value, b: ir.Value, domain: DivisionDomain, *, name: str
) -> tuple[ir.Value, ir.Value]:
    """Let operands through where every quotient is defined.

    Args:
        nodes: Takes the new nodes.
        a: The dividend, of the shape of B.
        b: The divisor.
        domain: What is to be decided.
        name: The guard's name.

    Returns:
        A behind the guard, and B, behind it as well if it has to be.
    """
    shape = nodes.shape(a)
    decided = nodes.shape(shape) if domain.may_be_scalar else shape
    if domain.zero is not None:
        code = nodes.constant([-domain.zero], "code")
        has_zero = _any(nodes, _zeros(nodes, b, domain.element_type), "has_zero")
        decided = nodes.add("Where", [has_zero, code, decided], "shape_or_code")
    if domain.overflow is not None:
        decided = _unless_overflow(nodes, a, b, domain, domain.overflow, decided)
    names = name, f"{name} (B)"
    if domain.may_be_scalar:
        # A scalar's shape has no element that a code could take the place of, but its rank is one.
        decided = nodes.add("Reshape", [shape, decided], "shape_if_defined", name=name)
        names = "", ""
    first = nodes.add("Reshape", [a, decided], "defined", name=names[0])
    if not domain.foldable:
        return first, b
    return first, nodes.add("Reshape", [b, decided], "defined", name=names[1])


def with_infinity(
    nodes: StandardNodes, quotient: ir.Value, b: ir.Value, element_type: ir.DataType
) -> ir.Value:
    """Put +inf wherever B is zero, whatever the quotient is there.

    Args:
        nodes: Takes the new nodes.
        quotient: A divided by B.
        b: The divisor.
        element_type: The type of both.
    """
    zeros = _zeros(nodes, b, element_type)
    infinity = nodes.constant(np.inf, "infinity", element_type)
    # ONNX Runtime's Where makes -0 in its second input +0.
    return nodes.add("Where", [zeros, infinity, quotient], "infinity_or_quotient")


def _zeros(nodes: StandardNodes, b: ir.Value, element_type: ir.DataType) -> ir.Value:
    """Where a tensor has zeros."""
    if element_type in _COMPARED:
        return nodes.add("Equal", [b, nodes.constant(0, "zero", element_type)], "is_zero")
    nonzero = nodes.cast(b, ir.DataType.BOOL, "nonzero")
    # ONNX Runtime's optimizer takes a Not away.
    false = nodes.constant(0, "false", ir.DataType.BOOL)
    return nodes.add("Equal", [nonzero, false], "is_zero")


def _unless_overflow(  # noqa: PLR0913, PLR0917 - a graph's worth of values
    nodes: StandardNodes,
    a: ir.Value,
    b: ir.Value,
    domain: DivisionDomain,
    code: int,
    decided: ir.Value,
) -> ir.Value:
    """Look for a divisor of -1, if possible only where A has the smallest value somewhere."""
    smallest = nodes.constant(domain.smallest, "smallest", domain.element_type)
    at_smallest = nodes.add("Equal", [a, smallest], "is_smallest")
    minus_one = nodes.constant(-1, "minus_one", domain.element_type)
    impossible = nodes.constant([-code], "code")

    rare = nodes if domain.in_branch else nodes.body()
    at_minus_one = rare.add("Equal", [b, minus_one], "is_minus_one")
    both = rare.add("And", [at_smallest, at_minus_one], "overflows")
    some = _any(rare, both, "some_overflow")
    branch = rare.add("Where", [some, impossible, decided], "shape_or_code")
    if domain.in_branch:
        return branch

    usual = nodes.body()
    kept = usual.add("Identity", [decided], "shape_or_code")
    branches = {
        "then_branch": _branch(rare, branch, "look_for_minus_one"),
        "else_branch": _branch(usual, kept, "no_smallest_value"),
    }
    present = _any(nodes, at_smallest, "has_smallest")
    return nodes.add("If", [present], "shape_or_code", branches)


def _branch(nodes: StandardNodes, output: ir.Value, name: str) -> ir.Graph:
    output.type = ir.TensorType(ir.DataType.INT64)
    return ir.Graph([], [output], nodes=nodes.nodes, name=name)


def _any(nodes: StandardNodes, flags: ir.Value, purpose: str) -> ir.Value:
    """Whether a flag of whatever shape is true; if there are none, none is.

    Of no elements ONNX Runtime 1.23 gives 0, and 1.31 the smallest number of the type.
    """
    # Bytes are the quickest to reduce.
    small = nodes.opset >= _SMALL_REDUCTION
    carrier = ir.DataType.UINT8 if small else ir.DataType.FLOAT
    numbers = nodes.cast(flags, carrier, f"{purpose}_numbers")
    largest = nodes.add("ReduceMax", [numbers], f"{purpose}_number", {"keepdims": 0})
    if small:
        return nodes.cast(largest, ir.DataType.BOOL, purpose)
    return nodes.add("Greater", [largest, nodes.constant(0, "zero", carrier)], purpose)
