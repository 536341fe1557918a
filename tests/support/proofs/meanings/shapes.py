"""Operators that give a tensor another shape, or refuse to, and those that make vectors."""

from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import z3

from sonnx_ort.profile.element_type import ElementType
from support.proofs.run import Call, Meaning, constant_of
from support.proofs.tensors import (
    Length,
    Tensor,
    Vector,
    counted,
    counted_alike,
    counted_with_ones_behind,
    length_of,
    line,
    number_of_elements,
    reduced,
    term,
    vector_of,
)
from support.proofs.terms import NotInterpreted, literal, without_wrapping


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


def _shape(call: Call) -> Tensor:
    call.only()
    return line(ElementType.INT64, call.tensor(0).sizes)


def _identity(call: Call) -> Tensor:
    return call.tensor(0)


def _constant(call: Call) -> Tensor:
    call.only("value")
    return constant_of(call.attribute("value"))


def _gather(call: Call) -> Tensor:
    call.only("axis")
    x, indices = call.tensor(0), call.tensor(1)
    if call.attribute("axis", 0) != 0 or not x.is_vector:
        raise NotInterpreted("Gather of other things than a vector")
    wanted, none = indices.elements, literal(0, x.element_type)

    def outside(index: Any) -> z3.BoolRef:
        length = term(x.elements.length)
        return z3.Or(wanted.at(index) < -length, wanted.at(index) >= length)

    def at(index: Any) -> z3.ExprRef:
        place = wanted.at(index)
        if z3.is_int_value(place) and place.as_long() >= 0:
            return x.elements.any_at(place.as_long(), none)
        return x.elements.any_at(
            length_of(z3.If(place < 0, place + term(x.elements.length), place)), none
        )

    call.fails_if(wanted.exists(outside))
    return Tensor(x.element_type, indices.sizes, Vector(wanted.length, at))


def _concat(call: Call) -> Tensor:
    call.only("axis")
    parts = [call.tensor(position) for position in range(len(call.inputs))]
    if call.attribute("axis") != 0 or not all(part.is_vector for part in parts):
        raise NotInterpreted("Concat of other things than vectors")
    return line(parts[0].element_type, reduce(_joined, [part.elements for part in parts]))


def _joined(one: Vector, other: Vector) -> Vector:
    if isinstance(one.length, int) and isinstance(other.length, int):
        terms = [part.at(i) for part in (one, other) for i in range(part.length)]
        return vector_of(terms)

    def at(index: Any) -> z3.ExprRef:
        return z3.If(
            term(index) < one.length, one.any_at(index), other.any_at(reduced(index - one.length))
        )

    return Vector(length_of(one.length + other.length), at, one.backwards or other.backwards)


def _constant_of_shape(call: Call) -> Tensor:
    call.only("value")
    wanted = call.tensor(0)
    value = constant_of(call.attribute("value"))
    if not isinstance(wanted.elements.length, int) or wanted.elements.length != 1:
        raise NotInterpreted("ConstantOfShape of other things than a vector")
    asked = wanted.elements.at(0)
    length = without_wrapping(asked)
    call.requires(asked == length)
    call.fails_if(length < 0)
    return line(value.element_type, Vector(length_of(length), lambda _: value.elements.at(0)))


def _range(call: Call) -> Tensor:
    call.only()
    start, limit, step = (call.tensor(position).elements.at(0) for position in range(3))
    if not (z3.is_int_value(start) and z3.is_int_value(step)):
        raise NotInterpreted("Range between unknown numbers")
    if start.as_long() != 0 or step.as_long() != 1:
        raise NotInterpreted("Range that does not count from 0")
    length = length_of(z3.If(limit < 0, 0, limit))
    return line(ElementType.INT64, Vector(length, term))


def _tile(call: Call) -> Tensor:
    """Copies of a vector: none or one."""
    call.only()
    x, repeats = call.tensor(0), call.tensor(1)
    if not x.is_vector:
        raise NotInterpreted("Tile of other things than a vector")
    copies = repeats.elements.at(0)
    call.requires(z3.Or(copies == 0, copies == 1))
    length = length_of(z3.If(copies == 0, 0, term(x.elements.length)))
    return line(x.element_type, Vector(length, x.elements.at))


VECTORS: Mapping[str, Meaning] = MappingProxyType(
    {
        "Concat": _concat,
        "Constant": _constant,
        "ConstantOfShape": _constant_of_shape,
        "Gather": _gather,
        "Identity": _identity,
        "Range": _range,
        "Shape": _shape,
        "Tile": _tile,
    }
)
"""By operator what it gives."""
