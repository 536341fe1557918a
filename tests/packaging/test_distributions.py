"""What the wheels and the archive hold, and how wheels are built."""

import email
import json
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pages
import pytest
import release
import sbom
import wheels
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from environment import PYTHONS
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from wheels import build_source_distribution, build_wheel, unpack

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.custom_ops.compiled.library import LIBRARY
from sonnx_ort.reporting.formats import ReportFormat

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


class Built(NamedTuple):
    """The source distribution, and the wheel that is made from nothing but that."""

    source: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory, compiler):
    python, folder = Path(sys.executable), tmp_path_factory.mktemp("release")
    source = build_source_distribution(python, ROOT, folder)
    return Built(source, build_wheel(python, unpack(source, folder), folder, **compiler))


@pytest.fixture(scope="module")
def metadata(built):
    """The metadata of the wheel, every field of which has been held to its specification."""
    [file] = [name for name in contents(built.wheel) if name.endswith(".dist-info/METADATA")]
    return Metadata.from_email(contents(built.wheel)[file], validate=True)


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.thorough
def test_source_distribution_makes_the_wheel_that_the_repository_makes(built, wheel):
    assert built.wheel.name == wheel.name
    assert contents(built.wheel) == contents(wheel)


def test_wheel_without_kernels_is_for_every_platform(monkeypatch, tmp_path):
    monkeypatch.setenv("SONNX_ORT_WITHOUT_KERNELS", "1")
    wheel = build_wheel(Path(sys.executable), ROOT, tmp_path)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not [name for name in contents(wheel) if name.endswith(LIBRARY.suffix)]


@pytest.mark.thorough
def test_source_distribution_holds_what_makes_the_wheel_and_no_test(built):
    with tarfile.open(built.source) as archive:
        names = [Path(*Path(file.name).parts[1:]) for file in archive if file.isfile()]
    assert {name.parts[0] for name in names} == {
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "MANIFEST.in",
        "PKG-INFO",
        "README.md",
        "custom_ops",
        "models",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "sonnx_ort",
        "sonnx_ort.cdx.json",
    }


def test_wheel_holds_the_license(built):
    [license_file] = [
        text for name, text in contents(built.wheel).items() if name.endswith("/licenses/LICENSE")
    ]
    assert license_file == (ROOT / "LICENSE").read_bytes()


def test_wheel_holds_the_bill_of_materials(built):
    files = contents(built.wheel)
    [bill] = [name for name in files if "/sboms/" in name]
    assert bill == f"sonnx_ort-{sonnx_ort.__version__}.dist-info/sboms/sonnx_ort.cdx.json"
    assert files[bill] == sbom.BILL.read_bytes()


def test_bill_of_materials_is_what_the_script_writes():
    assert sbom.BILL.read_text(encoding="utf-8") == sbom.bill_of_materials()


def test_bill_of_materials_keeps_to_the_schema():
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sbom.bill_of_materials())
    assert error is None


def test_bill_of_materials_has_each_file_whose_licence_the_manifest_names(built):
    stated = {entry["name"]: entry for entry in json.loads(sbom.bill_of_materials())["components"]}
    licensed = {e.name for e in models.examples() if any(source.licence for source in e.sources)}
    files = {
        name.removeprefix("sonnx_ort/")
        for name in contents(built.wheel)
        if name.startswith("sonnx_ort/models/data/") and Path(name).stem in licensed
    }
    assert files == {name for name in stated if name.startswith("models/")} != set()


def test_citation_names_the_project_and_its_licence():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    named = dict(line.split(": ", 1) for line in citation.splitlines() if ": " in line)
    assert (named["title"], named["license"]) == (PROJECT["name"], PROJECT["license"])
    assert PROJECT["description"] in " ".join(citation.split())


def test_classifiers_name_the_versions_of_python_that_are_tried():
    prefix = "Programming Language :: Python :: "
    named = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    assert tuple(named) == PYTHONS


def test_release_waits_for_the_tests_with_each_python():
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    [pythons] = re.findall(r"^ +python: (\[.*\])$", workflow, re.MULTILINE)
    assert tuple(json.loads(pythons)) == PYTHONS
    assert "needs: [test, build, wheels]" in workflow


def test_wheel_serves_every_python_of_its_platform(built):
    assert re.search(r"-py3-none-(?!any)\w+\.whl$", built.wheel.name)


