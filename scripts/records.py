"""What campaigns share: arguments, progress, and records that they go on with."""

import argparse
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

from ages import KEPT, MEASURED, RECORDS, SNAPSHOTS, digest_of_all, digests
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sonnx_ort.loading.saving import write_text

__all__ = [
    "RECORDS",
    "Record",
    "add",
    "make_parser",
    "measured_with",
    "steps",
    "today",
    "versions_of",
]

_MEASURED_PACKAGES = ("onnxruntime", "onnx", "onnx-ir", "numpy")

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


_snapshots: dict[str, dict[str, str]] = {}
"""The digests of the files that something was made of, by the digest of all of them."""


def versions_of(packages: Iterable[str], sources: Iterable[str] = ()) -> dict[str, str]:
    """What results follow from.

    Args:
        packages: Packages, whose versions are told with those of Python and of the processor.
        sources: Files and folders, of which there is one digest; what is recorded with it has that
            of each file beside it.
    """
    found = {name: version(name) for name in packages}
    found |= {"python": platform.python_version(), "machine": platform.machine()}
    if sources:
        files = digests(sources)
        found["sources"] = digest_of_all(files)
        _snapshots[found["sources"]] = files
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
        """Write it, with a list of numbers or texts in a line, and the files it was made of.

        Raises:
            SonnxError: It cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self, indent=1, ensure_ascii=False)
        write_text(self._path, _LIST.sub(_in_a_line, text) + "\n")
        _write_snapshots(self._path.parent)


def _write_snapshots(folder: Path) -> None:
    """Keep the digests of the files that the records in a folder were made of, and no others."""
    path = folder / SNAPSHOTS
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    texts = [file.read_text("utf-8") for file in folder.glob("*.json") if file != path]
    used = {
        name: files
        for name, files in sorted((known | _snapshots).items())
        if any(f'"{name}"' in text for text in texts)
    }
    if used != known:
        write_text(path, json.dumps(used, indent=1) + "\n")


def measured_with(name: str, folder: Path = RECORDS) -> Record:
    """The record of what figures in tables and pages were measured with, and a new entry of it.

    Args:
        name: What is measured, and begins now.
        folder: Where the record is.
    """
    sources = next(kept.sources for kept in KEPT if kept.measured == name)
    record = Record(folder / MEASURED)
    record[name] = {"made_by": versions_of(_MEASURED_PACKAGES, sources), "date": today()}
    return record


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
