"""Every bundled model, rewritten and run; those that broadcast also with waivers."""

import datetime as dt
from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.models import Outputs, Rejection, RunViolation, StaticViolation, same_elements
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Subject
from support.backends import on_each_backend, on_python

pytestmark = on_each_backend

FATAL = 4


def cases(kind):
    return [
        pytest.param(example, case, id=f"{example.name}-{case.name}")
        for example in models.examples()
        for case in example.cases
        if case.guarded is None and isinstance(case.expected, kind)
    ]


GUARDED = [
    pytest.param(example, case, id=f"{example.name}-{case.name}")
    for example in models.examples()
    for case in example.cases
    if case.guarded is not None
]
"""Where a rule guards against kernels that are wrong in some versions."""


def quiet_options(level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = ort.SessionOptions()
    options.log_severity_level = FATAL
    options.graph_optimization_level = level
    return options


def rewritten_session(example, case, level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    return sonnx_ort.InferenceSession(
        models.path(example.name),
        quiet_options(level),
        edition=case.edition,
        broadcast=case.broadcast,
        operators=case.operators,
    )


def original_session(example):
    level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(models.path(example.name), quiet_options(level))


def run(session, case):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(case.inputs)), strict=True))


@pytest.mark.satisfies(
    "Div.typed.float.examples Div.preliminary.examples Div.preliminary.numpy",
    "Sub.preliminary.examples Sub.preliminary.numpy Div.onnx.examples Div.onnx.legacy.examples",
)
@pytest.mark.parametrize(("example", "case"), cases(Outputs))
def test_run_gives_the_expected_outputs(example, case):
    assert_outputs(example, case)


def assert_outputs(example, case):
    outputs = run(rewritten_session(example, case), case)
    for name, expected in case.expected.values.items():
        assert same_elements(expected, outputs[name]), (expected, outputs[name])


@pytest.mark.parametrize(("example", "case"), GUARDED)
def test_rule_against_kernels_binds_where_a_wrong_one_may_run(example, case, backend):
    case = case.with_runtime(ort.__version__ if backend == "python" else None)
    if case.expected is case.guarded:
        assert_violation(example, case)
    else:
        assert_outputs(example, case)


@pytest.mark.parametrize(("example", "case"), cases(Rejection))
def test_rewrite_is_rejected_with_exactly_the_expected_violations(example, case):
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(
            models.load(example.name),
            edition=case.edition,
            broadcast=case.broadcast,
            operators=case.operators,
        )
    found = [StaticViolation(v.rule.id, v.node) for v in caught.value.report.violations]
    assert sorted(found) == sorted(case.expected.violations)


@pytest.mark.parametrize(("example", "case"), cases(RunViolation))
def test_run_raises_the_expected_violation(example, case):
    assert_violation(example, case)


def assert_violation(example, case):
    session = rewritten_session(example, case)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        run(session, case)
    error = caught.value
    found = (error.rule, error.operator, error.node, error.shapes, error.index, error.values)
    assert RunViolation(*found) == case.expected


@pytest.mark.parametrize(("example", "case"), cases(RunViolation))
def test_session_that_saw_a_violation_still_runs(example, case):
    [good, *_] = [
        c
        for c in example.cases
        if isinstance(c.expected, Outputs) and c.broadcast == case.broadcast
    ]
    session = rewritten_session(example, case)
    with pytest.raises(sonnx_ort.ContractViolation):
        run(session, case)
    run(session, good)


def has_kernels(example):
    """Whether ONNX Runtime can run the model as it is."""
    versions = {entry.domain: entry.version for entry in models.load(example.name).opset_import}
    return "sonnx" not in versions and versions[""] >= 7 and not example.name.endswith("bfloat16")


@pytest.mark.parametrize(
    ("example", "case"),
    [
        parameters
        for parameters in cases(Outputs)
        if parameters.values[1].edition is Edition.TYPED and has_kernels(parameters.values[0])
    ],
)
def test_typed_outputs_are_those_of_the_original_model_in_onnxruntime(example, case):
    original = run(original_session(example), case)
    for name, expected in case.expected.values.items():
        assert same_elements(expected, original[name]), (expected, original[name])


def test_reciprocal_product_is_not_the_quotient_that_a_fusion_would_give():
    case = models.example("reciprocal_product").cases[0]
    fused = case.inputs["y"] / case.inputs["x"]
    assert not same_elements(fused, case.expected.values["C"])


DIGITS = models.example("digits")
ACCURACY_CASES = cases(models.Classification)
RIGHT = {"digits": 352, "digits_convolutional": 354}
NOT_OPTIMIZED = ort.GraphOptimizationLevel.ORT_DISABLE_ALL


