import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A copy of what the script reads and writes, to change."""
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("models", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    return tmp_path


def build(root, *arguments, code="pass", hash_seed="0"):
    """Run the script in a process of its own, after some code."""
    script = root / "scripts" / "build_models.py"
    run = (
        f"import runpy, sys; sys.path.insert(0, {str(script.parent)!r}); "
        f"sys.argv = {[str(script), *arguments]!r}; {code}; "
        f"runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-c", run],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
    )


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


WITHOUT_SCIKIT_LEARN = "sys.modules['sklearn'] = None"


@pytest.mark.parametrize("hash_seed", ["1", pytest.param("2", marks=pytest.mark.thorough)])
def test_committed_files_are_what_the_code_builds(hash_seed):
    result = build(ROOT, "--check", code=WITHOUT_SCIKIT_LEARN, hash_seed=hash_seed)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith(" files are what the code builds\n")


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (
            lambda models: (models / "data" / "digits.onnx").write_bytes(b""),
            "data/digits.onnx is not what the code builds",
        ),
        pytest.param(
            lambda models: (models / "data" / "digits.npz").unlink(),
            "data/digits.npz is not what the code builds",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            lambda models: (models / "manifest.json").write_text("{}", encoding="utf-8"),
            "manifest.json is not what the code builds",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            lambda models: (models / "data" / "stray.onnx").write_bytes(b""),
            "data/stray.onnx is built by no code",
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["changed model", "missing tensors", "changed manifest", "stray file"],
)
def test_check_names_what_differs_and_changes_nothing(checkout, spoil, line):
    spoil(checkout / "models")
    spoilt = files_in(checkout / "models")
    result = build(checkout, "--check")
    assert result.returncode == 1
    assert result.stdout == f"{line}\nrun: python scripts/build_models.py\n"
    assert files_in(checkout / "models") == spoilt


@pytest.mark.thorough
def test_building_mends_every_difference(checkout):
    data = checkout / "models" / "data"
    (data / "digits.onnx").write_bytes(b"")
    (data / "stray.onnx").write_bytes(b"")
    result = build(checkout)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith(" files: 1 written, 1 deleted\n")
    assert build(checkout, "--check").returncode == 0


def test_training_without_scikit_learn_says_what_to_install(checkout):
    result = build(checkout, "--train", code=WITHOUT_SCIKIT_LEARN)
    assert result.returncode == 2
    assert result.stderr.endswith(
        "error: training needs scikit-learn: pip install 'sonnx_ort[training]'\n"
    )
