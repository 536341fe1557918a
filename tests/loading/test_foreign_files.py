"""A file that is no ONNX model is told what it is, and what to do with it."""

import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import sonnx_ort

UNPACK = "unpack it, and give the model that it contains"


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.onnx", "content")
    return file.getvalue()


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return file.getvalue()


def _array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.ones(3))
    return file.getvalue()


POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f"
    b"32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
HTML = "is a page of HTML, such as a login or an error, in the place of the model"
TEXT = "is text; give a model in the binary form of ONNX, or end the name of its text with .onnxtxt"
EMPTY = "is empty; copy or export the model again"

FILES = {
    "empty": (b"", EMPTY),
    "zeros": (bytes(100), "is filled with zeros, as after an interrupted copy"),
    "Git LFS": (POINTER, "is a pointer of Git LFS in the place of the model; get the model with `"),
    "gzip": (gzip.compress(b"model"), f"is compressed by gzip; {UNPACK}"),
    "bzip2": (bz2.compress(b"model"), f"is compressed by bzip2; {UNPACK}"),
    "xz": (lzma.compress(b"model"), f"is compressed by xz; {UNPACK}"),
    "zip": (_zip(), f"is a zip archive; {UNPACK}, or, if it is a file of PyTorch or Keras, export"),
    "tar": (_tar(), f"is an archive of tar; {UNPACK}"),
    ".ort": (b"\x18\0\0\0ORTM" + bytes(90), "is a model in the format of ONNX Runtime (.ort)"),
    ".tflite": (b"\x1c\0\0\0TFL3" + bytes(90), "is a model of TensorFlow Lite"),
    ".h5": (b"\x89HDF\r\n\x1a\n" + bytes(90), "is a file of HDF5, as Keras writes"),
    ".npy": (_array(), "is an array of numpy; give the model's file"),
    "pickle": (pickle.dumps({"weights": [1.0]}), "is a pickle, as PyTorch and scikit-learn write"),
    "safetensors": (b"\x40\0\0\0\0\0\0\0" + b'{"w": {}}', "is a file of safetensors"),
    "HTML": (b"\n<!DOCTYPE html>\n<html><head>", HTML),
    "html": (b"\xef\xbb\xbf<html lang='en'>", HTML),
    "text": (b"Not Found\n", TEXT),
    "JSON": (b'{"irVersion": "10"}', TEXT),
    "text of a model": (b'<ir_version: 10, opset_import: ["": 20]>', TEXT),
}


@pytest.mark.parametrize("name", FILES)
def test_file(tmp_path: Path, name: str) -> None:
    content, told = FILES[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(path, operators="default")
    assert str(caught.value).startswith(f"'{path}' {told}")
    assert "export it again" not in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_bytes(name: str) -> None:
    content, told = FILES[name]
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(content, operators="default")
    assert str(caught.value).startswith(f"the bytes are {told.removeprefix('is ')}")
