"""What comes of a case: it conforms, deviates, computes, refuses or dies."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.meaning import Enclosure, Result
from sonnx_ort.reporting.vectors_report import suite_report
from sonnx_ort.runs.isolated_run import Failed
from sonnx_ort.runs.limits import Limits
from sonnx_ort.vectors.suite import Judged, Outcome, Vector, judge, run

F = np.float32
NEAREST = np.array([1, np.nan, np.inf, 0], F)
NOTHING = np.zeros(4, np.bool_)


def vector(kind: str = "interval", *, anything: bool = False) -> Vector:
    """A case, the first element of whose result may be one unit off."""
    entry = {
        "id": "computed/x/0",
        "operator": "X",
        "expectation": {"kind": kind, "rules": ["X.C1"] if kind == "refused" else []},
    }
    highest = np.array([np.nextafter(F(1), F(2)), *NEAREST[1:]])
    enclosure = Enclosure(NEAREST, highest, NOTHING | anything)
    results = () if kind == "refused" else (Result(NEAREST, enclosure, NOTHING),)
    return Vector(entry, b"", {}, results)


def moved(units: int) -> np.ndarray:
    found = NEAREST.copy()
    found[0] = (found[:1].view(np.int32) + units).view(F)[0]
    return found


RESULTS = {
    "the exact one": (NEAREST, Outcome.CONFORMS, "", None),
    "another zero": (np.array([1, np.nan, np.inf, -0.0], F), Outcome.DEVIATES,
        "1 of 4: -0.0 for 0.0 at 3", 0),
    "within the interval": (moved(1), Outcome.CONFORMS, "", None),
    "beyond": (moved(2), Outcome.DEVIATES, "1 of 4: 1.000000238418579 for 1.0 at 0", 2),
    "below": (moved(-1), Outcome.DEVIATES, "1 of 4: 0.9999999403953552 for 1.0 at 0", 1),
    "a number for NaN": (np.array([1, 0, np.inf, 0], F), Outcome.DEVIATES,
        "1 of 4: 0.0 for nan at 1", None),
    "another type": (NEAREST.astype(np.float64), Outcome.DEVIATES,
        "results are float64 (4,), not float32 (4,)", None),
    "another shape": (NEAREST[:1], Outcome.DEVIATES, "results are float32 (1,), not float32 (4,)",
        None),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_result_is_held_to_the_admitted_interval(name: str) -> None:
    found, *expected = RESULTS[name]
    assert judge(vector(), [found]) == Judged("computed/x/0", "X", *expected)


def test_zero_of_either_sign_conforms_where_the_interval_has_both() -> None:
    zeros = np.array([-0.0, 0], F)
    result = Result(zeros[1:], Enclosure(zeros[:1], zeros[1:], NOTHING[:1]), NOTHING[:1])
    of_zeros = replace(vector(), results=(result,))
    assert [judge(of_zeros, [zeros[k : k + 1]]).outcome for k in (0, 1)] == [Outcome.CONFORMS] * 2


def test_everything_is_admitted_where_the_case_says_so() -> None:
    assert judge(vector(anything=True), [moved(9)]).outcome is Outcome.CONFORMS


OTHERS: dict[str, tuple[str, Sequence[np.ndarray] | str | Failed, Outcome, str]] = {
    "no result": ("exact", [], Outcome.DEVIATES, "0 results, not 1"),
    "refused": ("exact", "Error: no kernel", Outcome.REFUSES, "Error: no kernel"),
    "rightly refused": ("refused", "Error: no", Outcome.CONFORMS, ""),
    "computed": ("refused", [np.int32([7])], Outcome.COMPUTES, "X.C1: int32 (1,) [7]"),
    "dead": ("refused", Failed("it died"), Outcome.DIES, "it died"),
    "dead without need": ("exact", Failed("it died"), Outcome.DIES, "it died"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_refusals_and_deaths(name: str) -> None:
    kind, found, outcome, reason = OTHERS[name]
    assert judge(vector(kind), found) == Judged("computed/x/0", "X", outcome, reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rules", "expected"), [
    ([], Outcome.REFUSES), (["X.C1"], Outcome.CONFORMS),
])  # fmt: skip
def test_error_is_right_where_rules_of_this_project_refuse(
    rules: list[str], expected: Outcome
) -> None:
    given = vector()
    expectation = {**given.entry["expectation"], "rules": rules}
    changed = replace(given, entry={**given.entry, "expectation": expectation})
    assert judge(changed, "Error: X.C1").outcome is expected
    assert judge(changed, [NEAREST]).outcome is Outcome.CONFORMS
    assert judge(changed, [moved(9)]).outcome is Outcome.DEVIATES


ENGINES = """
import os, time
import numpy as np
class Of:
    def run(self, model, feeds):
        return [feeds["A"] / feeds["B"]]
class Dies:
    def run(self, model, feeds):
        os.abort()
class Waits:
    def run(self, model, feeds):
        time.sleep(600)
class Refuses:
    def run(self, model, feeds):
        raise ValueError("not\\nmine")
class Starts:
    def __init__(self):
        raise ValueError("no license")
class Nothing:
    pass
"""


@pytest.fixture
def few(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three cases, and the engines of a user beside them."""
    lines = (suite / "manifest.json").read_text().splitlines()
    begin = lines.index(' "cases": [')
    wanted = ("computed/div_float/0", "computed/div_int8/0", "refused/div_int_c1_broken/0")
    cases = [each.rstrip(",") for each in lines[begin:] if any(f'"{w}"' in each for w in wanted)]
    text = "\n".join([*lines[: begin + 1], ",\n".join(cases), "]}"])
    for folder in ("computed", "refused"):
        (tmp_path / folder).symlink_to(suite / folder)
    (tmp_path / "manifest.json").write_text(text)
    (tmp_path / "engines_of_a_user.py").write_text(textwrap.dedent(ENGINES))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcomes(folder: Path, name: str) -> list[tuple[str, str]]:
    return [(each.outcome.name, each.reason) for each in run(folder, name)]


