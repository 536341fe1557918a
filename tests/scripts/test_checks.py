import sys
from pathlib import Path

import pytest
from checks import CHECKS, MODEL_CHECKS, SKIPPED, failed, run_checks, summary
from environment import Environment


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path)


def test_checks_run_in_their_order_with_pytest_last():
    assert list(CHECKS) == ["ruff check", "ruff format", "mypy", "npm install", "pytest"]


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


def test_summary_says_what_was_skipped():
    assert summary({"real models": SKIPPED}) == "real models  skipped, see above"


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [((0, 0), False), ((0, 1), True), ((SKIPPED, 0), False), ((SKIPPED, 134), True)],
)
def test_what_was_skipped_has_not_failed(statuses, outcome):
    assert failed(dict(zip("ab", statuses, strict=True))) is outcome


@pytest.fixture
def calls(monkeypatch):
    """What is called in the environment; the first call ends with the status that is put there."""

    class Calls(list):
        first_status = 0

    made = Calls()

    def call(_, command, folder=None):
        made.append(([str(part) for part in command], folder))
        return made.first_status if len(made) == 1 else 0

    monkeypatch.setattr(Environment, "call", call)
    return made


def test_models_are_got_before_they_are_tried(environment, calls):
    assert MODEL_CHECKS["real models"](environment, ["-k", "vad"]) == 0
    assert calls == [
        (["python", str(environment.root / "scripts" / "fetch_models.py")], None),
        (["python", "-m", "pytest", "-m", "models", "-k", "vad"], environment.root),
    ]


def test_packages_for_node_are_got_before_the_tests(environment, calls):
    run_checks({"npm install": CHECKS["npm install"]}, environment, ["-k", "division"])
    script = environment.root / "scripts" / "fetch_node_packages.py"
    assert calls == [(["python", str(script)], None)]


@pytest.mark.parametrize("status", [SKIPPED, 1])
def test_models_that_were_not_got_are_not_tried(environment, calls, status):
    calls.first_status = status
    assert MODEL_CHECKS["real models"](environment, []) == status
    assert len(calls) == 1


def test_package_that_cannot_be_built_fails_the_type_check(environment, capsys):
    environment.commands.mkdir(parents=True)
    environment.python.symlink_to(sys.executable)
    assert CHECKS["mypy"](environment, []) == 1
    assert capsys.readouterr().out.startswith("The wheel cannot be built:\n")
