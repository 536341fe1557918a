"""What the commands of all measurements have in common: arguments, heading, tables and files."""

import argparse
import json
import os
import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from qualifying.markdown import table

from benchmarks.turns import Spread
from sonnx_ort.backends import Backend

BACKENDS = tuple(map(str, Backend))
"""What `--backend` may be."""

BACKEND: Mapping[str, Any] = {
    "choices": BACKENDS,
    "default": Backend.NATIVE.value,
    "help": "what enforces the rules in the rewritten model (default: %(default)s)",
}
"""The argument `--backend`."""

Row = Mapping[str, str]
"""The cells of a row of a table, by the titles of the columns."""

_PACKAGES = ("sonnx_ort", "numpy", "onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir")
_OPTIONAL_PACKAGES = ("jax", "jaxlib")

_WIDTH, _GAP = 16, 2


def make_parser(
    measurement: str,
    description: str,
    seconds: float | None,
    *,
    backend: bool = False,
    markdown: bool = False,
) -> argparse.ArgumentParser:
    """Make the parser of a measurement, with the arguments that several have."""
    parser = argparse.ArgumentParser(prog=f"benchmark.py {measurement}", description=description)
    if seconds is not None:
        parser.add_argument(
            "--seconds",
            type=positive(float),
            default=seconds,
            help="time for each thing that is measured (default: %(default)s)",
        )
    if backend:
        parser.add_argument("--backend", **BACKEND)
    if markdown:
        parser.add_argument(
            "--markdown", type=new_file, metavar="FILE", help="write the tables to FILE"
        )
    return parser


def add_numbers(
    parser: argparse.ArgumentParser, option: str, default: Sequence[int], text: str
) -> None:
    """Let whole numbers be chosen."""
    parser.add_argument(
        option, type=positive(int), nargs="+", default=default, metavar="N", help=text
    )


def positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Make a reader of numbers of a kind, which raises ArgumentTypeError."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = 0
        if not 0 < number < float("inf"):
            whole = "whole " if kind is int else ""
            raise argparse.ArgumentTypeError(f"'{text}' is no {whole}number above 0")
        return number

    return read


def new_file(text: str) -> Path:
    """Read the name of a file to write, or raise ArgumentTypeError if no file can have it."""
    file = Path(text)
    if file.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is a folder; name a file")
    if not file.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder '{file.parent}'; make it first")
    return file


def describe_run(measurement: str, arguments: Sequence[str]) -> dict[str, str]:
    """The versions and the machine that figures hold for, and the command that measures them."""
    installed = [*_PACKAGES, *filter(find_spec, _OPTIONAL_PACKAGES)]
    load = "unknown" if sys.platform == "win32" else f"{os.getloadavg()[0]:.2f} processes"
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{package: version(package) for package in installed},
        "system": f"{platform.system()} {platform.machine()}",
        "CPU": _cpu_model(),
        "cores": str(os.cpu_count() or "unknown"),
        "load": f"{load} at the start, on average over a minute",
        "command": shlex.join(["python3", "scripts/benchmark.py", measurement, *arguments]),
    }


def print_heading(measurement: str, arguments: Sequence[str], *explanations: str) -> dict[str, str]:
    """Print and give what figures hold for, and print what there is to say of them."""
    described = describe_run(measurement, arguments)
    lines = (f"{name:<24}{value}" for name, value in described.items())
    print("\n".join([*lines, "", *filter(None, explanations)]), flush=True)
    return described


def number(figure: float) -> str:
    """Write a figure with three digits or so."""
    size = abs(figure)
    if size >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.1f}" if size >= 10 else f"{figure:z.2f}"


def both(spread: Spread) -> str:
    """Write minimum and median with three digits or so."""
    return f"{number(spread.minimum)} / {number(spread.median)}"


def means(ratios: Sequence[Spread]) -> str:
    """Write the geometric means of minimums and of medians."""
    names = ("minimum", "median")
    return " / ".join(f"{geometric_mean(getattr(r, n) for r in ratios):.2f}" for n in names)


def print_row(row: Row, *, titles: bool, first_width: int = 34) -> None:
    """Print a row at once, below the titles of its columns or below another row."""
    for cells in (row.keys(), row.values()) if titles else (row.values(),):
        first, *others = zip(cells, row, strict=True)
        aligned = (f"{cell:>{max(_WIDTH, len(title)) + _GAP}}" for cell, title in others)
        print(f"{first[0]:>{first_width}}{''.join(aligned)}", flush=True)


def markdown_table(rows: Sequence[Row]) -> str:
    """A table in Markdown."""
    cells = (list(row.values()) for row in rows)
    return f"{table(list(rows[0]), cells, numbers=len(rows[0]) - 1)}\n"


def write_json(file: Path, described: Mapping[str, str], figures: Mapping[str, Any]) -> None:
    """Write figures to a file, with what they were measured on."""
    machine = {name: value for name, value in described.items() if name != "command"}
    content = {"machine": machine, "command": described["command"], **figures}
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _cpu_model() -> str:
    # Only Linux keeps it here; elsewhere the platform module knows it.
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"
