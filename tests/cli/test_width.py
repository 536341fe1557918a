"""Lines keep to the width of the terminal, and to 100 columns where there is none."""

import os
import re
import sys
from pathlib import Path

import onnx
import pytest

from sonnx_ort.reporting.terminal import WIDTH
from support.command import command
from support.forks import ForkedPython
from support.graphs import binary_model, parse

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

NODES = "\n".join(
    f"[node_of_a_long_name_{i}] y{i + 1} = Softmax<axis = 7>(y{i})" for i in range(12)
)
EXPORTED = f"(float[n, 4] y0, float[m] q) => (float[n, 4] y12) {{ {NODES} }}"

COMMANDS = (
    "check exported.onnx --operators profile",
    "check exported.onnx --operators profile -v",
    "check exported.onnx broadcast.onnx --operators profile",
    "check exported.onnx broadcast.onnx --statistics",
    "conform exported.onnx -o conforming.onnx",
    "conform exported.onnx --diff",
    "rewrite broadcast.onnx -o enforced.onnx",
    "rewrite broadcast.onnx -o enforced.onnx --broadcast explicit",
    "diff broadcast.onnx broadcast.onnx --all",
    "audit broadcast.onnx",
    "audit broadcast.onnx -v",
    "run broadcast.onnx",
    "explain Div",
    "explain",
    "explain Nothing",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(parse(EXPORTED), tmp_path / "exported.onnx")
    onnx.save(binary_model("Div", "float", [3], [1], c_shape=[3]), tmp_path / "broadcast.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown_in_terminal(columns: int, *arguments: str) -> str:
    """What the command writes to a terminal of so many columns, without colours."""
    ours, its = os.openpty()
    termios.tcsetwinsize(its, (50, columns))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = ForkedPython(
        [sys.executable, "-m", "sonnx_ort", *arguments],
        stdin=its,
        stdout=its,
        stderr=its,
        env=environment | {"TERM": "xterm"},
    )
    os.close(its)
    written = b""
    try:
        while read := os.read(ours, 1 << 16):
            written += read
    except OSError:  # so ends a terminal on Linux
        pass
    os.close(ours)
    process.wait()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode()).replace("\r", "")


def too_long(text: str, columns: int) -> list[str]:
    """Lines beyond a width, without those of a command, which is to be copied whole."""
    lines = (line for line in text.splitlines() if not line.startswith("next: "))
    return [line for line in lines if len(line) > columns]


@pytest.mark.parametrize("given", COMMANDS)
def test_lines_fit_a_terminal_of_40_columns(given):
    text = shown_in_terminal(40, *given.split())
    assert text
    assert not too_long(text, 40)


@pytest.mark.parametrize("given", ["check exported.onnx --operators profile -v", "explain Div"])
def test_lines_in_a_wide_terminal_are_as_long_as_elsewhere(given):
    assert not too_long(shown_in_terminal(300, *given.split()), WIDTH)


@pytest.mark.parametrize("given", [c for c in COMMANDS if c.split()[0] in {"check", "conform"}])
def test_reports_have_at_most_100_columns_where_there_is_no_terminal(given):
    assert not too_long(command(*given.split()).stdout, WIDTH)


def test_file_has_lines_of_100_columns_whatever_the_terminal_has(folder):
    given = ("check", "exported.onnx", "--operators", "profile", "-v")
    shown_in_terminal(40, *given, "-o", "report.txt")
    assert (folder / "report.txt").read_text(encoding="utf-8") == command(*given).stdout


def test_value_that_is_to_be_copied_stays_whole_in_a_narrow_terminal():
    given = ("rewrite", "product.onnx", "-o", "enforced.onnx", "--backend", "native")
    onnx.save(binary_model("Div", "int32", [3], [3]), "product.onnx")
    value = command(*given).stdout.splitlines()[2]
    assert len(value) > WIDTH
    assert value in shown_in_terminal(40, *given).splitlines()


def test_terminal_of_a_few_columns_gets_lines_that_can_be_read():
    text = shown_in_terminal(5, "check", "broadcast.onnx")
    assert max(map(len, text.splitlines()[:4])) in range(20, 31)
