"""A project of one module, with the campaigns of mutants."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.pages import REPOSITORY

_SETTINGS = """\
[tool.pytest]
filterwarnings = ["error"]
markers = ["thorough", "models"]
"""

_CONFTEST = """\
def pytest_addoption(parser):
    parser.addoption("--cases", type=int)
"""


@dataclass(frozen=True)
class TinyProject:
    """The project, which one campaign tries.

    Attributes:
        root: Its folder.
        campaign: The campaign, such as "mutants".
        equivalents: The file in scripts/mutation that lists mutants that do the same.
        record: The name of its record.
    """

    root: Path
    campaign: str
    equivalents: str
    record: str

    def write(self, module: str, tests: str) -> "TinyProject":
        """Write the project.

        Args:
            module: The module `tiny`.
            tests: Its tests.
        """
        scripts = REPOSITORY / "scripts"
        shutil.copytree(scripts / "mutation", self.root / "scripts" / "mutation")
        for script in ("ages", "campaigns", "conditions", "environment", "mutate", "records"):
            shutil.copy(scripts / f"{script}.py", self.root / "scripts")
        (self.root / "scripts" / "mutation" / self.equivalents).unlink()
        (self.root / "tests").mkdir()
        (self.root / "tiny.py").write_text(module, "utf-8")
        (self.root / "tests" / "test_tiny.py").write_text(tests, "utf-8")
        (self.root / "tests" / "conftest.py").write_text(_CONFTEST, "utf-8")
        (self.root / "pyproject.toml").write_text(_SETTINGS, "utf-8")
        return self

    def run(self, *arguments: str, listed: tuple[str, ...] = ()) -> tuple[int, str, dict[str, Any]]:
        """The exit status, what is told and what is recorded, with a list of equivalent mutants."""
        status, told = self.call(*arguments, listed=listed)
        record = json.loads((self.root / "docs" / "records" / self.record).read_text("utf-8"))
        return status, told, record["files"]["tiny.py"]

    def call(self, *arguments: str, listed: tuple[str, ...] = ()) -> tuple[int, str]:
        """The exit status and what is told, with a list of equivalent mutants."""
        entry = f"[[equivalent]]\npath = 'tiny.py'\nreason = 'r'\nmutants = {[*listed]}\n"
        (self.root / "scripts" / "mutation" / self.equivalents).write_text(entry, "utf-8")
        done = subprocess.run(
            [sys.executable, "scripts/campaigns.py", self.campaign, *arguments],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(self.root)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout
