"""Try the mutants of the package: `python3 scripts/mutate.py`.

mutmut makes each change that it knows to each function of the profile, of the kernels, of the
analysis and of the rewriting, one at a time, and runs the tests that call it, which have to fail.
What came of them is recorded in docs/records/mutants.json; a second call tries what survived, and
what has changed since. Those that do what the original does are listed in
scripts/mutation/equivalents.toml. Ends with status 1 if another one survives.
"""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path

from environment import ROOT, exit_status, run_in_environment

run_in_environment()

from mutation.outcomes import Entry, Equivalent, listed_in
from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
from mutmut.mutation.diff_apply import generated_function_names
from mutmut.utils.format_utils import orig_function_and_class_names_from_key
from records import RECORDS, known_record, versions_of, write_record

RECORD = RECORDS / "mutants.json"
"""The record that is kept in the repository."""

EQUIVALENTS = Path(__file__).parent / "mutation" / "equivalents.toml"
"""The mutants that do what the original does, and why."""

ROOMS = (
    "sonnx_ort/terms",
    "sonnx_ort/profile",
    "custom_ops",
    "sonnx_ort/checker",
    "sonnx_ort/kernel",
    "sonnx_ort/knowledge",
    "sonnx_ort/obligations",
    "sonnx_ort/enforcing",
    "sonnx_ort/options.py",
    "sonnx_ort/pipeline.py",
    "sonnx_ort/api.py",
    "sonnx_ort/file_api.py",
    "sonnx_ort/files.py",
)
"""What mutants are made of."""

TESTS = (
    *(
        "tests/terms",
        "tests/profile",
        "tests/custom_ops",
        "tests/kernel",
        "tests/knowledge",
        "tests/obligations",
        "tests/enforcing",
    ),
    "tests/reporting/test_rules_pages.py",
)
"""What mutants are tried with, without the tests that take long."""

_PACKAGES = ("mutmut", "libcst", "pytest", "hypothesis", "numpy", "onnx", "onnx-ir", "onnxruntime")
_STAGE = ROOT / "build" / "mutants"
_NOT_COPIED = ("build", "mutants", "node_modules", ".*", "*.egg-info")
_INSIDE = ("custom_ops", "models")
"""Folders of the repository that are packages inside `sonnx_ort`, where mutmut has to see them."""

_SETTINGS = Path(__file__).parent / "mutation" / "mutmut.toml"
"""The settings of mutmut, but for what is mutated with which tests."""

_SURVIVED, _ENDLESS = {0, 5, 33}, {24, -24, 36, 152}
"""Exit statuses as mutmut has them; it gives 255 where tests could not be collected, too."""


def equivalents(path: Path = EQUIVALENTS) -> list[Equivalent]:
    """All that are listed."""
    return listed_in(path)


def run(arguments: Sequence[str]) -> int:
    """Try mutants and keep the record; give 1 if one survived that is not listed."""
    options = _parser().parse_args(arguments)
    made_with = versions_of(_PACKAGES)
    known = {} if options.anew else known_record(options.record, made_with, "made_with")
    # What mutmut knows already outlives a call that is interrupted before there is a record.
    stamp = _STAGE.with_suffix(".json")
    if options.anew or not known_record(stamp, made_with, "made_with"):
        shutil.rmtree(_STAGE, ignore_errors=True)
        write_record(stamp, {"made_with": made_with})
    files = {path: _staged(path) for path in _files(options.only)}
    _make_stage(options.only, options.tests)
    with contextlib.chdir(_STAGE):
        _forget_survivors(files.values())
        if not _mutmut_ends_well():
            return 2
        entries, good = known.get("files", {}), True
        for path, staged in files.items():
            listed = {one for e in equivalents() if e.path == path for one in e.mutants}
            entry, stale = _entry(path, staged, listed)
            entries[path] = asdict(entry)
            good &= not entry.survivors and not stale
            print(_words(path, entry, stale), flush=True)
    files_by_name = dict(sorted(entries.items()))
    write_record(options.record, {"made_with": made_with, "files": files_by_name})
    return 0 if good else 1


