"""The smallest and the largest of all elements."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import z3

from sonnx_ort.profile.element_type import ElementType, Family
from support.proofs.meanings.lines import along_an_axis, largest_of_line
from support.proofs.run import Call, Meaning
from support.proofs.tensors import (
    Tensor,
    line,
    scalar,
    vector_of,
)
from support.proofs.terms import (
    NotInterpreted,
    is_signed,
    less,
    sort_of,
)


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
    """What the largest of nothing is at most; of the smallest nothing is known."""
    if operator == "ReduceMin":
        return z3.BoolVal(True)
    if z3.is_fp(found):
        return z3.fpLEQ(found, z3.FPVal(0, found.sort()))
    unsigned = kind.family is Family.INTEGER and not is_signed(kind)
    return found == 0 if unsigned else found <= 0


REDUCTIONS: Mapping[str, Meaning] = MappingProxyType(
    {"ReduceMax": _reduction(smallest=False), "ReduceMin": _reduction(smallest=True)}
)
"""By operator what it gives."""
