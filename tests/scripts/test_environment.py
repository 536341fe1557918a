"""The environment is made once, by commands that a stand-in for Python notes down."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import environment as module
import pytest
from environment import (
    PYTHONS,
    THIS_PYTHON,
    Environment,
    EnvironmentNotMade,
    exit_status,
    find_python,
)

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")


@pytest.fixture
def environment(tmp_path):
    """An environment that is not made yet."""
    (tmp_path / "requirements.lock").write_text("one==1\n")
    (tmp_path / "requirements.runtime.lock").write_text("one==1\n")
    (tmp_path / "pyproject.toml").write_text(
        '[dependency-groups]\nbuild = ["two>=2"]\n'
        'dev = ["three", { include-group = "build" }]\ndocs = ["four"]\n'
    )
    return Environment(tmp_path)


@pytest.fixture
def commands(monkeypatch):
    """The commands that are called; one that is put into `failing` fails."""

    class Commands(list):
        failing = None
        variables = None

    called = Commands()

    def call(environment, command, folder=None, **variables):
        del folder
        called.variables = variables
        called.append([str(part) for part in command])
        put_command(environment.commands, "python", "")
        return int(called.failing is not None and called.failing in called[-1])

    monkeypatch.setattr(Environment, "call", call)
    monkeypatch.setattr(module, "find_uv", lambda: None)
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    return called


def test_environment_is_made_from_the_lock_file_with_hashes(environment, commands):
    environment.prepare()
    venv, packages, project = commands
    assert venv == [sys.executable, "-I", "-m", "venv", "--clear", str(environment.folder)]
    assert packages[-4:] == ["--only-binary=:all:", "--require-hashes", "-r", str(environment.lock)]
    assert project[-3:] == ["--no-build-isolation", "-e", str(environment.root)]
    assert commands.variables == {}


@pytest.mark.parametrize(
    ("versions", "installed"),
    [
        (
            "locked",
            [
                ["--require-hashes", "-r", "requirements.lock"],
                ["--no-deps", "--no-build-isolation", "-e", "."],
            ],
        ),
        ("docs", [["four", "-e", "."]]),
    ],
)
def test_environment_is_made_by_uv_where_it_is(
    environment, commands, monkeypatch, versions, installed
):
    monkeypatch.setattr(module, "find_uv", lambda: "/bin/uv")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror/simple")
    made = Environment(environment.root, versions)
    made.prepare()
    uv, folder, root = ["/bin/uv", "-q"], str(made.folder), environment.root
    paths = {"requirements.lock": str(root / "requirements.lock"), ".": str(root)}
    only = ["--only-binary=:all:", "--no-binary=sonnx_ort"]
    assert commands == [
        [*uv, "venv", "--clear", "--seed", "--no-project", "--python", sys.executable, folder],
        *(
            [*uv, "pip", "install", "--python", folder, *only, *(paths.get(p, p) for p in packages)]
            for packages in installed
        ),
    ]
    assert commands.variables == {"UV_DEFAULT_INDEX": "https://mirror/simple"}


def test_environment_of_the_runtime_packages_compiles_nothing(environment, commands, capsys):
    runtime = Environment(environment.root, versions="runtime")
    runtime.prepare()
    _, packages, project = commands
    assert packages[-3:] == [
        "--require-hashes",
        "-r",
        f"{environment.root}/requirements.runtime.lock",
    ]
    assert project[-3:] == ["--no-build-isolation", "-e", str(environment.root)]
    assert commands.variables == {"SONNX_ORT_WITHOUT_KERNELS": "1"}
    assert capsys.readouterr().out == "Making the environment .venv-runtime: half a minute.\n"


def test_environment_of_the_newest_packages_is_made_from_the_project_alone(environment, commands):
    newest = Environment(environment.root, versions="newest")
    newest.prepare()
    (environment.root / "requirements.lock").unlink()
    newest.prepare()
    venv, project = commands
    assert venv[-1] == str(environment.root / ".venv-newest")
    packages = ["three", "two>=2", "-e", f"{environment.root}[oracle]"]
    assert project[-5:] == ["--only-binary=:all:", *packages]
    pyproject = environment.root / "pyproject.toml"
    pyproject.write_text(f"{pyproject.read_text()}# changed\n")
    newest.prepare()
    assert commands[2:] == commands[:2]


def test_environment_of_the_site_has_what_builds_it(environment, commands):
    Environment(environment.root, versions="docs").prepare()
    assert commands[-1][-4:] == ["--only-binary=:all:", "four", "-e", str(environment.root)]


def test_finished_environment_is_left_alone_without_a_word(environment, commands, capsys):
    environment.prepare()
    capsys.readouterr()
    environment.prepare()
    assert len(commands) == 3
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml", ".venv/sonnx_ort.stamp"])
def test_whatever_it_is_made_from_makes_it_anew(environment, commands, name):
    environment.prepare()
    (environment.root / name).write_text("changed")
    environment.prepare()
    assert commands[3:] == commands[:3]


def test_fresh_and_another_folder_make_it_anew(environment, commands, tmp_path):
    environment.prepare()
    environment.prepare(fresh=True)
    moved = Environment(environment.root.rename(tmp_path.with_name("moved")))
    moved.prepare()
    assert len(commands) == 9


def test_environment_whose_python_is_gone_is_made_anew(environment, commands):
    environment.prepare()
    (environment.commands / "python").unlink()
    environment.prepare()
    assert len(commands) == 6


@pytest.mark.parametrize("failing", ["venv", "-r", "-e"])
def test_half_made_environment_is_said_and_made_anew(environment, commands, failing):
    commands.failing = failing
    with pytest.raises(EnvironmentNotMade, match=r"^The environment \.venv could not be made; "):
        environment.prepare()
    made = len(commands)
    commands.failing = None
    environment.prepare()
    assert len(commands) == made + 3


@pytest.mark.parametrize(
    ("body", "status"),
    [("exit $#", 2), ("kill -ABRT $$", 134), ('test "$PYTHONPATH$PYTHONHOME" = ""', 0)],
)
def test_call_gives_the_exit_status_of_the_command(environment, monkeypatch, body, status):
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    put_command(environment.commands, "command", body)
    assert environment.call(["command", "one", "two"]) == status


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (EnvironmentNotMade("The disk is full."), 2, "The disk is full.\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
    ],
    ids=["environment not made", "interrupted"],
)
def test_command_that_cannot_go_on_ends_with_a_sentence(capsys, error, status, sentence):
    def command():
        raise error

    assert exit_status(command) == status
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("name", ["environment", "node_packages", "checks", "demo", "test"])
def test_what_runs_before_the_refusal_is_readable_by_an_old_python(name):
    ast.parse((SCRIPTS / f"{name}.py").read_text(encoding="utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize("version", [(3, 9), (3, 10), (3, 15)])
def test_python_that_is_not_supported_is_refused_in_a_sentence(version):
    code = f"import sys; sys.version_info = {version}; import environment"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=SCRIPTS, capture_output=True, text=True, check=False
    )
    this = "{}.{}".format(*version)
    assert (done.returncode, done.stderr) == (
        2,
        f"sonnx_ort needs Python 3.11 to 3.14, this is {this}.\n",
    )


@pytest.fixture
def pythons(tmp_path, monkeypatch):
    """Puts stand-ins for Python where they are looked for; there are no others."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))

    def put(folder, name, version):
        put_command(tmp_path / folder, name, f"echo {version}")
        return str(tmp_path / folder / name)

    return put


