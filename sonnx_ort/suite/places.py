"""Where vectors lie: in a folder, or in one archive, a ZIP file of the same files.

An archive takes a tenth of the space on a disk that gives each small file a block.
"""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sonnx_ort.errors import SonnxError
from sonnx_ort.files import check_place, new_whole_folder, writing

ARCHIVE = ".zip"
"""The end of an archive's name."""

Put = Callable[[str, bytes], None]
"""Writes a file of vectors, by its path with slashes."""

DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading a file of a damaged or encrypted archive raises."""

_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_READABLE = 0o644 << 16


class Place(Protocol):
    """A file of vectors, or the folder that has them, as both kinds of `Path` are."""

    @property
    def name(self) -> str:
        """The last part."""

    @property
    def stem(self) -> str:
        """The last part, without its end."""

    def __truediv__(self, other: str) -> "Place":
        """What is in the folder."""

    def exists(self) -> bool:
        """Whether it is there."""

    def read_bytes(self) -> bytes:
        """The content."""


@contextmanager
def filling(path: Path) -> Iterator[Put]:
    """A new folder, or an archive, which is there if the block succeeds.

    Raises:
        SonnxError: The folder is not empty, or it cannot be written. Then nothing is left there.
    """
    if path.suffix != ARCHIVE:
        with new_whole_folder(path) as folder:

            def put(name: str, content: bytes) -> None:
                place = folder / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)

            yield put
        return
    check_place(path)
    try:
        with (
            writing(path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            yield lambda name, content: _add(archive, name, content)
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be written: {error.strerror or error}") from error


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file, with nothing of this day and this system."""
    told = zipfile.ZipInfo(name, _DATE)
    told.create_system, told.external_attr = _UNIX, _READABLE
    archive.writestr(told, content, zipfile.ZIP_DEFLATED)


@contextmanager
def opened(path: Path) -> Iterator[Place]:
    """The files of a folder or of an archive.

    Raises:
        SonnxError: It is a file, and no archive that can be read.
    """
    if not path.is_file():
        yield path
        return
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, *DAMAGES) as error:
        raise SonnxError(
            f"'{path}' is neither a folder nor a ZIP archive that can be read: {error}; write the "
            "suite again, with `sonnx-ort suite -o FOLDER`"
        ) from error
    with archive:
        yield zipfile.Path(archive)
