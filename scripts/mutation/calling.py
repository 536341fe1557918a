"""Calls of pytest that try mutants."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environment import ROOT

SURVIVED, ENDLESS = 0, -14
"""The status of a mutant that no test fails on, and of one that SIGALRM has ended."""

_INTERRUPTED, _NO_TIME = 130, 9
"""The status of what the user has ended, and where the time is over before any mutant."""

_PYTEST = (
    *("-m", "pytest", "-q", "-x", "-m", "not thorough and not models", "-p", "no:xdist"),
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "mutation.trials", "--trials"),
)
_VARIABLES = {
    # As support/forks.py has it, which otherwise makes no forks: Pythons that tests start would
    # import everything, and a mutant would not be in them.
    "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "scripts")]),
    "PYTHONIOENCODING": "utf-8",
    "PYTHONHASHSEED": "0",
    "SONNX_ORT_EXAMPLES": "20",
}
LOG = ROOT / "build" / "mutants.log"
"""What pytest wrote, and which test was the first to fail on each mutant."""

_LONGEST = 900
"""The seconds that the tests have with a mutant that is there from the beginning."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is tried.

    Attributes:
        until: When no further mutant is tried, as `time.monotonic` has it.
        most: So many seconds of tests are run with a mutant, at most.
        again: Whether those that act during imports alone are tried in a process of their own; no
            status is given of them otherwise.
        fewer: Mutants of which less than `most` is run, each with its seconds.
    """

    until: float = math.inf
    most: float = math.inf
    again: bool = True
    fewer: Mapping[tuple[str, Any], float] = field(default_factory=dict)


_ALL = Limits()


def statuses(
    kind: str,
    mutants: Sequence[tuple[str, Any]],
    tests: Sequence[str],
    limits: Limits = _ALL,
    options: Sequence[str] = (),
) -> dict[tuple[str, Any], int] | None:
    """The exit status of each mutant that there was time for; None if the tests fail without one.

    Args:
        kind: What they are, as `mutation.kinds` names it.
        mutants: The mutants in the order in which they are tried, each with its file.
        tests: Files and folders of tests.
        limits: How much is tried.
        options: Options of pytest.
    """
    if not mutants:
        return {}
    print(f"{len(mutants)} mutants with {', '.join(tests)}:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        results, trials = Path(folder, "results"), Path(folder, "trials.json")
        absolute = [(str((ROOT / path).resolve()), mutant) for path, mutant in mutants]
        most = [limits.fewer.get(mutant, limits.most) for mutant in mutants]
        given = {
            "kind": kind,
            "files": list(dict.fromkeys(path for path, _ in absolute)),
            "results": str(results),
            "until": limits.until,
        }

        def call(tried: Sequence[Any], seconds: Sequence[float], *, alone: bool) -> int:
            parts = {"mutants": tried, "most": seconds, "alone": alone}
            trials.write_text(json.dumps(given | parts), "utf-8")
            left = min(_LONGEST, limits.until - time.monotonic()) if alone else None
            return _pytest([trials, *options, *tests], left)

        done = call(absolute, most, alone=False)
        if done == _NO_TIME:
            print("There was no time to run the tests without a mutant.")
            return {}
        if done not in {0, _INTERRUPTED} or not results.is_file():
            return None
        found, told = {}, results.read_text("utf-8")
        with LOG.open("a", encoding="utf-8") as log:
            log.write(told)
        for line in told.splitlines():
            one = json.loads(line)
            path, status = Path(one["path"]).relative_to(ROOT).as_posix(), one["status"]
            if one["again"]:
                stopped = done or not limits.again or time.monotonic() > limits.until
                alone = [[one["path"], one["mutant"]]]
                status = _INTERRUPTED if stopped else call(alone, most[:1], alone=True)
                status = _INTERRUPTED if time.monotonic() > limits.until else status
            if status != _INTERRUPTED:
                found[path, one["mutant"]] = status
        return found


def _pytest(arguments: Sequence[str | Path], seconds: float | None) -> int:
    """The exit status of pytest, whose output is in the log."""
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("a", encoding="utf-8") as log:
        try:
            done = subprocess.run(
                [sys.executable, *_PYTEST, *arguments],
                cwd=ROOT,
                env=os.environ | _VARIABLES,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ENDLESS
        except KeyboardInterrupt:
            return _INTERRUPTED
    return done.returncode