@pytest.mark.parametrize(("example", "case"), [*ACCURACY_CASES, *cases(models.Approximation)])
def test_rewrite_changes_no_bit_of_a_network(example, case):
    before, after = (
        run(session, case)
        for session in (original_session(example), rewritten_session(example, case, NOT_OPTIMIZED))
    )
    assert before.keys() == after.keys()
    for name in before:
        assert same_elements(before[name], after[name])


@pytest.mark.parametrize(("example", "case"), ACCURACY_CASES)
def test_accuracy_on_the_held_out_data_is_the_same_before_and_after(example, case):
    for session in (original_session(example), rewritten_session(example, case)):
        predicted = run(session, case)["probabilities"].argmax(axis=1)
        right = np.count_nonzero(predicted == case.expected.labels)
        assert right == case.expected.correct == RIGHT[example.name]
    assert case.expected.labels.size == 360


@pytest.mark.parametrize(("example", "case"), cases(models.Approximation))
def test_optimized_run_is_within_the_tolerance(example, case):
    outputs = run(rewritten_session(example, case), case)
    for name, expected in case.expected.values.items():
        np.testing.assert_allclose(outputs[name], expected, rtol=0, atol=case.expected.tolerance)


def test_trained_model_computes_what_its_weights_say():
    case = DIGITS.cases[0]
    initializers = {
        tensor.name: onnx.numpy_helper.to_array(tensor).astype(np.float64)
        for tensor in models.load("digits").graph.initializer
    }
    w = initializers
    standardized = (case.inputs["pixels"].astype(np.float64) - w["mean"]) / w["std"]
    hidden = np.maximum(standardized @ w["weights_1"] + w["bias_1"], 0)
    scores = np.exp(hidden @ w["weights_2"] + w["bias_2"])
    outputs = run(rewritten_session(DIGITS, case), case)
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(outputs["probabilities"], probabilities, rtol=1e-3, atol=1e-6)
    assert np.array_equal(outputs["label"], probabilities.argmax(axis=1))


def test_convolutional_model_computes_what_its_weights_say():
    example = models.example("digits_convolutional")
    [case] = example.cases
    [expected] = ReferenceEvaluator(models.load(example.name)).run(None, dict(case.inputs))
    outputs = run(rewritten_session(example, case), case)
    np.testing.assert_allclose(outputs["probabilities"], expected, rtol=1e-3, atol=1e-6)


EDITIONS = ("typed", "preliminary")


def waivers(model: onnx.ModelProto, edition: str) -> list[sonnx_ort.Waiver]:
    """One for each violation, if all are about equal shapes."""
    violations = sonnx_ort.check(model, operators="default", edition=edition).violations
    if any(o.rule.requirement.subject is not Subject.EQUAL_SHAPES for o in violations):
        return []
    return [
        sonnx_ort.Waiver(o.rule.id, o.node, "reviewed", "the board", dt.date.max, path=o.path)
        for o in violations
    ]


def fitting(name: str, edition: str) -> bool:
    """Whether a model broadcasts, and explicit broadcasting is all that it needs."""
    model = models.load(name)
    if not waivers(model, edition):
        return False
    return sonnx_ort.check(model, operators="default", edition=edition, broadcast="explicit").ok


BROADCASTING = (
    *("onnx_div_broadcast", "div_broadcast_scalar", "div_broadcast_row", "div_broadcast_column"),
    *("div_broadcast_both", "sub_broadcast_scalar", "sub_broadcast_row", "sub_broadcast_column"),
    *("sub_broadcast_both", "div_broadcast_zero_divisor", "normalization_broadcast"),
    *("div_opset_1_broadcast", "div_opset_6_broadcast"),
)
"""The models for which waivers or explicit broadcasting suffice."""


@on_python
@pytest.mark.parametrize("edition", EDITIONS)
def test_no_other_model_broadcasts_and_needs_nothing_else(edition: str) -> None:
    assert [name for name in models.names() if fitting(name, edition)] == [*BROADCASTING]


def outcome(
    session: sonnx_ort.InferenceSession, feeds: Mapping[str, np.ndarray]
) -> list[np.ndarray] | str:
    try:
        return session.run(None, dict(feeds))
    except sonnx_ort.ContractViolation as violation:
        return str(violation)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", BROADCASTING)
def test_runs_are_those_of_explicit_broadcasting(name: str, edition: str) -> None:
    model = models.load(name)
    waived = sonnx_ort.InferenceSession(model, edition=edition, waivers=waivers(model, edition))
    explicit = sonnx_ort.InferenceSession(model, edition=edition, broadcast="explicit")
    for case in models.example(name).cases:
        if case.inputs or not explicit.get_inputs():
            np.testing.assert_equal(outcome(waived, case.inputs), outcome(explicit, case.inputs))
