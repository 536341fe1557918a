"""The manifest, its description, and how results are compared with it."""

import json

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort import models
from sonnx_ort.errors import SonnxError
from sonnx_ort.models import (
    Approximation,
    Classification,
    Outputs,
    Rejection,
    RunViolation,
    StaticViolation,
    describe,
    describe_difference,
    manifest,
)
from sonnx_ort.models.example import differing_elements, same_elements
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


@pytest.mark.parametrize(("expected", "text"), [
    (Outputs({"C": np.float32([1, 0.5])}), "C = [1, 0.5]"),
    (Outputs({"C": np.float32([np.inf, np.nan, -0.0])}), "C = [inf, nan, -0]"),
    (Outputs({"C": np.int64([-3]), "D": np.array(True)}), "C = [-3]; D = [True]"),
    (Outputs({"C": np.arange(60)}), "C = [0, 1, 2, 3, 4, 5, ... 60 elements]"),
    (Outputs({name: np.int8([1]) for name in "CDEFG"}),
     "C = [1]; D = [1]; E = [1]; ... 5 outputs"),
    (Rejection((StaticViolation("Div.R1", "first"), StaticViolation("Div.R1", "second"))),
     "rejected: Div.R1 at first, second"),
    (Rejection((StaticViolation("Div.R1", "node"), StaticViolation("Div.R4", "node"))),
     "rejected: Div.R1 at node; Div.R4 at node"),
    (RunViolation("Div.float.R1", "Div", "node", ((3,), (1,))),
     "refused in the run: Div.float.R1 at node, (3,) against (1,)"),
    (RunViolation("Div.int.C1", "Div", "node", ((3,), (3,)), (1,), (-5, 0)),
     "refused in the run: Div.int.C1 at node, -5 and 0 at [1]"),
    (Classification("label", np.zeros(360), 352), "352 of 360 right, before and after"),
    (Approximation({"C": np.float32([1, 0.5])}, 1e-4), "C = [1, 0.5], within 0.0001"),
])  # fmt: skip
def test_expectation_in_words(expected, text):
    assert describe(expected) == text


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        (np.float32([1, 2]), np.float32([1, 2]), ""),
        (np.float32([[1, 2], [3, 4]]), np.float32([[1, 2], [0, 0]]), "C[1, 0] = 0, not 3"),
        (np.array(1.0), np.array(np.nan), "C = nan, not 1"),
        (np.float32([1]), np.float64([1]), "C is float64 (1,), not float32 (1,)"),
        (np.int8([1]), np.int8([[1]]), "C is int8 (1, 1), not int8 (1,)"),
    ],
)
def test_difference_in_words(expected, actual, text):
    assert describe_difference("C", expected, actual) == text


QUIET_NAN, OTHER_NAN = (
    np.array([bits], np.uint32).view(np.float32) for bits in (0x7FC00000, 0xFFC00001)
)
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(np.float32([1]), np.float64([1]), id="dtypes"),
        pytest.param(np.int32([1]), np.uint32([1]), id="signedness"),
        pytest.param(np.float32([1]), np.float32(1), id="ranks"),
        pytest.param(np.float32([1]), np.float32([[1]]), id="shapes"),
        pytest.param(np.float32([0.0]), np.float32([-0.0]), id="signs of zero"),
        pytest.param(
            np.float32([1.0]),
            np.float32([np.nextafter(np.float32(1), np.float32(2))]),
            id="last bit",
        ),
        pytest.param(np.float32([np.nan]), np.float32([np.inf]), id="NaN and infinity"),
    ],
)
def test_arrays_differ_in(a, b):
    assert not same_elements(a, b)
    assert not same_elements(b, a)


@pytest.mark.parametrize("dtype", FLOATS)
def test_any_nan_is_any_other(dtype):
    array = np.array([np.nan, 1.0], dtype)
    assert same_elements(array, np.array([-np.nan, 1.0], dtype))


def test_payload_of_a_nan_makes_no_difference():
    assert same_elements(QUIET_NAN, OTHER_NAN)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_array_is_the_same_as_its_copy(dtype, shape):
    array = np.ones(shape, dtype)
    assert same_elements(array, array.copy())


def test_memory_layout_makes_no_difference():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert same_elements(array, np.asfortranarray(array))


def test_differing_elements_are_marked():
    a, b = np.float32([[0.0, 1, np.nan]]), np.float32([[-0.0, 1, np.nan]])
    assert differing_elements(a, b).tolist() == [[True, False, False]]


@pytest.mark.parametrize(
    "predictions", [np.int64([2, 0, 1]), np.float32([[5, 6, 8], [7, 6, 5], [6, 5, 5]])]
)
def test_predictions_are_classes_or_scores(predictions):
    assert Classification("label", np.int64([2, 0, 2]), 2).count(predictions) == 2


@pytest.mark.parametrize(
    ("actual", "distance"),
    [
        (np.float32([1, 2]), 0),
        (np.float32([1.5, 1.75]), 0.5),
        (np.float32([1, -np.inf]), np.inf),
        (np.float32([1, np.nan]), np.nan),
        (np.float64([1, 2]), np.inf),
        (np.float32([[1, 2]]), np.inf),
    ],
)
def test_distance_is_the_largest_difference_of_an_element(actual, distance):
    expected = Approximation({"y": np.float32([1, 2])}, 0.25)
    assert np.array_equal(expected.distance("y", actual), distance, equal_nan=True)


def test_nothing_is_at_no_distance_from_nothing():
    nothing = np.float32([])
    assert Approximation({"y": nothing}, 0.0).distance("y", nothing) == 0
