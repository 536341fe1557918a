"""A copy of the package that a test changes, as CONTRIBUTING.md says or otherwise, and runs."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.child import ChildResult, run_python

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class PackageCopy:
    """The package as it is installed, in a folder of its own.

    Attributes:
        folder: The folder that holds `sonnx_ort`.
    """

    folder: Path

    @classmethod
    def in_folder(cls, folder: Path) -> "PackageCopy":
        """Copy the package."""
        package = folder / "sonnx_ort"
        # What is compiled saves the child the time; a file that is just being written has a number.
        ignored = shutil.ignore_patterns("*.pyc.*")
        shutil.copytree(REPOSITORY / "sonnx_ort", package, ignore=ignored)
        for part in ("custom_ops", "models"):
            shutil.copytree(REPOSITORY / part, package / part, ignore=ignored)
        return cls(folder)

    def path(self, file: str) -> Path:
        """Where a file of the repository lies in the copy."""
        parts = Path(file).parts
        return self.folder.joinpath(*(() if parts[0] == "sonnx_ort" else ("sonnx_ort",)), *parts)

    def replace(self, file: str, old: str, new: str) -> None:
        """Change a place in a file that occurs once."""
        text = self.path(file).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} has {text.count(old)} places like\n{old}"
        self.path(file).write_text(text.replace(old, new), encoding="utf-8")

    def run(self, *parts: str) -> ChildResult:
        """Run Python code with the copy in the place of the package; arguments as `run_python`."""
        here = f"import sys\nsys.path.insert(0, {str(self.folder)!r})"
        return run_python(here, *parts, fresh=True)


TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"(?:`(?P<file>[\w/]+\.(?:py|toml))`[^\n]*:\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL
)


def steps() -> Iterator[tuple[str, str, str]]:
    """Each block of the walk-through: the file it is about, its kind and its text."""
    file = ""
    for step in STEP.finditer(TEXT[TEXT.index("### 1.") :]):
        file = step["file"] or file
        yield ("" if step["kind"] == "text" else file), step["kind"], step["text"]


def followed(folder: Path) -> PackageCopy:
    """Do what the walk-through says in a copy of the package."""
    copy = PackageCopy.in_folder(folder)
    for file, kind, text in steps():
        match kind:
            case "toml":
                copy.path(file).write_text(text, encoding="utf-8")
            case "python" if not text.startswith("import numpy"):
                copy.path(file).write_text(text, encoding="utf-8")
            case "diff":
                lines = text.splitlines(keepends=True)
                old = "".join(line[1:] for line in lines if line[0] != "+")
                new = "".join(line[1:] for line in lines if line[0] != "-")
                copy.replace(file, old, new)
    return copy
