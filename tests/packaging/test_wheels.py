"""The wheels of a release: for which systems they are, and what keeps one from being published."""

import re
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import release
import wheels
import yaml
from wheels import build_wheel

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
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
    configuration = PROJECT["tool"]["cibuildwheel"]
    assert configuration["test-command"] == "sonnx-ort demo --backend compiled"


def test_wheels_are_built_with_one_python_because_they_serve_every_one():
    assert PROJECT["tool"]["cibuildwheel"]["build"] == "cp311-*"
