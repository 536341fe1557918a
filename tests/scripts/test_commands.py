"""demo.py and test.py as a user calls them, in a repository whose environment is a stand-in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from environment import Environment

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")

ECHO = f"#!{sys.executable}\nimport sys\nprint('called with', *sys.argv[1:])\n"


@pytest.fixture
def environment(tmp_path):
    """A repository with an environment that counts as finished; its commands only say so."""
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "requirements.lock").touch()
    (tmp_path / "pyproject.toml").touch()
    environment = Environment(tmp_path)
    environment.commands.mkdir(parents=True)
    put_command(environment, "python", ECHO)
    put_command(environment, "sonnx-ort", ECHO)
    environment.write_stamp()
    return environment


def put_command(environment, name, body):
    command = environment.commands / name
    command.write_text(body)
    command.chmod(0o755)


def call(environment, script, *arguments):
    return subprocess.run(
        [sys.executable, environment.root / "scripts" / script, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_demo_calls_the_command_with_the_arguments(environment):
    done = call(environment, "demo.py", "--plain", "x")
    assert (done.returncode, done.stdout) == (0, "called with demo --plain x\n")


def test_demo_ends_with_the_exit_status_of_the_command(environment):
    put_command(environment, "sonnx-ort", ECHO + "sys.exit(1)\n")
    assert call(environment, "demo.py").returncode == 1


def test_test_hands_unknown_arguments_to_pytest(environment):
    done = call(environment, "test.py", "-k", "division")
    assert "called with -m pytest -k division\n" in done.stdout


def test_test_fails_if_one_check_fails(environment):
    put_command(environment, "python", ECHO + "sys.exit('ruff' in sys.argv)\n")
    done = call(environment, "test.py")
    assert done.returncode == 1
    assert "ruff check   FAILED (exit status 1)\n" in done.stdout


def test_test_with_models_tries_these_only(environment):
    done = call(environment, "test.py", "--models")
    assert done.returncode == 0
    assert "called with -m pytest -m models\n" in done.stdout
    assert "ruff" not in done.stdout


def test_test_with_models_succeeds_without_a_network_and_says_so(environment):
    put_command(environment, "python", ECHO + "print('No network.')\nsys.exit(77)\n")
    done = call(environment, "test.py", "--models")
    assert done.returncode == 0
    assert "No network.\n" in done.stdout
    assert done.stdout.endswith("\nreal models  skipped, see above\n")


@pytest.mark.parametrize("script", ["demo.py", "test.py"])
def test_environment_that_cannot_be_made_ends_with_status_2_and_a_sentence(environment, script):
    shutil.rmtree(environment.folder)
    environment.folder.touch()
    done = call(environment, script)
    assert (done.returncode, done.stderr) == (
        2,
        "The environment could not be made. The last lines above say why.\n",
    )
