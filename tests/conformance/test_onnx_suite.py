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
    ("test_scan9_scalar", "elementwise reject", "python"): SCAN,
    ("test_scan9_scalar", "elementwise reject", "native"): SCAN,
    ("test_scan_sum", "elementwise reject", "python"): SCAN,
    # A guard needs what version 9 of the operators has.
    (
        "test_scan_sum",
        "elementwise reject",
        "native",
    ): "enforcement needs version 9, which defines Scan",
    # In float16, behind nodes that nothing enforces, and that ONNX Runtime computes in float32.
    **dict.fromkeys(
        (
            (
                "test_attention_4d_gqa_with_past_and_present_fp16_expanded",
                "elementwise explicit",
                backend,
            )
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


def gone_wrong(lines):
    """Errors, and ends of the process that plain ONNX Runtime does not bring about."""
    alone = run_attempts(
        "support.onnx_suite:plain_alone", [line["number"] for line in lines if "death" in line]
    )
    ours = {line["number"] for line in alone if "death" not in line}
    yield from (line for line in lines if "error" in line or line["number"] in ours)


def left_out(lines):
    """Counts of cases that are not those of the record."""
    counted = {(result["cases"], result["sample"]) for result in results(lines)}
    yield from counted ^ {(RECORD["cases"], RECORD["sample"])}
    if len({result["case"] for result in results(lines)}) != len(lines):
        yield "a case without a result"


def neither_the_bits_of_onnx_runtime_nor_a_broken_rule(lines):
    """Outcomes of other kinds that the table does not have, or does not have any more."""
    plain = {result["case"]: result["plain"] for result in results(lines)}
    others = {
        (case, demands, backend): outcome
        for case, demands, by_backend in outcomes(lines)
        for backend, outcome in by_backend.items()
        if outcome != SAME
        and not is_refused(outcome)
        and not (plain[case] == "fails" and outcome in {"fails", "passes"})
    }
    yield from (item for item in others.items() if EXCEPTIONS.get(item[0], REFUSED) not in item[1])
    yield from {key for key in EXCEPTIONS if key[0] in plain} ^ others.keys()


def refused_by_one_backend(lines):
    """Cases that the backends do not refuse for the same rules."""
    for case, demands, by_backend in outcomes(lines):
        refused = {outcome for outcome in by_backend.values() if is_refused(outcome)}
        if refused and set(by_backend.values()) != refused:
            yield case, demands, by_backend


def refused_otherwise_than_recorded(lines):
    """Refusals that are not in the record, and those of the record that are no more."""
    tried, found = {result["case"] for result in results(lines)}, refusals(lines)
    for demands in DEMANDS:
        kept = {item for item in RECORD["refused"][demands].items() if item[0] in tried}
        yield from kept ^ found[demands].items()


def run_otherwise_than_recorded(lines):
    """Cases that only now, or only once, ONNX Runtime could not run."""
    tried = {result["case"] for result in results(lines)}
    yield from set(not_run(lines)) ^ (tried & set(RECORD["not run by ONNX Runtime"]))


BREACHES = (
    gone_wrong,
    left_out,
    neither_the_bits_of_onnx_runtime_nor_a_broken_rule,
    refused_by_one_backend,
    refused_otherwise_than_recorded,
    run_otherwise_than_recorded,
)


# One test, for all look at the same runs, which take minutes, and tests may go to many processes.
@pytest.mark.parametrize(
    "function", ["attempt_in_sample", pytest.param("attempt", marks=pytest.mark.thorough)]
)
def test_case_gives_the_bits_of_onnx_runtime_or_breaks_a_rule(function, tmp_path, monkeypatch):
    # Where the onnx package copies small models to.
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    lines = try_cases(function, RECORD[SIZES[function]])
    found = {breach.__name__: list(breach(lines)) for breach in BREACHES}
    assert not {promise: broken for promise, broken in found.items() if broken}


def test_record_is_of_these_versions():
    assert RECORD["versions"] == versions()


def test_broadcasting_written_out_is_refused_by_no_rule_about_shapes():
    """But by those of the legacy forms, of which ONNX Runtime has no kernel, and of types."""
    assert not RECORD["refused"]["default explicit"]
    rules = set(RECORD["refused"]["elementwise explicit"].values())
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
        f"| {refused['default reject']} | {refused['elementwise reject']} |",
        f"| {refused['default explicit']} | {refused['elementwise explicit']} |",
    )
    assert [phrase for phrase in told if phrase not in page] == []
