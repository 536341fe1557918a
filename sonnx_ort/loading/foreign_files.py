"""Says what a file is that is no ONNX model, and what to do with it."""

from collections.abc import Callable, Mapping

_EXPORT = "export the model to ONNX"
_UNPACK = "unpack it, and give the model that it contains"
_CONVERTED = "give the ONNX model from which it was made, or convert it to ONNX"

_BEGINNINGS: Mapping[tuple[int, bytes], str] = {
    (0, b"version https://git-lfs.github.com/spec/"): (
        "a pointer of Git LFS in the place of the model; get the model with `git lfs pull`"
    ),
    (0, b"\x1f\x8b"): f"compressed by gzip; {_UNPACK}",
    (0, b"BZh"): f"compressed by bzip2; {_UNPACK}",
    (0, b"\xfd7zXZ\0"): f"compressed by xz; {_UNPACK}",
    (0, b"\x28\xb5\x2f\xfd"): f"compressed by Zstandard; {_UNPACK}",
    (0, b"\x04\x22\x4d\x18"): f"compressed by LZ4; {_UNPACK}",
    (0, b"7z\xbc\xaf\x27\x1c"): f"an archive of 7-Zip; {_UNPACK}",
    (0, b"PK\x03\x04"): (
        f"a zip archive; {_UNPACK}, or, if it is a file of PyTorch or Keras, {_EXPORT}"
    ),
    (257, b"ustar"): f"an archive of tar; {_UNPACK}",
    (4, b"ORTM"): "a model in the format of ONNX Runtime (.ort); give the ONNX model that it is of",
    (4, b"TFL3"): f"a model of TensorFlow Lite; {_CONVERTED}",
    (0, b"\x89HDF\r\n\x1a\n"): f"a file of HDF5, as Keras writes; {_EXPORT}",
    (0, b"\x93NUMPY"): "an array of numpy; give the model's file",
    (0, b"GGUF"): f"a model in the format GGUF; {_CONVERTED}",
    (0, b"PAR1"): "a table in the format Parquet; give the model's file",
    (0, b"\x7fELF"): "a program or a library; give the model's file",
    (0, b"%PDF"): "a document in the format PDF; give the model's file",
    (8, b'{"'): f"a file of safetensors, which has weights alone; {_EXPORT}",
}
"""What files have at a position, and what they are."""

_PICKLE = "a pickle, as PyTorch and scikit-learn write; export the model to ONNX"
_HTML = (
    "a page of HTML, such as a login or an error, in the place of the model; download the model "
    "itself"
)
_TEXT_FORMATS = (
    "text; give a model in the binary form of ONNX, or end the name of its text with .onnxtxt, "
    ".textproto or .json"
)


def described(content: bytes) -> str:
    """Say what bytes are that are no ONNX model, and what to do; empty if that is not known."""
    if not content.strip(b"\0"):
        kind = "empty" if not content else "filled with zeros, as after an interrupted copy"
        return f"{kind}; copy or export the model again"
    for (at, beginning), kind in _BEGINNINGS.items():
        if content.startswith(beginning, at):
            return kind
    return next((kind for fits, kind in _FURTHER.items() if fits(content[:_LOOKED_AT])), "")


_LOOKED_AT = 1024


def _is_pickle(content: bytes) -> bool:
    return content[:1] == b"\x80" and content[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _is_html(content: bytes) -> bool:
    beginning = content.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return beginning.startswith((b"<!doctype html", b"<html", b"<head", b"<!--"))


def _is_text(content: bytes) -> bool:
    """Whether all is printable: a message of protocol buffers has other bytes at once."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in "\t\r\n" for character in text)


_FURTHER: Mapping[Callable[[bytes], bool], str] = {
    _is_pickle: _PICKLE,
    _is_html: _HTML,
    _is_text: _TEXT_FORMATS,
}
"""What else files are that fit."""
