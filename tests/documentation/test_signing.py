"""The commands by which the page on records signs one, where their programs are installed."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import REPOSITORY, blocks

PAGE = REPOSITORY / "docs" / "how-to" / "record.md"
PATH = str(Path(sys.executable).parent)

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None or shutil.which("model_signing", path=PATH) is None,
    reason="openssl, or the extra 'signing', is not installed",
)


def run(command: str) -> int:
    program, *arguments = shlex.split(command)
    program = shutil.which(program, path=PATH) or program
    return subprocess.run([program, *arguments], check=False, capture_output=True).returncode


def test_signature_holds_until_a_file_is_altered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mean.onnx", "enforced.onnx", "record.json"):
        Path(name).write_text(name, encoding="utf-8")
    (block,) = [b for b in blocks(PAGE) if "model_signing" in b.text]
    commands = [line for line in block.text.splitlines() if not line.startswith("pip ")]
    assert [run(command) for command in commands] == [0] * len(commands)
    Path("release/record.json").write_text("another", encoding="utf-8")
    assert run(commands[-1]) != 0
