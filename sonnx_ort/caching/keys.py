"""The key of a result: a digest of all that it depends on.

It depends on the model, its external data and the choices of the caller. It also depends on the
sources of this package, on the versions of others, and on the machine: constants are folded by
kernels, and intervals come from functions of the processor.
"""

import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

from sonnx_ort import custom_ops
from sonnx_ort.caching.values import NotKept, written
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.saving import external_locations
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.versions import TRIED, version_of

PACKAGES = tuple(package for package in TRIED if package != "Python")
"""The packages whose versions are part of a key; of Python it is more than the version."""

IN_MEMORY = "\0"
"""The location of external data that a session holds in memory; no file has such a name."""

_PACKAGE = Path(__file__).resolve().parents[1]


def key_of(kind: str, model: ReadModel, choices: object, *further: object) -> str:
    """The name under which a result is kept.

    Args:
        kind: What is made of the model.
        model: The model.
        choices: All that a caller chose.
        *further: What else the result depends on.

    Raises:
        NotKept: Something of it is not known here.
    """
    digest = hashlib.sha256()
    for part in (
        kind,
        environment(),
        written((choices, *further)),
        model.sha256,
        _digest(_serialized(model.proto)),
        json.dumps(_external_data(model)),
    ):
        # The length in front says where a part ends.
        content = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d\n" % len(content))
        digest.update(content)
    return f"{kind}-{digest.hexdigest()}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _serialized(proto: onnx.ModelProto) -> bytes:
    try:
        content: bytes = proto.SerializeToString(deterministic=True)
    except Exception as error:
        raise NotKept("the model cannot be serialized") from error
    return content


def _external_data(model: ReadModel) -> list[list[object]]:
    """The files of a model's external data, each with its digest.

    Raises:
        NotKept: A file cannot be used, which is said where the model is loaded, or it is not known.
    """
    found: list[list[object]] = []
    locations = external_locations(model.proto)
    if model.folder is None:
        if set(locations) - {IN_MEMORY}:
            raise NotKept("external data lies in no folder that is known")
        return found
    try:
        if locations:
            check_external_data(model.proto, model.folder)
        for location in locations:
            with (model.folder / location).open("rb") as file:
                found.append([location, hashlib.file_digest(file, "sha256").hexdigest()])
    except (InvalidModel, OSError, ValueError) as error:
        raise NotKept("external data cannot be read") from error
    return found


@functools.cache
def environment() -> str:
    """What else results depend on: sources, versions and the machine, as text."""
    return json.dumps(
        {
            "sources": sources_digest(),
            "versions": {package: version_of(package) for package in PACKAGES},
            "onnxruntime": onnxruntime.get_build_info(),
            "python": sys.version,
            "system": [sys.platform, platform.machine(), platform.release(), *_library()],
            "byteorder": sys.byteorder,
            "processor": _processor(),
        },
        sort_keys=True,
    )


def sources_digest() -> str:
    """The digest of the files of this package, with their names.

    The version alone does not say what a clone has.
    """
    digest = hashlib.sha256()
    for name, path in sorted(_sources()):
        content = path.read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Path]]:
    """The files of the package and of its kernels, which lie inside or beside it."""
    for folder in (_PACKAGE, Path(custom_ops.__path__[0]).resolve()):
        for where, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in files:
                path = Path(where, name)
                yield f"{folder.name}/{path.relative_to(folder).as_posix()}", path


def _library() -> list[str]:
    """The C library, which computes functions such as exp; nothing where it has no version."""
    with suppress(AttributeError, OSError, ValueError):
        return [str(os.confstr("CS_GNU_LIBC_VERSION"))]
    return []


def _processor() -> dict[str, bool]:
    """The instructions of the processor by which numpy, and libraries like it, choose code."""
    core: Any = np._core if hasattr(np, "_core") else np.core  # noqa: SLF001
    return dict(core._multiarray_umath.__cpu_features__)  # noqa: SLF001
