"""Runs the command `sonnx-ort`: in this process, which costs no start of Python."""

import subprocess
from unittest.mock import patch

from typer.testing import CliRunner

from sonnx_ort.cli import app

_ENVIRONMENT = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "160"}


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as a process would, and give what it wrote and its exit status."""
    given = [str(argument) for argument in arguments]
    with patch.dict("os.environ", _ENVIRONMENT):
        result = CliRunner().invoke(app, given, prog_name="python -m sonnx_ort")
    return subprocess.CompletedProcess(given, result.exit_code, result.stdout, result.stderr)


def output(*arguments: object) -> str:
    """What a command shows that ends well and has nothing to complain of."""
    done = command(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refusal(*arguments: object) -> str:
    """What a command complains of that cannot do what is asked, and shows nothing."""
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def without_next(shown: str) -> str:
    """What a command shows, but for the line at its end that says what is next."""
    *lines, last = shown.splitlines(keepends=True)
    assert last.startswith("next: sonnx-ort ")
    return "".join(lines)
