"""What a report is about, so that it can be told from any other."""

import functools
import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass

import onnx

PACKAGES = ("sonnx_ort", "onnx", "onnx-ir", "onnxruntime")
"""The packages whose versions a report states."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A model, and with what it was looked at.

    Attributes:
        sha256: Of the file, without external data; of the serialized model where there was no
            file.
        opsets: The imported version of each domain.
        versions: Of the packages that took part.
    """

    sha256: str
    opsets: Mapping[str, int]
    versions: Mapping[str, str]


def identify(sha256: str, proto: onnx.ModelProto) -> Identity:
    """Identify a model.

    Args:
        sha256: Of its file.
        proto: The model.
    """
    return Identity(
        sha256,
        {entry.domain: entry.version for entry in proto.opset_import},
        {package: _version(package) for package in PACKAGES},
    )


@functools.cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)
