"""Samples are read from folders, in two forms."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.value_files import read_samples

INPUTS = ("x", "y:0")


def array(number: int) -> np.ndarray:
    return np.array([number, 2], np.float32)


def save(path: Path, number: int) -> None:
    path.parent.mkdir(exist_ok=True)
    np.save(path, array(number))


def save_proto(path: Path, number: int, name: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(numpy_helper.from_array(array(number), name).SerializeToString())


def test_files_have_the_names_of_inputs(tmp_path: Path) -> None:
    save(tmp_path / "one" / "x.npy", 1)
    save(tmp_path / "one" / "y_0.npy", 2)
    found = read_samples(tmp_path / "one", INPUTS)
    assert list(found) == ["one"]
    assert {name: a.tolist() for name, a in found["one"].items()} == {"x": [1, 2], "y:0": [2, 2]}


def test_folder_of_folders_has_a_sample_in_each(tmp_path: Path) -> None:
    for number in (2, 1):
        save(tmp_path / f"sample{number}" / "x.npy", number)
    found = read_samples(tmp_path, INPUTS)
    assert [(name, a["x"].tolist()) for name, a in found.items()] == [
        ("sample1", [1, 2]),
        ("sample2", [2, 2]),
    ]


@pytest.mark.parametrize(
    ("names", "read"), [(("", ""), ["x", "y:0"]), (("y:0", "x"), ["y:0", "x"])]
)
def test_protocol_buffers_have_names_or_numbers(
    tmp_path: Path, names: tuple[str, str], read: list[str]
) -> None:
    for number, name in enumerate(names):
        save_proto(tmp_path / "set" / f"input_{number}.pb", number, name)
    (tmp_path / "set" / "output_0.pb").write_bytes(b"")
    (found,) = read_samples(tmp_path / "set", INPUTS).values()
    assert [(name, a.tolist()) for name, a in found.items()] == [
        (read[0], [0, 2]),
        (read[1], [1, 2]),
    ]


@pytest.mark.parametrize(("make", "told"), [
    (lambda _: None, "'{}' cannot be read: No such file or directory"),
    (lambda folder: folder.mkdir(),
     "'{}' has no samples; put NAME.npy or input_0.pb for inputs into it, or into "),
    (lambda folder: save(folder / "z.npy", 1), "'{}/z.npy' is none of an input; the inputs"),
    (lambda folder: save_proto(folder / "input_2.pb", 1, ""),
     "'{}/input_2.pb' is none of an input; the inputs are x, y:0"),
    (lambda folder: (folder.mkdir(), (folder / "input_0.pb").write_bytes(b"\xff")),
     "'{}/input_0.pb' is not a tensor of ONNX: "),
], ids=["no folder", "empty", "other name", "other number", "damaged"])  # fmt: skip
def test_folder_that_has_none(tmp_path: Path, make: Callable[[Path], object], told: str) -> None:
    folder = tmp_path / "folder"
    make(folder)
    with pytest.raises(SonnxError) as caught:
        read_samples(folder, INPUTS)
    assert str(caught.value).startswith(told.format(folder))
