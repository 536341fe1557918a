"""Recorded campaigns: random graphs, and what pages tell of records."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import campaigns
import pytest
import try_graphs
import try_proofs
from forge_certificates import Forged
from try_graphs import Graphs

from support.child import SCRIPTS, run_program
from support.package_copy import REPOSITORY
from support.soundness.changed_certificates import CHANGES

DOCUMENTATION = REPOSITORY / "docs"


def recorded(name: str) -> dict:
    return json.loads((DOCUMENTATION / "records" / f"{name}.json").read_text("utf-8"))


def told(page: str, cell: str, columns: int) -> dict[str, list[int]]:
    """The numbers of the rows that have so many behind such a cell, by what is named in it."""
    text = (DOCUMENTATION / page).read_text("utf-8")
    numbers = r" \| ".join([r"([\d,]+)"] * columns)
    rows = re.findall(rf"^\| {cell} \| {numbers} \|", text, re.MULTILINE)
    return {name: [int(cell.replace(",", "")) for cell in cells] for name, *cells in rows}


PROOFS = {
    "nodes that optimizers join": "fusions",
    "contracts of any numbers": "contracts",
    "long sums": "sums",
}
"""The records of proofs, by what the page calls them."""


def tried_and_failed(record: str, counted: str = "graphs") -> list[int]:
    """How many graphs a record has, and how many failures."""
    content = recorded(record)
    return [content[counted], sum(len(part["failures"]) for part in content["parts"])]


def test_page_of_campaigns_tells_how_many_were_tried_and_failed() -> None:
    fuzzing, graphs = recorded("fuzzing"), recorded("random_graphs")
    forged = recorded("forged_certificates")["parts"]
    failures = sum(len(part["failures"]) for part in graphs["parts"])
    assert told("campaigns.md", r"(.+?) \| `\w+`", 2) == {
        "mutated models": [fuzzing["models"], len(fuzzing["faults"])],
        "random graphs": [graphs["graphs"], failures],
        "forged certificates": [
            sum(part["forged"] for part in forged),
            sum(len(part["failures"]) for part in forged),
        ],
        **{name: tried_and_failed(record) for name, record in PROOFS.items()},
        "changes of single nodes": tried_and_failed("changes", "nodes"),
        **{
            name: [case["repetitions"], int(case["exceeds"])]
            for name, case in recorded("memory")["cases"].items()
        },
    }


def test_page_of_campaigns_tells_how_many_obligations_were_kept_and_broken() -> None:
    page = (DOCUMENTATION / "campaigns.md").read_text("utf-8")
    counts: Counter[str] = Counter()
    for part in recorded("random_graphs")["parts"]:
        counts.update(part["counts"])
    kept, broken = counts["runtime kept"], counts["runtime broken"]
    assert (
        f"{counts['proved kept']:,} checks were proved and kept, "
        f"{counts['violated broken']:,} violated and broken, "
        f"and {kept + broken:,} left to the run, which broke {broken:,}"
    ) in " ".join(page.split())


def part_of(path: str) -> str:
    """The part in the table of conditions that a file belongs to."""
    parts = {
        "custom_ops/": "kernels",
        "sonnx_ort/enforcing/": "guards",
        "sonnx_ort/analysis/certificates": "checker",
        "sonnx_ort/analysis/": "guards that have passed",
    }
    return next(part for folder, part in parts.items() if path.startswith(folder))


def test_page_of_mutants_tells_the_sums_of_what_was_recorded_of_conditions() -> None:
    """Each condition has two mutants."""
    counted = ("mutants", "killed", "timeouts", "equivalent")
    sums: dict[str, list[int]] = {}
    for path, entry in recorded("conditions")["files"].items():
        conditions = entry["mutants"] // 2
        counts = [1, conditions, *(entry[c] for c in counted), len(entry["survivors"])]
        before = sums.get(part_of(path), [0] * len(counts))
        sums[part_of(path)] = [one + other for one, other in zip(before, counts, strict=True)]
    assert told("mutants.md", r"([a-z ]+)", len(counts)) == sums


@pytest.mark.parametrize("name", campaigns.CAMPAIGNS)
def test_campaign_is_told_of_and_its_function_is_there(name: str) -> None:
    assert f"\n    {name} " in str(campaigns.__doc__)
    module, _, function = campaigns.CAMPAIGNS[name].partition(":")
    assert f"\ndef {function}(" in (SCRIPTS / f"{module}.py").read_text("utf-8")


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["mutant"], 2), (["--help"], 0)])
def test_campaigns_are_listed_where_none_is_chosen(
    arguments: list[str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["campaigns.py", *arguments])
    assert campaigns.main() == status
    assert capsys.readouterr()[1 if status else 0] == f"{campaigns.__doc__}\n"


SEEN = {"graphs": 1, "proved kept": 2, "Abs: kept": 3}
LINES = [{"number": 0, "result": SEEN}, {"number": 1, "death": 6}]


def add(path: Path) -> Graphs:
    made = Graphs(path)
    made.add(LINES)
    made.write()
    return made


@pytest.mark.thorough
def test_graphs_are_tried_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    command = [sys.executable, SCRIPTS / "campaigns.py", "graphs", "--count", "3"]
    child = run_program([*command, "--record", path], timeout=120)
    assert child.exit_status == 0, child
    (part,) = json.loads(path.read_text("utf-8"))["parts"]
    assert (part["first"], part["graphs"], part["failures"]) == (0, 3, [])
    assert part["counts"]["graphs"] == 3


@pytest.mark.thorough
def test_certificates_are_forged_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    command = [sys.executable, SCRIPTS / "campaigns.py", "certificates", "--count", "2"]
    child = run_program([*command, "--record", path], timeout=120)
    assert child.exit_status == 0, child
    (part,) = json.loads(path.read_text("utf-8"))["parts"]
    assert (part["first"], part["models"], part["failures"]) == (0, 2, [])
    assert part["forged"] == CHANGES * part["counts"].get("models", 0)


def test_false_certificate_that_is_accepted_is_a_failure(tmp_path: Path) -> None:
    made = Forged(tmp_path / "record.json", models=0, parts=[])
    seen = {"models": 1, "constant: rejected": 2, "operand: false, other results": 1}
    made.add([{"number": 0, "result": seen}, {"number": 1, "result": {}}, {"number": 2}])
    (part,) = made["parts"]
    assert (part["models"], part["forged"], part["failures"]) == (3, 3, [0, 2])


@pytest.mark.thorough
def test_proofs_are_tried_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    command = [sys.executable, SCRIPTS / "campaigns.py", "fusions", "--count", "3"]
    child = run_program([*command, "--record", path], timeout=120)
    assert child.exit_status == 0, child
    (part,) = json.loads(path.read_text("utf-8"))["parts"]
    assert (part["first"], part["graphs"], part["failures"]) == (0, 3, [])
    assert part["counts"]["models"] == 3


def test_proofs_that_are_tried_from_a_number_on_are_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    command = [sys.executable, SCRIPTS / "campaigns.py", "sums", "--count", "1", "--first", "5"]
    child = run_program([*command, "--record", path], timeout=120)
    assert (child.exit_status, path.exists()) == (0, False), child
    assert child.stdout.endswith("1 graphs, 0 failed\n")


FALSE = [
    ({"number": 4, "death": 8}, "[death by 8] 4"),
    (
        {"number": 5, "error": "Traceback:\na.b.FalseProofError: [ConvMulFusion] native: y: NaN"},
        "[ConvMulFusion] 5",
    ),
    ({"number": 6, "error": "Traceback:\nKeyError: 'x'"}, "[KeyError: 'x'] 6"),
]


@pytest.mark.parametrize(("line", "failure"), FALSE)
def test_failure_of_a_proof_is_recorded_with_its_kind(line: dict, failure: str) -> None:
    assert try_proofs.counted([line, {"number": 7, "result": {"runs": 2}}]) == {
        "graphs": 2,
        "counts": {"runs": 2},
        "failures": [failure],
    }


def test_part_is_gone_on_with(tmp_path: Path) -> None:
    for _ in range(2):
        add(tmp_path / "record.json")
    (part,) = Graphs(tmp_path / "record.json")["parts"]
    assert (part["graphs"], part["failures"]) == (4, [1, 1])
    assert part["counts"] == {"graphs": 2, "proved kept": 4}


def test_other_sources_begin_a_part_behind_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path / "record.json")
    monkeypatch.setattr(try_graphs, "versions_of", lambda *_: {"sources": "others"})
    made = add(tmp_path / "record.json")
    assert [(part["first"], part["graphs"]) for part in made["parts"]] == [(0, 2), (2, 2)]
    assert made["graphs"] == 4
