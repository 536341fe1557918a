"""Add, Mul, Mod, Max, Min and PRelu."""

from collections.abc import Sequence

from sonnx_ort.profile.common_rules import CommonRules
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attributes import held
from sonnx_ort.profile.requirements.elements import WITHIN_INT32
from sonnx_ort.profile.requirements.quotients import NONZERO_DIVISOR, RepresentableQuotient
from sonnx_ort.profile.rule import Attributes, Judgement, at_run_time, judged
from sonnx_ort.terms.operand import Operand


def _sum_or_product(name: str, first_code: int) -> Operator:
    """Add or Mul, whose drafts say the same."""
    return CommonRules(name, first_code).operator(versions=(1, 6, 7, 13, 14))


ADD = _sum_or_product("Add", 101)
MUL = _sum_or_product("Mul", 121)


def _has_fmod(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    if operands[0].element_type is None:
        return at_run_time("the type of A is unknown")
    fmod = attributes.get("fmod", 0)
    return judged(fmod == 1, f"the attribute fmod is {fmod}")


_mod = CommonRules("Mod", 441, has_draft=False)

MOD = _mod.operator(
    rules=[
        _mod("int.C1", 9).states(NONZERO_DIVISOR),
        _mod("int.C2", 10).states(
            RepresentableQuotient(
                deed="take the smallest value modulo -1",
                finding="the smallest value modulo -1",
                bits=32,
            ),
            needed_before="1.32.0",
        ),
        _mod("float.fmod", 11).states(held(_has_fmod, attributes=("fmod",)), "A", until=27),
    ],
    versions=(10, 13, 28),
    broadcasting_since=10,
    rounds_once=False,
    oldest_kernels=10,
)


def _of_many(rules: CommonRules) -> Operator:
    """Max or Min."""
    narrow = rules("int.C1", 9).states(WITHIN_INT32, survived=True, needed_before="1.32.0")
    return rules.operator(
        Family.FLOAT,
        Family.INTEGER,
        rules=[narrow],
        operands=(),
        versions=(1, 6, 8, 12, 13),
        repeated_operand="data_",
        broadcasting_since=8,
        rounds_once=False,
        oldest_kernels=6,
    )


MAX = _of_many(CommonRules("Max", 141, operands="data_0 to data_n", result="max"))

MIN = _of_many(CommonRules("Min", 161, has_draft=False, operands="data_0 to data_n", result="min"))

P_RELU = CommonRules("PRelu", 181, has_draft=False, operands="X and slope", result="Y").operator(
    versions=(1, 6, 7, 9, 16), rounds_once=False
)
