"""`campaigns.py mutants`: faults put into the package, one at a time.

mutmut makes each change that it knows to each function of the profile, of the kernels, of the
analysis and of the rewriting, one at a time, and runs the tests that call it, which have to fail.
What came of them is recorded in docs/records/mutants.json; a second call tries what survived, and
what has changed since. Those that do what the original does are listed in
scripts/mutation/equivalents.toml. Ends with status 1 if another one survives.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from ages import sources_of
from environment import ROOT
from mutation.outcomes import Outcomes, parse, python_files
from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
from mutmut.mutation.diff_apply import generated_function_names
from mutmut.utils.format_utils import orig_function_and_class_names_from_key
from records import Record

EQUIVALENTS = Path(__file__).parent / "mutation" / "equivalents.toml"
"""The mutants that do what the original does, and why."""

ROOMS = sources_of("mutants.json")
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
        "tests/guards",
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


def run(arguments: Sequence[str]) -> int:
    """Try mutants and keep the record; give 1 if one survived that is not listed."""
    options = parse(__doc__, "mutants.json", ROOMS, arguments)
    outcomes = Outcomes(options, _PACKAGES, EQUIVALENTS)
    # What mutmut knows already outlives a call that is interrupted before there is a record.
    made_by = outcomes.record["made_by"]
    stamp = Record(_STAGE.with_suffix(".json"), anew=options.anew, made_by=made_by, staged=False)
    if not stamp["staged"]:
        shutil.rmtree(_STAGE, ignore_errors=True)
        stamp["staged"] = True
        stamp.write()
    files = {path: _staged(path) for path in python_files(options.files)}
    _make_stage(options.files, options.tests or TESTS)
    with contextlib.chdir(_STAGE):
        _forget_survivors(files.values())
        if not _mutmut_ends_well():
            return 2
        for path, staged in files.items():
            codes = _data(staged).exit_code_by_key
            timeouts = sum(code in _ENDLESS for code in codes.values())
            survived = [change(staged, name) for name, code in codes.items() if code in _SURVIVED]
            outcomes.add(path, len(codes), timeouts, sorted(survived))
    outcomes.write()
    return 0 if outcomes.good else 1


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
        data = _data(path)
        if data.exit_code_by_key:
            for name, code in data.exit_code_by_key.items():
                if code in _SURVIVED:
                    data.exit_code_by_key[name] = None
            data.save()


def _data(staged: str) -> SourceFileMutationData:
    data = SourceFileMutationData(path=staged)
    data.load()
    return data


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
