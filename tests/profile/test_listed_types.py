"""The types that drafts list: each list is a rule."""

import pytest

from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Judgement, Status
from sonnx_ort.terms.operand import Operand

IEEE = "float16 float double"
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
OTHERS = "complex64 complex128 float8e4m3fn float8e5m2 float4e2m1"
SHORT = "int2 int4 uint2 uint4"

LISTED = {
    "Concat.types": f"{IEEE} {INTEGERS} bfloat16 string bool",
    "Slice.R9": f"{IEEE} {INTEGERS} bfloat16 string bool",
    "Reshape.types": f"{IEEE} {INTEGERS} {SHORT} string bool",
    "Shape.types": f"{IEEE} {INTEGERS} {SHORT} bfloat16 string bool",
    "Unsqueeze.types": f"{IEEE} {INTEGERS} string bool",
    "Squeeze.types": f"{IEEE} {INTEGERS} bfloat16 string bool",
    "Flatten.types": f"{IEEE} {INTEGERS}",
}

ADDED = {
    *("Sub", "Add", "Mul", "Max", "Less", "Where", "Pow", "Neg", "Sqrt", "Log", "Acos", "MatMul"),
    *("Clip", "ArgMax"),
}
"""The operators of floats whose drafts do not list bfloat16, but for BatchNormalization."""


def judged(rule: str, kind: str) -> Judgement:
    """What a rule says of two operands of a type."""
    operands = [Operand(name, name, "input", kind) for name in ("X0", "X1")]
    return RULES[rule].requirement.judge(operands)


@pytest.mark.satisfies(
    "Concat.draft.types Slice.draft.R9 Reshape.draft.types Shape.draft.types",
    "Unsqueeze.draft.types Flatten.draft.types Squeeze.types",
)
@pytest.mark.parametrize("rule", LISTED)
def test_types_of_the_list_keep_the_rule_and_no_others(rule: str) -> None:
    every = f"{IEEE} {INTEGERS} {SHORT} {OTHERS} bfloat16 string bool".split()
    kept = {kind for kind in every if judged(rule, kind).status is Status.PROVED}
    assert kept == set(LISTED[rule].split())


def test_type_outside_the_list_is_told_with_the_list() -> None:
    listed = " or ".join((*IEEE.split(), *INTEGERS.split(), "bool", "string"))
    assert judged("Unsqueeze.types", "int4") == Judgement(
        Status.VIOLATED, f"X0 is of type int4, which is not {listed}"
    )


def test_type_that_this_project_adds_is_told() -> None:
    assert judged("Add.float.R2", "bfloat16") == Judgement(
        Status.PROVED, "all are bfloat16, a type that sonnx_ort adds to those of SONNX"
    )
    assert judged("Add.float.R2", "float16") == Judgement(Status.PROVED, "all are float16")


def test_bfloat16_is_added_where_the_draft_does_not_list_it() -> None:
    rules = [
        rule
        for operator in OPERATORS.values()
        for rule in operator.all_rules()
        if isinstance(rule.requirement, SameNumericType) and rule.requirement.added
    ]
    of_floats = {f"{name}.float.R2" for name in ADDED}
    others = {f"BatchNormalization.{tag}" for tag in ("R2", "R3", "R4")} | {"Squeeze.types"}
    assert {rule.id for rule in rules} == of_floats | others
    stated = [rule for rule in rules if rule.id != "Squeeze.types"]
    assert all("sonnx_ort adds bfloat16" in rule.source.remark for rule in stated)
    assert {kind for rule in rules for kind in rule.requirement.added} == {ElementType.BFLOAT16}
