"""The command as a whole: what its help says, and what it need not import."""

import subprocess
import sys

import pytest

from sonnx_ort.cli.application import COMMANDS, load
from support.command import command, output

HEAVY = ("numpy", "onnx", "onnx_ir", "onnxruntime", "sympy")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_what_the_help_of_the_command_begins_with(name: str) -> None:
    assert load(name).help.startswith(COMMANDS[name])


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_plain_text(name: str, option: str) -> None:
    shown = output(*filter(None, [name]), option)
    assert shown.startswith("Usage: ")
    for unwanted in ("<bool>", "│", "[x>=0]"):
        assert unwanted not in shown


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]], ids=" ".join)
def test_what_needs_no_model_imports_no_analysis(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from sonnx_ort.cli import app\n"
        f"try: app({arguments})\n"
        "except SystemExit: pass\n"
        f"print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout
    assert done.stderr == "\n"


def test_misspelt_command_is_answered_with_a_similar_one() -> None:
    done = command("chek")
    assert done.returncode == 2
    assert "No such command 'chek'. Did you mean 'check'?" in done.stderr


def test_unknown_value_of_an_option_is_said_without_the_kind_of_an_exception():
    error = command("check", "model.onnx", "--edition", "x").stderr
    assert "Invalid value for '--edition': 'x' is not one of 'typed', 'preliminary'." in error
