import json

import numpy as np
import pytest

from sonnx_ort import models
from sonnx_ort.errors import SonnxError
from sonnx_ort.models import manifest
from sonnx_ort.options import choose_operators
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.rule import Subject

CASES = [
    pytest.param(example, case, id=f"{example.name}-{case.name}")
    for example in models.examples()
    for case in example.cases
]
DATA_FILES = {path.name for path in manifest.DATA.glob("*.npz")}


def rules_of(expected):
    match expected:
        case models.Rejection(violations):
            return [violation.rule for violation in violations]
        case models.RunViolation():
            return [expected.rule]
        case _:
            return []


def declared_inputs(example):
    graph = models.load(example.name).graph
    return {value.name: value.type.tensor_type for value in graph.input}


def files_named_in(entry):
    if isinstance(entry, dict):
        here = {entry["file"]} if "file" in entry else set()
        return here.union(*map(files_named_in, entry.values()))
    return set().union(*map(files_named_in, entry)) if isinstance(entry, list) else set()


def test_manifest_of_another_version_is_refused(monkeypatch, tmp_path):
    other = tmp_path / "manifest.json"
    other.write_text(json.dumps({"version": 1, "models": []}), encoding="utf-8")
    monkeypatch.setattr(manifest, "MANIFEST", other)
    with pytest.raises(SonnxError) as caught:
        manifest.examples.__wrapped__()
    assert str(caught.value) == (
        "the manifest of the bundled models has version 1, but this code reads version 2; "
        "install sonnx_ort again"
    )


def test_expectation_of_an_unknown_kind_is_refused(monkeypatch, tmp_path):
    case = {"name": "c", "edition": "typed", "broadcast": "reject", "operators": "all,-Graph"}
    entry = {
        "name": "m",
        "shows": "",
        "sources": [],
        "cases": [case | {"inputs": {}, "expected": {"luck": 1}}],
    }
    other = tmp_path / "manifest.json"
    other.write_text(json.dumps({"version": 2, "models": [entry]}), encoding="utf-8")
    monkeypatch.setattr(manifest, "MANIFEST", other)
    with pytest.raises(SonnxError) as caught:
        manifest.examples.__wrapped__()
    assert str(caught.value) == "the manifest expects what this code does not know: {'luck': 1}"


def test_names_are_unique():
    assert len(set(models.names())) == len(models.names())


def test_every_tensor_file_is_named_in_the_manifest():
    entries = json.loads(manifest.MANIFEST.read_text(encoding="utf-8"))
    assert files_named_in(entries) == DATA_FILES


@pytest.mark.parametrize("example", models.examples(), ids=lambda example: example.name)
def test_case_names_are_unique_in_their_model(example):
    names = [case.name for case in example.cases]
    assert names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("example", models.examples(), ids=lambda example: example.name)
def test_what_a_model_shows_is_one_short_sentence(example):
    assert example.shows.endswith(".")
    assert len(example.shows) <= 100


@pytest.mark.parametrize(("example", "case"), CASES)
def test_expected_rules_are_rules_of_that_edition(example, case):
    known = {
        rule.id
        for operator in OPERATORS.values()
        for rules in operator.contracts[case.edition].values()
        for rule in rules
    }
    assert set(rules_of(case.expected)) <= known, example.name


@pytest.mark.parametrize(("example", "case"), CASES)
def test_inputs_are_those_that_the_model_declares(example, case):
    if isinstance(case.expected, models.Rejection):
        assert case.inputs == {}
        return
    declared = declared_inputs(example)
    assert case.inputs.keys() == declared.keys()


@pytest.mark.parametrize(("example", "case"), CASES)
def test_arrays_are_read_only(example, case):
    del example
    arrays = list(case.inputs.values())
    if isinstance(case.expected, models.Outputs):
        arrays += case.expected.values.values()
    assert not any(array.flags.writeable for array in arrays)


def test_large_tensors_come_out_of_their_file():
    with np.load(manifest.DATA / "digits.npz") as arrays:
        pixels = models.example("digits").cases[0].inputs["pixels"]
        assert np.array_equal(arrays["pixels"], pixels)


def broken_in_runs():
    return {
        case.expected.rule
        for example in models.examples()
        for case in (case.with_runtime(None) for case in example.cases)
        if isinstance(case.expected, models.RunViolation)
    }


def shown(operator):
    """What the cases expect in which the operator is enforced."""
    return [
        case.expected
        for example in models.examples()
        if operator in {node.op_type for node in models.load(example.name).graph.node}
        for case in example.cases
        if operator in choose_operators(case.operators)
    ]


OF_CONSTANTS = {"LSTM.R"}
"""Rules that are decided before runs, unless the rule is waived that operands are constant."""


def decided_in_runs(subject):
    """The ids of the rules about that subject, by operator, each in all types that it has."""
    found = (
        (
            operator,
            [
                r.id
                for r in OPERATORS[operator].all_rules()
                if r.requirement.subject is subject and r.id not in OF_CONSTANTS
            ],
        )
        for operator in sorted(STANDARD_OPERATORS)
    )
    return [pytest.param(rules, id=operator) for operator, rules in found if rules]


@pytest.mark.parametrize("operator", sorted(STANDARD_OPERATORS))
def test_every_operator_is_shown_in_a_run(operator):
    assert models.Outputs in {type(expected) for expected in shown(operator)}


@pytest.mark.parametrize("rules", decided_in_runs(Subject.EQUAL_SHAPES))
def test_every_rule_about_shapes_is_broken_in_a_run_of_some_type(rules):
    assert broken_in_runs().intersection(rules)


@pytest.mark.parametrize("rules", decided_in_runs(Subject.OWN_SHAPE))
def test_every_rule_about_single_shapes_is_broken_in_a_run(rules):
    assert broken_in_runs().issuperset(rules)


@pytest.mark.parametrize("rules", decided_in_runs(Subject.ELEMENTS))
def test_every_rule_about_elements_is_broken_in_a_run(rules):
    assert broken_in_runs().issuperset(rules)
