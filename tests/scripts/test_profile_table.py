"""The table of what the whole profile says of models."""

from pathlib import Path

from real_models.coverage import MEASUREMENT, figures, run, summary

import sonnx_ort
from support.graphs import parse

MADE = parse(
    """(float[n] x) => (float[n] z) {
        y = Div(x, x)
        h = HardSigmoid<alpha = 0.5, beta = 0.5>(y)
        z = Erf(h)
    }"""
)


def covered() -> dict:
    reports = {name: sonnx_ort.check(MADE, operators=name) for name in ("default", "profile")}
    turns = [{"default": 0.002, "profile": 0.003}, {"default": 0.001, "profile": 0.003}]
    return dict(figures(reports, turns))


def test_row_has_all_figures() -> None:
    assert MEASUREMENT.row("package/model", covered()) == {
        "model": "package/model",
        "nodes": "3",
        "a draft": "1",
        "rules of sonnx_ort": "0",
        "general restrictions only": "1",
        "outside the profile": "1",
        "default": "3 / 0 / 0",
        "profile": "3 / 0 / 0",
        "graph": "5",
        "us a node": "1000 / 1000",
        "times": "3.00 / 2.25",
    }


def test_summary_gives_shares_and_broken_rules() -> None:
    lines = list(summary([covered(), covered()]))
    assert lines[0] == (
        "2 models with 6 nodes: 2 a draft (33.3%); 0 rules of sonnx_ort (0.0%); 2 general "
        "restrictions only (33.3%); 2 outside the profile (33.3%)."
    )
    assert lines[3] == (
        "Broken rules on the graph: GR2 4, Graph.implicit_shape 4, Graph.operator_set 2."
    )


def test_models_without_a_readable_file_are_left_out(tmp_path: Path, capsys) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\xff")
    assert run([str(tmp_path)]) == 2
    assert "broken is left out: " in capsys.readouterr().out
