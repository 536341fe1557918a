"""The action for GitHub: its steps do what they say, with the inputs of a workflow."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
import yaml

from support.graphs import binary_model
from support.pages import REPOSITORY

BASH = shutil.which("bash") or "bash"
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load(
    (REPOSITORY / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(binary_model("Div", "float", [3], [3]), tmp_path / "kept.onnx")
    onnx.save(binary_model("Div", "float", [3], [1]), tmp_path / "broken.onnx")
    return tmp_path


def check(folder: Path, models: str, arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the last step as the runner does, in a folder with models."""
    step = ACTION["runs"]["steps"][-1]
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        [BASH, "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=os.environ | {"MODELS": models, "ARGUMENTS": arguments, "PATH": programs},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("models", "arguments", "status", "lines"),
    [
        ("kept.onnx", "", 0, 1),
        ("kept.onnx broken.onnx", "", 1, 1),
        (".", "--ignore Div", 0, 1),
        ("none.onnx", "", 2, 0),
        ("$(touch harm)", "", 2, 2),
    ],
)
def test_models_and_arguments_reach_the_command(
    folder: Path, models: str, arguments: str, status: int, lines: int
) -> None:
    done = check(folder, models, arguments)
    assert (done.returncode, len(done.stdout.splitlines())) == (status, lines), done.stderr
    assert not (folder / "harm").exists()


def test_every_input_is_handed_to_the_step() -> None:
    handed = ACTION["runs"]["steps"][-1]["env"].values()
    assert sorted(handed) == sorted(f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"])


def test_own_workflow_checks_models_that_keep_the_profile() -> None:
    step = WORKFLOW["jobs"]["check"]["steps"][-1]
    assert step["uses"] == "./"
    done = check(REPOSITORY, **step["with"])
    assert done.returncode == 0, done.stdout
