"""Runs a part of the trials in a child process, and takes down how it ended."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

from support.child import TESTS
from support.soundness.trials import make_trial

_SECONDS_PER_TRIAL = 10
"""Beyond any that was seen, by far."""


@dataclass(frozen=True)
class Outcome:
    """How some trials went.

    Attributes:
        failures: For each that failed, or ended the process, the error and all of the trial.
        counts: What was looked at.
    """

    failures: tuple[str, ...]
    counts: Counter[str]


def run_trials(numbers: range) -> Outcome:
    """Run trials in a child process.

    Args:
        numbers: Their numbers.
    """
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "support.soundness.trials"),
            *map(str, (numbers.start, numbers.stop, numbers.step)),
        ],
        capture_output=True,
        check=False,
        cwd=TESTS,
        encoding="utf-8",
        # Sets of names have one order in all runs then.
        env=os.environ | {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
        errors="replace",
        timeout=60 + _SECONDS_PER_TRIAL * len(numbers),
    )
    lines: list[dict[str, Any]] = [json.loads(line) for line in finished.stdout.splitlines()]
    failures = [(line["failed"], line["error"]) for line in lines if "failed" in line]
    if finished.returncode != 0:
        tried = [line["trying"] for line in lines if "trying" in line]
        death = f"the process ended with status {finished.returncode}: {finished.stderr}"
        failures.append((tried[-1] if tried else numbers.start, death))
    counts = Counter(lines[-1]["tally"] if lines and "tally" in lines[-1] else {})
    return Outcome(tuple(_told(number, error) for number, error in failures), counts)


def _told(number: int, error: str) -> str:
    return f"trial {number}: {error}\n{make_trial(number)}"
