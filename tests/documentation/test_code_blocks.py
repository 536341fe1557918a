"""Blocks of code in the READMEs and the documentation do what the page says."""

import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.pages import REPOSITORY, Block, blocks, follow

START = REPOSITORY / "docs" / "start.md"
DOCUMENTATION = sorted((REPOSITORY / "docs").rglob("*.md"))
FOLLOWED_ELSEWHERE = {
    "CHANGELOG.md": "it has no blocks",
    "CONTRIBUTING.md": "tests/test_contributing.py",
    "examples/README.md": "tests/examples",
}
"""Pages whose blocks other tests follow, or which have none."""

PAGES = [
    *(
        page
        for folder in (".", "models", "examples", "custom_ops")
        for page in sorted((REPOSITORY / folder).glob("*.md"))
        if page.relative_to(REPOSITORY).as_posix() not in FOLLOWED_ELSEWHERE
    ),
    *DOCUMENTATION,
]
WITH_BLOCKS = [page for page in PAGES if any(blocks(page))]

OF_THE_READER = {"README.md"}
"""Pages that use a file of the reader's own; the test takes that of the page `start`."""

WRITTEN_BY_EXAMPLES = {"docs/first-hour.md": "examples/data/cnn.onnx"}
"""Pages that go on from a file of an example, which needs packages that may not be there."""

NOT_RUN = {
    "it installs packages": 4,
    "it measures times": 5,
    "it needs the frameworks": 4,
    "it prints a path of the machine": 1,
    "a part of a file": 3,
    "see examples/github_changed_models.yml": 1,
    "see examples/hub_model_card.py": 2,
    "see examples/mlflow_model.py": 2,
    "see examples/ocr_model.py": 2,
    "see examples/pytorch_cnn.py": 1,
    "see examples/pytorch_transformer.py": 3,
    "see examples/scikit_learn_pipeline.py": 2,
    "see examples/vscode/tasks.json": 1,
    "the model is of a package": 1,
}
"""Why blocks are left out, and how many. tests/examples looks at those of the scripts."""

ELSEWHERE = {"cpp", "javascript"}
"""Languages whose blocks tests/end_to_end/test_plain_runtimes.py looks at."""


def named(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


each_page = pytest.mark.parametrize("page", WITH_BLOCKS, ids=named)


@each_page
def test_blocks_run_in_an_empty_folder_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if named(page) in OF_THE_READER:
        making = next(block for block in blocks(START) if block.language == "python")
        exec(compile(making.text, str(START), "exec"), {})  # noqa: S102 - the project's own page
    if file := WRITTEN_BY_EXAMPLES.get(named(page)):
        shutil.copy(REPOSITORY / file, tmp_path)
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


def test_blocks_that_are_not_run_say_why_and_are_counted():
    """A block that is left out is one more here: so none is left out unseen."""
    reasons = Counter(b.reason_not_to_run for page in WITH_BLOCKS for b in blocks(page))
    del reasons[""]
    assert reasons == NOT_RUN


@each_page
def test_block_that_is_neither_run_nor_followed_elsewhere_says_so(page):
    silent = [
        block
        for block in blocks(page)
        if block.language not in {"python", "sh", "text"} | ELSEWHERE and not block.title
    ]
    assert not silent


def test_pages_that_are_followed_elsewhere_are_there():
    assert all((REPOSITORY / page).is_file() for page in FOLLOWED_ELSEWHERE)


def test_block_that_prints_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(2)\n```\n\n```text\n3\n```\n", encoding="utf-8")
    assert list(follow(page)) == [(Block("text", "", "3\n"), "2\n")]


def test_command_with_another_exit_status_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('```sh title="exit status 1"\nsonnx-ort explain GR1\n```\n', encoding="utf-8")
    with pytest.raises(AssertionError, match="sonnx-ort explain GR1"):
        list(follow(page))


PAGE = REPOSITORY / "docs" / "how-to" / "record.md"
PATH = str(Path(sys.executable).parent)


def run(command: str) -> int:
    program, *arguments = shlex.split(command)
    program = shutil.which(program, path=PATH) or program
    return subprocess.run([program, *arguments], check=False, capture_output=True).returncode


@pytest.mark.skipif(
    shutil.which("openssl") is None or shutil.which("model_signing", path=PATH) is None,
    reason="openssl, or the extra 'signing', is not installed",
)
def test_signature_holds_until_a_file_is_altered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mean.onnx", "enforced.onnx", "record.json"):
        Path(name).write_text(name, encoding="utf-8")
    (block,) = [b for b in blocks(PAGE) if "model_signing" in b.text]
    commands = [line for line in block.text.splitlines() if not line.startswith("pip ")]
    assert [run(command) for command in commands] == [0] * len(commands)
    Path("release/record.json").write_text("another", encoding="utf-8")
    assert run(commands[-1]) != 0
