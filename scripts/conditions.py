"""Measure the coverage of conditions: `python3 scripts/conditions.py [FILE ...]`.

Each condition of the guards, the kernels and the checker of certificates becomes true and becomes
false, one at a time, and the tests that reach it have to fail: then the condition alone changes
what the package does, as MC/DC (modified condition/decision coverage) demands. What came of them is
recorded in docs/records/conditions.json; a second call tries what survived, and what has changed
since. Those that do what the original does are listed in scripts/mutation/same_conditions.toml.
Ends with status 1 if another one survives.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from environment import ROOT, exit_status, run_in_environment

run_in_environment()

from mutation.conditions import Mutant, mutants
from mutation.outcomes import Entry, Equivalent, listed_in
from records import RECORDS, known_record, versions_of, write_record

RECORD = RECORDS / "conditions.json"
"""The record that is kept in the repository."""

EQUIVALENTS = Path(__file__).parent / "mutation" / "same_conditions.toml"
"""The mutants that do what the original does, and why."""

ROOMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "custom_ops": ("tests/custom_ops",),
        "sonnx_ort/enforcing/native": ("tests/enforcing",),
        "sonnx_ort/enforcing/broadcasting.py": ("tests/enforcing",),
        "sonnx_ort/enforcing/hidden_shapes.py": ("tests/enforcing",),
        "sonnx_ort/obligations/passed_guards.py": ("tests/obligations",),
        "sonnx_ort/enforcing/recognition.py": ("tests/enforcing",),
        "sonnx_ort/enforcing/record.py": ("tests/enforcing",),
        "sonnx_ort/certificates": ("tests/certificates",),
        "sonnx_ort/checker": ("tests/certificates",),
        "sonnx_ort/kernel": ("tests/certificates", "tests/kernel"),
    }
)
"""What is measured, each with its tests."""

_PACKAGES = ("coverage", "pytest", "hypothesis", "numpy", "onnx", "onnx-ir", "onnxruntime")
_PYTEST = (
    *("-m", "pytest", "-q", "-m", "not thorough and not models", "-p", "no:xdist"),
    *("-p", "no:cacheprovider", "-p", "no:faulthandler"),
)
_VARIABLES = {
    "PYTHONPATH": os.pathsep.join([str(ROOT / "scripts"), str(ROOT)]),
    "SONNX_ORT_EXAMPLES": "20",
}
_LOG = ROOT / "build" / "conditions.log"
_LONGEST = 900
"""The seconds that the tests have with a mutant that is imported."""

_ENDLESS, _INTERRUPTED = -14, 130
"""Exit statuses of what SIGALRM or the user has ended."""


@dataclass(slots=True)
class Conditions(Entry):
    """What came of a file's conditions, of which each has two mutants."""

    conditions: int = 0


def equivalents(path: Path = EQUIVALENTS) -> list[Equivalent]:
    """All that are listed."""
    return listed_in(path) if path.is_file() else []


def run(arguments: Sequence[str]) -> int:
    """Try mutants and keep the record; give 1 if one survived that is not listed."""
    options = _parser().parse_args(arguments)
    made_with = versions_of(_PACKAGES)
    known = {} if options.anew else known_record(options.record, made_with, "made_with")
    entries, good = known.get("files", {}), True
    for tests, files in _by_tests(options.files, options.tests).items():
        tried = {path: _to_try(path, entries.get(path)) for path in files}
        results = _results({path: names for path, names in tried.items() if names}, tests)
        if results is None:
            print(f"The tests could not be run; {_LOG.relative_to(ROOT)} says why.")
            return 2
        for path in files:
            if not results.keys() >= {(path, name) for name in tried[path]}:
                good = False  # interrupted
                continue
            entry, stale = _entry(path, entries.get(path), tried[path], results)
            entries[path] = asdict(entry)
            good &= not entry.survivors and not stale
            print(_words(path, entry, stale), flush=True)
        write_record(
            options.record, {"made_with": made_with, "files": dict(sorted(entries.items()))}
        )
    return 0 if good else 1


def _by_tests(
    places: Sequence[str], tests: Sequence[str] | None
) -> dict[tuple[str, ...], list[str]]:
    """The Python files at places that have conditions, by the tests they are tried with."""
    found: dict[tuple[str, ...], list[str]] = {}
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            name = file.relative_to(ROOT).as_posix()
            if mutants(file.read_text("utf-8")):
                found.setdefault(tuple(tests or _tests_of(name)), []).append(name)
    return found


def _tests_of(file: str) -> tuple[str, ...]:
    return next((tests for room, tests in ROOMS.items() if file.startswith(room)), ("tests",))


