"""What the files of a release hold; scripts/release.py installs and tries them."""

import email
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import release
from distributions import build_distributions, build_wheel
from packaging.metadata import Metadata
from packaging.requirements import Requirement

import sonnx_ort
from sonnx_ort.reporting.formats import ReportFormat

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build_distributions(Path(sys.executable), ROOT, tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def metadata(built):
    """The metadata of the wheel, every field of which has been held to its specification."""
    [file] = [name for name in contents(built.wheel) if name.endswith(".dist-info/METADATA")]
    return Metadata.from_email(contents(built.wheel)[file], validate=True)


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_source_distribution_makes_the_wheel_that_the_repository_makes(built, tmp_path):
    of_repository = build_wheel(Path(sys.executable), ROOT, tmp_path)
    assert built.wheel.name == of_repository.name
    assert contents(built.wheel) == contents(of_repository)


def test_source_distribution_holds_what_makes_the_wheel_and_no_test(built):
    with tarfile.open(built.source) as archive:
        names = [Path(*Path(file.name).parts[1:]) for file in archive if file.isfile()]
    assert {name.parts[0] for name in names} == {
        "CHANGELOG.md",
        "LICENSE",
        "MANIFEST.in",
        "PKG-INFO",
        "README.md",
        "custom_ops",
        "models",
        "pyproject.toml",
        "setup.cfg",
        "sonnx_ort",
    }


def test_wheel_holds_the_license(built):
    [license_file] = [
        text for name, text in contents(built.wheel).items() if name.endswith("/licenses/LICENSE")
    ]
    assert license_file == (ROOT / "LICENSE").read_bytes()


def test_wheel_serves_every_platform(built):
    assert built.wheel.name.endswith("-py3-none-any.whl")


def test_wheel_names_what_the_project_names(metadata):
    assert metadata.name == PROJECT["name"]
    assert str(metadata.version) == PROJECT["version"] == sonnx_ort.__version__
    assert metadata.license_expression == PROJECT["license"]
    needed = {str(need) for need in metadata.requires_dist if "extra ==" not in str(need)}
    assert needed == {str(Requirement(need)) for need in PROJECT["dependencies"]}


def test_readme_is_the_description_as_markdown(metadata):
    content_type = email.message_from_string(f"Content-Type: {metadata.description_content_type}")
    assert content_type.get_content_type() == "text/markdown"
    assert metadata.description == (ROOT / "README.md").read_text(encoding="utf-8")


def test_release_is_tried_with_every_form_of_a_report():
    assert list(release.FORMATS) == [form.value for form in ReportFormat]


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_release_is_tried_with_the_line_that_installs_it(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert release.installations(text) == release.installations("    pip install .   # so\n")
    assert text.count("pip install") == 1


def test_release_is_tried_with_the_versions_of_the_lock_file():
    lock = "# a comment\nnumpy==2.4.6 \\\n    --hash=sha256:00\ntorch==2 ; sys_platform == 'a' \\\n"
    assert release.constraints(lock) == "numpy==2.4.6\ntorch==2 ; sys_platform == 'a'\n"
