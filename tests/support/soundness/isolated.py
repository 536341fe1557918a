"""Runs numbered attempts of which any may end the process.

    python -m support.soundness.isolated MODULE < NUMBERS

calls `attempt(number)` of the module, which gives an object for JSON, for each number of a JSON
list, and writes one line for each: what it gave, or the status with which it ended the process.
Attempts are made in forks of a process that has imported everything but started nothing.
"""

import importlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from support.child import TESTS

_SECONDS_PER_ATTEMPT = 10
"""Beyond any that was seen, by far."""

Attempt = Callable[[int], Any]


def run_attempts(module: str, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Run attempts in a child process.

    Args:
        module: Has the function `attempt`.
        numbers: The numbers of the attempts.

    Yields:
        For each its `number`, and `result`, `error` (the traceback) or `death` (the status).
    """
    finished = subprocess.run(
        [sys.executable, "-m", "support.soundness.isolated", module],
        input=json.dumps(list(numbers)),
        capture_output=True,
        check=False,
        cwd=TESTS,
        # Sets of names have one order in all runs then.
        env=os.environ | {"PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8"},
        encoding="utf-8",
        errors="replace",
        timeout=60 + _SECONDS_PER_ATTEMPT * len(numbers),
    )
    lines = [json.loads(line) for line in finished.stdout.splitlines()]
    assert finished.returncode == 0, finished.stderr
    assert [line["number"] for line in lines] == list(numbers), finished.stderr
    yield from lines


def main() -> None:
    """Run the attempts, and write what came of each."""
    (module,) = sys.argv[1:]
    attempt: Attempt = importlib.import_module(module).attempt
    pending: list[int] = json.load(sys.stdin)
    while pending:
        for line in _forked(attempt, tuple(pending)):
            print(json.dumps(line), flush=True)
            pending.pop(0)


def _forked(attempt: Attempt, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Make attempts in a fork, until all are made or one has ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w", encoding="utf-8") as results:
            for number in numbers:
                results.write(json.dumps({"number": number} | _tried(attempt, number)) + "\n")
                results.flush()
        os._exit(0)
    os.close(writing)
    made = 0
    with os.fdopen(reading, encoding="utf-8") as results:
        for line in results:
            made += 1
            yield json.loads(line)
    _, status = os.waitpid(child, 0)
    if made < len(numbers):
        yield {"number": numbers[made], "death": status}


def _tried(attempt: Attempt, number: int) -> dict[str, Any]:
    try:
        return {"result": attempt(number)}
    except Exception:  # noqa: BLE001 - whatever fails, the other attempts are made
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    main()
