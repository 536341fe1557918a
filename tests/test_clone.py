"""The package in a clone, where custom_ops and models stand beside it, not in it."""

import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from support.child import ChildResult, run_program
from support.package_copy import REPOSITORY, PackageCopy

PACKAGE_FOLDERS = ("sonnx_ort", "custom_ops", "models")


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """The folders of a clone that hold the package."""
    folder = tmp_path_factory.mktemp("clone")
    for name in PACKAGE_FOLDERS:
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    return folder


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory) -> Path:
    """All packages of this environment but this one."""
    folder = tmp_path_factory.mktemp("dependencies")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "sonnx_ort" not in entry.name:
            (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture(scope="module", params=["not installed", "installed", "editable"])
def python(request, tmp_path_factory, dependencies):
    """Runs Python in a folder, in an environment where the package is installed in some way."""
    if request.param == "editable":
        return run
    path = [dependencies]
    if request.param == "installed":
        path.append(PackageCopy.in_folder(tmp_path_factory.mktemp("installed")).folder)
    return lambda folder, *arguments: run_with(path, folder, *arguments)


def run(folder: Path, *arguments: str, **variables: str) -> ChildResult:
    command = [sys.executable, *arguments]
    return run_program(command, folder=str(folder), timeout=120, **variables, fresh=True)


def run_with(path: list[Path], folder: Path, *arguments: str) -> ChildResult:
    """Without `site` no .pth file has its way, so that nothing is installed but what `path` has."""
    variables = {"PYTHONPATH": ":".join(map(str, path))}
    return run(folder, "-S", *arguments, **variables)


IN_CLONE = """
import pickle
import sys
from importlib.resources import files

import sonnx_ort

sonnx_ort.register()
assert sonnx_ort.models.load("abs_int32").graph.node
assert pickle.loads(pickle.dumps(sonnx_ort.models.Citation)) is sonnx_ort.models.Citation
assert (files("sonnx_ort.models") / "manifest.json").is_file()
print(*{module.__file__ for name, module in sys.modules.items() if name.startswith("sonnx_ort")})
"""
"""Uses custom_ops, models and their data, and tells the files of all that is imported."""


def test_clone_imports_its_own_files(python, clone):
    child = python(clone, "-c", IN_CLONE)
    assert child.exit_status == 0, child
    assert {clone / f for f in ("models", "custom_ops", "sonnx_ort")} <= {
        folder for file in child.stdout.split() for folder in Path(file).parents
    }
    assert all(Path(file).is_relative_to(clone) for file in child.stdout.split()), child


def test_command_runs_in_the_clone(python, clone):
    child = python(clone, "-m", "sonnx_ort", "check", "models/data/abs_int32.onnx")
    assert child.exit_status == 0, child


@pytest.fixture
def beside(tmp_path) -> PackageCopy:
    """The installed package beside folders of others that have the same names."""
    package = PackageCopy.in_folder(tmp_path)
    for name in ("custom_ops", "models"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("foreign = True\n")
    return package


def test_installed_package_takes_nothing_that_lies_beside_it(beside):
    child = beside.run(
        f"import sonnx_ort\nprint(sonnx_ort.__path__ == [{str(beside.path('sonnx_ort'))!r}])"
    )
    assert child.stdout == "True\n", child


def test_incomplete_package_takes_no_folder_of_others(beside):
    shutil.rmtree(beside.path("models"))
    child = run_with([beside.folder], beside.folder, "-c", "import sonnx_ort\nsonnx_ort.models")
    assert child.stderr.endswith("ModuleNotFoundError: No module named 'sonnx_ort.models'\n"), child
