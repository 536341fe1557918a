"""Reductions along one axis, and the end of a vector."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import z3

from support.proofs.lines import Lines, lines_of
from support.proofs.run import Call, Meaning
from support.proofs.tensors import Tensor, Vector, length_of, line, reduced, term
from support.proofs.terms import NotInterpreted

_BEYOND_ALL = 1 << 62

Defined = Callable[[Lines, z3.ArithRef, z3.ExprRef], z3.BoolRef]
"""What is true of the result of a line."""


def along_an_axis(call: Call, defined: Defined) -> Tensor:
    """A reduction that gives one number for each line, all of them in one vector."""
    call.only("axes", "keepdims")
    if call.attribute("keepdims", 1) != 0:
        raise NotInterpreted(f"{call.node.op_type} that keeps the axis")
    x, axis = call.tensor(0), _axis(call)
    rank = term(x.rank)
    call.fails_if(z3.Or(axis < -rank, axis >= rank))
    lines = lines_of(x, axis)
    results = z3.Function(f"{call.node.output[0]}_of", z3.IntSort(), lines.at(*_ZEROS).sort())
    call.run.definitions.append(lines.facts)
    call.run.definitions.append(lines.every(lambda each: defined(lines, each, results(each))))
    return line(x.element_type, Vector(lines.count, lambda index: results(term(index))))


_ZEROS = z3.IntVal(0), z3.IntVal(0)


def _axis(call: Call) -> int:
    axes = call.attribute("axes")
    if axes is None:
        axes = [_known(call, 1)]
    if len(axes) != 1:
        raise NotInterpreted(f"{call.node.op_type} along several axes")
    return int(axes[0])


def _known(call: Call, position: int) -> int:
    """The only element of an input that is constant."""
    element = z3.simplify(call.tensor(position).elements.at(0))
    if not z3.is_int_value(element) and not z3.is_bv_value(element):
        raise NotInterpreted(f"{call.node.op_type} by an unknown input {position}")
    return element.as_signed_long() if z3.is_bv(element) else int(element.as_long())


def largest_of_line(lines: Lines, each: z3.ArithRef, found: z3.ExprRef) -> z3.BoolRef:
    """The largest element; any number where there is a NaN, and at most 0 of no elements."""
    numbers = lines.throughout(each, lambda element: z3.Not(z3.fpIsNaN(element)))
    none_above = lines.throughout(each, lambda element: z3.Not(z3.fpLT(found, element)))
    equal = z3.Not(lines.throughout(each, lambda element: found != element))
    nothing = z3.fpLEQ(found, z3.FPVal(0, found.sort()))
    extreme = z3.If(lines.length <= 0, nothing, z3.And(none_above, equal))
    return z3.Implies(numbers, extreme)


def sum_of_line(lines: Lines, each: z3.ArithRef, found: z3.ExprRef) -> z3.BoolRef:
    """NaN where there is one, 0 of no elements, and -inf where every element is."""
    sort = found.sort()
    numbers = lines.throughout(each, lambda element: z3.Not(z3.fpIsNaN(element)))
    infinite = lines.throughout(each, lambda element: element == z3.fpMinusInfinity(sort))
    return z3.And(
        z3.Implies(z3.Not(numbers), z3.fpIsNaN(found)),
        z3.Implies(lines.length <= 0, z3.fpIsZero(found)),
        z3.Implies(z3.And(lines.length > 0, infinite), found == z3.fpMinusInfinity(sort)),
    )


def _sum(call: Call) -> Tensor:
    return along_an_axis(call, sum_of_line)


def _slice(call: Call) -> Tensor:
    """What stands behind a place of a vector."""
    if call.node.attribute:
        call.only("axes", "starts", "ends")
        axes, starts, ends = (list(call.attribute(n)) for n in ("axes", "starts", "ends"))
    else:
        axes, starts, ends = [0], [_known(call, 1)], [_known(call, 2)]
    x = call.tensor(0)
    if not x.is_vector or axes != [0] or len(starts) != 1 or ends != [_BEYOND_ALL]:
        raise NotInterpreted("Slice of other things than the end of a vector")
    length, start = term(x.elements.length), z3.IntVal(starts[0])
    first = z3.If(start < 0, z3.If(start + length < 0, 0, start + length), start)
    left = length_of(z3.If(first < length, length - first, 0))
    return line(
        x.element_type, Vector(left, lambda index: x.elements.any_at(reduced(index + first)))
    )


LINES: Mapping[str, Meaning] = MappingProxyType({"ReduceSum": _sum, "Slice": _slice})
"""By operator what it gives."""