def test_class_of_a_user_is_an_engine(few: Path) -> None:
    computed = [outcome for outcome, _ in outcomes(few, "engines_of_a_user:Of")]
    assert computed == ["CONFORMS", "DEVIATES", "COMPUTES"]


def test_errors_are_refusals_on_one_line(few: Path) -> None:
    refused = ("REFUSES", "ValueError: not mine")
    assert outcomes(few, "engines_of_a_user:Refuses") == [refused, refused, ("CONFORMS", "")]


def test_process_that_ends_is_an_outcome(few: Path) -> None:
    died = ("DIES", "the process is killed by SIGABRT")
    assert outcomes(few, "engines_of_a_user:Dies") == [died] * 3


@pytest.mark.thorough
def test_run_that_does_not_end_is_an_outcome(few: Path) -> None:
    first = next(run(few, "engines_of_a_user:Waits", limits=Limits(8)))
    assert (first.outcome, first.reason) == (
        Outcome.DIES,
        "a run of the model takes longer than 8 s; time_limit=80 allows more",
    )


def test_cases_of_some_operators_are_run(few: Path) -> None:
    judged = list(run(few, "engines_of_a_user:Of", ["Div"]))
    assert {each.operator for each in judged} == {"Div"}
    with pytest.raises(SonnxError) as refused:
        next(run(few, "engines_of_a_user:Of", ["Div", "Neg"]))
    assert str(refused.value) == (f"'{few}' has no case of an operator 'Neg'; write a suite of it")


UNUSABLE = {
    "onnxruntim": "there is no engine 'onnxruntim' (did you mean 'onnxruntime'?); the engines are "
    "onnxruntime, onnx.reference, sonnx_ort, sonnx_ort:python, sonnx_ort:native, "
    "sonnx_ort:compiled, onnxruntime:PROVIDER and module:Class",
    "engines_of_a_user:Starts": "the engine 'engines_of_a_user:Starts' cannot be started: "
    "ValueError: no license",
    "engines_of_a_user:None": "the engine 'engines_of_a_user:None' cannot be started: "
    "AttributeError: module 'engines_of_a_user' has no attribute 'None'",
    "engines_of_a_user:Nothing": "the engine 'engines_of_a_user:Nothing' has no method "
    "run(model, feeds)",
    "no_module:Engine": "the engine 'no_module:Engine' cannot be started: ModuleNotFoundError: No "
    "module named 'no_module'",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_engine_that_cannot_be_started_is_an_error(few: Path, name: str) -> None:
    with pytest.raises(SonnxError) as error:
        next(run(few, name))
    assert str(error.value) == UNUSABLE[name]


def test_cases_that_are_held_to_a_measured_error_are_counted() -> None:
    origin = ("measured",)
    judged = [
        Judged("computed/a/0", "Log", Outcome.CONFORMS, origin=origin),
        Judged("computed/a/1", "Log", Outcome.DEVIATES, "1 of 2", 9, origin),
        Judged("computed/b/0", "Pow", Outcome.CONFORMS, origin=origin),
        Judged("computed/c/0", "Exp", Outcome.CONFORMS, origin=("chosen",)),
    ]
    *_, blank, told = suite_report(judged).splitlines()
    assert not blank
    assert told == (
        "Of those that conform, 2 (Log, Pow) are held to an error that was measured of ONNX "
        "Runtime. Of ONNX Runtime they say only that it computes as it did."
    )


def test_outcome_says_where_the_interval_comes_from() -> None:
    of_interval = vector()
    expectation = {**of_interval.entry["expectation"], "origin": ["chosen", "proof"]}
    of_interval = replace(of_interval, entry={**of_interval.entry, "expectation": expectation})
    assert judge(of_interval, [NEAREST]).origin == ("chosen", "proof")
    assert judge(vector(), [NEAREST]).origin == ()


def test_table_counts_outcomes_by_operator() -> None:
    judged = [
        Judged("computed/a/0", "Div", Outcome.CONFORMS),
        Judged("computed/a/1", "Div", Outcome.DEVIATES, "1 of 2", 1 << 63),
        Judged("computed/a/2", "Div", Outcome.DEVIATES, "1 of 2", None),
        Judged("refused/b/0", "Exp", Outcome.COMPUTES, "Exp.C1"),
        Judged("refused/b/1", "Exp", Outcome.DIES, "SIGFPE"),
        Judged("computed/c/1", "Exp", Outcome.REFUSES, "no kernel"),
    ]
    head, *rows = suite_report(judged, every=True).splitlines()
    assert head == (
        "| operator | cases | conforms | deviates | computes what it should refuse "
        "| refuses what it should compute | dies | by units at most |"
    )
    assert rows == [
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| Div | 3 | 1 | 2 |  |  |  | 9.2e+18, no number |",
        "| Exp | 3 |  |  | 1 | 1 | 1 |  |",
        "| all | 6 | 1 | 2 | 1 | 1 | 1 | 9.2e+18, no number |",
        "",
        "computed/a/1: deviates: 1 of 2",
        "computed/a/2: deviates: 1 of 2",
        "refused/b/0: computes what it should refuse: Exp.C1",
        "refused/b/1: dies: SIGFPE",
        "computed/c/1: refuses what it should compute: no kernel",
    ]
