"""Records of long runs, in files of the repository: what made them, and when."""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from environment import ROOT

from sonnx_ort.files import write_text

RECORDS = ROOT / "docs" / "records"
"""Where they are kept."""


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """The versions of packages, of Python, and the kind of processor.

    Args:
        packages: The names of installed packages.
    """
    found = {name: version(name) for name in packages}
    return found | {"python": platform.python_version(), "machine": platform.machine()}


def digest_of(folders: Iterable[str]) -> str:
    """A short digest of all Python files in some folders.

    Args:
        folders: Paths from the repository on.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted((ROOT / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def today() -> str:
    """The day, in UTC, as ISO 8601 has it."""
    return datetime.now(UTC).date().isoformat()


def write_record(path: Path, content: Mapping[str, Any]) -> None:
    """Write a record, whole or not at all.

    Args:
        path: The file; folders around it are made.
        content: What JSON can hold.

    Raises:
        SonnxError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
