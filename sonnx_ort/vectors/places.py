"""Where vectors lie: in a folder, or in one archive, a ZIP file of the same files.

An archive takes a tenth of the space on a disk that gives each small file a block. What others
wrote is bounded before it is read: how large files and directory are, and which names and kinds
they have.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Protocol

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.saving import check_place, new_whole_folder, writing
from sonnx_ort.loading.text_files import content_of

ARCHIVE = ".zip"
"""The end of an archive's name."""

MOST_BYTES = 1 << 25
"""How many bytes a file of vectors has at most; the manifest of all cases has a fifth of it."""

MOST_ALTOGETHER = 1 << 28
"""How many bytes the files of an archive have at most together."""

MOST_OF_DIRECTORY = 1 << 24
"""How many bytes the directory of an archive has at most."""

_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DEEPEST = 8
_LONGEST_SHOWN = 80

AGAIN = "write the suite again, with `sonnx-ort suite -o FOLDER`"
"""What to do with vectors that cannot be used."""

Put = Callable[[str, bytes], None]
"""Writes a file of vectors, by its path with slashes."""

DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading a file of a damaged or encrypted archive raises."""

_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_READABLE = 0o644 << 16


class _Source(Protocol):
    """What has the files of vectors."""

    def has(self, name: str) -> bool:
        """Whether it has a file, by its path with slashes."""

    def read(self, name: str) -> bytes:
        """The content of a file, which is bounded before it is read.

        Raises:
            SonnxError: It is larger than any file of vectors.
            OSError: It is missing, or cannot be read.
            Exception: One of `DAMAGES`.
        """


@dataclass(frozen=True)
class Place:
    """A file of vectors, or the folder or the archive that has them."""

    source: _Source
    inside: PurePosixPath
    root: Path

    @property
    def name(self) -> str:
        """The last part."""
        return self.inside.name

    @property
    def stem(self) -> str:
        """The last part, without its end."""
        return self.inside.stem

    def __truediv__(self, other: str) -> "Place":
        """What is in the folder."""
        return replace(self, inside=self.inside / other)

    def __str__(self) -> str:
        """The path."""
        return str(self.root / self.inside)

    def exists(self) -> bool:
        """Whether it is there."""
        return self.source.has(str(self.inside))

    def read_bytes(self) -> bytes:
        """The content; errors are those of its source."""
        return self.source.read(str(self.inside))


@dataclass(frozen=True)
class _Folder:
    """A folder of vectors."""

    root: Path

    def has(self, name: str) -> bool:
        return (self.root / name).exists()

    def read(self, name: str) -> bytes:
        path = self.root / name
        size = path.stat().st_size
        _require_small(path, size)
        # What grows in between, or has no size, is read no further.
        content = content_of(path, MOST_BYTES + 1)
        _require_small(path, len(content))
        return content


@dataclass(frozen=True)
class _Archive:
    """An archive of vectors.

    Attributes:
        files: What it says of each file, by path.
    """

    root: Path
    archive: zipfile.ZipFile
    files: Mapping[str, zipfile.ZipInfo]

    def has(self, name: str) -> bool:
        return name in self.files

    def read(self, name: str) -> bytes:
        if name not in self.files:
            raise FileNotFoundError(name)
        told = self.files[name]
        _require_small(self.root / name, told.file_size)
        # Reading without a number unpacks all that there is, whatever size the directory says.
        with self.archive.open(told) as file:
            return file.read(told.file_size + 1)


def _require_small(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise SonnxError(
            f"'{path}' has {size:,} bytes; a file of vectors has {MOST_BYTES:,} at most; {AGAIN}"
        )


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
    """The files of a folder or of an archive, none of which is read yet.

    Raises:
        SonnxError: It is a file, and no archive that can be read; or the archive has what no
            archive of vectors has: more files or bytes, links, or names outside of it.
    """
    if not path.is_file():
        yield Place(_Folder(path), PurePosixPath(), path)
        return
    try:
        _require_small_directory(path)
        archive = zipfile.ZipFile(path)
    except (OSError, ValueError, struct.error, *DAMAGES) as error:
        raise SonnxError(
            f"'{path}' is neither a folder nor a ZIP archive that can be read: {error}; {AGAIN}"
        ) from error
    with archive:
        files = _files_of(path, archive)
        yield Place(_Archive(path, archive, files), PurePosixPath(), path)


_END = struct.Struct("<4s4H2LH")
_END_MARK, _LARGE_MARK = b"PK\5\6", b"PK\6\7"
_LARGE_MARK_SIZE = 20
_LONGEST_COMMENT = (1 << 16) - 1


def _require_small_directory(path: Path) -> None:
    """Check that the directory of an archive is small, before all of it is read.

    Raises:
        SonnxError: It is not, or has the form for more files.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END.size - _LONGEST_COMMENT - _LARGE_MARK_SIZE))
        ending = file.read()
    place = len(ending) - _END.size
    # The same end as zipfile takes: one without a comment, or the last one.
    if place < 0 or not (ending[place:].startswith(_END_MARK) and ending.endswith(b"\0\0")):
        place = ending.rfind(_END_MARK)
    if place < 0 or len(ending) < place + _END.size:
        return  # zipfile says what is wrong.
    *_, directory, _, _ = _END.unpack_from(ending, place)
    before = ending[max(0, place - _LARGE_MARK_SIZE) : place]
    if directory > MOST_OF_DIRECTORY or before.startswith(_LARGE_MARK):
        raise SonnxError(
            f"'{path}' lists more files than vectors are: its directory has "
            f"{'the form of ZIP64' if before.startswith(_LARGE_MARK) else f'{directory:,} bytes'}, "
            f"and vectors need {MOST_OF_DIRECTORY:,} bytes at most; {AGAIN}"
        )


def _files_of(path: Path, archive: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """The files of an archive, by path.

    Raises:
        SonnxError: One is none of vectors, or they are too large together.
    """
    files: dict[str, zipfile.ZipInfo] = {}
    for told in archive.infolist():
        if fault := _fault(told, files):
            raise SonnxError(f"'{path}' is no archive of vectors: {fault}; {AGAIN}")
        if not told.is_dir():
            files[told.filename] = told
    size = sum(told.file_size for told in files.values())
    if size > MOST_ALTOGETHER:
        raise SonnxError(
            f"'{path}' is no archive of vectors: its files have {size:,} bytes together, and "
            f"vectors have {MOST_ALTOGETHER:,} at most; {AGAIN}"
        )
    return files


def _fault(told: zipfile.ZipInfo, before: Mapping[str, zipfile.ZipInfo]) -> str:
    """What no file of vectors is, in words; empty if it is none of it."""
    name = told.orig_filename
    shown = repr(name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}...")
    parts = name.removesuffix("/").split("/")
    is_outside = (
        name != told.filename
        or "\\" in name
        or bool(PureWindowsPath(name).anchor)
        or bool({"", ".", ".."} & {*parts})
    )
    faults = (
        (is_outside, "is no path inside of it"),
        (len(parts) > _DEEPEST, f"is {len(parts)} levels deep"),
        (name in before, "is there twice"),
        (stat.S_ISLNK(told.external_attr >> 16), "is a link"),
        (told.compress_type not in _COMPRESSIONS, "is not compressed by deflate"),
    )
    return next((f"{shown} {fault}" for found, fault in faults if found), "")