def _mutmut_ends_well() -> bool:
    """Run mutmut, whose progress is for terminals; say what it wrote last where it fails."""
    variables = {"PYTHONPATH": str(ROOT / "scripts"), "SONNX_ORT_EXAMPLES": "20"}
    mutmut, log = Path(sys.executable).with_name("mutmut"), _STAGE / "mutmut.log"
    print(f"mutmut tries the mutants; its progress is in {log.relative_to(ROOT)}.", flush=True)
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(
            [mutmut, "run"],
            env=os.environ | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        lines = log.read_text("utf-8").splitlines()
        print(*[line for line in lines if line[:1].isascii()][-50:], sep="\n")
    return done.returncode == 0


def _files(places: Sequence[str]) -> list[str]:
    """The Python files at places, from the repository's root."""
    paths = (ROOT / place for place in places)
    found = {f for path in paths for f in (path.rglob("*.py") if path.is_dir() else [path])}
    return sorted(file.relative_to(ROOT).as_posix() for file in found)


def _staged(path: str) -> str:
    return f"sonnx_ort/{path}" if path.startswith(_INSIDE) else path


def _make_stage(rooms: Sequence[str], tests: Sequence[str]) -> None:
    """Copy the repository as the package is installed, beside what mutmut knows already."""
    _STAGE.mkdir(parents=True, exist_ok=True)
    for old in _STAGE.iterdir():
        if old.name != "mutants":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(ROOT, _STAGE, ignore=shutil.ignore_patterns(*_NOT_COPIED), dirs_exist_ok=True)
    for name in _INSIDE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, _STAGE / "sonnx_ort" / name)
    staged = [_staged(room) for room in rooms]
    sources = {Path(room).parts[0] for room in staged}
    settings = {
        "source_paths": sorted(sources),
        "only_mutate": [room if room.endswith(".py") else f"{room}/*" for room in staged],
        "also_copy": sorted({path.name for path in _STAGE.iterdir()} - {"mutants", *sources}),
        "pytest_add_cli_args_test_selection": tests,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    with (_STAGE / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", _SETTINGS.read_text("utf-8"), *lines, ""]))


def _forget_survivors(staged: Iterable[str]) -> None:
    """Have mutmut try them again: there may be other tests."""
    for path in staged:
        data = SourceFileMutationData(path=path)
        data.load()
        if data.exit_code_by_key:
            for name, code in data.exit_code_by_key.items():
                if code in _SURVIVED:
                    data.exit_code_by_key[name] = None
            data.save()


def _entry(path: str, staged: str, listed: set[str]) -> tuple[Entry, set[str]]:
    """What came of a file's mutants, and what is listed of it in vain."""
    entry = Entry(hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16])
    data = SourceFileMutationData(path=staged)
    data.load()
    codes = data.exit_code_by_key
    survived = {change(staged, name) for name, code in codes.items() if code in _SURVIVED}
    entry.mutants = len(codes)
    entry.timeouts = sum(code in _ENDLESS for code in codes.values())
    entry.killed = sum(code not in _SURVIVED | _ENDLESS for code in codes.values())
    entry.survivors = sorted(survived - listed)
    entry.equivalent = entry.mutants - entry.timeouts - entry.killed - len(entry.survivors)
    return entry, listed - survived


def change(path: str, mutant: str) -> str:
    """The difference of a mutant: "function: line as it is -> as it becomes"."""
    spans = MutantLineSpans.load(path)
    assert spans is not None  # noqa: S101 - mutmut writes them with the mutants
    names = generated_function_names(mutant)
    function, class_name = orig_function_and_class_names_from_key(mutant)
    sources = zip(spans.read_function_sources(names), names, strict=True)
    old, new = (source.replace(name, function).splitlines() for source, name in sources)
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    before, after = (
        " ".join(" ".join(lines[start : len(lines) - end]).split()) for lines in (old, new)
    )
    return f"{class_name + '.' if class_name else ''}{function}: {before} -> {after}"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _words(path: str, entry: Entry, stale: set[str]) -> str:
    summary = (
        f"{path}: {entry.mutants} mutants, {entry.killed} killed, {entry.timeouts} without an end, "
        f"{entry.equivalent} equivalent, {len(entry.survivors)} survived"
    )
    return "\n    ".join([summary, *entry.survivors, *(f"listed in vain: {one}" for one in stale)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mutate.py", description="Try the mutants of the package with its tests."
    )
    default = ", %(default)s by default"
    parser.add_argument("--record", type=Path, default=RECORD, help=f"the record{default}")
    parser.add_argument("--anew", action="store_true", help="begin the record again")
    parser.add_argument(
        *("--only",), nargs="+", metavar="FILE", default=ROOMS, help=f"files or folders{default}"
    )
    parser.add_argument(
        *("--tests",),
        nargs="+",
        metavar="FILE",
        default=TESTS,
        help=f"the tests{default}",
    )
    return parser


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
