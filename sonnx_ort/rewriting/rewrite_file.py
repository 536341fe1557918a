"""`rewrite_file`: from file to file, all of it or nothing."""

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.rewriting.rewrite import enforce, require_serializable


def rewrite_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    backend: str = "python",
) -> None:
    """Rewrite a model from file to file.

    External data is not loaded: it stays where it is if the target lies in the source's folder,
    and is copied beside the target otherwise. The target appears whole or not at all; on any
    error nothing is overwritten.

    Args:
        source: The file of the model.
        target: The file to write; an existing one is replaced.
        edition: As for `rewrite`.
        broadcast: As for `rewrite`.
        backend: As for `rewrite`.

    Raises:
        SonnxError: As for `rewrite`; also if the target cannot be written, or another file is in
            the place of its external data.
    """
    source, target = Path(source), Path(target)
    _check_place(target)
    enforced = enforce(source, edition=edition, broadcast=broadcast, backend=backend)
    proto = enforced.to_proto()
    content = require_serializable(proto)
    try:
        copies = _external_copies(proto, source.parent, target.parent)
        with _replacing(target) as temporary:
            temporary.write_bytes(content)
            for origin, copy in copies:
                copy.parent.mkdir(parents=True, exist_ok=True)
                with _replacing(copy) as temporary_copy:
                    shutil.copyfile(origin, temporary_copy)
    except OSError as error:
        raise SonnxError(
            f"'{target}' cannot be written: {error.strerror or error} ({error.filename})"
        ) from error


def _check_place(target: Path) -> None:
    if target.is_dir():
        raise SonnxError(f"'{target}' cannot be written: it is a folder")
    if not target.parent.is_dir():
        raise SonnxError(f"'{target}' cannot be written: there is no folder '{target.parent}'")


def _external_copies(
    proto: onnx.ModelProto, source_folder: Path, target_folder: Path
) -> list[tuple[Path, Path]]:
    """What has to be copied, and where to."""
    locations = sorted({ExternalDataInfo(tensor).location for tensor in external_tensors(proto)})
    copies = []
    for location in locations:
        origin, copy = source_folder / location, target_folder / location
        if copy.exists():
            if not (copy.samefile(origin) or filecmp.cmp(origin, copy, shallow=False)):
                raise SonnxError(
                    f"'{copy}' is in the place of the model's external data and is another file; "
                    "write the model to another folder"
                )
            continue
        copies.append((origin, copy))
    return copies


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside the path that takes its place if all goes well."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