def _digest(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


def _listed(path: str) -> set[str]:
    return {one for entry in equivalents() if entry.path == path for one in entry.mutants}


def _to_try(path: str, known: Mapping[str, Any] | None) -> list[str]:
    """The mutants of a file; those that have survived, if it has not changed since."""
    if known is not None and known["source"] == _digest(path):
        return sorted({*known["survivors"], *_listed(path)})
    return [mutant.name for mutant in mutants((ROOT / path).read_text("utf-8"))]


def _results(
    tried: Mapping[str, Sequence[str]], tests: Sequence[str]
) -> dict[tuple[str, str], int] | None:
    """The exit status of each mutant; None if the tests fail without one."""
    if not tried:
        return {}
    print(f"{sum(map(len, tried.values()))} mutants with {', '.join(tests)}:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        results, trials = Path(folder, "results"), Path(folder, "trials.json")
        files = {str((ROOT / path).resolve()): names for path, names in tried.items()}
        trials.write_text(json.dumps({"files": files, "results": str(results)}), "utf-8")
        done = _pytest("-p", "mutation.trials", "--trials", str(trials), *tests)
        if done not in {0, _INTERRUPTED} or not results.is_file():
            return None
        found = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    statuses = {}
    for one in found:
        path, status = Path(one["path"]).relative_to(ROOT).as_posix(), one["status"]
        if one["again"]:
            status = _INTERRUPTED if done else _tried_anew(path, one["mutant"], tests)
        if status != _INTERRUPTED:
            statuses[path, one["mutant"]] = status
    return statuses


def _tried_anew(path: str, name: str, tests: Sequence[str]) -> int:
    """The exit status of tests that import a module as its mutant."""
    mutant = _named(path)[name]
    told = json.dumps([str((ROOT / path).resolve()), mutant.number, mutant.value])
    return _pytest("-x", "-p", "mutation.anew", *tests, SONNX_ORT_MUTANT=told)


def _pytest(*arguments: str, **variables: str) -> int:
    """The exit status of pytest, whose output is in the log."""
    _LOG.parent.mkdir(exist_ok=True)
    with _LOG.open("a", encoding="utf-8") as log:
        try:
            done = subprocess.run(
                [sys.executable, *_PYTEST, *arguments],
                cwd=ROOT,
                env=os.environ | _VARIABLES | variables,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=_LONGEST if variables else None,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _ENDLESS
        except KeyboardInterrupt:
            return _INTERRUPTED
    return done.returncode


def _named(path: str) -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in mutants((ROOT / path).read_text("utf-8"))}


def _entry(
    path: str,
    known: Mapping[str, Any] | None,
    tried: Sequence[str],
    results: Mapping[tuple[str, str], int],
) -> tuple[Conditions, set[str]]:
    """What came of a file's mutants, and what is listed of it in vain."""
    entry, names, listed = Conditions(_digest(path)), list(_named(path)), _listed(path)
    statuses = {name: results[path, name] for name in tried if name in names}
    survived = {name for name, status in statuses.items() if status == 0}
    entry.mutants, entry.conditions = len(names), len(names) // 2
    entry.timeouts = sum(status == _ENDLESS for status in statuses.values())
    if known is not None and len(tried) < len(names):
        entry.timeouts += known["timeouts"]
    entry.survivors = [name for name in names if name in survived - listed]
    entry.equivalent = len(survived & listed)
    entry.killed = entry.mutants - entry.timeouts - len(survived)
    return entry, listed - survived


def _words(path: str, entry: Conditions, stale: set[str]) -> str:
    summary = (
        f"{path}: {entry.conditions} conditions, {entry.mutants} mutants, {entry.killed} killed, "
        f"{entry.timeouts} without an end, {entry.equivalent} equivalent, "
        f"{len(entry.survivors)} survived"
    )
    lines = [f"{path}:{_named(path)[name].line}: {name}" for name in entry.survivors]
    return "\n    ".join([summary, *lines, *(f"listed in vain: {one}" for one in sorted(stale))])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="conditions.py", description="Measure the coverage of conditions by the tests."
    )
    parser.add_argument(
        *("files",), nargs="*", metavar="FILE", default=tuple(ROOMS), help="files or folders"
    )
    parser.add_argument("--record", type=Path, default=RECORD, help="the record, %(default)s")
    parser.add_argument("--anew", action="store_true", help="begin the record again")
    parser.add_argument("--tests", nargs="+", metavar="FILE", help="the tests; those of each room")
    return parser


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