OTHER = next(version for version in PYTHONS if version != THIS_PYTHON)
IN_PYENV = f"pyenv/versions/{OTHER}.1/bin"


def test_other_python_makes_an_environment_of_its_own(environment, commands, pythons):
    program = pythons("path", f"python{OTHER}", OTHER)
    other = Environment(environment.root, python=OTHER)
    other.prepare()
    assert commands[0] == [program, "-I", "-m", "venv", "--clear", str(other.folder)]
    assert other.folder.name == f".venv-{OTHER}"
    assert Environment(versions="lowest", python=OTHER).folder.name == f".venv-lowest-{OTHER}"


def test_python_of_this_process_makes_the_environment_of_that_version(environment):
    assert Environment(environment.root, python=THIS_PYTHON) == environment
    assert find_python(THIS_PYTHON) == sys.executable


def test_python_is_found_where_pyenv_keeps_it_behind_a_name_without_one(pythons):
    pythons("path", f"python{OTHER}", "'pyenv: command not found'")
    program = pythons(IN_PYENV, "python", OTHER)
    assert find_python(OTHER) == program


def test_python_is_found_where_uv_keeps_it(pythons, tmp_path):
    program = pythons("uv", "python", OTHER)
    put_command(tmp_path / "path", "uv", f"echo {program}")
    assert find_python(OTHER) == program


def test_python_that_is_not_there_is_said_with_what_to_do(pythons):
    pythons(IN_PYENV, "python", THIS_PYTHON)
    with pytest.raises(EnvironmentNotMade) as caught:
        find_python(OTHER)
    assert str(caught.value) == (
        f"There is no Python {OTHER}, neither on the PATH nor one of uv or pyenv. Install it, for "
        f"example by: uv python install {OTHER}"
    )


