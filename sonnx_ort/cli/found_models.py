"""Finds the models that a command is to check: files, and those in folders."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from sonnx_ort.cli.settings import is_folder
from sonnx_ort.errors import SonnxError

ENDINGS = (".onnx", ".onnxtxt", ".onnxtext", ".onnxjson")
"""The endings of files that are taken for models in a folder, in small or capital letters.

Files of other endings that may hold a model, such as `.pb` and `.json`, hold others more often.
"""


def find_models(given: Iterable[str]) -> list[str]:
    """Find the files of models.

    Args:
        given: Files, which need not exist; folders, which stand for all files with one of `ENDINGS`
            in or below them, sorted by name; or "-".

    Returns:
        The files without repetitions.

    Raises:
        SonnxError: A folder has no such file, or cannot be read.
    """
    found: list[str] = []
    for name in given:
        folder = Path(name)
        if not is_folder(folder):
            found.append(name)
            continue
        inside = sorted(map(str, _models_below(folder)))
        if not inside:
            raise SonnxError(
                f"there is no model in the folder '{name}': no name ends with "
                f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
            )
        found.extend(inside)
    return list(dict.fromkeys(found))


def _models_below(folder: Path) -> Iterator[Path]:
    """The files of models in and below a folder, hidden ones and those behind links too.

    A folder to which several links lead is looked at once. A link that leads nowhere is given, to
    be reported as a file that does not exist.

    Raises:
        SonnxError: A folder cannot be read.
    """
    seen = set[Path]()
    for where, folders, files in os.walk(folder, onerror=_refuse, followlinks=True):
        if (real := Path(where).resolve()) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        for name in files:
            path = Path(where, name)
            if path.suffix.lower() in ENDINGS and (path.is_file() or path.is_symlink()):
                yield path


def _refuse(error: OSError) -> None:
    raise SonnxError(f"the folder '{error.filename}' cannot be read: {error.strerror}")
