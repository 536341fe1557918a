"""The folder in which results are kept, each in a file with the name of its key.

Whoever can write the folder can put any result into it. So it is made for its user alone, and one
that others may write is refused. A file has the digest of its key and content, which reveals
damage, and no forgery. A file is written whole; one that is damaged counts as missing.
"""

import hashlib
import os
import stat
from pathlib import Path

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.saving import writing

_FORMAT = b"sonnx_ort.cache/1"

_FOR_ITS_USER = 0o700
"""The mode of a new folder."""


class Folder:
    """A folder of results."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Make the folder if there is none.

        Raises:
            SonnxError: It cannot be made, is no folder, or others may write it.
        """
        self._path = Path(path)
        try:
            self._path.mkdir(mode=_FOR_ITS_USER, parents=True, exist_ok=True)
            status = self._path.stat()
        except FileExistsError:
            raise SonnxError(
                f"the cache '{path}' is a file; name a folder, which may be new"
            ) from None
        except (OSError, ValueError) as error:
            raise self._unusable("made", error) from error
        if os.name == "posix":
            _require_own(self._path, status)

    def find(self, key: str) -> bytes | None:
        """The content that was kept under a key; None if there is none, or it is damaged.

        Raises:
            SonnxError: The file is there, and cannot be read.
        """
        try:
            whole = (self._path / key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable("read", error) from error
        head, _, content = whole.partition(b"\n")
        return content if head == _head(key, content) else None

    @property
    def writable(self) -> bool:
        """Whether a result can be kept."""
        return os.access(self._path, os.W_OK | os.X_OK)

    def require_writable(self) -> None:
        """Check before any work that a result can be kept.

        Raises:
            SonnxError: The folder can only be read.
        """
        if not self.writable:
            raise self._unusable("written", "it can only be read")

    def keep(self, key: str, content: bytes) -> None:
        """Keep a content, which replaces that of the same key.

        Raises:
            SonnxError: It cannot be written; what was kept before is unchanged.
        """
        try:
            with writing(self._path / key) as file:
                file.write(_head(key, content) + b"\n")
                file.write(content)
        except OSError as error:
            raise self._unusable("written", error) from error

    def _unusable(self, what: str, reason: object) -> SonnxError:
        told = reason.strerror or reason if isinstance(reason, OSError) else reason
        return SonnxError(
            f"the cache '{self._path}' cannot be {what}: {told}; name another folder, or leave "
            "out the cache"
        )


def _require_own(path: Path, status: os.stat_result) -> None:
    """Check that nobody but the user of this process can put results into a folder.

    Raises:
        SonnxError: Others can.
    """
    if status.st_uid != os.geteuid():
        raise SonnxError(
            f"the cache '{path}' belongs to another user, who could put any result into it; name a "
            "folder of your own"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SonnxError(
            f"others may write the cache '{path}', and could put any result into it; name a new "
            f"folder, or empty this one and type: chmod 700 {path}"
        )


def _head(key: str, content: bytes) -> bytes:
    """The first line of a file."""
    found = hashlib.sha256(key.encode("ascii") + b"\n")
    found.update(content)
    return b" ".join((_FORMAT, found.hexdigest().encode("ascii")))
