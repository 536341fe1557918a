"""The longest tests begin first, so that none of them runs at the end alone."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from support.child import run_program

TESTS = Path(__file__).resolve().parent

MODULES = {
    "test_a.py": "def test_one(): pass\n\ndef test_two(): pass\n",
    "test_b.py": """
import pytest

def test_three(): pass

@pytest.mark.starts_first
def test_long(): pass

def test_four(): pass
""",
}
ORDER = ["test_long", "test_one", "test_two", "test_three", "test_four"]


def run(folder: Path, *options: str) -> str:
    """What pytest says of these modules, with the fixtures and hooks of the tests."""
    shutil.copy(TESTS / "conftest.py", folder)
    for name, text in MODULES.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "--rootdir=.", "-o", "markers=starts_first"]
    child = run_program([*command, *options], folder=str(folder), timeout=60)
    assert child.exit_status == 0, child
    return child.stdout


@pytest.mark.parametrize("options", [(), ("-n", "1", "--dist", "worksteal")], ids=str)
def test_marked_tests_begin_before_all_others(tmp_path: Path, options: tuple[str, ...]) -> None:
    named = re.findall(r"\.py::(test_\w+)", run(tmp_path, *options))
    assert list(dict.fromkeys(named)) == ORDER
