"""The rules of the profile: their ids, codes, sentences and sources."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from sonnx_ort.custom_ops.failure_channel import CODE_BASE, KERNEL_FAILURE
from sonnx_ort.profile.catalog import (
    OPERATOR_SET,
    OPERATORS,
    RULES,
    OperatorStanding,
    kernels_since,
    standing_of,
)
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Judgement, Status
from sonnx_ort.profile.source import Standing, Words
from sonnx_ort.terms.operand import Operand
from support.package_copy import REPOSITORY

DECIDED = {
    (Edition.TYPED, "Div", Family.FLOAT): {"Div.float.R1", "Div.float.R2", "Div.float.RG1"},
    (Edition.TYPED, "Div", Family.INTEGER): {
        "Div.int.R1",
        "Div.int.R2",
        "Div.int.RG1",
        "Div.int.C1",
        "Div.int.C2",
    },
    (Edition.PRELIMINARY, "Div", Family.FLOAT): {"Div.R1", "Div.R2", "Div.R3", "Div.R4", "Div.R5"},
    (Edition.PRELIMINARY, "Div", Family.INTEGER): {
        "Div.R1",
        "Div.R2",
        "Div.R3",
        "Div.R4",
        "Div.R5",
        "Div.int.C2",
    },
    (Edition.TYPED, "Sub", Family.FLOAT): {"Sub.float.R1", "Sub.float.R2", "Sub.float.RG1"},
    (Edition.TYPED, "Sub", Family.INTEGER): {"Sub.int.R1", "Sub.int.R2", "Sub.int.RG1"},
    (Edition.PRELIMINARY, "Sub", Family.FLOAT): {"Sub.R1", "Sub.R2", "Sub.R3"},
    (Edition.PRELIMINARY, "Sub", Family.INTEGER): {"Sub.R1", "Sub.R2", "Sub.R3"},
}

SPOKEN_OF = {
    "BatchNormalization.R2": ("X",),
    "BatchNormalization.R3": ("scale", "B"),
    "BatchNormalization.R4": ("input_mean", "input_var"),
    "BatchNormalization.C3": ("input_var",),
    "Clip.C1": ("min", "max"),
    "DequantizeLinear.C1": ("X", "x_zero_point"),
    "DequantizeLinear.scale": ("x_scale",),
    "DequantizeLinear.signature": ("x_scale", "x_zero_point"),
    "DequantizeLinear.types": ("X", "x_zero_point"),
    "QuantizeLinear.C1": ("y_scale",),
    "QuantizeLinear.C2": ("X",),
    "QuantizeLinear.given": ("y_zero_point",),
    "QuantizeLinear.signature": ("y_scale", "y_zero_point"),
    "QuantizeLinear.types": ("X", "y_scale"),
    "QuantizeLinear.zero_point": ("y_zero_point",),
    "Slice.R1": ("axes",),
    "Slice.R2": ("X", "axes"),
    "Slice.R3": ("steps",),
    "Slice.R9": ("X",),
    "Slice.R10": ("starts", "ends", "axes", "steps"),
    "Where.float.R2": ("X", "Y"),
    "Where.int.R2": ("X", "Y"),
}
"""The operands of rules that do not speak of all."""

OPERATOR_RULES = [rule for operator in OPERATORS.values() for rule in operator.all_rules()]


@pytest.mark.parametrize(("edition", "operator", "family"), DECIDED)
def test_contract_has_exactly_the_rules_decided_for_it(edition, operator, family):
    rules = OPERATORS[operator].rules(edition, family)
    assert {rule.id for rule in rules} == DECIDED[edition, operator, family]


@pytest.mark.parametrize(
    ("edition", "operator", "family", "order"),
    [
        ("typed", "Div", "float", ["Div.float.R1"]),
        ("typed", "Div", "int", ["Div.int.R1", "Div.int.C1", "Div.int.C2"]),
        ("preliminary", "Div", "float", ["Div.R1", "Div.R4", "Div.R5"]),
        ("preliminary", "Div", "int", ["Div.R1", "Div.R4", "Div.R5", "Div.int.C2"]),
        ("typed", "Sub", "float", ["Sub.float.R1"]),
        ("typed", "Sub", "int", ["Sub.int.R1"]),
        ("preliminary", "Sub", "float", ["Sub.R1"]),
        ("preliminary", "Sub", "int", ["Sub.R1"]),
    ],
)
def test_rules_that_a_run_can_break_are_decided_in_this_order(edition, operator, family, order):
    rules = OPERATORS[operator].rules(Edition(edition), Family(family))
    assert [rule.id for rule in rules if rule.in_run] == order


@pytest.mark.parametrize("rule", OPERATOR_RULES, ids=lambda rule: rule.id)
def test_id_is_operator_family_and_tag(rule):
    tag = r"(R|RG|C|E)\d+(\.[a-zA-Z_]+)?"
    place = r"[a-zA-Z_]+(\.(C\d|[a-z]+))?"
    assert re.fullmatch(rf"[A-Z]\w+(\.(float|int|bool))?\.({tag}|{place})", rule.id)


@pytest.mark.parametrize(
    "rule", [r for r in OPERATOR_RULES if r.source.document.endswith("edition")], ids=lambda r: r.id
)
def test_tag_of_an_editions_rule_ends_its_id(rule):
    """Ids are permanent; drafts, which have no edition, give their sentences new tags."""
    assert rule.source.tag is None or rule.id.endswith(f".{rule.source.tag}")


@pytest.mark.parametrize("name", OPERATORS)
def test_ids_of_an_operators_rules_start_with_its_name(name):
    assert all(rule.id.startswith(f"{name}.") for rule in OPERATORS[name].all_rules())


def test_no_two_rules_have_one_id():
    rules = set(OPERATOR_RULES)
    assert len({rule.id for rule in rules}) == len(rules)


def test_no_two_rules_have_one_code():
    assert len({rule.code for rule in RULES.values()}) == len(RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_code_has_two_digits_at_most_and_is_no_kernel_failures(rule):
    assert 2 <= rule.code < KERNEL_FAILURE < CODE_BASE


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_rule_is_a_sentence(rule):
    assert re.fullmatch(r"[A-Z][^.]*\.", rule.sentence)


def test_page_counts_the_operators_of_each_standing():
    domains = {name: operator.domain for name, operator in OPERATORS.items()}
    standings = Counter(
        standing_of(domains.get(name, ""), name) for name in domains.keys() | OPERATOR_SET
    )
    assert standings == {
        OperatorStanding.DRAFT: 40,
        OperatorStanding.OURS: 5,
        OperatorStanding.GENERAL: 18,
        OperatorStanding.OUTSIDE: 12,
    }
    page = " ".join((REPOSITORY / "docs" / "concepts.md").read_text(encoding="utf-8").split())
    assert (
        "63 operators, and the rules on graphs. Of these operators 40 have a draft, 5 have rules "
        "of `sonnx_ort`, and 18 have the general restrictions only. `sonnx_ort` also has rules for "
        "12 operators that SONNX does not include" in page
    )


@pytest.mark.parametrize("rule_id", RULES)
def test_catalog_finds_a_rule_by_its_id(rule_id):
    assert RULES[rule_id].id == rule_id


@pytest.mark.parametrize(
    ("rule_id", "text"),
    [
        ("Div.float.R1", "SONNX Div, typed edition, section FP16, FP32, FP64, BFLOAT16 [R1]"),
        (
            "Div.int.C1",
            (
                "SONNX Div, draft of the working group (August 2026), Inputs, B, Constraints "
                "[E_DIV_INT_CONSTR_B_0030]"
            ),
        ),
        ("Div.int.C2", "SONNX Div, none (added by sonnx_ort)"),
        ("Div.R5", "SONNX Div, preliminary edition, Restrictions [R5]"),
        ("Sub.R2", "SONNX Sub, preliminary edition, Restrictions [R2]"),
        (
            "Sub.int.R1",
            (
                "SONNX Sub, draft of the working group (August 2026), Inputs, A, Constraints "
                "[E_SUB_INT_CONSTR_A_0010]"
            ),
        ),
        ("GR1", "SONNX, general restrictions, General restrictions [GR1]"),
    ],
)
def test_source_is_cited_on_one_line(rule_id, text):
    assert str(RULES[rule_id].source) == text


def test_codes_never_change():
    given = json.loads(Path(__file__).with_name("codes.json").read_text("utf-8"))
    assert {rule: RULES[rule].code for rule in given} == given


REMOVED = {"Clip.float.min.C2": 691, "Clip.float.max.C2": 692, "Softmax.float.C5": 1128}
"""Rules that drafts no longer support, with their codes."""


def test_ids_and_codes_of_removed_rules_are_not_given_again():
    assert not REMOVED.keys() & RULES.keys()
    assert not {*REMOVED.values()} & {rule.code for rule in RULES.values()}


@pytest.mark.parametrize("rule", ["R2", "R3", "R4"])
def test_batch_normalization_takes_floats_alone(rule):
    operand = Operand("X", "x", "input", "int32")
    judgement = RULES[f"BatchNormalization.{rule}"].requirement.judge([operand])
    assert judgement == Judgement(
        Status.VIOLATED, "X is of type int32, which is not float16 or float or double or bfloat16"
    )


@pytest.mark.parametrize(
    ("rule", "evidence"),
    [("R2", "Y is declared as double, and X is float"), ("R3", None), ("R4", None)],
)
def test_batch_normalization_has_the_type_of_its_first_operand(rule, evidence):
    x, y = Operand("X", "x", "input", "float"), Operand("Y", "y", "declared", "double")
    judgement = RULES[f"BatchNormalization.{rule}"].requirement.judge_results([x], [y])
    assert judgement == (None if evidence is None else Judgement(Status.VIOLATED, evidence))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_source_says_whose_a_rule_and_its_words_are(rule):
    assert isinstance(rule.source.standing, Standing)
    assert isinstance(rule.source.words, Words)


@pytest.mark.parametrize("rule", SPOKEN_OF)
def test_rule_speaks_of_some_operands_alone(rule):
    assert RULES[rule].operands == SPOKEN_OF[rule]


@pytest.mark.parametrize(("rule", "kind", "evidence"), [
    ("Add.float.R2", "float", None),
    ("Add.int.R2", "bool", "A is of type bool, which is not numeric"),
    ("And.bool.R2", "bool", None),
    ("And.bool.R2", "float", "A is of type float, which is not bool"),
    ("Relu.float.R2", "double", None),
    ("Relu.int.R2", "int16", None),
    ("Relu.int.R2", "uint8",
     "A is of type uint8, which is not int8 or int16 or int32 or int64"),
    ("Softmax.float.R2", "bfloat16",
     "A is of type bfloat16, which is not float16 or float or double"),
    ("Softmax.float.R2", "int8", "A is of type int8, which is not float16 or float or double"),
    ("QuantizeLinear.types", "float16", "A is of type float16, which is not float"),
    ("QuantizeLinear.zero_point", "int8", "A is of type int8, which is not uint8"),
    ("DequantizeLinear.types", "uint8", "A is of type uint8, which is not int32"),
    ("DequantizeLinear.scale", "float16", "A is of type float16, which is not float"),
])  # fmt: skip
def test_common_rule_about_types_admits_those_of_its_family(rule, kind, evidence):
    judgement = RULES[rule].requirement.judge([Operand("A", "a", "input", kind)])
    assert judgement.status is (Status.PROVED if evidence is None else Status.VIOLATED)
    assert evidence in {None, judgement.evidence}


@pytest.mark.parametrize(
    ("rule", "declared", "evidence"),
    [
        ("Less.float.R2", "bool", None),
        ("Less.float.R2", "float", "C is declared as float, and results are bool"),
        ("Add.float.R2", "float", None),
        ("Add.float.R2", "bool", "C is declared as bool, and A is float"),
    ],
)
def test_common_rule_about_types_knows_that_of_results(rule, declared, evidence):
    a, c = Operand("A", "a", "input", "float"), Operand("C", "c", "declared", declared)
    judgement = RULES[rule].requirement.judge_results([a], [c])
    assert judgement == (None if evidence is None else Judgement(Status.VIOLATED, evidence))


@pytest.mark.parametrize(
    ("runtime", "release"),
    [
        (None, None),
        ("1.31.1", None),
        ("1.32.0.dev20261001", None),
        ("1.32.0", "1.32.0"),
        ("1.40.2", "1.32.0"),
    ],
)
def test_versions_with_kernels_since_one_release_need_the_same_rules(
    runtime: str | None, release: str | None
) -> None:
    assert kernels_since(runtime) == release
    for rule in RULES.values():
        assert rule.needed_with(runtime) is rule.needed_with(release)
