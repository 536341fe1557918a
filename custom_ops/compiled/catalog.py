"""Which operators have compiled kernels, on which types, and what they check.

An operator has them if C++ computes it (a struct of `arithmetic.h`) and knows each of its rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.division import (
    InfinityForZeroDivisor,
    NonZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.elements import WithinInterval
from sonnx_ort.profile.requirements.shapes import SameShape
from sonnx_ort.profile.rule import Rule

FUNCTIONS = frozenset(
    {
        *("Abs", "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater"),
        *("GreaterOrEqual", "Less", "LessOrEqual", "Mul", "Neg", "Or", "Reciprocal", "Sqrt", "Sub"),
        "Xor",
    }
)
"""The operators that a struct of `arithmetic.h` computes, which has the same name."""


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A rule as a compiled kernel checks it.

    Attributes:
        rule: The rule.
        check: The struct of `arithmetic.h` that checks elements; None for equal shapes.
        finding: What an element is that breaks the rule, as a clause.
        breakable: Whether an element can break it; otherwise it only decides the result.
    """

    rule: Rule
    check: str | None
    finding: str = ""
    breakable: bool = True


@dataclass(frozen=True, slots=True)
class CompiledOperator:
    """An operator with compiled kernels.

    Attributes:
        operator: The operator of the profile.
        rules: What its kernels check, by edition and family of types.
    """

    operator: Operator
    rules: Mapping[Edition, Mapping[Family, Sequence[CheckedRule]]]

    @property
    def types(self) -> Sequence[ElementType]:
        """The types of its kernels."""
        return [kind for kind in ElementType if kind.family in self.operator.families]


def compiled_name(operator: Operator) -> str:
    """Name an operator in the domain `sonnx.compiled`, as no operator of ONNX is named."""
    return f"Checked{operator.name}"


def _compiled(operator: Operator) -> CompiledOperator | None:
    if operator.name not in FUNCTIONS:
        return None
    rules: dict[Edition, dict[Family, list[CheckedRule]]] = {}
    for edition, contract in operator.contracts.items():
        rules[edition] = {}
        for family, all_rules in contract.items():
            checked = [_checked(rule, family) for rule in all_rules if rule.in_run]
            known = [each for each in checked if each is not None]
            if len(known) < len(checked):
                return None
            rules[edition][family] = known
    return CompiledOperator(operator, rules)


def _checked(rule: Rule, family: Family) -> CheckedRule | None:
    """How C++ checks a rule; None if it does not know it."""
    requirement = rule.requirement
    match requirement:
        case SameShape():
            return CheckedRule(rule, None)
        case NonZeroDivisor():
            return CheckedRule(rule, "NonZeroDivisor", requirement.finding)
        case InfinityForZeroDivisor():
            breakable = family is not Family.FLOAT
            return CheckedRule(rule, "InfinityForZeroDivisor", requirement.finding, breakable)
        case RepresentableQuotient():
            return CheckedRule(rule, "RepresentableQuotient", requirement.finding)
        case WithinInterval() if _excludes_the_smallest(requirement):
            return CheckedRule(rule, "NotSmallest", requirement.finding)
        case _:
            return None


def _excludes_the_smallest(requirement: WithinInterval) -> bool:
    """Whether the first operand must not be the smallest of a signed type, and nothing else."""
    dtypes = [kind.dtype for kind in ElementType if kind.family is Family.INTEGER]
    signed = {dtype: -(1 << (8 * dtype.itemsize - 1)) for dtype in dtypes if dtype.kind == "i"}
    limits = {dtype: requirement.limits(dtype) for dtype in dtypes}
    return requirement.position == 0 and all(
        limits[dtype] == (signed[dtype] + 1 if dtype in signed else None, None) for dtype in dtypes
    )


COMPILED_OPERATORS: Mapping[str, CompiledOperator] = MappingProxyType(
    {
        name: compiled
        for name, operator in OPERATORS.items()
        if (compiled := _compiled(operator)) is not None
    }
)
"""The operators with compiled kernels, by name."""
