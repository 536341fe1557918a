"""The surveys of all tests that mutants are tried with, made again where something has changed."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from environment import ROOT

from mutation.record import digest
from mutation.survey import Survey
from mutation.trials import VARIABLES

TABLES = ("tests/profile/test_catalog.py", "tests/reporting/test_rules_pages.py")
"""Tests of all that is made while the profile's modules are imported, word for word."""

TESTS = (
    "tests/profile",
    "tests/custom_ops",
    "tests/knowledge",
    "tests/obligations",
    "tests/enforcing",
    "tests/pipeline",
    "tests/reporting/test_rules_pages.py",
)
"""What mutants are tried with, without the tests that take long."""

_FOLDER = ROOT / "build" / "mutants"


def survey(tests: Sequence[str] = TESTS) -> Survey:
    """What tests reach, by surveys that are made where there are none of these sources.

    Args:
        tests: Folders and files of tests.
    """
    together = Survey()
    for place in tests:
        part = Survey.read(_surveyed(place))
        together.seconds.update(part.seconds)
        for file, by_line in part.lines.items():
            known = together.lines.setdefault(file, {})
            for line, found in by_line.items():
                known.setdefault(line, []).extend(found)
    return together


def _surveyed(place: str) -> Path:
    sources = [ROOT / "sonnx_ort", ROOT / "custom_ops", ROOT / "tests" / "support", ROOT / place]
    known = digest(*(file for source in sources for file in _python_files(source)))
    name = place.replace("/", "-")
    path = _FOLDER / f"{name}-{known}.json"
    if not path.is_file():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        for old in _FOLDER.glob(f"{name}-*.json"):
            old.unlink()
        print(f"Looking at what {place} reaches.", flush=True)
        unfinished = path.with_suffix(".part")
        subprocess.run(
            [sys.executable, "-m", "mutation.survey", unfinished, place],
            cwd=ROOT,
            env=os.environ | VARIABLES,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        unfinished.replace(path)
    return path


def _python_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))
