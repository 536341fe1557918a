"""Campaign of the matrix: which faults are drawn, what is forgotten, and what the table counts."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ages import digest

pytest.importorskip("mutmut")

import matrix
from mutation.calling import Limits
from mutation.rooms import TESTS

PATH = "sonnx_ort/samples/__init__.py"
"""A file whose owner is `samples`."""


def entry(noticed: Mapping[str, bool], number: int = 0, path: str = PATH) -> dict[str, Any]:
    return {
        "path": path,
        "number": number,
        "source": digest(path),
        "line": 7,
        "name": f"f: {number} -> 1",
        "noticed": dict(noticed),
    }


JUDGED = [
    ({"samples": True, "cli": False}, "owner alone"),
    ({"samples": True, "cli": True}, "owner and others"),
    ({"samples": False, "cli": True}, "others alone"),
    ({"samples": False, "cli": False}, "none"),
    ({"cli": True}, None),
]


@pytest.mark.parametrize(("noticed", "expected"), JUDGED)
def test_fault_is_noticed_by_its_owner_or_by_others(
    noticed: Mapping[str, bool], expected: str | None
) -> None:
    assert matrix.noticed_by(entry(noticed)) == expected


def test_one_of_several_owners_is_enough() -> None:
    both = "sonnx_ort/installation/self_checking.py"
    assert matrix.owners(both) == {"installation", "cli"}
    assert matrix.noticed_by(entry({"cli": True}, path=both)) == "owner alone"
    assert matrix.noticed_by(entry({"cli": False}, path=both)) is None


def test_table_counts_by_rooms_what_owners_have_tried() -> None:
    faults = {str(number): entry(noticed) for number, (noticed, _) in enumerate(JUDGED)}
    assert matrix.table(faults).splitlines() == [
        "| room | faults | owner alone | owner and others | others alone | none | cli | samples |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| samples | 4 | 1 | 1 | 1 | 1 | 2 | 2 |",
        "| all | 4 | 1 | 1 | 1 | 1 | 2 | 2 |",
    ]


def recorded(*faults: dict[str, Any]) -> dict[str, Any]:
    return {"faults": {f"{f['path']}#{f['number']}": f for f in faults}, "folders": {}}


def test_faults_that_no_owner_notices_are_told_with_those_who_do() -> None:
    faults = (entry(noticed, number) for number, (noticed, _) in enumerate(JUDGED))
    assert matrix.Matrix(recorded(*faults)).told() == [
        f"others alone: {PATH}:7: f: 2 -> 1 [cli]",
        f"none: {PATH}:7: f: 3 -> 1",
    ]


def test_file_that_has_changed_counts_as_not_tried() -> None:
    record = recorded(entry({"cli": True}, 1) | {"source": "another"}, entry({"cli": True}, 2))
    assert [*matrix.Matrix(record).faults] == [*record["faults"]] == [f"{PATH}#2"]


def test_folder_that_has_changed_counts_as_not_tried() -> None:
    record = recorded(entry({"cli": True, "samples": False}))
    matrix.Matrix(record)
    record["folders"]["cli"] = "another"
    (kept,) = matrix.Matrix(record).faults.values()
    assert kept["noticed"] == {"samples": False}


def test_folders_have_all_owners_and_every_owner_is_first() -> None:
    names = [*matrix.folders()]
    owning = {matrix.folder_of(test) for tests in TESTS.values() for test in tests}
    assert owning <= {*names}
    assert {*names[: len(owning) - 1]} == owning - {matrix.SINGLE}


def test_seed_draws_the_same_files_and_another_one_others() -> None:
    one, same, other = (list(itertools.islice(matrix.drawn_files(s), 9)) for s in (1, 1, 2))
    assert one == same != other


def test_one_file_of_each_room_is_drawn_before_all_others() -> None:
    rooms = [matrix.room_of(path) for path in matrix.drawn_files(1)]
    assert {*rooms[: len(TESTS)]} == {*TESTS}


def test_three_faults_of_a_file_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        matrix, "drawn_files", lambda _: iter(["sonnx_ort/analysis/progress.py"] * 2)
    )
    drawn = matrix.Matrix(recorded())
    drawn.draw(3, 1)
    assert len(drawn.faults) == 3
    again = matrix.Matrix(recorded())
    again.draw(3, 1)
    assert drawn.faults == again.faults


def test_folder_tries_what_is_not_known_of_it_its_own_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def answers(kind: str, mutants: Sequence[tuple[str, int]], *rest: Any) -> dict:
        asked.append((kind, [*mutants], *rest))
        return dict(zip(mutants, (0, 1), strict=False))

    monkeypatch.setattr(matrix, "statuses", answers)
    foreign = entry({}, 4, "sonnx_ort/analysis/progress.py")
    tried = matrix.Matrix(recorded(foreign, entry({}, 5), entry({"samples": True}, 6)))
    assert tried.try_with("samples", 9.0, (2.0, 1.0), 6)
    limits, cases = Limits(9.0, 2.0, again=False), ("--cases", "6")
    order = [(PATH, 5), ("sonnx_ort/analysis/progress.py", 4)]
    assert asked == [("functions", order, ["tests/samples"], limits, cases)]
    noticed = {each["number"]: each["noticed"] for each in tried.faults.values()}
    assert noticed == {4: {"samples": True}, 5: {"samples": False}, 6: {"samples": True}}


def test_fault_that_an_owner_has_noticed_has_fewer_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Limits] = []

    def answers(_: str, __: Any, ___: Any, limits: Limits, *____: Any) -> dict:
        asked.append(limits)
        return {}

    monkeypatch.setattr(matrix, "statuses", answers)
    noticed = ({"samples": True}, {"samples": False}, {})
    faults = (entry(each, number) for number, each in enumerate(noticed))
    assert matrix.Matrix(recorded(*faults)).try_with("cli", 9.0, (2.0, 1.0), 6)
    assert asked == [Limits(9.0, 2.0, again=False, fewer={(PATH, 0): 1.0})]


def test_record_is_written_and_the_status_tells_of_faults_that_no_owner_notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(_: str, mutants: Sequence[tuple[str, int]], *__: Any) -> dict:
        return dict.fromkeys(mutants, 0)

    monkeypatch.setattr(matrix, "statuses", nothing)
    monkeypatch.setattr(
        matrix, "drawn_files", lambda _: iter([PATH.replace("__init__", "writing")])
    )
    monkeypatch.setattr(matrix, "RECORD", tmp_path / "matrix.json")
    assert matrix.run(["samples", "--count", "1"]) == 1
    written = json.loads((tmp_path / "matrix.json").read_text("utf-8"))["faults"]
    assert [each["noticed"] for each in written.values()] == [{"samples": False}] * 3
    assert capsys.readouterr().out.count("\nnone: ") == 3


def test_folder_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        matrix.run(["envelop"])
    assert "there is no folder envelop of tests" in capsys.readouterr().err
