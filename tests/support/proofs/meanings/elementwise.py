"""Operators that compute each element of their result from those at the same place."""

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import z3

from sonnx_ort.profile.element_type import ElementType, Family
from support.proofs.powers import converted_from, facts_of_powers, power, some_power
from support.proofs.run import Call, Meaning
from support.proofs.tensors import (
    Length,
    Tensor,
    Vector,
    number_of_elements,
    same_sizes,
    term,
    vector_of,
)
from support.proofs.terms import (
    NEAREST,
    NotInterpreted,
    alike,
    converted,
    equal,
    less,
    literal,
    nearest_float,
    wrapped,
    wrapped_anyhow,
)


def _cast(call: Call) -> Tensor:
    call.only("to")
    x = call.tensor(0)
    name = onnx.TensorProto.DataType.Name(call.attribute("to")).lower()
    to = ElementType.named(name)
    if to is None:
        raise NotInterpreted(f"Cast to {name}")

    def at(index: Any) -> z3.ExprRef:
        return converted(x.elements.at(index), x.element_type, to, call.run.to_float)

    return Tensor(to, x.sizes, Vector(x.elements.length, at, x.elements.backwards))


def _elementwise(function: Callable[..., z3.ExprRef], result: ElementType | None = None) -> Meaning:
    """An operator that computes each element of its result alone; it broadcasts."""

    def meaning(call: Call) -> Tensor:
        call.only()
        operands = [call.tensor(position) for position in range(len(call.inputs))]
        kinds = {operand.element_type for operand in operands[-2:]}
        if len(kinds) > 1:
            raise NotInterpreted(f"{call.node.op_type} of {' and '.join(sorted(kinds))}")
        (kind,) = kinds
        sizes, readers = _broadcast(call, operands)
        lengths = [o.elements.length for o in operands if _known_equal(o.sizes, sizes)]
        length = lengths[0] if lengths else number_of_elements(sizes)
        elements = Vector(
            length,
            lambda index: function(kind, *[read(index) for read in readers]),
            any(operand.elements.backwards for operand in operands),
        )
        return Tensor(result or kind, sizes, elements)

    return meaning


def _broadcast(
    call: Call, operands: list[Tensor]
) -> tuple[Vector, list[Callable[[Any], z3.ExprRef]]]:
    """The sizes of the result, and by operand what gives the element at an index of the result.

    Operands of more than one axis, of which some size is not known, have to have one shape, but for
    those of a single element.
    """
    wide = [operand for operand in operands if not operand.is_scalar]
    if all(_known_equal(operand.sizes, wide[0].sizes) for operand in wide):
        sizes = wide[0].sizes if wide else vector_of([])
        return sizes, [
            (lambda _, o=o: o.elements.at(0)) if o.is_scalar else o.elements.at for o in operands
        ]
    if all(operand.is_vector for operand in wide):
        return _broadcast_vectors(call, operands)
    known = [_numbers(operand.sizes) for operand in operands]
    if None not in known:
        return _broadcast_known(operands, [shape for shape in known if shape is not None])
    first, *others = (operand for operand in wide if not _is_single(operand))
    for other in others:
        if not _known_equal(first.sizes, other.sizes):
            call.requires(same_sizes(first.sizes, other.sizes))
    return first.sizes, [_read_by_many(call, operand, first) for operand in operands]


def _broadcast_vectors(
    call: Call, operands: list[Tensor]
) -> tuple[Vector, list[Callable[[Any], z3.ExprRef]]]:
    """Scalars and tensors of one axis, of any lengths."""
    lengths = [operand.elements.length for operand in operands if not operand.is_scalar]
    length = reduce(_common_length, lengths)
    for one in lengths:
        call.fails_if(z3.And(term(one) != 1, term(one) != term(length)))
    sizes = vector_of([term(length)])
    return sizes, [_repeated(operand) for operand in operands]


def _is_single(operand: Tensor) -> bool:
    """Whether the number of axes is known, and each is of size 1."""
    return set(_numbers(operand.sizes) or (0,)) == {1}


def _read_by_many(call: Call, operand: Tensor, many: Tensor) -> Callable[[Any], z3.ExprRef]:
    """What gives an element of an operand that is repeated if it has one element alone."""
    if operand.is_scalar or _is_single(operand):
        # Otherwise the result has the axes of the single element.
        call.requires(term(many.rank) >= term(operand.rank))
        return lambda _: operand.elements.at(0)
    return operand.elements.at


