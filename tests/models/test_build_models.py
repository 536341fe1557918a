import os
import shutil
import subprocess
import sys
from pathlib import Path

import build_models
import pytest
from build_models import bundles
from model_builders.writer import contents

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_SCIKIT_LEARN = "import sys; sys.modules['sklearn'] = None; "


@pytest.mark.parametrize("hash_seed", ["1", pytest.param("2", marks=pytest.mark.thorough)])
def test_committed_files_are_what_the_code_builds(hash_seed):
    run = "import build_models; sys.exit(build_models.main(['--check']))"
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_SCIKIT_LEARN + run],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT / "scripts")},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith(" files are what the code builds\n")


@pytest.fixture(scope="module")
def built():
    return contents(bundles())


@pytest.fixture
def models(tmp_path, monkeypatch, built):
    """A copy of the bundled models to change, in the place of the committed ones."""
    folder = tmp_path / "models"
    shutil.copytree(ROOT / "models", folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(build_models, "MODELS", folder)
    monkeypatch.setattr(build_models, "contents", lambda _: built)
    return folder


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("spoil", "line"), [
    (lambda models: (models / "data" / "digits.onnx").write_bytes(b""),
     "data/digits.onnx is not what the code builds"),
    (lambda models: (models / "data" / "digits.npz").unlink(),
     "data/digits.npz is not what the code builds"),
    (lambda models: (models / "manifest.json").write_text("{}", encoding="utf-8"),
     "manifest.json is not what the code builds"),
    (lambda models: (models / "data" / "stray.onnx").write_bytes(b""),
     "data/stray.onnx is built by no code"),
], ids=["changed model", "missing tensors", "changed manifest", "stray file"])  # fmt: skip
def test_check_names_what_differs_and_changes_nothing(models, capsys, spoil, line):
    spoil(models)
    spoilt = files_in(models)
    assert build_models.main(["--check"]) == 1
    assert capsys.readouterr().out == f"{line}\nrun: python scripts/build_models.py\n"
    assert files_in(models) == spoilt


def test_building_mends_every_difference(models, capsys):
    whole = files_in(models)
    (models / "data" / "digits.onnx").write_bytes(b"")
    (models / "data" / "stray.onnx").write_bytes(b"")
    assert build_models.main([]) == 0
    assert capsys.readouterr().out.endswith(" files: 1 written, 1 deleted\n")
    assert files_in(models) == whole


def test_training_without_scikit_learn_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(SystemExit) as ended:
        build_models.main(["--train"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(
        "error: training needs scikit-learn: pip install --group training\n"
    )
