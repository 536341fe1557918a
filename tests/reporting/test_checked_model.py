"""What several checks give together: whether one fails, and whether a model cannot be used."""

import datetime as dt
from dataclasses import replace

import pytest

import sonnx_ort
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.waivers import Waiver
from sonnx_ort.reporting.checked_models import Check, CheckedModel, FailOn
from support.graphs import parse

GRAPHS = {
    "proved": "(float[2] x) => (float[2] y) { y = Div(x, x) }",
    "runtime": "(int32[2] x) => (int32[2] y) { y = Div(x, x) }",
    "violated": "(float[2] x, float[1] z) => (float[2] y) { y = Div(x, z) }",
    "not asked for": "(float[2] x, float[1] z) => (float[2] y) { y = Add(x, z) }",
}
UNUSABLE = CheckedModel("none.onnx", None, "there is no file 'none.onnx'")


def checked(*statuses: str) -> tuple[CheckedModel, ...]:
    return tuple(
        CheckedModel(s, sonnx_ort.check(parse(GRAPHS[s]), operators="default")) for s in statuses
    )


@pytest.mark.parametrize(("statuses", "fail_on", "failed"), [
    (["proved"], FailOn.VIOLATED, False),
    (["proved"], FailOn.RUNTIME, False),
    (["runtime"], FailOn.VIOLATED, False),
    (["runtime"], FailOn.RUNTIME, True),
    (["violated"], FailOn.VIOLATED, True),
    (["violated"], FailOn.RUNTIME, True),
    (["not asked for"], FailOn.RUNTIME, False),
    (["proved", "violated"], FailOn.VIOLATED, True),
    ([], FailOn.VIOLATED, False),
], ids=str)  # fmt: skip
def test_check_fails_on_an_obligation_of_any_model(
    statuses: list[str], fail_on: FailOn, *, failed: bool
) -> None:
    assert Check(checked(*statuses), fail_on).failed is failed
    assert Check((UNUSABLE, *checked(*statuses)), fail_on).failed is failed


@pytest.mark.parametrize(
    ("models", "unusable"),
    [((UNUSABLE,), True), (checked("violated"), False), ((*checked("proved"), UNUSABLE), True)],
    ids=["none", "one", "both"],
)
def test_model_without_a_report_cannot_be_used(
    models: tuple[CheckedModel, ...], *, unusable: bool
) -> None:
    assert Check(models).unusable is unusable


def obligation(status: str) -> Obligation:
    (one,) = checked(status)
    assert one.report is not None
    return next(o for o in one.report.obligations if o.status == status)


@pytest.mark.parametrize(
    ("expired", "failing"), [(True, True), (False, False)], ids=["expired", "not expired"]
)
def test_waived_violation_fails_only_when_the_waiver_expired(
    *, expired: bool, failing: bool
) -> None:
    waiver = Waiver("Div.float.R1", "d", "it fits", "the board", dt.date(2026, 1, 1))
    waived = replace(obligation("violated"), waiver=waiver, waiver_expired=expired)
    assert Check(()).fails(waived) is failing


def test_what_is_proved_fails_nothing() -> None:
    assert Check((), FailOn.RUNTIME).fails(obligation("proved")) is False
