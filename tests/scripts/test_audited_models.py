"""The table of what audits say of models."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from real_models.auditing import MEASUREMENT, figures, run, summary

import sonnx_ort
from support.graphs import parse

MADE = parse("(float[n] x) => (float[n] z) { y = Div(x, x) [last] z = Softsign(y) }")


@pytest.fixture(scope="module")
def audited() -> dict:
    audit = sonnx_ort.audit(MADE, {"x": np.ones(3, np.float32)})
    found = figures({"none": audit, "all": audit}, {"none": 1.25, "all": 2})
    return {"model": "package/model", **found}


def test_row_has_all_figures(audited: dict) -> None:
    assert MEASUREMENT.row("package/model", audited) == {
        "model": "package/model",
        "nodes": "2",
        "none": "1 / 0 / 0 / 1",
        "s none": "1.2",
        "all": "1 / 0 / 0 / 1",
        "s all": "2.0",
    }


def test_summary_gives_shares_and_verdicts_by_operator(audited: dict) -> None:
    lines = "\n".join(summary([audited, audited])).splitlines()
    assert lines[0] == (
        "Level none: 4 nodes of 2 models: 2 exact (50.0%), 0 admitted (0.0%), 0 outside (0.0%), "
        "2 not known (50.0%). Slowest: package/model, 1.2 s."
    )
    assert "| Div | 2 | 0 | 0 | 0 | 0 | 0 |" in lines
    assert "| Softsign | 0 | 0 | 0 | 2 | 0 | 0 |" in lines


def test_models_of_a_folder_are_audited_at_both_levels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(sonnx_ort.models.path("div_example_1_float32"), tmp_path / "division.onnx")
    assert run([str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "Level all: 1 nodes of 1 models: 1 exact (100.0%)" in printed