def _numbers(sizes: Vector) -> tuple[int, ...] | None:
    """A shape of known sizes; None for others."""
    if not isinstance(sizes.length, int):
        return None
    numbers = [z3.simplify(sizes.at(axis)) for axis in range(sizes.length)]
    if not all(map(z3.is_int_value, numbers)):
        return None
    return tuple(number.as_long() for number in numbers)


def _broadcast_known(
    operands: list[Tensor], shapes: list[tuple[int, ...]]
) -> tuple[Vector, list[Callable[[Any], z3.ExprRef]]]:
    """Shapes of known sizes that fit, of any ranks."""
    common = np.broadcast_shapes(*shapes)

    def reader(operand: Tensor, shape: tuple[int, ...]) -> Callable[[Any], z3.ExprRef]:
        places = np.broadcast_to(np.arange(np.prod(shape, dtype=int)).reshape(shape), common)
        return vector_of([operand.elements.at(int(place)) for place in places.ravel()]).at

    sizes = vector_of([z3.IntVal(size) for size in common])
    return sizes, [reader(o, shape) for o, shape in zip(operands, shapes, strict=True)]


def _known_equal(one: Vector, other: Vector) -> bool:
    if one is other:
        return True
    if not (isinstance(one.length, int) and one.length == other.length):
        return False
    return all(z3.eq(one.at(axis), other.at(axis)) for axis in range(one.length))


def _common_length(one: Length, other: Length) -> Length:
    if isinstance(one, int):
        return other if one == 1 else one
    if isinstance(other, int):
        return one if other == 1 else other
    return z3.If(one == 1, other, one)


def _repeated(operand: Tensor) -> Callable[[Any], z3.ExprRef]:
    elements = operand.elements
    if operand.is_scalar or (isinstance(elements.length, int) and elements.length == 1):
        return lambda _: elements.at(0)
    if isinstance(elements.length, int):
        return elements.at
    return lambda index: z3.If(elements.length == 1, elements.at(0), elements.at(index))


def _where(kind: ElementType, condition: z3.BoolRef, x: z3.ExprRef, y: z3.ExprRef) -> z3.ExprRef:
    if kind.family is Family.FLOAT:
        # ONNX Runtime makes -0 in the second input +0.
        x = z3.If(z3.fpIsZero(x), literal(0, kind), x)
    return z3.If(condition, *alike(x, y))


def _less(kind: ElementType, one: z3.ExprRef, other: z3.ExprRef) -> z3.BoolRef:
    return less(one, other, kind)


def _largest(call: Call) -> Tensor:
    """Max of sizes; ONNX Runtime compares numbers beyond int32 wrongly."""
    x, y = (call.tensor(position) for position in range(2))
    if len(call.inputs) != 2 or x.element_type is not ElementType.INT64:
        raise NotInterpreted("Max of other things than two shapes")
    for operand in (x, y):
        elements = operand.elements
        call.requires(
            elements.for_all(
                lambda i, e=elements: z3.And(e.at(i) < (1 << 31), e.at(i) >= -(1 << 31))
            )
        )
    return _elementwise(_larger_size)(call)


def _larger_size(_: ElementType, one: z3.ExprRef, other: z3.ExprRef) -> z3.ExprRef:
    if not (z3.is_int(one) and z3.is_int(other)):
        raise NotInterpreted("Max of numbers that are no sizes")
    return z3.If(one < other, other, one)


def _sum(kind: ElementType, one: z3.ExprRef, other: z3.ExprRef) -> z3.ExprRef:
    one, other = alike(one, other)
    if z3.is_int(one) and kind is ElementType.INT64:
        return wrapped(one + other)
    return _by_kind(one, lambda: z3.fpAdd(NEAREST, one, other), lambda: one + other)


def _difference(kind: ElementType, one: z3.ExprRef, other: z3.ExprRef) -> z3.ExprRef:
    one, other = alike(one, other)
    if z3.is_int(one) and kind is ElementType.INT64:
        return wrapped(one - other)
    return _by_kind(one, lambda: z3.fpSub(NEAREST, one, other), lambda: one - other)


