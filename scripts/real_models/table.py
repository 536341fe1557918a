"""The table of a measurement: a row for each model, and what is said of all of them."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from benchmarks import report
from environment import ROOT

from real_models.packages import CACHE, PackagesNotFetched, fetch_models


class Figures(Protocol):
    """What is measured of a model."""

    def row(self) -> report.Row:
        """Its row in the table."""
        ...


AnyFigures = TypeVar("AnyFigures", bound=Figures)


@dataclass(frozen=True)
class Measurement(Generic[AnyFigures]):
    """A measurement of models, with a row of a table for each.

    Attributes:
        name: Its name, the first argument of `benchmark.py`.
        description: What it does, for `--help`.
        seconds: How long each thing is timed if nobody says it; None if nothing is.
        explanation: What the columns mean.
        measure: Measures a model, by its name and file and the arguments.
        not_measured: The errors for which a model is left out.
        summary: Says what is so of all models.
        arguments: Its own arguments, each with what `add_argument` takes.
    """

    name: str
    description: str
    seconds: float | None
    explanation: str
    measure: Callable[[str, Path, Namespace], AnyFigures]
    not_measured: tuple[type[Exception], ...]
    summary: Callable[[Sequence[AnyFigures]], str]
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

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
            models = chosen_models(options.paths)
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
        found: list[AnyFigures] = []
        for name, path in models.items():
            try:
                found.append(self.measure(name, path, options))
            except self.not_measured as error:
                print(f"{name} is left out: {error}", flush=True)
                continue
            report.print_row(found[-1].row(), titles=len(found) == 1, first_width=52)
        if not found:
            return 2
        summary = self.summary(found)
        print(f"\n{summary}")
        if options.markdown is not None:
            table = report.markdown_table([each.row() for each in found])
            options.markdown.write_text(f"{table}\n{summary}\n", encoding="utf-8")
        return 0


def chosen_models(paths: Sequence[Path]) -> dict[str, Path]:
    """The models among files and in folders; those of the packages if there are none.

    Raises:
        PackagesNotFetched: The packages cannot be had.
    """
    return files_by_name(paths) if paths else fetch_models(ROOT / CACHE)


def files_by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """The models among files and in folders, each under its folder's name and its own."""
    files = [
        f for path in paths for f in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])
    ]
    return {f"{file.resolve().parent.name}/{file.stem}": file for file in files}
