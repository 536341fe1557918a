"""Writes files completely or not at all, and transfers external data."""

import enum
import filecmp
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

import onnx

from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.loading.external_data import external_tensors

STANDARD_OUTPUT = Path("-")
"""Stands for standard output, in the place of a file to write."""


def check_place(target: Path) -> None:
    """Check before any work that a file can be written to a path.

    Raises:
        SonnxError: The path is a folder or unusable, or its folder does not exist.
    """
    try:
        mode = _mode(target)
        place = target if mode is not None else _followed(target)
        if not place.parent.is_dir():
            raise SonnxError(f"'{target}' cannot be written: there is no folder '{place.parent}'")
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error
    if mode is not None and not (stat.S_ISREG(mode) or _is_stream(mode)):
        kind = "a folder" if stat.S_ISDIR(mode) else "no file, but a block device or a socket"
        raise SonnxError(f"'{target}' cannot be written: it is {kind}")


def is_stream(target: Path) -> bool:
    """Whether a path is a pipe or a character device, such as /dev/null, or standard output.

    It is written through, and nothing can lie beside it.
    """
    try:
        return _is_stream(_mode(target) or 0)
    except (OSError, ValueError):
        return False


def is_standard_output(target: Path | None) -> bool:
    """Whether what is written to a path appears on standard output."""
    if target is None or not is_stream(target):
        return False
    if target == STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(target.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):
        return False


def _mode(target: Path) -> int | None:
    """The type of what is at a path; None if there is nothing."""
    if target == STANDARD_OUTPUT:
        return stat.S_IFIFO
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def _is_stream(mode: int) -> bool:
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _followed(target: Path) -> Path:
    """The path to which a symbolic link leads; another path as it is."""
    return Path(os.path.realpath(target)) if target.is_symlink() else target


def _unwritable(target: Path, error: OSError | ValueError) -> SonnxError:
    reason = (error.strerror or error) if isinstance(error, OSError) else error
    of_another = isinstance(error, OSError) and error.filename not in (None, str(target))
    name = f" ({error.filename})" if of_another and isinstance(error, OSError) else ""
    return SonnxError(f"'{target}' cannot be written: {reason}{name}")


def refuse_inputs(target: Path, inputs: Iterable[Path], remedy: str = "name another file") -> None:
    """Check that a file to write is none of those that are read, by whatever path or link.

    Raises:
        SonnxError: It is one of them.
    """
    for path in inputs:
        if same_file(target, path):
            raise SonnxError(
                Advice(
                    f"'{target}' cannot be written: it would replace the input '{path}'; ", remedy
                )
            )


def files_of(*sources: object) -> tuple[Path, ...]:
    """The files among what is given as a path or as an object, such as waivers or a contract."""
    return tuple(Path(source) for source in sources if isinstance(source, str | os.PathLike))


def refuse_external_data(target: Path, model: Path, proto: onnx.ModelProto) -> None:
    """Check that a file to write is none of a model's external data.

    Raises:
        SonnxError: It is, or it is in the place of a copy beside it.
    """
    for folder in (folder_of_data(model, proto), target.parent):
        if any(same_file(target, folder / place) for place in external_locations(proto)):
            raise SonnxError(
                f"'{target}' cannot be written: it would replace the model's external data; "
                "name another file"
            )


def refuse_model(target: Path, model: Path, proto: onnx.ModelProto) -> None:
    """Check that a file to write, which is no model, replaces none of the files of a model.

    Raises:
        SonnxError: It would.
    """
    refuse_inputs(target, [model])
    refuse_external_data(target, model, proto)


def refuse_source(target: Path, source: Path, proto: onnx.ModelProto, *, force: bool) -> None:
    """Check that a model to write replaces nothing of the model that it is made from.

    Its file may be replaced by force, but never its external data, which both refer to.

    Raises:
        SonnxError: It would.
    """
    refuse_external_data(target, source, proto)
    if not force:
        remedy = Advice("name another file, or add ", Remedy("force"))
        refuse_inputs(target, [source], remedy)


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which need not exist yet."""
    try:
        with suppress(OSError):
            return one.samefile(other)
        return os.path.realpath(one) == os.path.realpath(other)
    except ValueError:  # no file can have such a name
        return False


def external_locations(proto: onnx.ModelProto) -> list[str]:
    """The locations of a model's external data, sorted."""
    entries = (entry for tensor in external_tensors(proto) for entry in tensor.external_data)
    return sorted({entry.value for entry in entries if entry.key == "location"})


def folder_of_data(model: Path, proto: onnx.ModelProto) -> Path:
    """The folder of the external data of a model as it was read from a file.

    The file may be a link into the folder of the data, as in the cache of a model hub.
    """
    if not model.is_symlink():
        return model.parent
    real = model.resolve().parent
    places = external_locations(proto)
    return real if places and all((real / each).exists() for each in places) else model.parent


