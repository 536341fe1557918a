"""Which records are older than the sources that they speak of."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ages
import conditions
import pytest
import records
from ages import KEPT, MEASURED, SNAPSHOTS, Kept

from sonnx_ort.versions import TRIED
from support.package_copy import REPOSITORY

DOCUMENTATION = REPOSITORY / "docs"
NEWEST = TRIED["onnxruntime"][1]
OLDEST = TRIED["onnxruntime"][0]
COMMAND = "To make it anew: python3 scripts/campaigns.py graphs --anew\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The records of a repository with two sources."""
    (tmp_path / "sonnx_ort").mkdir()
    shutil.copy(REPOSITORY / "sonnx_ort" / "versions.py", tmp_path / "sonnx_ort")
    (tmp_path / "tried").mkdir()
    (tmp_path / "tried" / "a.py").write_text("a", "utf-8")
    (tmp_path / "tried" / "b.toml").write_text("b", "utf-8")
    (tmp_path / "tried" / "notes.md").write_text("of no effect", "utf-8")
    monkeypatch.setattr(ages, "ROOT", tmp_path)
    kept = Kept("graphs.json", "scripts/campaigns.py graphs --anew", ("tried",))
    monkeypatch.setattr(ages, "KEPT", (kept,))
    folder = tmp_path / "docs" / "records"
    folder.mkdir(parents=True)
    return folder


def keep(folder: Path, content: dict[str, Any], *, name: str = "graphs.json") -> None:
    (folder / name).write_text(json.dumps(content), "utf-8")


def note_sources(folder: Path) -> str:
    """Note the sources as they are; give the digest that stands for them."""
    files = ages.digests(["tried"])
    keep(folder, {ages.digest_of_all(files): files}, name=SNAPSHOTS)
    return ages.digest_of_all(files)


def made(folder: Path, version: str = NEWEST) -> dict[str, Any]:
    """What a record tells that is made now."""
    return {"made_by": {"onnxruntime": version, "sources": note_sources(folder)}, "date": "d"}


FORMS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "one piece": lambda entry: entry,
    "parts": lambda entry: {"parts": [entry]},
    "entries": lambda entry: {"Div": {"versions": entry["made_by"], "date": entry["date"]}},
    "dates of sweeps": lambda entry: {
        "label": {"made_by": entry["made_by"], "sweeps": {"Exp": {"date": entry["date"]}}}
    },
}
"""How a record may have what it was made of."""


@pytest.mark.parametrize("form", FORMS)
def test_record_of_these_sources_is_not_old(place: Path, form: str) -> None:
    keep(place, FORMS[form](made(place)))
    (age,) = ages.ages(place)
    assert (str(age), age.is_old, age.date) == ("made of these sources", False, "d")
    assert ages.old(place) == ""


def change(folder: Path) -> None:
    (folder / "a.py").write_text("another", "utf-8")


def remove(folder: Path) -> None:
    (folder / "a.py").unlink()


def add(folder: Path) -> None:
    (folder / "c.h").write_text("", "utf-8")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("act", "files"), [(change, 2), (remove, 2), (add, 3)])
def test_record_tells_how_many_files_have_changed_since(
    place: Path, form: str, act: Callable[[Path], None], files: int
) -> None:
    keep(place, FORMS[form](made(place)))
    act(ages.ROOT / "tried")
    assert ages.old(place) == (
        "docs/records/graphs.json: made of other sources than these: "
        f"1 of {files} files have changed since d. {COMMAND}"
    )


def test_record_with_a_digest_of_each_file_needs_no_other(place: Path) -> None:
    files = ages.digests(["tried"])
    entries = {path: {"source": digest, "date": "d"} for path, digest in files.items()}
    keep(place, {"made_by": {}, "files": entries})
    (age,) = ages.ages(place)
    assert not age.is_old
    change(ages.ROOT / "tried")
    (age,) = ages.ages(place)
    assert (age.changed, age.files) == (1, 2)


