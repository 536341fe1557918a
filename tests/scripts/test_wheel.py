import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from package_wheel import build_wheel

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]
SOURCES = {ROOT / source: package for package, source in SETUPTOOLS["package-dir"].items()}


def packages_in_the_sources():
    """Every folder with an `__init__.py`, by the name that it is installed under."""
    return {
        ".".join([package, *init.parent.relative_to(source).parts])
        for source, package in SOURCES.items()
        for init in source.rglob("__init__.py")
    }


def installed_name(file):
    """Where a source file lies in the wheel."""
    source, package = next((s, p) for s, p in SOURCES.items() if file.is_relative_to(s))
    return "/".join([*package.split("."), *file.relative_to(source).parts])


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The names of the files in the wheel."""
    wheel = build_wheel(Path(sys.executable), ROOT, tmp_path_factory.mktemp("wheel"))
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_project_names_every_package_folder():
    assert sorted(SETUPTOOLS["packages"]) == sorted(packages_in_the_sources())


def test_nothing_but_the_package_lands_in_site_packages(names):
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"sonnx_ort"}


def test_wheel_holds_every_source_file_and_no_other(names):
    sources = {installed_name(file) for folder in SOURCES for file in folder.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources


def test_wheel_says_that_the_package_is_typed(names):
    assert "sonnx_ort/py.typed" in names


def test_wheel_holds_the_bundled_models_with_their_manifest(names):
    data = {installed_name(file) for file in (ROOT / "models" / "data").iterdir()}
    assert {
        name for name in names if name.startswith("sonnx_ort/models/") and not name.endswith(".py")
    } == {"sonnx_ort/models/README.md", "sonnx_ort/models/manifest.json", *data}


def test_wheel_installs_the_command(names):
    assert any(name.endswith(".dist-info/entry_points.txt") for name in names)


@pytest.fixture
def small_project(tmp_path):
    """A project whose last build left a file of which the source is gone."""
    root = tmp_path / "small"
    for file in ("small/__init__.py", "build/lib/small/deleted.py"):
        (root / file).parent.mkdir(parents=True)
        (root / file).touch()
    (root / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['setuptools']\nbuild-backend = 'setuptools.build_meta'\n"
        "[project]\nname = 'small'\nversion = '1'\n"
        "[tool.setuptools]\npackages = ['small']\n"
    )
    return root


def test_files_of_an_earlier_build_are_not_in_the_wheel(small_project, tmp_path):
    wheel = build_wheel(Path(sys.executable), small_project, tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert [name for name in names if name.endswith(".py")] == ["small/__init__.py"]


def test_building_leaves_nothing_among_the_sources(small_project, tmp_path):
    before = sorted(small_project.rglob("*"))
    build_wheel(Path(sys.executable), small_project, tmp_path / "wheel")
    assert sorted(small_project.rglob("*")) == before
