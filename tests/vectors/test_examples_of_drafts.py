"""Every example of a draft is a case, or has the reason why it is none."""

import re

import numpy as np
import onnx
import pytest
from tracing.entries import read_documents

from sonnx_ort.meaning import Undefined
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.source import Standing
from sonnx_ort.vectors.applied import Class
from sonnx_ort.vectors.cases import cases, example_cases, rule_cases, variant_cases
from sonnx_ort.vectors.documents import EXAMPLES, LEFT_OUT, WITHOUT_EXAMPLES
from sonnx_ort.vectors.entries import FUNCTION_TAGS, described, expectation, tag_of
from support.pages import REPOSITORY

WITH_DRAFTS = {
    document.name.removeprefix("SONNX ").partition(",")[0]: document
    for document in read_documents()
    if "draft of the working group (" in document.name
}


def test_each_draft_has_examples_or_is_listed() -> None:
    with_examples = {each.operator for each in EXAMPLES}
    assert with_examples | {*WITHOUT_EXAMPLES} == WITH_DRAFTS.keys()
    assert not with_examples & {*WITHOUT_EXAMPLES}


def test_an_example_is_a_case_or_has_a_reason_but_not_both() -> None:
    places = {(each.operator, place) for each in EXAMPLES for place in each.places}
    assert places & LEFT_OUT.keys() == set()


@pytest.mark.parametrize("operator", sorted({operator for operator, _ in LEFT_OUT}))
def test_reason_names_findings_of_the_documents(operator: str) -> None:
    page = (REPOSITORY / "docs" / "findings.md").read_text("utf-8")
    for (of, _), reason in LEFT_OUT.items():
        numbers = re.findall(r"S\d+", reason) if of == operator else ()
        for number in numbers:
            (line,) = (each for each in page.splitlines() if each.startswith(f"| {number} |"))
            assert operator in line


def test_each_example_is_a_case_of_the_typed_edition() -> None:
    for operator in {each.operator for each in EXAMPLES}:
        made = [*example_cases(operator, Edition.TYPED)]
        expected = [each for each in EXAMPLES if each.operator == operator]
        assert [case.example for case in made] == expected
        assert [case.refused for case in made] == [False] * len(made)
        assert {case.of_class for case in made} == {Class.EXAMPLE}
        assert [*example_cases(operator, Edition.PRELIMINARY)] == []


def test_models_of_examples_are_valid() -> None:
    """What a rule refuses declares no shape of its results."""
    kept = [each.applied for each in EXAMPLES if not each.applied.broken_rules]
    assert len(kept) == len(EXAMPLES) - 4
    for applied in kept:
        onnx.checker.check_model(applied.model(), full_check=True)


def test_suite_has_the_examples() -> None:
    made = [case.example for case in cases(["Sub"]) if case.example is not None]
    assert made == [case.example for case in example_cases("Sub", Edition.TYPED)]


def test_entry_of_an_example_has_its_place_and_the_printed_numbers() -> None:
    (case,) = (
        case
        for case in example_cases("Div", Edition.TYPED)
        if case.example is not None and case.example.stands == "float: Example 1"
    )
    results = case.applied.meaning
    assert not isinstance(results, Undefined)
    entry = described(case, results)
    assert {key: entry[key] for key in ("document", "section", "tag", "printed", "rule")} == {
        "document": "SONNX Div, draft of the working group (August 2026)",
        "section": "float: Example 1",
        "tag": "E_DIV_FLOAT_FUNC_0010",
        "printed": [[[1, 2.25], [4, "inf"], [5.1, 6.0625]]],
        "rule": None,
    }
    np.testing.assert_array_equal(results[0].nearest, [[1, 2.25], [4, np.inf], [5.1, 6.0625]])


def test_rules_of_this_project_refuse_no_example_but_their_error_is_right() -> None:
    """ONNX Runtime gives another result than the draft, which is why the rules are there."""
    held = {
        (case.example.operator, case.example.stands): expectation(case, case.applied.meaning)
        for operator in ("ArgMax", "MaxPool")
        for case in example_cases(operator, Edition.TYPED)
        if case.example is not None
        and case.applied.broken_rules
        and not isinstance(case.applied.meaning, Undefined)
    }
    found = {key: (entry["kind"], entry["rules"]) for key, entry in held.items()}
    assert found == {
        ("ArgMax", "float: Example 4"): ("exact", ["ArgMax.float.C1"]),
        ("ArgMax", "float: Example 5"): ("exact", ["ArgMax.float.C1"]),
        ("MaxPool", "float: Example 3"): ("exact", ["MaxPool.float.C2"]),
        ("MaxPool", "float: Example 4"): ("exact", ["MaxPool.float.C2"]),
    }


def test_tags_of_functions_are_those_that_the_drafts_give_them() -> None:
    """A tag that no entry has is none of a draft; `--against` looks for the tags of entries."""
    given = {
        operator: {entry.tag for entry in document.entries if "_FUNC_" in (entry.tag or "")}
        for operator, document in WITH_DRAFTS.items()
    }
    assert {each: {*tags} for each, tags in FUNCTION_TAGS.items()} == {
        operator: tags for operator, tags in given.items() if tags
    }


@pytest.mark.parametrize("operator", sorted(FUNCTION_TAGS))
def test_tag_of_a_case_is_that_of_its_rule_or_of_the_function_on_its_type(operator: str) -> None:
    found = set()
    made = (
        *example_cases(operator, Edition.TYPED),
        *rule_cases(operator, Edition.TYPED),
        *variant_cases(OPERATORS[operator], Edition.TYPED),
    )
    for case in made:
        rule = case.rule or next(iter(case.applied.broken_rules), None)
        tag = tag_of(case, rule)
        if rule is not None:
            stated = rule.source.standing is Standing.STATED
            known = {rule.source.tag, rule.source.later_tag} if stated else {None}
            assert tag in known, case.model
            continue
        family = case.kind.family
        # The sections on unsigned integers and on other quantized types have no tag.
        assert tag is None or (tag.split("_")[1] == operator.upper()), case.model
        if tag is not None and operator not in {"DequantizeLinear", "QuantizeLinear"}:
            assert f"_{family.upper()}_" in tag, case.model
        found.add(tag)
    assert found - {None} == FUNCTION_TAGS[operator].keys()
