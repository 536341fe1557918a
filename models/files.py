"""The files of the bundled models."""

from pathlib import Path

import onnx

from sonnx_ort.models.manifest import DATA, example, examples


def names() -> tuple[str, ...]:
    """The names of all bundled models, in the order of the manifest."""
    return tuple(entry.name for entry in examples())


def path(name: str) -> Path:
    """The file of a bundled model.

    Args:
        name: One of `names()`.

    Raises:
        SonnxError: There is no model of that name; the message lists those that exist.
    """
    return DATA / f"{example(name).name}.onnx"


def load(name: str) -> onnx.ModelProto:
    """Read a bundled model.

    Args:
        name: One of `names()`.

    Raises:
        SonnxError: There is no model of that name; the message lists those that exist.
    """
    return onnx.load_model(path(name))