NO_WHEEL = 'test "$1" = -I && exit 1'


def put_command(folder, name, body):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Calls a script of a copy of the repository, in which every command only says its name."""
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").touch()
    environments = [Environment(tmp_path), Environment(tmp_path, versions="runtime")]
    for environment in environments:
        environment.lock.touch()
        put_command(environment.commands, "python", "")
        with monkeypatch.context() as patch:
            patch.setattr(Environment, "call", lambda *_, **_1: 0)
            environment.prepare()

    def run(script, *arguments, body="", options=()):
        for environment in environments:
            said = f'{NO_WHEEL}\necho called with "$@"\n{body}'
            put_command(environment.commands, "python", said)
            said = f'echo {environment.folder.name} "$@" on "$PATH"\n{body}'
            put_command(environment.commands, "sonnx-ort", said)
        return subprocess.run(
            [sys.executable, *options, tmp_path / "scripts" / script, *arguments],
            env=os.environ | {"PATH": "/nowhere"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("backend", "folder"), [("native", ".venv-runtime"), ("compiled", ".venv")]
)
def test_demo_takes_the_smallest_environment_that_has_all_it_needs(call, backend, folder):
    done = call("demo.py", "--backend", backend, body="exit 3", options=["-S"])
    assert (done.returncode, done.stdout) == (3, f"{folder} demo --backend {backend} on /nowhere\n")


def test_demo_runs_in_a_python_that_has_all_it_needs(call):
    done = call("demo.py", "--help")
    assert done.returncode == 0
    assert "sonnx-ort demo [OPTIONS]" in done.stdout


@pytest.mark.parametrize("script", ["benchmark.py", "traceability.py"])
def test_script_is_called_in_the_environment_where_this_python_has_no_package(call, script):
    done = call(script, "--x", body="exit 3", options=["-S"])
    assert done.returncode == 3
    assert re.fullmatch(rf"called with \S+{script} --x\n", done.stdout)


@pytest.mark.parametrize(
    ("options", "marked"),
    [
        ([], "not models and not thorough"),
        (["--thorough"], "not models and not sample"),
        (["--models", "--thorough"], "models"),
    ],
)
def test_test_chooses_tests_and_hands_unknown_arguments_to_pytest(call, options, marked):
    done = call("test.py", *options, "-k", "division")
    assert f" --dist worksteal -m {marked} -k division\n" in done.stdout
    assert ("called with -m ruff check\n" in done.stdout) is ("--models" not in options)


def test_test_fails_if_one_check_fails_and_runs_the_others(call):
    done = call("test.py", body='case "$*" in "-m ruff check") exit 5; esac')
    assert done.returncode == 1
    ended = re.sub(r", \d+ s\n", "\n", done.stdout)
    assert "\nruff check   FAILED (exit status 5)\nruff format  passed\n" in ended
    assert "\nnpm install  skipped, see above\npytest       passed\n" in ended


ALL = "ruff check, ruff format, mypy, npm install, pytest"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], f"5 checks, about 5 minutes on 2 cores: {ALL}"),
        (["--static"], "3 checks, about 1 minute on 2 cores: ruff check, ruff format, mypy"),
        (["--models", "--thorough"], "1 check: real models"),
        (["-k", "division"], f"5 checks: {ALL}"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_test_says_at_its_start_what_it_does_and_how_far_it_is(call, options, line):
    first, *others = call("test.py", *options).stdout.splitlines()
    assert first == line
    number, names = int(first[0]), line.partition(": ")[2].split(", ")
    headings = [other for other in others if other.startswith("[")]
    assert headings == [f"[{n} of {number}: {name}]" for n, name in enumerate(names, start=1)]


def test_models_that_cannot_be_got_are_skipped(call):
    done = call("test.py", "--models", body="exit 77")
    assert done.returncode == 0
    assert "pytest" not in done.stdout
    assert "\nreal models  skipped, see above, " in done.stdout


@pytest.mark.usefixtures("call")
@pytest.mark.parametrize(("script", "folder"), [("demo.py", ".venv-runtime"), ("test.py", ".venv")])
def test_environment_that_cannot_be_made_ends_with_status_2_and_a_sentence(
    tmp_path, script, folder
):
    shutil.rmtree(tmp_path / folder)
    (tmp_path / folder).touch()
    command = [sys.executable, "-S", tmp_path / "scripts" / script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"The environment {folder} could not be made; the lines above say why." in done.stderr
