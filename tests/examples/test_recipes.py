"""The examples for other tools: an editor, a pull request, and the Hub."""

import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
import yaml
from environment import captured

from support.child import run_program
from support.graphs import binary_model
from support.pages import REPOSITORY, blocks, follow

EXAMPLES = REPOSITORY / "examples"
PAGE = REPOSITORY / "docs" / "how-to" / "recipes.md"
COMMAND = Path(sys.executable).with_name("sonnx-ort")
BASH = shutil.which("bash") or "bash"

TASK = json.loads((EXAMPLES / "vscode/tasks.json").read_text(encoding="utf-8"))["tasks"][0]
PATTERN = TASK["problemMatcher"]["pattern"]
CHANGED = yaml.safe_load((EXAMPLES / "github_changed_models.yml").read_text(encoding="utf-8"))

KEPT, BROKEN = ("Div", "float", [3], [3]), ("Div", "float", [3], [1])
DIFFERENT = "Div 'the_node': axis 0 has size 3 in A and 1 in B"


def save(folder: Path, **kinds: tuple[str, str, list[int], list[int]]) -> None:
    for name, kind in kinds.items():
        onnx.save(binary_model(*kind), folder / f"{name}.onnx")


def problems(text: str) -> list[tuple[str, ...]]:
    """What VS Code lists: severity, file, code and message of each line that matches."""
    parts = ("severity", "file", "code", "message")
    matches = (re.search(PATTERN["regexp"], line) for line in text.splitlines())
    return [tuple(match[PATTERN[part]] for part in parts) for match in matches if match]


def test_task_lists_what_the_command_writes(tmp_path):
    save(tmp_path, kept=("Div", "int32", [3], [3]), broken=BROKEN)
    (tmp_path / "unusable.onnx").write_bytes(b"no model")
    command = [COMMAND, *TASK["args"]]
    done = run_program(command, folder=str(tmp_path), timeout=120)
    assert TASK["command"] == "sonnx-ort"
    assert len(done.stdout.splitlines()) == 3
    broken, kept, unusable = problems(done.stdout)
    assert broken == ("error", "broken.onnx", "Div.float.R1", DIFFERENT)
    assert kept == ("notice", "kept.onnx", "kept", "2 checks in each run")
    assert unusable[:3] == ("error", "unusable.onnx", "unusable")


@pytest.fixture
def repository(tmp_path):
    """A repository at the merge of a branch that adds, changes, renames and deletes models."""

    def git(*arguments: str) -> None:
        named = (
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "-c",
            "init.defaultBranch=m",
        )
        captured(["git", *named, *arguments], tmp_path, check=True)

    git("init")
    save(tmp_path, same=BROKEN, changed=KEPT, deleted=BROKEN, renamed=BROKEN)
    git("add", ".")
    git("commit", "-m", "before")
    git("checkout", "-b", "branch")
    save(tmp_path, changed=("Sub", "float", [3], [1]), added=KEPT)
    (tmp_path / "deleted.onnx").unlink()
    (tmp_path / "renamed.onnx").rename(tmp_path / "other.onnx")
    git("add", ".")
    git("commit", "-m", "after")
    git("checkout", "m")
    save(tmp_path, meanwhile=BROKEN)
    git("add", ".")
    git("commit", "-m", "meanwhile")
    git("merge", "--no-ff", "branch", "-m", "merge")
    return tmp_path, git


