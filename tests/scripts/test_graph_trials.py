"""The record of random graphs: parts by versions and sources, gone on with by number."""

import json
import sys
from pathlib import Path

import pytest
import try_graphs
from try_graphs import Record

from support.child import SCRIPTS, run_program

SEEN = {"graphs": 1, "proved kept": 2, "Abs: kept": 3}
LINES = [{"number": 0, "result": SEEN}, {"number": 1, "death": 6}]


def add(path: Path) -> Record:
    made = Record(path)
    made.current().add(LINES)
    made.save()
    return made


def test_graphs_are_tried_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    child = run_program(
        [sys.executable, SCRIPTS / "try_graphs.py", "--graphs", "3", "--record", path], timeout=120
    )
    assert child.exit_status == 0, child
    (part,) = json.loads(path.read_text("utf-8"))["parts"]
    assert (part["first"], part["graphs"], part["failures"]) == (0, 3, [])
    assert part["counts"]["graphs"] == 3


def test_part_is_gone_on_with(tmp_path: Path) -> None:
    for _ in range(2):
        add(tmp_path / "record.json")
    (part,) = Record(tmp_path / "record.json").parts
    assert (part.graphs, part.failures) == (4, [1, 1])
    assert part.counts == {"graphs": 2, "proved kept": 4}


def test_other_sources_begin_a_part_behind_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path / "record.json")
    monkeypatch.setattr(try_graphs, "digest_of", lambda _: "others")
    made = add(tmp_path / "record.json")
    assert [(part.first, part.stop) for part in made.parts] == [(0, 2), (2, 4)]
    assert made.graphs == 4
