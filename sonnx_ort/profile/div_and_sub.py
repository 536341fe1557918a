"""Div and Sub: the rules of both editions, and of the drafts where the typed one has none."""

from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.requirements.quotients import (
    INFINITY_FOR_ZERO_DIVISOR,
    NONZERO_DIVISOR,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.same_shape import NoBroadcasting, SameShape
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule

_div = RulesOf("Div", 11)
_FLOAT_RULES = (
    _div("float.R2", 1).states(SameNumericType()),
    _div("float.RG1", 2).states(Dense()),
    _div("float.R1", 0).states(SameShape()),
)
_REPRESENTABLE = _div("int.C2", 14).states(RepresentableQuotient())
_INTEGER_RULES = (
    _div("int.R2", 11).states(SameNumericType(family=Family.INTEGER)),
    _div("int.RG1", 12).states(Dense()),
    _div("int.R1", 10).states(SameShape()),
    _div("int.C1", 13).states(NONZERO_DIVISOR),
    _REPRESENTABLE,
)
_PRELIMINARY_RULES = (
    _div("R3", 22).states(SameNumericType()),
    _div("R2", 21).states(Dense()),
    _div("R1", 20).states(SameShape()),
    _div("R4", 23).states(NoBroadcasting()),
    _div("R5", 24).states(INFINITY_FOR_ZERO_DIVISOR),
)

DIV = Operator(
    name="Div",
    operands=("A", "B"),
    versions=(1, 6, 7, 13, 14),
    irreplaceable=True,
    contracts={
        Edition.TYPED: {Family.FLOAT: _FLOAT_RULES, Family.INTEGER: _INTEGER_RULES},
        Edition.PRELIMINARY: {
            Family.FLOAT: _PRELIMINARY_RULES,
            # R5 does not cover the smallest value divided by -1.
            Family.INTEGER: (*_PRELIMINARY_RULES, _REPRESENTABLE),
        },
    },
)


_sub = RulesOf("Sub", 41)


def _of_draft(family: Family, offset: int) -> tuple[Rule, ...]:
    """The rules of the working group's draft, which are those of `Div`'s typed edition."""
    added = (ElementType.BFLOAT16,) if family is Family.FLOAT else ()
    return (
        _sub(f"{family}.R2", offset + 1).states(SameNumericType(family=family, added=added)),
        _sub(f"{family}.RG1", offset + 2).states(Dense()),
        _sub(f"{family}.R1", offset).states(SameShape()),
    )


_SUB_PRELIMINARY_RULES = (
    _sub("R3", 22).states(SameNumericType()),
    _sub("R2", 21).states(Dense()),
    _sub("R1", 20).states(SameShape()),
)

SUB = Operator(
    name="Sub",
    operands=("A", "B"),
    versions=(1, 6, 7, 13, 14),
    irreplaceable=True,
    contracts={
        Edition.TYPED: {
            Family.FLOAT: _of_draft(Family.FLOAT, 0),
            Family.INTEGER: _of_draft(Family.INTEGER, 10),
        },
        Edition.PRELIMINARY: dict.fromkeys((Family.FLOAT, Family.INTEGER), _SUB_PRELIMINARY_RULES),
    },
)
