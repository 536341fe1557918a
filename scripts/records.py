"""What campaigns share: arguments, progress, and records that they go on with."""

import argparse
import hashlib
import json
import math
import platform
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
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
    "first": (int, "the number of the first; if it is given, nothing is recorded"),
    "seed": (int, "which are tried"),
}
"""What a campaign may take, each with its type and meaning."""


def versions_of(packages: Iterable[str], folders: Iterable[str] = ()) -> dict[str, str]:
    """What results follow from.

    Args:
        packages: Packages, whose versions are told with those of Python and of the processor.
        folders: Folders; of all Python files and tables in them there is a short digest.
    """
    found = {name: version(name) for name in packages}
    found |= {"python": platform.python_version(), "machine": platform.machine()}
    if folders:
        digest = hashlib.sha256()
        for folder in folders:
            files = (file for end in ("py", "toml") for file in (ROOT / folder).rglob(f"*.{end}"))
            for file in sorted(files):
                digest.update(file.read_bytes())
        found["sources"] = digest.hexdigest()[:16]
    return found


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
        told = "" if default in {"", math.inf, -1} else "; %(default)s"
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


class Record(dict[str, Any]):
    """The content of a record, and its file; it can be written whole or not at all."""

    def __init__(self, path: Path, *, anew: bool = False, **empty: Any) -> None:
        """Read a record, or begin one.

        Args:
            path: The file.
            anew: Begin it in any case.
            **empty: What it holds when it is begun. A record that has another `made_by` is begun
                anew: others made it.
        """
        known = json.loads(path.read_text("utf-8")) if path.is_file() and not anew else {}
        same = "made_by" not in empty or known.get("made_by") == empty["made_by"]
        super().__init__(empty | known if same else empty)
        self._path = path

    def write(self) -> None:
        """Write it, with a list of numbers or texts in a line.

        Raises:
            SonnxError: It cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self, indent=1, ensure_ascii=False)
        write_text(self._path, _LIST.sub(_in_a_line, text) + "\n")


_LIST = re.compile(r'\[\n *((?:[-+.\w]+|"[^"\n\\]*")(?:,\n *(?:[-+.\w]+|"[^"\n\\]*"))*)\n *\]')
"""A list of numbers and of plain texts, as it is written with an element in a line."""


def _in_a_line(found: re.Match[str]) -> str:
    return "[" + re.sub(r",\n *", ", ", found[1]) + "]"


def add(entry: MutableMapping[str, Any], found: Mapping[str, Any]) -> None:
    """Add to an entry of a record what came of further trials, today.

    Numbers are added up, those of a table by name, and lists are made longer.
    """
    for name, value in found.items():
        if isinstance(value, Mapping):
            counts = Counter(entry[name]) + Counter(value)
            entry[name] = dict(sorted(counts.items()))
        else:
            entry[name] += value
    entry["date"] = today()
