"""What campaigns have in common: arguments, progress, and records that they go on with."""

import argparse
import hashlib
import json
import math
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
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

_BEGUN = time.monotonic()

_OPTIONS: Mapping[str, tuple[type, str]] = {
    "count": (int, "how many, with those recorded"),
    "seconds": (float, "stop then; the next call goes on"),
    "processes": (int, "how many work at once"),
    "only": (str, "what has this in its name"),
    "seed": (int, "which are tried"),
}
"""What a campaign may take, each with its type and meaning."""


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


def make_parser(
    description: str | None, record: Path | None, **taken: Any
) -> argparse.ArgumentParser:
    """Make the parser of a campaign.

    Args:
        description: The docstring of its module.
        record: The record that is kept in the repository; None if there is none.
        **taken: The options that it takes, by name, each with its default.
    """
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if record is not None:
        parser.add_argument(
            "--record", type=Path, default=record, help="the file that is gone on with, %(default)s"
        )
        parser.add_argument("--anew", action="store_true", help="begin the record again")
    for name, default in taken.items():
        kind, what = _OPTIONS[name]
        told = "" if default in {"", math.inf} else "; %(default)s"
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{what}{told}")
    return parser


def steps(what: str, total: int, done: Callable[[], int], seconds: float) -> Iterator[None]:
    """Give a step as long as less than all is done and there is time; show how far it is."""
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total, completed=done())
        while done() < total and time.monotonic() < _BEGUN + seconds:
            yield
            bar.update(task, completed=done())


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