def write_text(target: Path, text: str) -> None:
    """Write a text file in UTF-8; an existing one is replaced.

    Raises:
        SonnxError: It cannot be written; an existing file is then unchanged.
    """
    check_place(target)
    try:
        content = text.encode()
        with writing(target) as file:
            file.write(content)
    except (OSError, ValueError) as error:
        raise _unwritable(target, error) from error


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces that at a path if the block succeeds.

    A symbolic link stays, and the file to which it leads is replaced. A pipe or a character device
    gets all at the end.
    """
    if is_stream(path):
        content = io.BytesIO()
        yield content
        if path == STANDARD_OUTPUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(content.getbuffer())
            sys.stdout.buffer.flush()
            return
        with path.open("wb") as stream:
            stream.write(content.getbuffer())
        return
    place = _followed(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name[:_KEPT]}.", dir=place.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def new_whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which becomes a new or empty one if the block succeeds.

    Otherwise nothing is left of it.

    Raises:
        SonnxError: The folder is not empty, or cannot be written.
    """
    temporary = _new_folder_beside(folder)
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if folder.is_dir():
            folder.rmdir()
        temporary.rename(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _new_folder_beside(folder: Path) -> Path:
    """A new folder beside one that is new or empty."""
    try:
        if folder == STANDARD_OUTPUT:
            raise SonnxError("'-' is standard output, and no folder; name a new folder")
        if folder.is_dir() and any(folder.iterdir()):
            raise SonnxError(f"'{folder}' is not empty; name a new folder")
        if folder.exists() and not folder.is_dir():
            raise SonnxError(f"'{folder}' is a file; name a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{folder.name[:_KEPT]}.", dir=folder.parent))
    except (OSError, ValueError) as error:
        raise _unwritable(folder, error) from error


_KEPT = 64
"""The characters of a file's name that its temporary file has too; longer ones may be too long."""


def _umask() -> int:
    """The permissions that new files lack; they can be read only by setting them."""
    umask = os.umask(0)
    os.umask(umask)
    return umask


class Transfer(enum.StrEnum):
    """What to do with external data that a target's folder lacks."""

    COPY = "copy"
    LINK = "link"
    REFERENCE = "reference"


TransferChoice = Transfer | Literal["copy", "link", "reference"]
"""What to do with external data, as a caller gives it."""


def missing_external_data(
    proto: onnx.ModelProto, source_folder: Path, target_folder: Path
) -> list[tuple[Path, Path]]:
    """The files to which a model refers and which its new folder lacks.

    Returns:
        The existing and the required path of each file.

    Raises:
        SonnxError: A different file exists at a required path.
    """
    missing = []
    for location in external_locations(proto):
        origin, place = source_folder / location, target_folder / location
        if not place.exists():
            missing.append((origin, place))
        elif not place.resolve().is_relative_to(target_folder.resolve()):
            raise SonnxError(
                f"'{place}' is a link that leads outside the folder of the written model, which no "
                "session follows; write the model to another folder"
            )
        elif not (place.samefile(origin) or filecmp.cmp(origin, place, shallow=False)):
            raise SonnxError(
                f"'{place}' is another file, with the name of the model's external data; write "
                "the model to another folder"
            )
    return missing


def transfer_file(origin: Path, place: Path, transfer: Transfer) -> None:
    """Copy or link a file atomically.

    Raises:
        OSError: It cannot be written, or not linked across file systems.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    if transfer is Transfer.LINK:
        os.link(origin, place)
        return
    with writing(place) as file, origin.open("rb") as given:
        shutil.copyfileobj(given, file, _CHUNK)


_CHUNK = 1 << 20
"""The bytes that are copied at once."""


def write_model(
    proto: onnx.ModelProto,
    content: bytes,
    source: Path,
    target: Path,
    transfer: Transfer,
    *beside: tuple[Path, str],
) -> None:
    """Write a model made from a file, with the external data that the target's folder lacks.

    Beside a pipe or a device nothing is written.

    Args:
        proto: The model.
        content: The same, serialized.
        source: The file of the model that it was made from.
        target: The file to write.
        transfer: What to do with the external data.
        *beside: Text files and their contents, which are written first: there is no model without
            them.

    Raises:
        SonnxError: A file cannot be written, or another file is in the place of external data.
    """
    try:
        origins = folder_of_data(source, proto)
        folder = origins if is_stream(target) else target.parent
        missing = missing_external_data(proto, origins, folder)
        if missing and transfer is Transfer.REFERENCE:
            raise SonnxError(
                f"'{target}' cannot refer to the external data in '{origins}', which lies "
                "outside its folder; copy or link it, or write the model into that folder"
            )
        with writing(target) as file:
            for origin, copy in missing:
                transfer_file(origin, copy, transfer)
            for path, text in beside:
                write_text(path, text)
            file.write(content)
    except OSError as error:
        raise _unwritable(target, error) from error
