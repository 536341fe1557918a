"""CONTRIBUTING.md: whoever follows it has an operator that is enforced."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from navigation import expanded

from support.package_copy import PackageCopy

TEXT = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"(?:`(?P<file>[\w/]+\.py)`[^\n]*:\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL
)


def steps() -> Iterator[tuple[str, str, str]]:
    """Each block of the walk-through: the file it is about, its kind and its text."""
    file = ""
    for step in STEP.finditer(TEXT[TEXT.index("### 1.") :]):
        file = step["file"] or file
        yield ("" if step["kind"] == "text" else file), step["kind"], step["text"]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    copy = PackageCopy.in_folder(tmp_path_factory.mktemp("walk-through"))
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


def test_walk_through_gives_what_it_says(followed: PackageCopy) -> None:
    *_, (_, _, code), (_, _, printed) = steps()
    child = followed.run(code)
    assert child.stdout == printed * 2, child
    assert child.exit_status == 0


def test_its_new_files_are_of_the_projects_style(followed: PackageCopy) -> None:
    new = [file for file, kind, _ in steps() if kind == "python"][:3]
    child = followed.run(
        f"import subprocess\nfiles = {[str(followed.path(file)) for file in new]}",
        """
        for command in (["check", "--ignore", "INP001"], ["format", "--check"]):
            line = [sys.executable, "-m", "ruff", *command, "--line-length", "100", *files]
            print(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        """,
    )
    assert child.exit_status == 0, child


def test_page_of_its_rules_takes_its_place_by_itself(followed: PackageCopy) -> None:
    docs = followed.folder / "docs"
    (docs / "rules").mkdir(parents=True)
    child = followed.run(
        "from pathlib import Path\nfrom sonnx_ort.reporting.rules_pages import write_rules_pages",
        f"write_rules_pages(Path({str(docs)!r}))",
    )
    assert child.exit_status == 0, child
    assert "rules/acosh.md" in expanded(["rules/*.md"], docs)
