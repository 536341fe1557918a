"""How far work is: what a watcher is told, and that no result depends on it."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis import progress
from sonnx_ort.analysis.progress import followed, watched_by
from sonnx_ort.api.files import certify
from sonnx_ort.conforming.conformity import conform
from support.graphs import parse

MODEL = """(float[n, 3] x, float[3] w) => (float[n, 3] z) {
    [scale] y = Div(x, w)
    [bend] z = Relu(y)
}"""

Told = list[tuple[str, int, int]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr(progress, "INTERVAL", 0)
    return []


def test_parts_are_given_as_they_are_and_counted(told: Told) -> None:
    with watched_by(lambda *each: told.append(each)):
        assert list(followed("ab", "reading", 2)) == ["a", "b"]
    steps = [("reading", done, 2) for done in (0, 1, 2, 2)]
    assert told == steps


def test_watcher_is_not_called_more_often_than_it_can_be_shown(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 60)
    with watched_by(lambda *each: told.append(each)):
        assert list(followed(range(1000), "reading", 1000)) == list(range(1000))
    assert told == [("reading", 0, 1000), ("reading", 1000, 1000)]


def test_without_a_watcher_the_parts_are_the_given_ones(told: Told) -> None:
    parts = ["a", "b"]
    assert followed(parts, "reading", 2) is parts
    with watched_by(lambda *each: told.append(each)):
        pass
    assert followed(parts, "reading", 2) is parts
    assert told == []


RULES, CHANGES = "applying rules to nodes", "changing nodes"

WORK = {
    "check": (sonnx_ort.check, [RULES, CHANGES]),
    "conform": (conform, [RULES, CHANGES]),
    "certify": (certify, [RULES, "following proofs at nodes", "checking proofs at nodes"]),
    "audit": (
        lambda path: sonnx_ort.audit(path, {"x": np.ones((2, 3), np.float32)}),
        ["auditing nodes"],
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_work_on_one_model_moves(name: str, tmp_path: Path, told: Told) -> None:
    function, kinds = WORK[name]
    path = tmp_path / "m.onnx"
    onnx.save(parse(MODEL), path)
    with watched_by(lambda *each: told.append(each)):
        function(path)
    assert set(kinds) <= {work for work, _, _ in told}
    for work in kinds:
        assert {done for each, done, total in told if (each, total) == (work, 2)} == {0, 1, 2}
