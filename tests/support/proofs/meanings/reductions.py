"""The smallest and the largest of all elements, or along one axis, and the end of a vector."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import z3

from sonnx_ort.profile.element_type import ElementType, Family
from support.proofs.run import Call, Meaning
from support.proofs.tensors import (
    Lines,
    Tensor,
    Vector,
    length_of,
    line,
    lines_of,
    reduced,
    scalar,
    term,
    vector_of,
)
from support.proofs.terms import NotInterpreted, is_signed, less, sort_of

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


def _reduction(smallest: bool) -> Meaning:
    """ReduceMin and ReduceMax of all elements; ReduceMax of the elements of each line too.

    Of no elements, ONNX Runtime gives 0 or the number of the type that any other one would replace;
    of several among which is NaN, any.
    """

    def meaning(call: Call) -> Tensor:
        if not smallest and (len(call.inputs) > 1 or call.attribute("axes") is not None):
            return along_an_axis(call, largest_of_line)
        call.only("keepdims")
        x = call.tensor(0)
        kind, elements = x.element_type, x.elements

        def before(one: z3.ExprRef, other: z3.ExprRef) -> z3.BoolRef:
            return less(one, other, kind) if smallest else less(other, one, kind)

        if isinstance(elements.length, int) and elements.length > 0:
            found = elements.at(0)
            for index in range(1, elements.length):
                found = z3.If(before(elements.at(index), found), elements.at(index), found)
        else:
            found = z3.FreshConst(
                elements.at(z3.IntVal(0)).sort()
                if not isinstance(elements.length, int)
                else _sort_of_none(kind),
                "extreme",
            )
        definitions, unordered = _is_extreme(found, x, before, call.node.op_type)
        call.run.definitions.append(z3.Or([definitions, *unordered]))
        if call.attribute("keepdims", 1) == 0:
            return scalar(kind, found)
        if not x.is_vector:
            raise NotInterpreted("a reduction that keeps several axes")
        return line(kind, vector_of([found]))

    return meaning


def _sort_of_none(kind: ElementType) -> z3.SortRef:
    return z3.IntSort() if kind.family is Family.INTEGER else sort_of(kind)


def _is_extreme(
    found: z3.ExprRef,
    x: Tensor,
    before: Callable[[z3.ExprRef, z3.ExprRef], z3.BoolRef],
    operator: str,
) -> tuple[z3.BoolRef, list[z3.BoolRef]]:
    """That one element is the first in an order, and what makes that untrue."""
    elements = x.elements
    length = elements.length
    none = _of_no_elements(found, x.element_type, operator)
    if isinstance(length, int):
        if length == 0:
            return none, []
        if any(_may_be_nan(elements.at(index)) for index in range(length)):
            raise NotInterpreted("a reduction of floats, of a known number")
        return z3.BoolVal(True), []
    place, wrong = z3.FreshInt("place"), z3.FreshInt("nan_at")
    there = z3.And(place >= 0, place < length, found == elements.at(place))
    all_behind = elements.for_all(lambda i: z3.Not(before(elements.at(i), found)))
    extreme = z3.And(all_behind, z3.Or(there, z3.And(length == 0, none)))
    if not _may_be_nan(elements.at(place)):
        return extreme, []
    return extreme, [z3.And(wrong >= 0, wrong < length, z3.fpIsNaN(elements.at(wrong)))]


def _may_be_nan(element: z3.ExprRef) -> bool:
    """Whether it is a float, and not made of an integer or a condition."""
    if not z3.is_fp(element) or isinstance(element, z3.FPNumRef):
        return z3.is_fp(element) and element.isNaN()
    if z3.is_app_of(element, z3.Z3_OP_ITE):
        return any(_may_be_nan(element.arg(branch)) for branch in (1, 2))
    if z3.is_app_of(element, z3.Z3_OP_UNINTERPRETED):
        return not z3.is_bv(element.arg(0))
    of_integer = element.num_args() > 1 and z3.is_bv(element.arg(element.num_args() - 1))
    return not (z3.is_app_of(element, z3.Z3_OP_FPA_TO_FP) and of_integer)


def _of_no_elements(found: z3.ExprRef, kind: ElementType, operator: str) -> z3.BoolRef:
    """What the largest of nothing is at most, and the smallest at least."""
    smallest = operator == "ReduceMin"
    if z3.is_fp(found):
        zero = z3.FPVal(0, found.sort())
        return z3.fpGEQ(found, zero) if smallest else z3.fpLEQ(found, zero)
    if kind.family is Family.INTEGER and not is_signed(kind):
        return z3.BoolVal(True) if smallest else found == 0
    return found >= 0 if smallest else found <= 0


REDUCTIONS: Mapping[str, Meaning] = MappingProxyType(
    {"ReduceMax": _reduction(smallest=False), "ReduceMin": _reduction(smallest=True)}
)
"""By operator what it gives."""
