"""Every block of code in the READMEs and the documentation does what the page says."""

import re
from pathlib import Path

import pytest

from support.pages import REPOSITORY, Block, blocks, follow

START = REPOSITORY / "docs" / "start.md"
DOCUMENTATION = sorted((REPOSITORY / "docs").rglob("*.md"))
PAGES = (REPOSITORY / "README.md", REPOSITORY / "models" / "README.md", *DOCUMENTATION)
WITH_BLOCKS = [page for page in PAGES if any(blocks(page))]

REASONS = {
    "it installs packages",
    "it measures times",
    "it prints a path of the machine",
    "it needs a GPU",
    *(f"see examples/{script.name}" for script in (REPOSITORY / "examples").glob("*.py")),
}
"""Why a block may be left out. tests/examples looks at those of the scripts."""

ELSEWHERE = {"cpp", "javascript"}
"""Languages whose blocks tests/end_to_end/test_documented_examples.py looks at."""


def named(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


each_page = pytest.mark.parametrize("page", WITH_BLOCKS, ids=named)


@pytest.fixture
def folder_of_start(tmp_path, monkeypatch):
    """A folder with the model and the inputs that the page `start` makes."""
    monkeypatch.chdir(tmp_path)
    making = next(block for block in blocks(START) if block.language == "python")
    exec(compile(making.text, str(START), "exec"), {})  # noqa: S102 - the project's own page


@each_page
@pytest.mark.usefixtures("folder_of_start")
def test_blocks_run_and_print_what_is_shown(page):
    for block, printed in follow(page):
        assert printed == block.text


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_fence_is_of_a_form_that_the_tests_read(page):
    fences = re.findall(r"^ *(?:```|~~~)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == 2 * sum(block.fenced for block in blocks(page))


@pytest.mark.parametrize("page", DOCUMENTATION, ids=named)
def test_commands_of_other_programs_are_fenced(page):
    """An indented block of them would be run by nobody, and say nothing of it."""
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"^ {4}(?:pip|python3?|npm) .*$", text, re.MULTILINE)


@each_page
def test_block_that_is_not_run_says_why(page):
    reasons = {block.reason_not_to_run for block in blocks(page)} - {""}
    assert reasons <= REASONS


@each_page
def test_block_is_of_a_kind_that_the_tests_know(page):
    kinds = {block.language for block in blocks(page)}
    assert kinds <= {"python", "sh", "text", "toml", "yaml"} | ELSEWHERE


def test_block_that_prints_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(2)\n```\n\n```text\n3\n```\n", encoding="utf-8")
    assert list(follow(page)) == [(Block("text", "", "3\n"), "2\n")]


def test_command_with_another_exit_status_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('```sh title="exit status 1"\nsonnx-ort explain GR1\n```\n', encoding="utf-8")
    with pytest.raises(AssertionError, match="sonnx-ort explain GR1"):
        list(follow(page))
