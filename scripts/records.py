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
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sonnx_ort.files import write_text

RECORDS = ROOT / "docs" / "records"
"""Where they are kept."""


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """The versions of packages, of Python, and the kind of processor."""
    found = {name: version(name) for name in packages}
    return found | {"python": platform.python_version(), "machine": platform.machine()}


def digest_of(folders: Iterable[str]) -> str:
    """A short digest of all Python files and tables in some folders."""
    digest = hashlib.sha256()
    for folder in folders:
        files = (file for end in ("py", "toml") for file in (ROOT / folder).rglob(f"*.{end}"))
        for file in sorted(files):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def today() -> str:
    """The day, in UTC, as ISO 8601 has it."""
    return datetime.now(UTC).date().isoformat()


def known_record(path: Path, made_by: Mapping[str, str], key: str = "made_by") -> dict[str, Any]:
    """What a record holds; nothing where there is none, or where others made it."""
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return known if known.get(key) == made_by else {}


def write_record(path: Path, content: Mapping[str, Any]) -> None:
    """Write a record, whole or not at all.

    Raises:
        SonnxError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def counting(*, on_terminals_alone: bool = False) -> Progress:
    """Make a bar that nothing is counted on yet."""
    console = Console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=on_terminals_alone and not console.is_terminal,
    )