def test_wheel_that_is_made_without_a_compiler_has_no_kernels(tmp_path, monkeypatch):
    for variable in ("CC", "CXX"):
        monkeypatch.setenv(variable, str(tmp_path / "no compiler"))
    made = contents(build_wheel(Path(sys.executable), ROOT, tmp_path))
    kernels = f"sonnx_ort/custom_ops/compiled/{LIBRARY.name}"
    assert kernels not in made
    assert "sonnx_ort/custom_ops/compiled/library.py" in made


def test_wheel_names_what_the_project_names(metadata):
    assert metadata.name == PROJECT["name"]
    assert str(metadata.version) == sonnx_ort.__version__
    assert metadata.license_expression == PROJECT["license"]
    needed = {str(need) for need in metadata.requires_dist if "extra ==" not in str(need)}
    assert needed == {str(Requirement(need)) for need in PROJECT["dependencies"]}


def test_readme_is_the_description_as_markdown(metadata):
    content_type = email.message_from_string(f"Content-Type: {metadata.description_content_type}")
    assert content_type.get_content_type() == "text/markdown"
    assert metadata.description == (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("tag", ["0.1.0", "v9.9"])
def test_tag_of_another_version_is_refused(monkeypatch, capsys, tag):
    monkeypatch.setattr(sys, "argv", ["release.py", "--tag", tag])
    assert release.main() == 2
    refusal = f"The tag {tag} is not that of version {sonnx_ort.__version__}.\n"
    assert capsys.readouterr() == ("", refusal)


OLD = "docs/records/mutants.json: made of other sources. To make it anew: ...\n"


PLACEHOLDERS = "pyproject.toml:7: Source = ...\n"


def test_release_with_placeholders_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(release, "old", lambda: OLD)
    monkeypatch.setattr(release, "placeholders", lambda: PLACEHOLDERS)
    tag = f"v{sonnx_ort.__version__}"
    monkeypatch.setattr(sys, "argv", ["release.py", "--tag", tag])
    assert release.main() == 2
    refusal = f"There is no release {tag} with placeholders.\n"
    assert capsys.readouterr() == ("", f"Addresses that are placeholders:\n{PLACEHOLDERS}{refusal}")


def test_placeholders_are_found_in_each_file_that_has_an_address(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project.urls]\nSource = "https://sonnx-ort.invalid"')
    (tmp_path / "CITATION.cff").write_text("repository-code: https://sonnx-ort.invalid/source\n")
    assert release.placeholders(tmp_path).splitlines() == [
        'pyproject.toml:2: Source = "https://sonnx-ort.invalid"',
        "CITATION.cff:1: repository-code: https://sonnx-ort.invalid/source",
    ]


def test_project_has_addresses_that_release_looks_at():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert PROJECT["urls"].keys() == {"Source", "Documentation", "Issues"}
    assert citation["repository-code"] == PROJECT["urls"]["Source"]


def test_release_with_old_records_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(release, "old", lambda: OLD)
    monkeypatch.setattr(release, "placeholders", lambda: "")
    tag = f"v{sonnx_ort.__version__}"
    monkeypatch.setattr(sys, "argv", ["release.py", "--tag", tag])
    assert release.main() == 2
    refusal = f"There is no release {tag} with old records.\n"
    assert capsys.readouterr() == ("", f"Records that are not of these sources:\n{OLD}{refusal}")


@pytest.mark.parametrize(
    ("addresses", "records", "said"),
    [
        ("", OLD, f"Records that are not of these sources:\n{OLD}"),
        (PLACEHOLDERS, "", f"Addresses that are placeholders:\n{PLACEHOLDERS}"),
        ("", "", ""),
    ],
)
def test_distributions_without_a_tag_name_what_would_be_refused(
    monkeypatch, capsys, addresses, records, said
):
    monkeypatch.setattr(release, "placeholders", lambda: addresses)
    monkeypatch.setattr(release, "old", lambda: records)
    monkeypatch.setattr(release, "write_pages", lambda _: 1)
    monkeypatch.setattr(sys, "argv", ["release.py"])
    assert release.main() == 1
    assert capsys.readouterr() == (said, "")


def test_documentation_of_a_release_has_all_pages_with_what_is_made_for_them(tmp_path):
    assert pages.write_pages(tmp_path / "docs") == 0
    archive = release.pack_pages(tmp_path / "docs", tmp_path, "1.2.3")
    assert archive.name == "sonnx_ort-1.2.3-documentation.zip"
    packed = {name: text for name, text in contents(archive).items() if not name.endswith("/")}
    written = [file for file in (tmp_path / "docs").rglob("*.*") if file.is_file()]
    assert packed == {f.relative_to(tmp_path).as_posix(): f.read_bytes() for f in written}
    assert b"### Div.typed.float.R1\n" in packed["docs/traceability.md"]


def test_release_is_refused_where_a_run_of_the_tests_cannot_be_used(monkeypatch, tmp_path, capfd):
    missing = tmp_path / "missing.xml"
    monkeypatch.setattr(sys, "argv", ["release.py", "--results", str(missing)])
    assert release.main() == 2
    assert capfd.readouterr().err == f"{missing} cannot be read: No such file or directory.\n"


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


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
KERNELS = "sonnx_ort/custom_ops/compiled/sonnx_ort_kernels"
EXPORTED = list(wheels.EXPORTED)


def test_wheel_without_kernels_serves_every_platform_and_has_no_fault(tmp_path):
    wheel = build_wheel(Path(sys.executable), ROOT, tmp_path, SONNX_ORT_WITHOUT_KERNELS="1")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheels.faults(wheel, wheels.ANY) == []
    assert wheels.faults(wheel, "win-amd64") == ["it has 0 libraries of kernels"]
    with zipfile.ZipFile(wheel) as archive:
        [tags] = [archive.read(name) for name in archive.namelist() if name.endswith("/WHEEL")]
    assert b"Root-Is-Purelib: true\nTag: py3-none-any\n" in tags


def test_library_in_the_wheel_for_every_platform_is_a_fault(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(f"{KERNELS}.so", "")
        archive.writestr(f"{KERNELS}.sha256", "")
    assert wheels.faults(tmp_path / "a.whl", wheels.ANY) == ["it has 1 libraries of kernels"]


@pytest.mark.parametrize(
    ("exported", "needed", "faults"),
    [
        (EXPORTED, [], []),
        (EXPORTED, ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"], []),
        (EXPORTED, ["libc.so.6", "libdl.so.2", "ld-linux-aarch64.so.1"], []),
        (EXPORTED, ["KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll"], []),
        (EXPORTED[:1], [], ["its library does not export sonnx_ort_table"]),
        ([*EXPORTED, "Znwm"], [], ["its library exports Znwm"]),
        *(
            (EXPORTED, [name], [f"its library needs {name}, which is no part of the system"])
            for name in (
                "libstdc++.so.6",
                "libgcc_s.so.1",
                "libstdc++-6.dll",
                "MSVCP140.dll",
                "python311.dll",
            )
        ),
    ],
)
def test_library_exports_two_functions_and_needs_the_system_alone(exported, needed, faults):
    assert wheels.faults_of_interface(exported, needed) == faults


@pytest.mark.parametrize(
    ("policy", "serves"),
    [
        ("manylinux_2_17_x86_64", True),
        ("manylinux_2_28_x86_64", True),
        ("manylinux_2_29_x86_64", False),
        ("manylinux_2_17_aarch64", False),
        ("linux_x86_64", False),
    ],
)
def test_wheel_needs_no_newer_system_than_it_names(policy, serves):
    assert wheels.serves(policy, "manylinux_2_28_x86_64") is serves


def test_unknown_platform_is_refused_with_those_there_are(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["wheels.py", "linux", "any"])
    with pytest.raises(SystemExit):
        wheels.main()
    assert capsys.readouterr().err.endswith(
        "error: no wheels are built for linux, but for manylinux_2_28_x86_64, "
        "manylinux_2_28_aarch64, win-amd64, any\n"
    )


@pytest.mark.parametrize(
    ("system", "platforms"),
    [
        ("linux", ["manylinux_2_28_x86_64", "manylinux_2_28_aarch64"]),
        ("win32", ["win-amd64"]),
        ("darwin", []),
    ],
)
def test_release_is_tried_with_the_wheels_of_its_system(system, platforms):
    assert release.platforms(system) == platforms


def test_each_system_has_wheels_that_it_has_tried():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["wheels"]
    systems = {re.sub(r"-\d+(\.\d+)?", "", name) for name in job["strategy"]["matrix"]["system"]}
    assert systems == {
        *("ubuntu", "ubuntu-arm"),
        *("macos", "macos-intel"),
        *("windows", "windows-arm"),
    }
    assert "wheels" in workflow["jobs"]["publish"]["needs"]
    configuration = PYPROJECT["tool"]["cibuildwheel"]
    assert configuration["test-command"] == "sonnx-ort demo --backend compiled"


def test_wheels_are_built_with_one_python_because_they_serve_every_one():
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == "cp311-*"