def _product(kind: ElementType, one: z3.ExprRef, other: z3.ExprRef) -> z3.ExprRef:
    one, other = alike(one, other)
    if z3.is_int(one) and kind is ElementType.INT64 and z3.is_int_value(other):
        return one if other.as_long() == 1 else wrapped_anyhow(one * other)
    return _by_kind(one, lambda: z3.fpMul(NEAREST, one, other), lambda: one * other)


def _by_kind(
    like: z3.ExprRef, floats: Callable[[], z3.ExprRef], integers: Callable[[], z3.ExprRef]
) -> z3.ExprRef:
    if z3.is_fp(like):
        return floats()
    if z3.is_bv(like):
        return integers()
    raise NotInterpreted(f"arithmetic on the sort {like.sort()}")


def _quotient(_: ElementType, one: z3.ExprRef, other: z3.ExprRef) -> z3.ExprRef:
    return _of_floats(z3.fpDiv, one, other)


def _of_floats(function: Callable[..., z3.ExprRef], *operands: z3.ExprRef) -> z3.ExprRef:
    if not all(z3.is_fp(operand) for operand in operands):
        raise NotInterpreted("integer arithmetic")
    return function(NEAREST, *operands)


def _reciprocal(kind: ElementType, x: z3.ExprRef) -> z3.ExprRef:
    return _of_floats(z3.fpDiv, literal(1, kind), x)


def _negative(kind: ElementType, x: z3.ExprRef) -> z3.ExprRef:
    if z3.is_fp(x):
        return z3.fpNeg(x)
    if z3.is_int(x) and kind is ElementType.INT64:
        return wrapped(-x)
    raise NotInterpreted("Neg of integers that are no sizes")


def _magnitude(_: ElementType, x: z3.ExprRef) -> z3.ExprRef:
    if not z3.is_fp(x):
        raise NotInterpreted("Abs of integers")
    return z3.fpAbs(x)


def _is_nan(_: ElementType, x: z3.ExprRef) -> z3.BoolRef:
    if not z3.is_fp(x):
        raise NotInterpreted("IsNaN of integers")
    return z3.fpIsNaN(x)


def _power(call: Call) -> Tensor:
    """Pow of integers that were converted to double."""
    call.only()
    x, y = (call.tensor(position) for position in range(2))
    single = isinstance(y.elements.length, int) and y.elements.length == 1
    if not single:
        call.requires(same_sizes(x.sizes, y.sizes))
    known = call.run.to_float is nearest_float
    bits = set()

    def at(index: Any) -> z3.ExprRef:
        base, exponent = x.elements.at(index), y.elements.at(0 if single else index)
        integers = converted_from(base), converted_from(exponent)
        if known:
            return some_power(*integers, base)
        if integers[0].size() not in bits:
            bits.add(integers[0].size())
            call.run.definitions.append(facts_of_powers(integers[0].size()))
        return power(*integers)

    elements = Vector(x.elements.length, at, x.elements.backwards or y.elements.backwards)
    return Tensor(ElementType.DOUBLE, x.sizes, elements)


ELEMENTWISE: Mapping[str, Meaning] = MappingProxyType(
    {
        "Abs": _elementwise(_magnitude),
        "Add": _elementwise(_sum),
        "And": _elementwise(lambda _, x, y: z3.And(x, y)),
        "Cast": _cast,
        "Div": _elementwise(_quotient),
        "Equal": _elementwise(lambda _, x, y: equal(x, y), ElementType.BOOL),
        "Floor": _elementwise(lambda _, x: z3.fpRoundToIntegral(z3.RTN(), x)),
        "Greater": _elementwise(lambda kind, x, y: _less(kind, y, x), ElementType.BOOL),
        "IsNaN": _elementwise(_is_nan, ElementType.BOOL),
        "Less": _elementwise(_less, ElementType.BOOL),
        "Max": _largest,
        "Mul": _elementwise(_product),
        "Neg": _elementwise(_negative),
        "Not": _elementwise(lambda _, x: z3.Not(x)),
        "Or": _elementwise(lambda _, x, y: z3.Or(x, y)),
        "Pow": _power,
        "Reciprocal": _elementwise(_reciprocal),
        "Sqrt": _elementwise(lambda _, x: _of_floats(z3.fpSqrt, x)),
        "Sub": _elementwise(_difference),
        "Where": _elementwise(_where),
    }
)
"""By operator what it gives."""
