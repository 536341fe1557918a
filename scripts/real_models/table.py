"""The table of a measurement: a row for each model, and what is said of all of them."""

import string
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.turns import Spread
from environment import ROOT

from real_models.packages import CACHE, PackagesNotFetched, fetch_models

Figures = Mapping[str, Any]
"""What is measured of a model, by name; None stands for what could not be measured."""


@dataclass(frozen=True)
class Measurement:
    """A measurement of models, with a row of a table for each.

    Attributes:
        name: Its name, the first argument of `benchmark.py`.
        description: What it does, for `--help`.
        seconds: How long each thing is timed if nobody says it; None if nothing is.
        explanation: What the columns mean.
        columns: The cells by their titles: templates of the figures, such as "{nodes:,}".
        measure: Measures a model, by its file and the arguments.
        not_measured: The errors for which a model is omitted.
        summary: Says in lines what is so of all models.
        arguments: Its own arguments, each with what `add_argument` takes.
    """

    name: str
    description: str
    seconds: float | None
    explanation: str
    columns: Mapping[str, str]
    measure: Callable[[Path, Namespace], Figures]
    not_measured: tuple[type[Exception], ...]
    summary: Callable[[Sequence[Figures]], Iterator[str]]
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def row(self, name: str, figures: Figures) -> report.Row:
        """The row of a model."""
        cells = {title: _CELLS.vformat(text, (), figures) for title, text in self.columns.items()}
        return {"model": name, **cells}

    def run(self, arguments: Sequence[str]) -> int:
        """Let arguments name models, measure them, and print and write the table.

        Returns:
            The exit status: 0, or 2 if no model was measured.
        """
        parser = report.make_parser(self.name, self.description, self.seconds, markdown=True)
        for option, own in self.arguments.items():
            parser.add_argument(option, **own)
        parser.add_argument(
            "paths",
            nargs="*",
            type=Path,
            help="models, or folders (default: the published table's)",
        )
        parser.add_argument("--model", default="", help="only models whose names contain this")
        options = parser.parse_args(arguments)
        try:
            models = files_by_name(options.paths) if options.paths else fetch_models(ROOT / CACHE)
        except PackagesNotFetched as error:
            print(error)
            return 2
        chosen = {name: path for name, path in models.items() if options.model in name}
        if not chosen:
            print(f"There is no model whose name contains '{options.model}'.")
            return 2
        report.print_heading(self.name, arguments, f"{self.explanation}\n")
        return self._tabulate(chosen, options)

    def _tabulate(self, models: Mapping[str, Path], options: Namespace) -> int:
        found: dict[str, Figures] = {}
        for name, path in models.items():
            try:
                found[name] = self.measure(path, options)
            except self.not_measured as error:
                print(f"{name} is left out: {error}", flush=True)
                continue
            report.print_row(self.row(name, found[name]), titles=len(found) == 1, first_width=52)
        if not found:
            return 2
        summary = "\n".join(self.summary([{"model": n, **each} for n, each in found.items()]))
        print(f"\n{summary}")
        if options.markdown is not None:
            table = report.markdown_table([self.row(*each) for each in found.items()])
            options.markdown.write_text(f"{table}\n{summary}\n", encoding="utf-8")
        return 0


class _Cells(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        """Write what could not be measured as a dash."""
        return "-" if value is None else str(super().format_field(value, format_spec))


_CELLS = _Cells()


def total(found: Sequence[Figures], name: str) -> Any:
    """The sum of a figure over models: of numbers, or of counts by name."""
    return sum((each[name] for each in found), type(found[0][name])())


def means(found: Sequence[Figures], name: str) -> tuple[int, str]:
    """Of how many models there is a ratio, and the geometric means of its ends."""
    ratios: list[Spread] = [each[name] for each in found if each[name] is not None]
    return len(ratios), report.means(ratios) if ratios else ""


def listed(counts: Counter[str]) -> str:
    """Counts by name, the largest first."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common()) or "none"


def files_by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """The models among files and in folders, each under its folder's name and its own."""
    files = [
        f for path in paths for f in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])
    ]
    return {f"{file.resolve().parent.name}/{file.stem}": file for file in files}
