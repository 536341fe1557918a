import os
import sys
from pathlib import Path

import pytest
from environment import Environment, State, prepare
from installation import EnvironmentNotMade


class Recorder:
    """Stands in for what runs commands: notes them, and makes the files that venv would make."""

    def __init__(self, environment, *, failing=None, error=None):
        self.environment = environment
        self.failing = failing
        self.error = error
        self.commands = []

    def __call__(self, command):
        self.commands.append([str(argument) for argument in command])
        if len(self.commands) - 1 == self.failing:
            raise self.error
        if "venv" in command:
            self.environment.commands.mkdir(parents=True, exist_ok=True)
            self.environment.python.touch()


@pytest.fixture
def environment(tmp_path):
    """An environment that is not made yet."""
    root = tmp_path / "repository"
    root.mkdir()
    (root / "requirements.lock").write_text("one==1\ntwo==2 ; sys_platform == 'win32'\n")
    (root / "pyproject.toml").write_text("[project]\n")
    return Environment(root)


@pytest.fixture
def finished(environment, capsys):
    """An environment that is made."""
    prepare(environment, run=Recorder(environment))
    capsys.readouterr()
    return environment


def make_packages(environment):
    python = str(environment.python)
    pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    lock = str(environment.lock)
    return [
        [sys.executable, "-m", "venv", "--clear", str(environment.folder)],
        [*pip, "--require-hashes", "--only-binary=:all:", "-r", lock],
        [*pip, "--no-deps", "--no-build-isolation", "-e", str(environment.root)],
    ]


def remove_folder(environment):
    environment.python.unlink()
    environment.stamp.unlink()
    environment.commands.rmdir()
    environment.folder.rmdir()


def append(path, text):
    path.write_text(path.read_text() + text)


CHANGES = {
    "nothing": (lambda _: None, State.READY),
    "no folder": (remove_folder, State.MISSING),
    "no stamp": (lambda e: e.stamp.unlink(), State.UNFINISHED),
    "no Python": (lambda e: e.python.unlink(), State.UNFINISHED),
    "empty stamp": (lambda e: e.stamp.write_text(""), State.OUTDATED),
    "stamp that is no text": (lambda e: e.stamp.write_bytes(b"\xff\x00"), State.OUTDATED),
    "other lock file": (lambda e: append(e.lock, "three==3\n"), State.OUTDATED),
    "other pyproject.toml": (
        lambda e: append(e.root / "pyproject.toml", "name = 'x'\n"),
        State.OTHER_PROJECT,
    ),
}


@pytest.mark.parametrize(("change", "state"), CHANGES.values(), ids=CHANGES)
def test_state_tells_what_has_changed_since_the_environment_was_made(finished, change, state):
    change(finished)
    assert finished.state() is state


def test_environment_of_another_python_is_outdated(finished, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 99, 0, "final", 0))
    assert finished.state() is State.OUTDATED


def test_environment_that_was_moved_is_outdated(finished, tmp_path):
    moved = finished.root.rename(tmp_path / "elsewhere")
    assert Environment(moved).state() is State.OUTDATED


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_folder_may_have_a_name_that_is_no_unicode_text(tmp_path):
    root = tmp_path / os.fsdecode(b"\xff")
    root.mkdir()
    (root / "requirements.lock").touch()
    (root / "pyproject.toml").touch()
    environment = Environment(root)
    prepare(environment, run=Recorder(environment))
    assert environment.state() is State.READY


def test_ready_environment_is_left_alone_without_a_word(finished, capsys):
    recorder = Recorder(finished)
    prepare(finished, run=recorder)
    assert recorder.commands == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "name", [name for name, (_, state) in CHANGES.items() if state is not State.READY]
)
def test_environment_is_ready_after_it_was_prepared(finished, name):
    change, _ = CHANGES[name]
    change(finished)
    prepare(finished, run=Recorder(finished))
    assert finished.state() is State.READY


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (_, state) in CHANGES.items()
        if state not in {State.READY, State.OTHER_PROJECT}
    ],
)
def test_packages_are_installed_from_the_lock_file_with_hashes(finished, name):
    change, _ = CHANGES[name]
    change(finished)
    recorder = Recorder(finished)
    prepare(finished, run=recorder)
    assert recorder.commands == make_packages(finished)