def changed(folder: Path) -> tuple[int, str, str]:
    """Run the step as GitHub does; give its status, what it hands on, and what it says."""
    step = CHANGED["jobs"]["check"]["steps"][1]
    output = folder / ".git" / "output"
    output.touch()
    done = subprocess.run(
        [BASH, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=os.environ | {"GITHUB_OUTPUT": str(output)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, output.read_text("utf-8"), done.stderr


def test_step_finds_the_models_that_a_pull_request_adds_or_changes(repository):
    folder, _ = repository
    assert changed(folder) == (0, "models=added.onnx changed.onnx other.onnx\n", "")


def test_models_that_the_step_finds_reach_the_action(repository):
    folder, _ = repository
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
    using = CHANGED["jobs"]["check"]["steps"][2]
    assert using["with"].keys() <= action["inputs"].keys()
    assert using["with"]["models"] == "${{ steps.changed.outputs.models }}"
    models = changed(folder)[1].removeprefix("models=").strip()
    done = run_program(
        [BASH, "-e", "-o", "pipefail", "-c", action["runs"]["steps"][-1]["run"]],
        folder=str(folder),
        timeout=120,
        SONNX_ORT=str(COMMAND),
        MODELS=models,
        ARGUMENTS="",
    )
    assert [problem[:3] for problem in problems(done.stdout)] == [
        ("error", "changed.onnx", "Sub.float.R1"),
        ("error", "other.onnx", "Div.float.R1"),
    ]


@pytest.mark.parametrize("name", ["two words", "two\nlines", "--help"])
def test_step_refuses_a_name_that_a_command_line_would_split_or_obey(name, repository):
    folder, git = repository
    git("checkout", "-b", "harmful")
    save(folder, **{name: KEPT})
    git("add", ".")
    git("commit", "-m", "harmful")
    git("checkout", "m")
    git("merge", "--no-ff", "harmful", "-m", "merge")
    status, handed_on, said = changed(folder)
    assert (status, handed_on) == (1, "")
    assert said.endswith(": rename it without spaces and without a leading hyphen.\n")


def test_step_hands_on_nothing_where_no_model_changes(repository):
    folder, git = repository
    git("commit", "--allow-empty", "-m", "nothing")
    assert changed(folder) == (0, "models=\n", "")
    assert CHANGED["jobs"]["check"]["steps"][2]["if"] == "steps.changed.outputs.models != ''"


def shown(example: str) -> list[str]:
    """The output of an example on the page."""
    title = f"not tested: see examples/{example}"
    return [b.text for b in blocks(PAGE) if b.language == "text" and b.title == title]


def test_page_shows_what_the_step_hands_on(repository):
    folder, _ = repository
    assert shown("github_changed_models.yml") == [changed(folder)[1]]


def test_page_shows_what_the_matcher_reads():
    [line] = [b.text for b in blocks(PAGE) if b.text.startswith("::error")]
    [(_, _, code, message)] = problems(line)
    source = TASK["problemMatcher"]["source"]
    assert shown("vscode/tasks.json") == [f"{message}  {source}({code})\n"]


@pytest.fixture
def report(tmp_path, monkeypatch):
    """The report of the page, in a folder with what the page writes."""
    monkeypatch.chdir(tmp_path)
    for _ in follow(PAGE):
        pass
    return tmp_path / "report.json"


def test_page_shows_the_section_of_a_model_card(report):
    section = runpy.run_path(str(EXAMPLES / "hub_model_card.py"))["section"]
    document = json.loads(report.read_text(encoding="utf-8"))
    assert shown("hub_model_card.py") == [section(document) + "\n"]


def test_section_says_that_violations_are_there_and_waived():
    section = runpy.run_path(str(EXAMPLES / "hub_model_card.py"))["section"]
    document = {
        "ok": False,
        "edition": "typed",
        "waived": 2,
        "obligations": [{"rule": "Div.int.C1", "status": "violated"}],
        "counts": {"proved": 0, "runtime": 0, "violated": 1},
        "versions": {"sonnx_ort": "1"},
        "model": {"sha256": "0"},
    }
    said = section(document).splitlines()
    assert said[2] == "The model breaks the typed edition of the profile; 2 violations are waived."
    assert said[6:8] == ["| `Div.int.C1` | 0 | 0 | 1 |", "| all | 0 | 0 | 1 |"]


@pytest.mark.skipif(
    importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed"
)
def test_card_has_the_section(report):
    command = [sys.executable, EXAMPLES / "hub_model_card.py", report, "README.md"]
    done = run_program(command, folder=str(report.parent), timeout=120)
    assert done.exit_status == 0, done
    card = (report.parent / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: onnx\ntags:\n- onnx\n- sonnx\n---\n")
    assert card.endswith(f"# The model\n\n{done.stdout}")
