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
