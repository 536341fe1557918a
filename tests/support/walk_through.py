"""CONTRIBUTING.md, and a copy of the package in which it is followed."""

import re
from collections.abc import Iterator
from pathlib import Path

from support.package_copy import PackageCopy

TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"(?:`(?P<file>[\w/]+\.py)`[^\n]*:\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL
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
            case "python" if not text.startswith("import numpy"):
                copy.path(file).write_text(text, encoding="utf-8")
            case "diff":
                lines = text.splitlines(keepends=True)
                old = "".join(line[1:] for line in lines if line[0] != "+")
                new = "".join(line[1:] for line in lines if line[0] != "-")
                copy.replace(file, old, new)
    return copy
