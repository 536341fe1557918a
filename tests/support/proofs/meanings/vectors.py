"""Operators that make vectors, most of them of sizes."""

from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import z3

from sonnx_ort.profile.element_type import ElementType
from support.proofs.run import Call, Meaning, constant_of
from support.proofs.tensors import (
    Tensor,
    Vector,
    length_of,
    line,
    reduced,
    term,
    vector_of,
)
from support.proofs.terms import (
    NotInterpreted,
    literal,
    without_wrapping,
)


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
