"""`sonnx-ort self-check`: output, formats and exit status."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sonnx_ort.cli import explaining as module
from sonnx_ort.installation.self_checking import Check, Outcome, SelfCheck
from support.child import run_python
from support.command import command, output

KEPT = Check("version of numpy", Outcome.PASSED, "2.4.6 is between 2.1.3 and 2.4.6")
UNKNOWN = Check("installed files", Outcome.NOT_CHECKED, "there is no RECORD")
BROKEN = Check(
    "bundled models, python backend",
    Outcome.FAILED,
    "390 of 402 cases give the expected result",
    tuple(f"model_{number}, typed: 1; expected 2" for number in range(12)),
)


def result_of(*checks: Check, flags: tuple[str, ...] = ("avx2",)) -> SelfCheck:
    return SelfCheck({"sonnx_ort": "0.1.0"}, "Linux", "x86_64", flags, checks)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch):
    def give(*checks: Check, **more: tuple[str, ...]) -> None:
        monkeypatch.setattr(module, "check_installation", lambda: result_of(*checks, **more))

    return give


def test_passed_checks_are_the_exit_status_0(given) -> None:
    given(KEPT, UNKNOWN)
    assert output("self-check") == (
        "sonnx_ort 0.1.0\n"
        "Linux, x86_64 (avx2)\n"
        "\n"
        "passed       version of numpy: 2.4.6 is between 2.1.3 and 2.4.6\n"
        "not checked  installed files: there is no RECORD\n"
        "\n"
        "1 passed, 0 failed, 1 not checked\n"
    )


def test_failed_check_is_the_exit_status_1_and_shows_its_faults(given) -> None:
    given(BROKEN, flags=())
    done = command("self-check")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[1] == "Linux, x86_64 (instructions not known)"
    assert lines[3:5] == [
        "failed  bundled models, python backend: 390 of 402 cases give the expected result",
        "    model_0, typed: 1; expected 2",
    ]
    assert lines[-3:] == [
        "    model_11, typed: 1; expected 2",
        "",
        "0 passed, 1 failed, 0 not checked",
    ]


def test_json_goes_to_a_file(given, tmp_path: Path) -> None:
    given(BROKEN)
    target = tmp_path / "installed.json"
    done = command("self-check", "--format", "json", "-o", target)
    assert (done.returncode, done.stdout, done.stderr) == (1, f"{target}: written\n", "")
    document = json.loads(target.read_text(encoding="utf-8"))
    assert (document["format"], document["ok"]) == ("sonnx_ort.self_check/1", False)
    assert len(document["checks"][0]["faults"]) == 12


def test_text_goes_to_a_file_with_lines_of_100_columns(given, tmp_path: Path) -> None:
    given(replace(BROKEN, faults=("a long sentence " * 20,)))
    target = tmp_path / "installed.txt"
    assert command("self-check", "-o", target).stdout == f"{target}: written\n"
    lines = target.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "sonnx_ort 0.1.0"
    assert 90 < max(map(len, lines)) <= 100


def test_quiet_writes_nothing(given) -> None:
    given(BROKEN)
    done = command("self-check", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_missing_package_is_a_sentence() -> None:
    done = run_python(
        "import sys\nsys.modules['onnxruntime'] = None\n"
        "from sonnx_ort.cli import app\napp(['self-check'])",
        fresh=True,
    )
    assert done.exit_status == 2
    assert done.stderr.startswith("sonnx-ort: a package is missing or damaged: import of ")
    assert done.stderr.endswith("; install sonnx_ort again\n")
    assert "Traceback" not in done.stderr
