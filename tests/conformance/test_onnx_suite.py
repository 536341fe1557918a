"""The backend test suite of the onnx package, every case of it, through every backend.

Each case gives the very bits that plain ONNX Runtime gives, or is refused for a rule that its own
operands break. At the level at which all is optimized they are those of no optimization, or those
of the original model where ONNX Runtime optimizes it with the same options. `onnx_suite.json` has
every refusal, how many cases give the bits, and those that ONNX Runtime itself cannot run;
`support/onnx_record.py` says how it is made for other versions.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from support.onnx_record import (
    DEMANDS,
    EXPLICIT,
    LEVELS_TRIED,
    OPERATORS,
    REFUSED,
    REJECT,
    RIGHT,
    RUNS,
    is_refused,
    not_run,
    outcomes,
    refusals,
    results,
    right,
    try_cases,
    versions,
)
from support.pages import REPOSITORY
from support.soundness.isolated import run_attempts

RECORD = json.loads(Path(__file__).with_name("onnx_suite.json").read_text("utf-8"))

OF_VERSION_8 = "enforcement needs version 9, which defines Scan differently"
ROUNDED = "1 units of float16 apart"
EXCEPTIONS = {
    # A guard needs what version 9 of the operators has, which has no Scan over a batch.
    **{("test_scan_sum", "all reject", f"native {level}"): OF_VERSION_8 for level in LEVELS_TRIED},
    # Chains of MatMul and Softmax in float16, which nothing enforces, and which ONNX Runtime
    # computes in float32: where they are cut, by what is enforced between, there it rounds.
    **{
        (
            "test_attention_4d_gqa_with_past_and_present_fp16_expanded",
            "elementwise explicit",
            run,
        ): ROUNDED
        for run in RUNS
        if run != "compiled none"
    },
    ("test_attention_4d_fp16_expanded", "elementwise explicit", "python all"): ROUNDED,
    ("test_attention_4d_fp16_expanded", "elementwise explicit", "compiled all"): ROUNDED,
}
"""By case, demands and run what comes of the only cases that are neither run nor refused."""

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
        (case, demands, run): outcome
        for case, demands, by_run in outcomes(lines)
        for run, outcome in by_run.items()
        if outcome not in RIGHT
        and not is_refused(outcome)
        and not (plain[case] == "fails" and outcome in {"fails", "passes"})
    }
    yield from (item for item in others.items() if EXCEPTIONS.get(item[0], REFUSED) not in item[1])
    yield from {key for key in EXCEPTIONS if key[0] in plain} ^ others.keys()


def refused_in_one_run_alone(lines):
    """Cases that are not refused for the same rules by every backend and at both levels."""
    for case, demands, by_run in outcomes(lines):
        refused = {outcome for outcome in by_run.values() if is_refused(outcome)}
        if (refused and set(by_run.values()) != refused) or tuple(by_run) != RUNS:
            yield case, demands, by_run


def run_less_or_more_often_than_recorded(lines):
    """Of all cases, how many give the bits of ONNX Runtime, where that is not the record's."""
    if len(lines) == RECORD["cases"] and right(lines) != RECORD["right"]:
        yield right(lines)


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
    refused_in_one_run_alone,
    run_less_or_more_often_than_recorded,
    refused_otherwise_than_recorded,
    run_otherwise_than_recorded,
)


# One test, for all look at the same runs, which take minutes, and tests may go to many processes.
@pytest.mark.parametrize(
    "function",
    [
        pytest.param("attempt_in_sample", marks=pytest.mark.sample),
        pytest.param("attempt", marks=[pytest.mark.thorough, pytest.mark.weekly]),
    ],
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
    """But by those of legacy forms without a kernel, of types, of bits, and of alpha."""
    assert not RECORD["refused"]["default explicit"]
    rules = set(RECORD["refused"]["elementwise explicit"].values())
    others = {"Add.float.R1", "BitShift.int.C1", "LeakyRelu.R1", "PRelu.float.R1"}
    assert {rule for rule in rules if not rule.endswith("R2")} == others


def test_every_run_gives_the_same_cases_right():
    """But for those that a backend cannot enforce."""
    cannot = Counter((demands, run) for _, demands, run in EXCEPTIONS)
    for demands, by_run in RECORD["right"].items():
        assert len({count + cannot[demands, run] for run, count in by_run.items()}) == 1, demands


def test_page_tells_what_was_recorded():
    page = " ".join((REPOSITORY / "docs" / "exhaustive.md").read_text("utf-8").split())
    newest, runtime = (RECORD["versions"][name] for name in ("onnx", "onnxruntime"))
    unrunnable = len(RECORD["not run by ONNX Runtime"])
    told = (
        f"suite of onnx {newest} has {RECORD['cases']:,} cases",
        f"ONNX Runtime {runtime} itself cannot run {unrunnable} of them",
        f"{sum(sum(by_run.values()) for by_run in RECORD['right'].values()):,} runs",
        *(_row(broadcast) for broadcast in (REJECT, EXPLICIT)),
    )
    assert [phrase for phrase in told if phrase not in page] == []


def _row(broadcast):
    """What the page's table has of a choice: how many cases are refused, and how many run."""
    numbers = (
        f"{len(RECORD['refused'][demands])} | {max(RECORD['right'][demands].values()):,}"
        for demands in (f"{operators} {broadcast}" for operators in OPERATORS)
    )
    return f'| `broadcast="{broadcast}"` | {" | ".join(numbers)} |'
