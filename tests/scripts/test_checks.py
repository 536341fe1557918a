"""What the checks do where something is missing, and what is installed for them."""

import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import checks
import node_packages
import pytest
from checks import announcement, check_types, choose_checks, runs_with_newer, unpack_wheel
from environment import PYTHONS, Environment
from node_packages import FOLDER, NodeUnavailable, install, what_is_missing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from sonnx_ort.custom_ops.compiled.library import LIBRARY

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


@pytest.mark.thorough
def test_wheel_holds_every_source_file_and_no_other(names):
    sources = {installed_name(file) for folder in SOURCES for file in folder.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources


@pytest.mark.thorough
def test_wheel_holds_the_models_the_page_the_texts_the_marker_of_types_and_the_command(names):
    package = ROOT / "sonnx_ort"
    folders = (ROOT / "models/data", package / "reporting/page", package / "profile/texts")
    data = {installed_name(file) for folder in folders for file in folder.iterdir()}
    others = {
        "sonnx_ort/py.typed",
        "sonnx_ort/facts/accuracy.csv",
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
    checks = choose_checks(Environment(), [], static=True)
    assert list(checks) == ["ruff check", "ruff format", "mypy"]


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
    ("listed", "tried"),
    [
        ({"numpy": "1.2.3", "onnx_ir": "1.0", "ruff": "9"}, False),
        ({"numpy": "1.2.4", "onnx_ir": "1.0", "ruff": "9"}, True),
        ({"numpy": "1.2.3", "onnx_ir": "2.0"}, True),
    ],
)
def test_newest_packages_are_tried_if_one_that_the_project_runs_with_is_newer(
    tmp_path, listed, tried
):
    lock = "numpy==1.2.3 \\\n    --hash=sha256:1\nonnx-ir==0.9 ; sys_platform == 'win32' \\\n"
    lock += "onnx-ir==1.0 \\\n"
    (tmp_path / "requirements.runtime.lock").write_text(lock, encoding="utf-8")
    packages = [{"name": name, "version": version} for name, version in listed.items()]
    environment = Environment(tmp_path, versions="newest")
    environment.commands.mkdir(parents=True)
    python = environment.commands / "python"
    python.write_text(f"#!/bin/sh\necho '{json.dumps(packages)}'\n", encoding="utf-8")
    python.chmod(0o755)
    assert runs_with_newer(environment) is tried


@pytest.mark.parametrize(("newer", "checked"), [(True, ["pip", "pytest"]), (False, [])])
def test_tests_of_the_newest_packages_are_left_out_if_nothing_is_new(
    monkeypatch, capsys, newer, checked
):
    called = []
    monkeypatch.setattr(sys, "argv", ["test.py", "--newest", "--if-newer"])
    monkeypatch.setattr(Environment, "prepare", lambda *_, **_options: None)
    monkeypatch.setattr(
        Environment, "call", lambda _, command, *_1, **_2: called.append(command[2]) or 0
    )
    monkeypatch.setattr(checks, "runs_with_newer", lambda _: newer)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "scripts" / "test.py"), run_name="__main__")
    assert (ended.value.code, called) == (0, checked)
    assert ("nothing is new" in capsys.readouterr().out) is not newer


@pytest.mark.parametrize(
    ("versions", "thorough", "graphs", "runs"),
    [("locked", True, None, None), ("locked", False, "16", None), ("lowest", True, "16", "30")],
)
def test_many_random_trials_are_made_with_the_packages_of_the_lock_file_alone(
    monkeypatch, versions, thorough, graphs, runs
):
    """Numbers alone are tried often with the oldest packages too."""
    variables = {}
    monkeypatch.setattr(Environment, "call", lambda *_, **given: variables.update(given))
    *_, check = choose_checks(Environment(versions=versions), [], thorough=thorough).values()
    check()
    named = "SONNX_ORT_GRAPHS", "SONNX_ORT_RUNS_OF_NUMBERS"
    assert tuple(variables.get(name) for name in named) == (graphs, runs)


def test_commit_is_checked_by_the_commands_of_the_project():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"entry: (.*)", hooks) == ["python3 scripts/test.py --static"]


