"""A forked Python ends, reads and writes as one that was started."""

import os
import subprocess
import sys

import pytest

from support.child import run_program, run_python

HERE = "import os, sys\nprint(os.getcwd() == os.path.realpath(sys.argv[1]), os.environ['SET'])"


@pytest.fixture(params=[False, True], ids=["forked", "started"])
def fresh(request: pytest.FixtureRequest) -> bool:
    given: bool = request.param
    return given


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("print(len(sys.stdin.read()))", (0, "4\n", "")),
        ("print('out'); sys.exit('why')", (1, "out\n", "why\n")),
        ("sys.exit(300)", (44, "", "")),
        ("print('kept', flush=True); os.abort()", (-6, "kept\n", "")),
        ("os.kill(os.getpid(), 9)", (-9, "", "")),
        ("import atexit; atexit.register(print, 'at exit')", (0, "at exit\n", "")),
        ("print(__name__, sys.argv, sys.path[0])", (0, "__main__ ['-c']\n", "")),
    ],
)
def test_process_ends_alike(fresh: bool, code: str, ended: tuple[int, str, str]) -> None:
    command = [sys.executable, "-c", f"import os, sys\n{code}"]
    done = run_program(command, given="four", timeout=60, fresh=fresh)
    assert (done.exit_status, done.stdout.replace(" \n", "\n"), done.stderr) == ended


def test_folder_and_variables_are_those_that_are_asked_for(fresh: bool, tmp_path) -> None:
    command = [sys.executable, "-c", HERE, str(tmp_path)]
    done = run_program(command, folder=str(tmp_path), timeout=60, fresh=fresh, SET="so")
    assert done.stdout == "True so\n", done
    assert "SET" not in os.environ


def test_error_that_nobody_catches_is_written(fresh: bool) -> None:
    done = run_python("1 / 0", fresh=fresh)
    assert done.exit_status == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith("\nZeroDivisionError: division by zero\n")


def test_process_that_takes_too_long_is_killed(fresh: bool) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_python("import time\ntime.sleep(60)", timeout=0.5, fresh=fresh)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has forks here")
def test_fork_alone_has_imported_the_package_and_it_has_no_session(fresh: bool) -> None:
    code = "import sys\nprint('sonnx_ort.pipeline' in sys.modules)"
    code += "\nprint('sonnx_ort.custom_ops.registration' in sys.modules)"
    assert run_python(code, fresh=fresh).stdout.split() == [str(not fresh), "False"]


NESTED = """
import os
from pathlib import Path
from sonnx_ort.runs.isolated_run import IsolatedRuns
from sonnx_ort.runs.limits import Limits

with IsolatedRuns(Limits(60)) as runs:
    process = runs.call(os.getpid)
    print(Path(f"/proc/{process}/cmdline").read_text().split("\\0")[1:3])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has forks here")
def test_isolated_runs_of_a_fork_are_forks_of_one_that_has_imported_all() -> None:
    child = run_python(NESTED)
    assert child.stdout == "['-m', 'support.forks']\n", child