def test_changed_project_is_installed_again_without_its_packages(finished):
    append(finished.root / "pyproject.toml", "name = 'x'\n")
    recorder = Recorder(finished)
    prepare(finished, run=recorder)
    assert recorder.commands == make_packages(finished)[-1:]


def test_fresh_makes_a_ready_environment_anew(finished):
    recorder = Recorder(finished)
    prepare(finished, fresh=True, run=recorder)
    assert recorder.commands == make_packages(finished)


@pytest.mark.parametrize("error", [EnvironmentNotMade("no network"), KeyboardInterrupt()], ids=type)
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_environment_that_failed_half_way_is_not_taken_for_a_finished_one(finished, failing, error):
    with pytest.raises(EnvironmentNotMade):
        prepare(finished, fresh=True, run=Recorder(finished, failing=failing, error=error))
    assert finished.state() is State.UNFINISHED


def test_failure_while_the_project_is_installed_again_leaves_it_unfinished(finished):
    append(finished.root / "pyproject.toml", "name = 'x'\n")
    recorder = Recorder(finished, failing=0, error=EnvironmentNotMade("no disk"))
    with pytest.raises(EnvironmentNotMade):
        prepare(finished, run=recorder)
    assert finished.state() is State.UNFINISHED


def test_interruption_says_what_comes_next(environment):
    recorder = Recorder(environment, failing=1, error=KeyboardInterrupt())
    with pytest.raises(EnvironmentNotMade) as raised:
        prepare(environment, run=recorder)
    assert str(raised.value) == (
        "Interrupted. The environment is not finished; the next run makes it anew."
    )


def test_first_run_says_what_it_does(environment, capsys):
    prepare(environment, run=Recorder(environment))
    assert capsys.readouterr().out.splitlines() == [
        "There is no environment in .venv yet.",
        f"Making a virtual environment in {environment.folder}.",
        (
            "Installing the packages of requirements.lock into it, each checked against its hash. "
            "This takes a minute or two."
        ),
        "Installing sonnx_ort itself into it, so that it runs from this folder.",
        "The environment is ready.",
    ]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("no stamp", "The environment in .venv is not finished. Making it anew."),
        (
            "other lock file",
            "The environment in .venv is from another lock file, Python or folder. Making it anew.",
        ),
        (
            "other pyproject.toml",
            "pyproject.toml has changed since the environment in .venv was made.",
        ),
    ],
)
def test_later_run_says_why_it_makes_the_environment_again(finished, capsys, name, first):
    change, _ = CHANGES[name]
    change(finished)
    prepare(finished, run=Recorder(finished))
    assert capsys.readouterr().out.splitlines()[0] == first


needs_scripts = pytest.mark.skipif(os.name == "nt", reason="commands are shell scripts here")


@pytest.fixture
def with_command(finished):
    """Puts a command with a body in Python into the environment."""

    def put(body):
        command = finished.commands / "command"
        command.write_text(f"#!{sys.executable}\n{body}\n")
        command.chmod(0o755)
        return finished

    return put


@needs_scripts
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit(len(sys.argv))", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", 134),
    ],
)
def test_call_gives_the_exit_status_of_the_command(with_command, body, status):
    assert with_command(body).call(["command", "one", "two"]) == status


@needs_scripts
def test_call_runs_as_if_the_environment_were_activated(with_command, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = tmp_path / "report"
    environment = with_command(
        "import os, pathlib\n"
        "names = 'VIRTUAL_ENV', 'PATH', 'PYTHONPATH'\n"
        f"pathlib.Path({str(report)!r}).write_text(\n"
        "    '\\n'.join([os.getcwd()] + [os.environ.get(name, 'unset') for name in names]))"
    )
    environment.call(["command"], tmp_path)
    assert report.read_text().splitlines() == [
        str(Path(tmp_path).resolve()),
        str(environment.folder),
        f"{environment.commands}{os.pathsep}{os.environ['PATH']}",
        "unset",
    ]