@pytest.mark.parametrize(
    ("arguments", "thorough", "cases"),
    [
        ((), False, ["--cases", "2"]),
        (("--junit-xml=results.xml",), False, ["--cases", "2"]),
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
    assert [word for word in command if word in ("--cases", "2")] == cases


def test_python_without_the_extensions_tries_the_other_backends():
    checks = choose_checks(Environment(python="3.14"), [])
    said = announcement(checks, "quick")
    assert said == "1 check, about 3 minutes on 2 cores: other backends"
    assert "pytest" in choose_checks(Environment(python="3.14"), ["tests/files"])


NOT_INSTALLED = "The packages of Node.js are not installed here; run npm ci in tests/node."


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "package-lock.json").write_text("{}")
    return tmp_path


@pytest.fixture
def npm(monkeypatch, folder):
    """Stands in for npm: ends with the status and the words that are put there."""

    class Npm(list):
        status, words = 0, ""
        programs = ("node", "npm")

    calls = Npm()

    def run(command, where):
        calls.append((command, where))
        (folder / "node_modules").mkdir(exist_ok=True)
        if calls.status == 0:
            (folder / "node_modules" / ".package-lock.json").touch()
        return subprocess.CompletedProcess(command, calls.status, calls.words)

    monkeypatch.setattr(node_packages, "captured", run)
    monkeypatch.setattr(
        node_packages.shutil, "which", lambda name: name if name in calls.programs else None
    )
    return calls


def test_packages_are_installed_from_the_lock_file_once(folder, npm):
    assert what_is_missing(folder) == NOT_INSTALLED
    assert (install(folder), install(folder)) == (0, 0)
    assert what_is_missing(folder) is None
    [(command, where)] = npm
    assert command[:2] == ["npm", "ci"]
    assert where == folder


def test_newer_lock_file_installs_again(folder, npm):
    install(folder)
    os.utime(folder / "node_modules" / ".package-lock.json", (0, 0))
    assert what_is_missing(folder) == NOT_INSTALLED
    install(folder)
    assert len(npm) == 2


@pytest.mark.parametrize("programs", [(), ("node",)])
def test_nothing_is_installed_without_node_and_npm(folder, npm, programs):
    npm.programs = programs
    with pytest.raises(NodeUnavailable, match=r"^Node\.js or npm is not installed, "):
        install(folder)
    assert npm == []
    assert what_is_missing(folder) == (NOT_INSTALLED if programs else "Node.js is not installed.")


@pytest.mark.parametrize("code", ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT"])
def test_missing_network_is_told_from_other_failures(folder, npm, code):
    npm.status, npm.words = 1, f"npm error code {code}\nnpm error syscall connect\n"
    with pytest.raises(NodeUnavailable, match=r"^The registry of Node\.js packages cannot be"):
        install(folder)


def test_other_failure_shows_what_npm_wrote(folder, npm, capsys):
    npm.status, npm.words = 1, "npm error code EINTEGRITY\n"
    assert install(folder) == 1
    assert capsys.readouterr().out == npm.words
    assert what_is_missing(folder) == NOT_INSTALLED


def test_every_package_is_pinned_with_a_hash_and_without_an_address():
    lock = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))
    packages = [entry for path, entry in lock["packages"].items() if path]
    assert len(packages) > 1
    for entry in packages:
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry


def test_no_script_of_a_package_is_run():
    assert "ignore-scripts=true" in (FOLDER / ".npmrc").read_text(encoding="utf-8").splitlines()


LOCKS = ("requirements.lock", "requirements.runtime.lock", "requirements.lowest.lock")
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in LOCKS}
DOCUMENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = DOCUMENT["project"], DOCUMENT["dependency-groups"]
TESTING = [
    *PROJECT["optional-dependencies"]["oracle"],
    *(entry for entry in GROUPS["dev"] if isinstance(entry, str)),
]
FURTHER = {
    "requirements.lock": [*TESTING, *GROUPS["proofs"], *GROUPS["mutation"]],
    "requirements.runtime.lock": [],
    "requirements.lowest.lock": TESTING,
}
PLATFORMS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": platform,
        "platform_machine": machine,
    }
    for python in PYTHONS
    for platform in ("linux", "darwin", "win32")
    for machine in ("AMD64", "ARM64")
]
ENTRY = re.compile(
    r"^([a-z0-9-]+==[^\\\n]+?) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.MULTILINE
)


each_lock = pytest.mark.parametrize("lock", TEXTS)
each_platform = pytest.mark.parametrize(
    "platform",
    PLATFORMS,
    ids=lambda p: f"{p['python_version']}-{p['sys_platform']}-{p['platform_machine']}",
)


def pinned(lock, platform):
    """The version of each package on a platform."""
    requirements = [Requirement(text) for text in ENTRY.findall(TEXTS[lock])]
    return {
        canonicalize_name(requirement.name): Version(next(iter(requirement.specifier)).version)
        for requirement in requirements
        if applies(requirement, platform)
    }


def applies(requirement, platform):
    return requirement.marker is None or requirement.marker.evaluate(platform)


@each_lock
def test_every_line_pins_a_package_with_hashes_or_is_a_comment(lock):
    rest = ENTRY.sub("", TEXTS[lock])
    assert [line for line in rest.splitlines() if not line.startswith("#")] == []


@each_platform
def test_oldest_supported_versions_are_those_of_the_project(platform):
    versions = pinned("requirements.lowest.lock", platform)
    for requirement in map(Requirement, PROJECT["dependencies"]):
        if not applies(requirement, platform):
            continue
        (lowest,) = requirement.specifier
        assert versions[canonicalize_name(requirement.name)] == Version(lowest.version)


@each_lock
@each_platform
def test_what_the_project_requires_is_pinned_on_every_platform(lock, platform):
    versions = pinned(lock, platform)
    texts = (*PROJECT["dependencies"], *GROUPS["build"], *FURTHER[lock])
    required = [Requirement(text) for text in texts]
    assert [
        str(requirement)
        for requirement in required
        if applies(requirement, platform)
        and not requirement.specifier.contains(
            versions.get(canonicalize_name(requirement.name), "0")
        )
    ] == []


def test_runtime_packages_are_those_of_the_tests_without_what_only_developers_need():
    tests, runtime = ({entry[0] for entry in re.finditer(ENTRY, TEXTS[name])} for name in LOCKS[:2])
    assert runtime < tests
    names = {re.split("[=<>]", entry)[0] for entry in runtime}
    assert names.isdisjoint(Requirement(text).name for text in FURTHER["requirements.lock"])
