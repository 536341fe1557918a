"""What the checks do where something is missing, and what the wheel holds that mypy checks."""

import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from checks import announcement, check_types, choose_checks, unpack_wheel
from environment import Environment

from sonnx_ort.custom_ops.compiled.library import LIBRARY
from support.child import run_program

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]
SOURCES = {ROOT / source: package for package, source in SETUPTOOLS["package-dir"].items()}


def installed_name(file):
    """Where a source file lies in the wheel."""
    source, package = next((s, p) for s, p in SOURCES.items() if file.is_relative_to(s))
    return "/".join([*package.split("."), *file.relative_to(source).parts])


NEWEST = "tests/soundness tests/custom_ops/compiled tests/upstream tests/end_to_end"


@pytest.fixture(scope="module")
def names(wheel):
    """The names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_project_names_every_package_folder():
    packages = {
        ".".join([package, *init.parent.relative_to(source).parts])
        for source, package in SOURCES.items()
        for init in source.rglob("__init__.py")
    }
    assert sorted(SETUPTOOLS["packages"]) == sorted(packages)


def test_wheel_holds_every_source_file_and_no_other(names):
    sources = {installed_name(file) for folder in SOURCES for file in folder.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources


def test_wheel_holds_the_bundled_models_the_page_the_marker_of_types_and_the_command(names):
    folders = (ROOT / "models" / "data", ROOT / "sonnx_ort" / "reporting" / "page")
    data = {installed_name(file) for folder in folders for file in folder.iterdir()}
    others = {
        "sonnx_ort/py.typed",
        "sonnx_ort/profile/texts.csv",
        "sonnx_ort/models/README.md",
        "sonnx_ort/models/manifest.json",
    }
    assert {name for name in names if name.startswith("sonnx_ort/") and name[-3:] != ".py"} == {
        *data,
        *others,
        f"sonnx_ort/custom_ops/compiled/{LIBRARY.name}",
        "sonnx_ort/custom_ops/compiled/sonnx_ort_kernels.sha256",
    }
    assert any(name.endswith(".dist-info/entry_points.txt") for name in names)


def test_wheel_has_nothing_of_an_earlier_build_and_leaves_nothing_among_the_sources(tmp_path):
    root = tmp_path / "small"
    for file in ("small/__init__.py", "build/lib/small/deleted.py"):
        (root / file).parent.mkdir(parents=True)
        (root / file).touch()
    (root / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n"
        "[project]\nname = 'small'\nversion = '1'\n"
        "[tool.setuptools]\npackages = ['small']\n"
    )
    before = sorted(root.rglob("*"))
    installed = unpack_wheel(Path(sys.executable), root, tmp_path / "wheel")
    assert [file.name for file in installed.rglob("*.py")] == ["__init__.py"]
    assert sorted(root.rglob("*")) == before


def test_package_that_cannot_be_built_fails_the_type_check(tmp_path, capsys):
    environment = Environment(tmp_path)
    environment.commands.mkdir(parents=True)
    (environment.commands / "python").symlink_to(sys.executable)
    (tmp_path / "pyproject.toml").write_text("no TOML")
    assert check_types(environment) == 1
    assert capsys.readouterr().out.startswith("The wheel cannot be built:\n")


def test_static_checks_run_no_test():
    assert list(choose_checks(Environment(), [], static=True)) == [
        "ruff check",
        "ruff format",
        "mypy",
    ]


@pytest.mark.parametrize(
    ("versions", "called"),
    [
        ("lowest", ["pytest tests/soundness tests/custom_ops/compiled"]),
        ("newest", ["pip", f"pytest {NEWEST}"]),
    ],
)
def test_other_versions_are_tried_by_some_tests(monkeypatch, versions, called):
    commands = []

    def call(environment, command, folder, **variables):
        del environment, folder, variables
        _, _, module, *arguments = command
        tests = [argument for argument in arguments if argument.startswith("tests/")]
        commands.append(" ".join([module, *tests]))
        return 0

    monkeypatch.setattr(Environment, "call", call)
    for check in choose_checks(Environment(versions=versions), []).values():
        check()
    assert commands == called


@pytest.mark.parametrize(
    ("versions", "thorough", "graphs"),
    [("locked", True, None), ("locked", False, "16"), ("lowest", True, "16")],
)
def test_many_random_trials_are_made_with_the_packages_of_the_lock_file_alone(
    monkeypatch, versions, thorough, graphs
):
    variables = {}
    monkeypatch.setattr(Environment, "call", lambda *_, **given: variables.update(given))
    *_, check = choose_checks(Environment(versions=versions), [], thorough=thorough).values()
    check()
    assert variables.get("SONNX_ORT_GRAPHS") == graphs


def test_commit_is_checked_by_the_commands_of_the_project():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"entry: (.*)", hooks) == ["python3 scripts/test.py --static"]


@pytest.mark.parametrize(
    ("arguments", "thorough", "cases"),
    [
        ((), False, ["--cases", "6"]),
        (("--junit-xml=results.xml",), False, ["--cases", "6"]),
        ((), True, []),
        (("tests/cli",), False, []),
        (("tests/cli", "--junit-xml=results.xml"), False, []),
    ],
)
def test_quick_run_takes_some_cases_of_each_test(monkeypatch, arguments, thorough, cases):
    calls = []
    monkeypatch.setattr(Environment, "call", lambda _, command, *_1, **_2: calls.append(command))
    choose_checks(Environment(), arguments, thorough=thorough)["pytest"]()
    (command,) = calls
    assert [word for word in command if word in ("--cases", "6")] == cases


PARAMETRIZED = """
import pytest

@pytest.mark.parametrize("number", range(40))
def test_many(number): pass

def test_one(): pass
"""


MARKED = """
import pytest

LONG = [pytest.param(number, marks=pytest.mark.thorough) for number in range(40)]

@pytest.mark.parametrize("number", [*LONG, 40])
def test_many(number): pass
"""


def test_cases_are_chosen_among_those_that_marks_leave(tmp_path):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_numbers.py").write_text(MARKED)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--rootdir=."]
    child = run_program(
        [*command, "--cases=3", "-m", "not thorough"], folder=str(tmp_path), timeout=60, fresh=True
    )
    assert "test_numbers.py::test_many[40]" in child.stdout.splitlines()


def test_cases_are_the_same_in_each_run_and_of_all_tests(tmp_path):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_numbers.py").write_text(PARAMETRIZED)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--rootdir=.", "--cases=3"]
    first, second = (
        run_program(command, folder=str(tmp_path), timeout=60, fresh=True).stdout for _ in range(2)
    )
    names = [line for line in first.splitlines() if "::" in line]
    assert [name.partition("[")[0] for name in names] == [
        *["test_numbers.py::test_many"] * 3,
        "test_numbers.py::test_one",
    ]
    assert [line for line in second.splitlines() if "::" in line] == names


def test_python_without_the_extensions_tries_the_other_backends():
    checks = choose_checks(Environment(python="3.14"), [])
    said = announcement(checks, "quick")
    assert said == "1 check, about 3 minutes on 2 cores: other backends"
    assert "pytest" in choose_checks(Environment(python="3.14"), ["tests/files"])
