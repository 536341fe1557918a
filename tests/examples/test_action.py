"""The action for GitHub: its steps do what they say, with the inputs of a workflow."""

import os
import re
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
COMMAND = Path(sys.executable).with_name("sonnx-ort")
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
    given = {"MODELS": models, "ARGUMENTS": arguments, "SONNX_ORT": str(COMMAND)}
    return subprocess.run(
        [BASH, "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=os.environ | given,
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
    inputs = [f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]]
    assert sorted(handed) == sorted([*inputs, "${{ steps.installation.outputs.command }}"])


def test_job_keeps_its_python() -> None:
    setup, installation, _ = ACTION["runs"]["steps"]
    assert setup["with"]["update-environment"] is False
    python = f"${{{{ steps.{setup['id']}.outputs.python-path }}}}"
    assert installation["env"] == {"PYTHON": python, "SONNX_ORT_WITHOUT_KERNELS": "1"}
    written = re.findall(r"\$GITHUB_\w+", installation["run"])
    assert written == ["$GITHUB_ACTION_PATH", "$GITHUB_OUTPUT"]


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_package_is_installed_beside_the_job_and_its_command_is_handed_on(tmp_path: Path) -> None:
    """A stand-in for Python makes an environment of stand-ins, which note what they are told."""
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\necho "$0 $*" >> "$NOTES"\n'
        '[ "$2" != venv ] || { mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; }\n'
    )
    python.chmod(0o755)
    names = {"RUNNER_TEMP": "temp", "GITHUB_OUTPUT": "output", "NOTES": "notes"}
    variables = {name: str(tmp_path / place) for name, place in names.items()}
    step = ACTION["runs"]["steps"][1]
    subprocess.run(
        [BASH, "-e", "-o", "pipefail", "-c", step["run"]],
        env={**os.environ, **variables, "PYTHON": str(python), "GITHUB_ACTION_PATH": "/action"},
        check=True,
    )
    own = tmp_path / "temp" / "sonnx_ort"
    assert (tmp_path / "notes").read_text().splitlines() == [
        f"{python} -m venv --clear {own}",
        f"{own}/bin/python -m pip install --quiet /action",
    ]
    assert (tmp_path / "output").read_text() == f"command={own}/bin/sonnx-ort\n"


def test_own_workflow_checks_models_that_keep_the_profile() -> None:
    step = WORKFLOW["jobs"]["check"]["steps"][-1]
    assert step["uses"] == "./"
    done = check(REPOSITORY, **step["with"])
    assert done.returncode == 0, done.stdout
