"""Finds and reads the file with settings; apart from what it means, which `--version` needs not.

It is `sonnx-ort.toml`, or a `pyproject.toml` with a table `[tool.sonnx-ort]`.
"""

import os
from pathlib import Path
from typing import Any

from sonnx_ort.errors import SonnxError
from sonnx_ort.reading import toml_of

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
        if project.is_file() and _has_settings(read_document(project)):
            return project
    return None


def _has_settings(document: dict[str, Any]) -> bool:
    tools = document.get("tool")
    return isinstance(tools, dict) and TABLE in tools


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
        return toml_of(path)
    except SonnxError as error:
        raise SonnxError(f"settings in '{path}' cannot be read: {error}") from error
