"""Terms about shapes as formulas."""

from collections.abc import Mapping, Sequence

import z3

from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.terms import language as terms
from support.proofs.tensors import Tensor, for_all, term

Operands = Mapping[str, Tensor]


def holds(requirement: OnShapes, operands: Sequence[Tensor]) -> z3.BoolRef:
    """Whether the shapes of operands are as a requirement demands."""
    names = requirement.names_of(len(operands))
    return _formula(requirement.term, dict(zip(names, operands, strict=True)))


def _formula(  # noqa: PLR0911 - a case for each constructor
    demand: terms.Term, operands: Operands
) -> z3.BoolRef:
    match demand:
        case terms.Decided(decided, _):
            return z3.BoolVal(decided)
        case terms.All(inner):
            return z3.And([_formula(each, operands) for each in inner])
        case terms.Either(inner):
            return z3.Or([_formula(each, operands) for each in inner])
        case terms.Each(of):
            return z3.And([_formula(of(terms.Tensor(name)), operands) for name in operands])
        case terms.IfGiven(tensor, inner):
            return _formula(inner, operands) if tensor.name in operands else z3.BoolVal(True)
        case terms.Compare(left, relation, right):
            one, other = _number(left, operands), _number(right, operands)
            there = [_exists(number, operands) for number in (left, right)]
            return z3.And(*there, _compared(one, relation, other))
        case terms.IsMultiple(number, factor):
            return z3.And(_exists(number, operands), _number(number, operands) % factor == 0)
        case terms.HasAxis(tensor, axis, or_end):
            rank = term(operands[tensor.name].rank)
            return z3.And(-rank <= axis, axis < rank + int(or_end))
        case terms.SizesBehind(tensor, axis, longest):
            x = operands[tensor.name]
            first = axis + 1 + (0 if axis >= 0 else term(x.rank))
            short = for_all(x.rank, lambda i: z3.Or(i < first, x.sizes.at(i) <= longest))
            return z3.And(_formula(terms.HasAxis(tensor, axis), operands), short)


def _compared(one: z3.ArithRef, relation: terms.Relation, other: z3.ArithRef) -> z3.BoolRef:
    match relation:
        case terms.Relation.EQUAL:
            return one == other
        case terms.Relation.AT_LEAST:
            return one >= other
        case terms.Relation.AT_MOST:
            return one <= other


def _exists(number: int | terms.Number, operands: Operands) -> z3.BoolRef:
    match number:
        case terms.Size(tensor, axis):
            return _formula(terms.HasAxis(tensor, axis), operands)
        case terms.Times(_, inner):
            return _exists(inner, operands)
    return z3.BoolVal(True)


def _number(number: int | terms.Number, operands: Operands) -> z3.ArithRef:
    match number:
        case int():
            return z3.IntVal(number)
        case terms.Rank(tensor):
            return term(operands[tensor.name].rank)
        case terms.Size(tensor, axis):
            x = operands[tensor.name]
            return x.sizes.any_at(axis if axis >= 0 else x.rank + axis)
        case terms.Times(factor, inner):
            return factor * _number(inner, operands)
