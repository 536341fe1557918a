"""The bundled models are built alike each time, and their tensors are read from JSON."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import build_models
import ml_dtypes
import numpy as np
import pytest
from build_models import bundles
from model_builders.writer import contents

from sonnx_ort.models import same_elements, tensor_json

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


FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def through_json(array):
    return tensor_json.decode(json.loads(json.dumps(tensor_json.encode(array), allow_nan=False)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_value_of_a_16_bit_float_survives(dtype):
    array = np.arange(2**16, dtype=np.uint16).view(dtype)
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("dtype", FLOATS)
def test_ends_of_the_range_survive(dtype):
    limits = ml_dtypes.finfo(dtype)
    array = np.array(
        [limits.max, limits.min, limits.smallest_normal, limits.smallest_subnormal, limits.eps],
        dtype,
    )
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_smallest_and_largest_integers_survive(dtype):
    array = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3)])
def test_shape_survives(shape):
    array = np.ones(shape, np.float32)
    assert same_elements(array, through_json(array))


def test_booleans_survive():
    array = np.array([[True, False]])
    assert same_elements(array, through_json(array))


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_json_lacks_is_a_string(dtype):
    array = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0], dtype)
    assert tensor_json.encode(array) == {
        "dtype": np.dtype(dtype).name,
        "shape": [5],
        "data": ["inf", "-inf", "nan", "-0.0", 0.0],
    }


def test_float_is_written_as_the_double_of_the_same_value():
    assert tensor_json.encode(np.float32([0.1]))["data"] == [0.10000000149011612]


def test_number_of_elements_that_does_not_fit_the_shape_is_refused():
    with pytest.raises(ValueError, match="cannot reshape array of size 2 into shape"):
        tensor_json.decode({"dtype": "int8", "shape": [3], "data": [1, 2]})


def test_integer_beyond_the_dtype_is_refused():
    with pytest.raises(OverflowError, match="128 out of bounds for int8"):
        tensor_json.decode({"dtype": "int8", "shape": [1], "data": [128]})
