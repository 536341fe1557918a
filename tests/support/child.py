"""Runs Python code in a process of its own, for what could end the process or mark it for good."""

import os
import signal
import sys
import tempfile
import textwrap
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.forks import VARIABLES, run

TESTS = Path(__file__).resolve().parents[1]
SCRIPTS = TESTS.parent / "scripts"


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child process ended.

    Attributes:
        exit_status: Its exit status; negative for the number of the signal that ended it.
        stdout: What it wrote to standard output.
        stderr: What it wrote to standard error.
    """

    exit_status: int
    stdout: str
    stderr: str

    @property
    def killed_by(self) -> signal.Signals | None:
        """The signal that ended the process; None if it ended by itself."""
        return signal.Signals(-self.exit_status) if self.exit_status < 0 else None

    def __str__(self) -> str:
        """Give everything, for the message of an assertion."""
        return f"exit status {self.exit_status}\n{self.stdout}\n{self.stderr}"


def delay_end(seconds: float) -> None:
    """Let the interpreter of this process take so long to end; what runs may end meanwhile."""
    # What is in the main module is not deleted as long as a callback of a run keeps it.
    kept = types.ModuleType("kept")
    kept.__dict__["slow"] = _Slow(seconds)
    sys.modules[kept.__name__] = kept


class _Slow:
    """Takes some time to be deleted."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __del__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Wait."""
        sleep(self._seconds)


def run_program(
    command: Sequence[str | Path],
    *,
    folder: str | None = None,
    given: str = "",
    timeout: float,
    fresh: bool = False,
    **variables: str,
) -> ChildResult:
    """Run a program in a child process; `support` and the modules of the scripts can be imported.

    Args:
        command: The program and its arguments.
        folder: Where it runs; here unless given.
        given: What it reads from standard input.
        timeout: Seconds until the child is killed and `subprocess.TimeoutExpired` is raised.
        fresh: Whether a Python has imported nothing when it starts; without, it may be a fork.
        **variables: Variables of its environment.
    """
    done = run(
        list(command),
        given,
        timeout,
        fresh=fresh,
        cwd=folder,
        env=os.environ | VARIABLES | variables,
        encoding="utf-8",
        errors="replace",
    )
    return ChildResult(done.returncode, done.stdout, done.stderr)


def run_python(
    *parts: str, timeout: float = 120, fresh: bool = False, **variables: str
) -> ChildResult:
    """Run Python code in a child process with the same interpreter, in an empty folder of its own.

    Args:
        *parts: The code: pieces that follow each other, each with an indentation of its own.
        timeout: As for `run_program`.
        fresh: As for `run_program`.
        **variables: As for `run_program`.
    """
    code = "\n".join(textwrap.dedent(part) for part in parts)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code]
        return run_program(command, folder=folder, timeout=timeout, fresh=fresh, **variables)
