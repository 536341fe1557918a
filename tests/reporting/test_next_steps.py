"""The line to type next: what it keeps, and how it is written."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import sonnx_ort
from sonnx_ort.reporting.next_steps import (
    NextStep,
    after_difference,
    command_line,
    next_call,
    next_command,
    next_step,
)
from support.graphs import parse

OPEN = "(float[n] x, float[n] y) => (float[n] z) { z = Div(x, y) }"
GIVEN = {
    "contract": ("--contract", "my use.toml"),
    "inputs": ("--input", "x=a.npy", "--input", "y=b.npy"),
    "output": ("--output", "report.txt"),
    "operators": ("--operators", "Div"),
}


@pytest.mark.parametrize(("verb", "kept"), [
    ("check", "--operators Div --contract 'my use.toml'"),
    ("conform", "--operators Div --contract 'my use.toml' --input x=a.npy --input y=b.npy"),
    ("verify", ""),
])  # fmt: skip
@pytest.mark.skipif(os.name == "nt", reason="another shell has other quotes")
def test_line_keeps_the_options_that_the_command_has(verb: str, kept: str) -> None:
    assert command_line(verb, "m.onnx", given=GIVEN) == f"sonnx-ort {verb} m.onnx {kept}".rstrip()


def test_option_is_replaced_and_left_out() -> None:
    line = command_line("check", "m", given=GIVEN, operators=("--operators", "Sub"), contract=())
    assert line == "sonnx-ort check m --operators Sub"


def test_what_the_report_says_is_kept_unless_the_line_said_it() -> None:
    report = sonnx_ort.check(parse(OPEN), operators="Div", edition="preliminary")
    start = "sonnx-ort rewrite m.onnx -o m.enforced.onnx --record m.record.json"
    assert next_command(report, "m.onnx") == f"{start} --edition preliminary --operators Div"
    given = {"operators": ("--operators", "Div,Div"), "backend": ("--backend", "native")}
    assert next_command(report, "m.onnx", given) == (
        f"{start} --edition preliminary --operators Div,Div --backend native"
    )


@pytest.mark.parametrize(("options", "further"), [
    ({"operators": "default"}, ""),
    ({"operators": "Div"}, ", operators=report.demands.operators"),
    ({"operators": "default", "backend": "native"}, ', backend="native"'),
    ({"operators": "default",
      "contract": sonnx_ort.Contract((sonnx_ort.ValueContract("x", (1, 2)),))},
     ", contract=report.demands.contract"),
])  # fmt: skip
def test_call_keeps_what_the_report_says(options: dict[str, object], further: str) -> None:
    report = sonnx_ort.check(parse(OPEN), **options)  # type: ignore[arg-type]
    assert next_call(report) == f"sonnx_ort.rewrite(model{further})"


AUDIT = "sonnx-ort audit b.onnx"


@pytest.mark.parametrize(("options", "ended", "line"), [
    ((), (False, False), AUDIT),
    (("operators",), (False, False), f"{AUDIT} --operators Div"),
    (("data",), (False, False), ""),
    (("samples",), (False, False), ""),
    (("saved",), (False, False), ""),
    ((), (True, False), "sonnx-ort check a.onnx"),
    ((), (False, True), "sonnx-ort check b.onnx"),
    (("saved",), (True, True), "sonnx-ort check a.onnx"),
])  # fmt: skip
def test_model_that_differs_is_audited_or_checked_if_its_run_ended(
    options: Sequence[str], ended: Sequence[bool], line: str
) -> None:
    given = {name: (f"--{name}", "Div" if name == "operators" else "here") for name in options}
    assert after_difference(Path("a.onnx"), Path("b.onnx"), given, ended) == line


@pytest.mark.parametrize(("operators", "ignored", "expected"), [
    ("Div", (), NextStep.EXPAND),
    ("Div", "Div.float.R1", NextStep.CHECK_ALL),
    ("Div", "Div.float.R2", NextStep.EXPAND),
    ("Sub", (), NextStep.CHECK_ALL),
    ("Abs", "Abs.float.R2", NextStep.REWRITE),
])  # fmt: skip
def test_violation_that_is_left_out_has_all_rules_checked(
    operators: str, ignored: Sequence[str], expected: NextStep
) -> None:
    model = "(float[3] x, float[1] y) => (float[3] z) { a = Abs(x) z = Div(a, y) }"
    report = sonnx_ort.check(parse(model), operators=operators).selected(ignore=ignored)
    assert next_step(report) is expected
