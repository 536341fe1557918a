"""Which records are older than the sources that they speak of.

A record tells the sources that it was made of by one digest; docs/records/sources.json has the
files of each such digest, each with the first 16 digits of its SHA-256. The records of mutants and
of entries have the digest of each file themselves. A record is old if one of these files, or of
those that lie beside them today, is another one now, if a package has another version, or if it
names no files. Needs the standard library only: scripts/release.py has no other.
"""

import hashlib
import json
import runpy
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment import ROOT

RECORDS = ROOT / "docs" / "records"
"""Where records are kept."""

MEASURED = "measured.json"
"""The file that has what figures were measured with that another file or a page has."""

SNAPSHOTS = "sources.json"
"""The file that has the digests of files, by the digest of all of them."""

KINDS = (".py", ".toml", ".cc", ".h", ".inc")
"""How files end that results follow from."""

_DIGITS = 16
"""How many digits of a SHA-256 stand for a file."""

_PACKAGE = ("sonnx_ort", "custom_ops")
_MODELS = (*_PACKAGE, "scripts/benchmarks", "scripts/real_models")


@dataclass(frozen=True, slots=True)
class Kept:
    """A record that the repository has.

    Attributes:
        file: Its path in docs/records.
        command: The arguments of python3 that make it anew.
        sources: The files and folders that it speaks of; none if it names each file itself.
        measured: The entry of measured.json that tells what it was made with, if it does not.
        ends: Whether the oldest supported packages may have made it as well as the newest.
        kinds: How the files end that it speaks of.
    """

    file: str
    command: str
    sources: tuple[str, ...]
    measured: str = ""
    ends: bool = False
    kinds: tuple[str, ...] = KINDS


def _campaign(file: str, name: str, *sources: str, **further: Any) -> Kept:
    return Kept(file, f"scripts/campaigns.py {name} --anew", sources, **further)


def _measured(name: str, arguments: str, file: str = MEASURED) -> Kept:
    return Kept(file, f"scripts/benchmark.py {arguments} --keep {name}", _MODELS, measured=name)


_SOUNDNESS = "tests/support/soundness"

KEPT = (
    _campaign("mutants.json", "mutants", *_PACKAGE, "models", kinds=(".py",)),
    _campaign(
        *("conditions.json", "conditions"),
        *("custom_ops", "sonnx_ort/enforcing/native", "sonnx_ort/guards"),
        *("sonnx_ort/enforcing/broadcasting.py", "sonnx_ort/enforcing/hidden"),
        *("sonnx_ort/analysis/passed_guards.py", "sonnx_ort/enforcing/recognition.py"),
        *(
            "sonnx_ort/enforcing/metadata.py",
            "sonnx_ort/analysis/certificates.py",
            "sonnx_ort/checker",
        ),
        "sonnx_ort/facts",
        kinds=(".py",),
    ),
    _campaign(
        *("exhaustive.json", "pairs", "custom_ops", "sonnx_ort/enforcing", "sonnx_ort/guards"),
        *("sonnx_ort/profile", "scripts/exhaustive.py"),
    ),
    _campaign("units.json", "units", "scripts/measure_units.py"),
    _campaign(
        *("accuracy.json", "accuracy", "scripts/accuracy", "scripts/measure_accuracy.py"),
        ends=True,
    ),
    _campaign("random_graphs.json", "graphs", *_PACKAGE, _SOUNDNESS),
    _campaign("fusions.json", "fusions", *_PACKAGE, _SOUNDNESS),
    _campaign("contracts.json", "contracts", *_PACKAGE, _SOUNDNESS),
    _campaign("sums.json", "sums", *_PACKAGE, _SOUNDNESS),
    _campaign("changes.json", "changes", "sonnx_ort", _SOUNDNESS),
    _campaign("fuzzing.json", "models", *_PACKAGE, "models", "scripts/fuzzing", _SOUNDNESS),
    _campaign("forged_certificates.json", "certificates", "sonnx_ort", _SOUNDNESS),
    _campaign("entries.json", "entries"),
    _campaign("memory.json", "memory", *_PACKAGE, "scripts/measure_memory.py"),
    _measured("operators", "operators"),
    _measured("compiled", "operators --backend compiled"),
    _measured("finite", "finite"),
    _measured("optimizers", "optimizers FOLDER"),
    _measured("rewriting", "rewriting"),
    _measured("sessions", "sessions MODEL..."),
    _measured("models", "models", "real_models/div_and_sub.csv"),
    _measured("profile", "profile FOLDER", "real_models/profile.csv"),
    _measured("conform", "conform FOLDER", "real_models/conforming.csv"),
    _measured("exported", "conform FOLDER", "real_models/other_frameworks.csv"),
    _measured("contract", "contract FOLDER", "real_models/contract.csv"),
    _measured("audit", "audit FOLDER", "real_models/audits.csv"),
)
"""All of them."""


def sources_of(file: str) -> tuple[str, ...]:
    """The files and folders that a record speaks of."""
    return next(kept.sources for kept in KEPT if kept.file == file)


def digest(path: str) -> str:
    """A short digest of a file of the repository."""
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:_DIGITS]


