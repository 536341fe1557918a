import ast
import sys
from pathlib import Path

import pytest
from python_version import refusal, require_supported_python

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_supported_python_is_not_refused(version):
    assert refusal(version) is None


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ((2, 7), "sonnx_ort needs Python 3.11 or newer, this is 2.7."),
        ((3, 9), "sonnx_ort needs Python 3.11 or newer, this is 3.9."),
        ((3, 10), "sonnx_ort needs Python 3.11 or newer, this is 3.10."),
        (
            (3, 14),
            (
                "sonnx_ort needs Python 3.11 to 3.13, this is 3.14: "
                "not every package that it depends on has a build for that."
            ),
        ),
    ],
)
def test_other_python_is_refused_with_both_versions(version, message):
    assert refusal(version) == message


def test_old_python_ends_with_status_2_and_the_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    with pytest.raises(SystemExit) as ended:
        require_supported_python()
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", "sonnx_ort needs Python 3.11 or newer, this is 3.9.\n")


@pytest.mark.parametrize("name", ["python_version.py", "demo.py", "test.py"])
def test_what_runs_before_the_refusal_is_readable_by_an_old_python(name):
    ast.parse((SCRIPTS / name).read_text(encoding="utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize("name", ["demo.py", "test.py"])
def test_only_the_standard_library_is_imported_before_the_refusal(name):
    body = ast.parse((SCRIPTS / name).read_text(encoding="utf-8")).body
    call = next(
        i
        for i, statement in enumerate(body)
        if "require_supported_python()" in ast.unparse(statement)
    )
    before = {
        alias.name if isinstance(statement, ast.Import) else statement.module
        for statement in body[:call]
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    }
    assert before <= {"argparse", "sys", "python_version"}
