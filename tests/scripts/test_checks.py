import sys
from pathlib import Path

import pytest
from checks import CHECKS, run_checks, summary
from environment import Environment


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path)


def test_checks_run_in_their_order_with_pytest_last():
    assert list(CHECKS) == ["ruff check", "ruff format", "mypy", "pytest"]


def test_every_check_runs_even_if_one_fails(environment, capsys):
    checks = {"first": lambda *_: 0, "second": lambda *_: 3, "third": lambda *_: 0}
    assert run_checks(checks, environment, []) == {"first": 0, "second": 3, "third": 0}
    assert capsys.readouterr().out.split() == ["[first]", "[second]", "[third]"]


def test_pytest_gets_the_arguments(environment, monkeypatch):
    called = []
    monkeypatch.setattr(Environment, "call", lambda *arguments: called.append(arguments) or 0)
    run_checks({"pytest": CHECKS["pytest"]}, environment, ["-k", "division"])
    [(_, command, folder)] = called
    assert command[-2:] == ["-k", "division"]
    assert Path(folder) == environment.root


def test_summary_names_each_check_and_how_it_ended():
    assert summary({"ruff check": 0, "mypy": 1, "pytest": 134}) == (
        "ruff check  passed\n"
        "mypy        FAILED (exit status 1)\n"
        "pytest      FAILED (exit status 134)"
    )


def test_package_that_cannot_be_built_fails_the_type_check(environment, capsys):
    environment.commands.mkdir(parents=True)
    environment.python.symlink_to(sys.executable)
    assert CHECKS["mypy"](environment, []) == 1
    assert capsys.readouterr().out.startswith("The wheel cannot be built:\n")
