"""Operators that give a tensor another shape, or refuse to: what guards are."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import z3

from support.proofs.run import Call, Meaning
from support.proofs.tensors import (
    Length,
    Tensor,
    Vector,
    counted,
    counted_alike,
    counted_with_ones_behind,
    line,
    number_of_elements,
    term,
    vector_of,
)
from support.proofs.terms import (
    NotInterpreted,
)


def _reshape(call: Call) -> Tensor:
    call.only("allowzero")
    x, asked = call.tensor(0), call.tensor(1)
    if not asked.is_vector:
        raise NotInterpreted("Reshape to a shape that is no vector")
    if call.node.name:
        call.run.asked[call.node.name] = (z3.BoolVal(True), asked)
    wanted = asked.elements
    if _is_line(wanted):
        return line(x.element_type, x.elements)
    if isinstance(wanted.length, int) and isinstance(x.rank, int):
        sizes, count = _asked_sizes(call, x, wanted)
    else:
        sizes, count = _asked_of_any_rank(call, x, wanted)
    return Tensor(x.element_type, sizes, Vector(count, x.elements.at))


def _is_line(wanted: Vector) -> bool:
    if not isinstance(wanted.length, int) or wanted.length != 1:
        return False
    only = wanted.at(0)
    return z3.is_int_value(only) and only.as_long() == -1


def _asked_sizes(call: Call, x: Tensor, wanted: Vector) -> tuple[Vector, Length]:
    """Between known ranks everything is told by the sizes."""
    copied = not call.attribute("allowzero", 0)
    count = term(x.elements.length)
    sizes, open_axes, others = [], [], z3.IntVal(1)
    for axis in range(int(wanted.length)):
        size = wanted.at(axis)
        call.fails_if(size < -1)
        if copied:
            if axis < int(x.rank):
                size = z3.If(size == 0, x.sizes.at(axis), size)
            else:
                call.fails_if(size == 0)
        is_open = wanted.at(axis) == -1
        others = others * z3.If(is_open, 1, size)
        open_axes.append(is_open)
        sizes.append(size)
    call.fails_if(z3.Sum([z3.If(o, 1, 0) for o in open_axes]) > 1 if open_axes else False)
    inferred = z3.Or(open_axes)
    # The interpreter says nothing of an open axis beside one of the size 0.
    call.requires(z3.Implies(inferred, others != 0))
    quotient = _quotient(count, others)
    call.run.definitions.append(
        z3.Implies(
            z3.And(inferred, others > 0),
            z3.And(quotient * others <= count, count < (quotient + 1) * others),
        )
    )
    call.fails_if(z3.If(inferred, quotient * others != count, others != count))
    known = [z3.If(o, quotient, size) for o, size in zip(open_axes, sizes, strict=True)]
    return vector_of([z3.simplify(size) for size in known]), x.elements.length


def _quotient(count: z3.ArithRef, others: z3.ArithRef) -> z3.ArithRef:
    """What is inferred, a number where all sizes are known; else a name for it."""
    numbers = [z3.simplify(each) for each in (count, others)]
    if all(map(z3.is_int_value, numbers)) and numbers[1].as_long() > 0:
        return z3.IntVal(numbers[0].as_long() // numbers[1].as_long())
    return z3.FreshInt("inferred")


def _asked_of_any_rank(call: Call, x: Tensor, wanted: Vector) -> tuple[Vector, Length]:
    """Of unknown ranks: whether the numbers of elements agree follows from `counting`."""
    if call.attribute("allowzero", 0):
        return _asked_as_it_is(call, x, wanted)
    rank = term(x.rank)

    def size(index: Any) -> z3.ExprRef:
        return z3.If(wanted.at(index) == 0, x.sizes.any_at(index), wanted.at(index))

    def impossible(index: Any) -> z3.BoolRef:
        asked = wanted.at(index)
        return z3.Or(asked < -1, z3.And(asked == 0, index >= rank))

    sizes = Vector(wanted.length, size, wanted.backwards)
    count = number_of_elements(sizes)
    result = Tensor(x.element_type, sizes, Vector(count, x.elements.at))
    if not isinstance(count, int):
        call.run.definitions += counted(count, sizes)
    call.run.definitions += [*counted_alike([x, result]), counted_with_ones_behind(x, result)]
    call.requires(wanted.for_all(lambda i: wanted.at(i) != -1))
    call.fails_if(wanted.exists(impossible))
    call.fails_if(term(count) != term(x.elements.length))
    return sizes, x.elements.length


def _asked_as_it_is(call: Call, x: Tensor, wanted: Vector) -> tuple[Vector, Length]:
    """Of unknown ranks, where a 0 is a size."""
    count = number_of_elements(wanted)
    result = Tensor(x.element_type, wanted, Vector(count, x.elements.at))
    if not isinstance(count, int):
        call.run.definitions += counted(count, wanted)
    for other in (x, *call.run.operands):
        call.run.definitions += counted_alike([result, other])
    call.requires(wanted.for_all(lambda i: wanted.at(i) != -1))
    call.fails_if(wanted.exists(lambda i: wanted.at(i) < -1))
    call.fails_if(term(count) != term(x.elements.length))
    return wanted, x.elements.length


SHAPES: Mapping[str, Meaning] = MappingProxyType({"Reshape": _reshape})
"""By operator what it gives."""
