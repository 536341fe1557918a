"""Finds and reads the file with settings; apart from what it means, which `--version` needs not.

It is `sonnx-ort.toml`, or a `pyproject.toml` with a table `[tool.sonnx-ort]`.
"""

import os
import tomllib
from pathlib import Path
from typing import Any

from sonnx_ort.errors import SonnxError

OWN_FILE = "sonnx-ort.toml"
PROJECT_FILE = "pyproject.toml"
TABLE = "sonnx-ort"


def nearest(model: Path) -> Path | None:
    """The nearest file with settings, upwards from a model or a folder; None if there is none."""
    start = model.resolve()
    current = Path.cwd()
    for folder in (start, *start.parents) if is_folder(start) else start.parents:
        near = folder.relative_to(current) if folder.is_relative_to(current) else folder
        own, project = near / OWN_FILE, near / PROJECT_FILE
        if own.is_file():
            return own
        if project.is_file() and TABLE in read_document(project).get("tool", {}):
            return project
    return None


def is_folder(path: str | Path) -> bool:
    """Whether a path is a folder; False if it cannot even be looked at, as a name too long."""
    # Path.is_dir raises an error then.
    return os.path.isdir(path)  # noqa: PTH112


def read_document(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        SonnxError: It cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SonnxError(f"settings in '{path}' cannot be read: {error}") from error
