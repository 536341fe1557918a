"""Bundled models that broadcast, with waivers for that, run as with explicit broadcasting."""

import datetime as dt
from collections.abc import Mapping

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.profile.rule import Subject
from support.backends import on_each_backend

pytestmark = on_each_backend

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
    kept = sonnx_ort.check(model, operators="default", edition=edition, broadcast="explicit").ok
    return kept and bool(waivers(model, edition))


BROADCASTING = [
    (name, edition) for name in models.names() for edition in EDITIONS if fitting(name, edition)
]


def outcome(
    session: sonnx_ort.InferenceSession, feeds: Mapping[str, np.ndarray]
) -> list[np.ndarray] | str:
    try:
        return session.run(None, dict(feeds))
    except sonnx_ort.ContractViolation as violation:
        return str(violation)


@pytest.mark.parametrize(("name", "edition"), BROADCASTING)
def test_runs_are_those_of_explicit_broadcasting(name: str, edition: str) -> None:
    model = models.load(name)
    waived = sonnx_ort.InferenceSession(model, edition=edition, waivers=waivers(model, edition))
    explicit = sonnx_ort.InferenceSession(model, edition=edition, broadcast="explicit")
    for case in models.example(name).cases:
        if case.inputs or not explicit.get_inputs():
            np.testing.assert_equal(outcome(waived, case.inputs), outcome(explicit, case.inputs))


@pytest.mark.parametrize(("name", "edition"), BROADCASTING)
def test_rewriting_twice_with_the_waivers_changes_nothing(name: str, edition: str) -> None:
    model = models.load(name)
    given = waivers(model, edition)
    once = sonnx_ort.rewrite(model, edition=edition, waivers=given)
    assert sonnx_ort.rewrite(once, edition=edition, waivers=given) == once
