"""What identifies an analysis: the model, and the versions of the packages that were used."""

from collections.abc import Mapping
from dataclasses import dataclass

import onnx

from sonnx_ort.versions import version_of

PACKAGES = ("sonnx_ort", "onnx", "onnx-ir", "onnxruntime")
"""The packages whose versions a report contains."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The analyzed model and the versions of the packages used.

    Attributes:
        sha256: Hash of the file, without external data; of the serialized model if there is no
            file.
        has_training_info: Whether the file has training information.
    """

    sha256: str
    opsets: Mapping[str, int]
    versions: Mapping[str, str]
    has_training_info: bool = False


def identify(sha256: str, proto: onnx.ModelProto) -> Identity:
    """Identify a model by the hash of its file, its opsets and the package versions."""
    return Identity(
        sha256,
        {entry.domain: entry.version for entry in proto.opset_import},
        {package: version_of(package) for package in PACKAGES},
        bool(proto.training_info),
    )
