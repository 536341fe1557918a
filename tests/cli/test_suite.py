"""`sonnx-ort suite`: writing, running, exit status."""

from pathlib import Path

import pytest

from support.command import command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_vectors_are_written_and_an_engine_runs_them(folder: Path) -> None:
    done = command("suite", "-o", "vectors", "--operators", "Shape,Flatten", "--seed", "3")
    assert (done.returncode, done.stderr) == (0, "")
    count = len([*(folder / "vectors").rglob("test_data_set_*")])
    assert done.stdout == f"{count} cases in 'vectors'\n"
    run = command("suite", "--run", "vectors", "--engine", "sonnx_ort")
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == f"| all | {count} | {count} |  |  |  |  |  |"


def test_case_that_is_not_right_is_listed_and_the_exit_status(folder: Path) -> None:
    del folder
    command("suite", "-o", "vectors", "--operators", "Neg")
    done = command("suite", "--run", "vectors", "-v")
    assert (done.returncode, done.stderr) == (1, "")
    assert "refused/neg_float_rg1_broken/0: computes what it should refuse: Neg.float.RG1: " in (
        done.stdout
    )


UNUSABLE = {
    "give either -o FOLDER or --run FOLDER": [],
    "the profile has no rules for an operator 'div' (did you mean 'Div'?)": [
        *("-o", "vectors", "--operators", "Sub,div")
    ],
    "there is no engine 'tensorrt'; the engines are onnxruntime, onnx.reference, sonnx_ort, "
    "sonnx_ort:python, sonnx_ort:native, sonnx_ort:compiled, and module:Class": [
        *("--run", "vectors", "--engine", "tensorrt")
    ],
}


@pytest.mark.parametrize("message", UNUSABLE)
def test_unusable_arguments(folder: Path, message: str) -> None:
    del folder
    command("suite", "-o", "vectors", "--operators", "Shape")
    done = command("suite", *UNUSABLE[message])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"sonnx-ort: {message}\n"


def test_folder_is_written_or_run_and_not_both(folder: Path) -> None:
    del folder
    done = command("suite", "-o", "vectors", "--run", "vectors")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sonnx-ort: give either -o FOLDER or --run FOLDER\n"
