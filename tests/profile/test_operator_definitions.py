"""What could not be enforced as it is written is refused where it is defined."""

from dataclasses import replace

import pytest

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.operator import require_distinct
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.shapes import of_rank

CLIP, DIV, SQRT = (OPERATORS[name] for name in ("Clip", "Div", "Sqrt"))

(SCALAR_BOUNDS,) = [rule for rule in CLIP.all_rules() if rule.id == "Clip.C1"]
(FIRST_OF_DIV,) = [rule for rule in DIV.all_rules() if rule.id == "Div.float.R1"]
FIRST_OF_SQRT = next(SQRT.all_rules())
INTERVAL = next(
    rule
    for rule in OPERATORS["BatchNormalization"].all_rules()
    if isinstance(rule.requirement, OnElements)
)


def with_rule(operator, rule, **changes):
    """An operator with one more rule, in all editions and families."""
    further = replace(rule, **{"id": f"{operator.name}.C9", "code": 9001} | changes)
    contracts = {
        edition: {family: (*rules, further) for family, rules in contract.items()}
        for edition, contract in operator.contracts.items()
    }
    return replace(operator, contracts=contracts)


@pytest.mark.parametrize(
    ("define", "reason"),
    [
        (
            lambda: with_rule(CLIP, SCALAR_BOUNDS, operands=("minimum", "max")),
            "the rule Clip.C9 names the operand 'minimum', and it has input, min, max",
        ),
        (
            lambda: with_rule(OPERATORS["Max"], SCALAR_BOUNDS, operands=("data_0",)),
            "the rule Max.C9 names the operand 'data_0', and it has data_0 and so on",
        ),
        (
            lambda: with_rule(OPERATORS["MatMul"], INTERVAL, operands=("A",)),
            (
                "the rule MatMul.C9 is about elements of 'A', of which its kernel sees the "
                "shape alone (by_shape)"
            ),
        ),
        (
            lambda: with_rule(CLIP, SCALAR_BOUNDS, id="Clamp.C9"),
            "the id of the rule Clamp.C9 does not start with its name",
        ),
        (
            lambda: replace(DIV, optional=("D",)),
            "its optional names the operand 'D', and it has A, B",
        ),
        (lambda: replace(DIV, single=("b",)), "its single names the operand 'b', and it has A, B"),
        (
            lambda: replace(DIV, operand_types={"condition": "bool"}),
            "its operand_types names the operand 'condition', and it has A, B",
        ),
        (
            lambda: replace(OPERATORS["MatMul"], elementwise=True),
            "it is element-wise, so that its kernel sees more than shapes (by_shape)",
        ),
    ],
)
def test_operator_that_names_what_it_does_not_have_is_refused(define, reason):
    with pytest.raises(ValueError, match="cannot be enforced") as caught:
        define()
    name = str(caught.value).split()[2]
    assert str(caught.value) == f"the operator {name} cannot be enforced: {reason}"


@pytest.mark.parametrize(
    ("define", "message"),
    [
        (
            lambda: with_rule(DIV, FIRST_OF_DIV, id="Div.float.R1"),
            "there are two different rules Div.float.R1",
        ),
        (
            lambda: with_rule(SQRT, FIRST_OF_DIV, code=FIRST_OF_SQRT.code),
            f"the rules {FIRST_OF_SQRT.id} and Sqrt.C9 have one code, {FIRST_OF_SQRT.code}",
        ),
        (
            lambda: require_distinct(
                [FIRST_OF_DIV, replace(SCALAR_BOUNDS, code=FIRST_OF_DIV.code)]
            ),
            f"the rules Div.float.R1 and Clip.C1 have one code, {FIRST_OF_DIV.code}",
        ),
        *(
            (
                lambda code=code: replace(SCALAR_BOUNDS, code=code),
                f"the rule Clip.C1 has the code {code}; codes are numbers from 2 to 9998",
            )
            for code in (-1, 1, 9999)
        ),
    ],
)
def test_rules_that_a_run_could_not_tell_apart_are_refused(define, message):
    with pytest.raises(ValueError, match="rule") as caught:
        define()
    assert str(caught.value) == message


def test_rule_about_elements_may_see_shapes_too_where_it_says_so():
    """A Slice compares starts with the sizes of X."""
    slice_ = OPERATORS["Slice"]
    starts = next(rule for rule in slice_.all_rules() if rule.id == "Slice.R8")
    assert "X" in slice_.by_shape
    assert starts in slice_.rules(Edition.TYPED, next(iter(slice_.families)))


def test_rule_of_an_operand_that_there_is_is_taken():
    rank = of_rank(1, "1", "0", "correct it")
    made = with_rule(CLIP, SCALAR_BOUNDS, requirement=rank, operands=("input",))
    assert made.checked_operands == ("input", "min", "max")


def test_rule_whose_requirement_decides_no_run_is_refused() -> None:
    rule = next(OPERATORS["Reciprocal"].all_rules())
    with pytest.raises(TypeError) as refused:
        replace(rule, requirement=object())
    assert str(refused.value) == (f"the rule {rule.id} cannot be enforced: object has no judge")
