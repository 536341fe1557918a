"""The backend test suite of the onnx package, every case of it, through both backends.

Each case gives the very bits that plain ONNX Runtime gives, or is refused for a rule that its own
operands break. `onnx_suite.json` has every refusal, how many cases there are, and those that ONNX
Runtime itself cannot run; `support/onnx_record.py` says how it is made for other versions.
"""

import json
from pathlib import Path

import pytest

from support.onnx_record import (
    DEMANDS,
    REFUSED,
    SAME,
    is_refused,
    not_run,
    outcomes,
    refusals,
    results,
    try_cases,
    versions,
)
from support.pages import REPOSITORY
from support.soundness.isolated import run_attempts

RECORD = json.loads(Path(__file__).with_name("onnx_suite.json").read_text("utf-8"))

SCAN = "Subgraph must have the shape set for all outputs"
EXCEPTIONS = {
    # ONNX Runtime runs no Scan whose body leaves the shape of an output open.
    ("test_scan9_scalar", "all reject", "python"): SCAN,
    ("test_scan9_scalar", "all reject", "native"): SCAN,
    ("test_scan_sum", "all reject", "python"): SCAN,
    # A guard needs what version 9 of the operators has.
    ("test_scan_sum", "all reject", "native"): "enforcement needs version 9, which defines Scan",
    # In float16, behind nodes that nothing enforces, and that ONNX Runtime computes in float32.
    **dict.fromkeys(
        (
            ("test_attention_4d_gqa_with_past_and_present_fp16_expanded", "all explicit", backend)
            for backend in ("python", "native")
        ),
        "the bits differ",
    ),
    # ONNX Runtime gives one tensor the memory of another, which it takes to be of the same shape.
    (
        "test_attention_4d_gqa_causal_nonpad_decode_fp16_expanded",
        "default explicit",
        "python",
    ): "Shape mismatch attempting to re-use buffer",
}
"""By case, demands and backend what comes of the only cases that are neither run nor refused."""

SIZES = {"attempt_in_sample": "sample", "attempt": "cases"}
"""The functions that try some cases or all, and how many there are in the record."""


@pytest.fixture(
    scope="module",
    params=["attempt_in_sample", pytest.param("attempt", marks=pytest.mark.thorough)],
)
def lines(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # Where the onnx package copies small models to.
        patch.setenv("ONNX_HOME", str(tmp_path_factory.mktemp("onnx")))
        return try_cases(request.param, RECORD[SIZES[request.param]])


def test_record_is_of_these_versions():
    assert RECORD["versions"] == versions()


def test_no_case_goes_wrong_but_by_itself(lines):
    alone = run_attempts(
        "support.onnx_suite:plain_alone", [line["number"] for line in lines if "death" in line]
    )
    ours = {line["number"] for line in alone if "death" not in line}
    assert not [line for line in lines if "error" in line or line["number"] in ours]


def test_no_case_is_left_out(lines):
    counted = {(result["cases"], result["sample"]) for result in results(lines)}
    assert counted == {(RECORD["cases"], RECORD["sample"])}
    assert len({result["case"] for result in results(lines)}) == len(lines)


def test_case_gives_the_bits_of_onnx_runtime_or_breaks_a_rule(lines):
    plain = {result["case"]: result["plain"] for result in results(lines)}
    others = {
        (case, demands, backend): outcome
        for case, demands, by_backend in outcomes(lines)
        for backend, outcome in by_backend.items()
        if outcome != SAME
        and not is_refused(outcome)
        and not (plain[case] == "fails" and outcome in {"fails", "passes"})
    }
    unlike = {key: o for key, o in others.items() if EXCEPTIONS.get(key, REFUSED) not in o}
    assert not unlike
    assert {key for key in EXCEPTIONS if key[0] in plain} == others.keys()


def test_both_backends_refuse_the_same(lines):
    for case, demands, by_backend in outcomes(lines):
        refused = {outcome for outcome in by_backend.values() if is_refused(outcome)}
        assert not refused or set(by_backend.values()) == refused, (case, demands)


def test_refusals_are_those_of_the_record(lines):
    tried = {result["case"] for result in results(lines)}
    expected = {
        demands: {case: rule for case, rule in RECORD["refused"][demands].items() if case in tried}
        for demands in DEMANDS
    }
    assert refusals(lines) == expected


def test_onnx_runtime_runs_all_but_those_of_the_record(lines):
    tried = {result["case"] for result in results(lines)}
    assert set(not_run(lines)) == tried & set(RECORD["not run by ONNX Runtime"])


def test_broadcasting_written_out_is_refused_by_no_rule_about_shapes():
    """But by those of the legacy forms, of which ONNX Runtime has no kernel, and of types."""
    assert not RECORD["refused"]["default explicit"]
    rules = set(RECORD["refused"]["all explicit"].values())
    legacy = {"Add.float.R1", "PRelu.float.R1"}
    assert {rule for rule in rules if not rule.endswith("R2")} <= legacy


def test_page_tells_what_was_recorded():
    page = " ".join((REPOSITORY / "docs" / "exhaustive.md").read_text("utf-8").split())
    refused = {demands: len(cases) for demands, cases in RECORD["refused"].items()}
    newest, runtime = (RECORD["versions"][name] for name in ("onnx", "onnxruntime"))
    unrunnable = len(RECORD["not run by ONNX Runtime"])
    told = (
        f"suite of onnx {newest} has {RECORD['cases']:,} cases",
        f"ONNX Runtime {runtime} itself cannot run {unrunnable} of them",
        f"| {refused['default reject']} | {refused['all reject']} |",
        f"| {refused['default explicit']} | {refused['all explicit']} |",
    )
    assert [phrase for phrase in told if phrase not in page] == []
