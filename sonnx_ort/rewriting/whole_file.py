"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonnx_ort.errors import SonnxError


def check_place(target: Path) -> None:
    """Find out early whether a file can have that place.

    Args:
        target: The file to write.

    Raises:
        SonnxError: A folder has the place, or there is no folder around it.
    """
    if target.is_dir():
        raise SonnxError(f"'{target}' cannot be written: it is a folder")
    if not target.parent.is_dir():
        raise SonnxError(f"'{target}' cannot be written: there is no folder '{target.parent}'")


def write_text(target: Path, text: str) -> None:
    """Write a text file in UTF-8; an existing one is replaced.

    Args:
        target: The file to write.
        text: Its content.

    Raises:
        SonnxError: It cannot be written; nothing is overwritten then.
    """
    check_place(target)
    try:
        with replacing(target) as temporary:
            temporary.write_bytes(text.encode())
    except OSError as error:
        raise SonnxError(f"'{target}' cannot be written: {error.strerror or error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside a path, which takes its place if all goes well.

    Args:
        path: The file to write.
    """
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