def digests(places: Iterable[str], kinds: Collection[str] = KINDS) -> dict[str, str]:
    """The digest of each file at places that results follow from, by its path."""
    found: set[Path] = set()
    for place in (ROOT / place for place in places):
        files = place.rglob("*") if place.is_dir() else [place]
        found.update(file for file in files if file.suffix in kinds and file.is_file())
    return {path: digest(path) for path in sorted(f.relative_to(ROOT).as_posix() for f in found)}


def digest_of_all(files: Mapping[str, str]) -> str:
    """The digest that stands for files, each with its own."""
    text = "".join(f"{files[path]}  {path}\n" for path in sorted(files))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class Age:
    """How a record is related to the sources as they are.

    Attributes:
        kept: The record.
        date: The day of what is oldest in it, as ISO 8601 has it.
        since: The day of what is oldest in it and names its files.
        changed: How many files have changed since then, have gone or are new.
        files: Of how many.
        packages: What was made with other packages, such as "onnxruntime 1.31.1, now 1.32.0".
        unknown: Whether the files are not known of which a part of it was made.
    """

    kept: Kept
    date: str
    since: str
    changed: int
    files: int
    packages: tuple[str, ...]
    unknown: bool

    @property
    def is_old(self) -> bool:
        """Whether it has to be made anew."""
        return bool(self.changed or self.packages or self.unknown)

    def __str__(self) -> str:
        """Say what has changed since, in a sentence without a full stop."""
        said = []
        if self.changed:
            said.append(
                f"made of other sources than these: {self.changed} of {self.files} files "
                f"have changed since {self.since}"
            )
        if self.unknown:
            said.append("has no digests of the sources that it, or a part of it, was made of")
        if self.packages:
            said.append(f"made with {' and '.join(self.packages)}")
        return "; ".join(said) or "made of these sources"


@dataclass(frozen=True, slots=True)
class _Piece:
    """What was made at one time: with which packages, when, and of which files if it is known."""

    made_by: Mapping[str, str]
    date: str
    files: Mapping[str, str] | None


def ages(root: Path = RECORDS, records: Iterable[Kept] | None = None) -> list[Age]:
    """How records, all unless some are given, are related to the sources as they are."""
    newest = runpy.run_path(str(ROOT / "sonnx_ort" / "versions.py"))["TRIED"]
    return [_age(kept, newest, root) for kept in (KEPT if records is None else records)]


def old(root: Path = RECORDS) -> str:
    """The records that have to be made anew, a line each, with the command that does it."""
    return "".join(
        f"docs/records/{age.kept.file}{_part(age.kept)}: {age}. "
        f"To make it anew: python3 {age.kept.command}\n"
        for age in ages(root)
        if age.is_old
    )


def table(page: str, root: Path = RECORDS) -> str:
    """The state of the records that a page links to, in Markdown."""
    linked = [kept for kept in KEPT if f"(records/{kept.file})" in page]
    rows = [
        f"| [{age.kept.file}](records/{age.kept.file}){_part(age.kept)} | {age.date or '-'} "
        f"| {age} | `python3 {age.kept.command}` |"
        for age in ages(root, linked)
    ]
    head = ["| record | from | state | made anew by |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows])


def _part(kept: Kept) -> str:
    return f", {kept.measured}" if kept.file == MEASURED else ""


def _age(kept: Kept, tried: Mapping[str, tuple[str, str]], root: Path) -> Age:
    pieces = list(_pieces(kept, root))
    known = [piece for piece in pieces if piece.files]
    named = (path for piece in known for path in piece.files or ())
    now = digests(kept.sources or named, kept.kinds)
    changed, files = set[str](), set(now)
    for then in (piece.files or {} for piece in known):
        files |= then.keys()
        together = then.keys() | now.keys()
        changed |= {path for path in together if then.get(path) != now.get(path)}
    others = {
        f"{package} {version}, now {tried[package][1]}"
        for piece in pieces
        for package, version in piece.made_by.items()
        if package in tried and version not in tried[package][0 if kept.ends else 1 :]
    }
    return Age(
        kept,
        min((piece.date for piece in pieces), default=""),
        min((piece.date for piece in known), default=""),
        len(changed),
        len(files),
        tuple(sorted(others)),
        not pieces or len(known) < len(pieces),
    )


def _pieces(kept: Kept, root: Path) -> Iterator[_Piece]:
    """What a record is made of."""
    record = _read(root / (MEASURED if kept.measured else kept.file))
    snapshots = _read(root / SNAPSHOTS)
    entries: list[dict[str, Any]]
    if kept.measured:
        entries = [record[kept.measured]] if kept.measured in record else []
    elif "parts" in record:
        entries = record["parts"]
    elif "made_by" in record:
        entries = [record]
    else:
        entries = list(record.values())
    for entry in entries:
        made_by: Mapping[str, str] = entry.get("made_by") or entry.get("versions", {})
        # Records of mutants have the digests of files themselves, with what came of each.
        files = {path: tried["source"] for path, tried in entry.get("files", {}).items()}
        files |= {path: whole[:_DIGITS] for path, whole in entry.get("sources", {}).items()}
        known = files or snapshots.get(made_by.get("sources", ""))
        yield _Piece(made_by, _first_date(entry), known)


def _first_date(entry: Mapping[str, Any]) -> str:
    """The earliest of the dates in an entry."""
    dates = [value for name, value in entry.items() if name == "date"]
    dates += [_first_date(value) for value in entry.values() if isinstance(value, dict)]
    return min(filter(None, dates), default="")


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return content