UNKNOWN = "has no digests of the sources that it, or a part of it, was made of"


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"made_by": {}, "date": "d"},
        {"made_by": {"sources": "of no file"}, "date": "d"},
        {"parts": []},
        {"parts": [{"made_by": {}, "date": "d"}]},
        {"made_by": {}, "files": {}},
    ],
)
def test_record_without_digests_says_so_and_is_old(place: Path, content: dict[str, Any]) -> None:
    keep(place, content)
    assert ages.old(place) == f"docs/records/graphs.json: {UNKNOWN}. {COMMAND}"


def test_record_of_which_one_part_has_no_digests_is_old(place: Path) -> None:
    keep(place, {"parts": [{"made_by": {}, "date": "c"}, made(place)]})
    (age,) = ages.ages(place)
    assert (str(age), age.is_old, age.date, age.since) == (UNKNOWN, True, "c", "d")


def test_record_of_another_version_of_a_package_is_old(place: Path) -> None:
    keep(place, made(place, OLDEST))
    (age,) = ages.ages(place)
    assert (age.is_old, str(age)) == (True, f"made with onnxruntime {OLDEST}, now {NEWEST}")


def test_figures_of_a_page_are_as_old_as_their_entry(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [Kept("table.csv", "", ("tried",), measured=name) for name in ("noted", "not noted")]
    monkeypatch.setattr(ages, "KEPT", kept)
    keep(place, {"noted": made(place)}, name=MEASURED)
    assert [age.is_old for age in ages.ages(place)] == [False, True]


def test_measuring_notes_packages_and_sources(tmp_path: Path) -> None:
    records.measured_with("finite", tmp_path).write()
    (entry,) = json.loads((tmp_path / MEASURED).read_text("utf-8")).values()
    assert entry["made_by"]["onnxruntime"] == records.version("onnxruntime")
    snapshots = json.loads((tmp_path / SNAPSHOTS).read_text("utf-8"))
    assert "sonnx_ort/api/rewriting.py" in snapshots[entry["made_by"]["sources"]]


def test_digests_that_no_record_names_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_snapshots", {"1": {"a.py": "0"}, "2": {"a.py": "1"}})
    keep(tmp_path, {"3": {}, "4": {}}, name=SNAPSHOTS)
    keep(tmp_path, {"made_by": {"sources": "4"}}, name="other.json")
    records.Record(tmp_path / "record.json", made_by={"sources": "2"}).write()
    assert json.loads((tmp_path / SNAPSHOTS).read_text("utf-8")) == {"2": {"a.py": "1"}, "4": {}}


def test_every_record_of_the_repository_has_an_age() -> None:
    files = (path for path in ages.RECORDS.rglob("*") if path.is_file())
    assert {path.relative_to(ages.RECORDS).as_posix() for path in files} == {
        SNAPSHOTS,
        MEASURED,
        *(kept.file for kept in KEPT),
    }


def test_measured_figures_are_those_of_the_table() -> None:
    noted = json.loads((ages.RECORDS / MEASURED).read_text("utf-8"))
    assert sorted(noted) == sorted(kept.measured for kept in KEPT if kept.measured)


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.measured or kept.file)
def test_sources_of_a_record_are_there(kept: Kept) -> None:
    assert all((REPOSITORY / place).exists() for place in kept.sources)
    script = kept.command.split()[0]
    assert (REPOSITORY / script).is_file()


def test_conditions_are_tried_of_the_files_that_their_age_counts() -> None:
    assert tuple(conditions.ROOMS) == ages.sources_of("conditions.json")


def linking_pages() -> list[Path]:
    link = re.compile(r"\]\(records/")
    return [page for page in DOCUMENTATION.rglob("*.md") if link.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", linking_pages(), ids=lambda page: page.name)
def test_page_with_a_record_shows_its_age(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("<!-- made: ages -->") == 1
    shown = ages.table(text)
    linked = set(re.findall(r"\]\((records/[^)]+)\)", text))
    assert set(re.findall(r"\]\((records/[^)]+)\)", shown)) == linked


def test_every_record_is_on_a_page() -> None:
    shown = "".join(ages.table(page.read_text("utf-8")) for page in linking_pages())
    assert [kept.file for kept in KEPT if f"(records/{kept.file})" not in shown] == []
