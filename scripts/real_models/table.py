"""The table of a measurement: a row for each model, and what is said of all of them."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from benchmarks import report
from environment import ROOT

from real_models.packages import CACHE, fetch_models


class Figures(Protocol):
    """What is measured of a model."""

    def row(self) -> report.Row:
        """Its row in the table."""
        ...


AnyFigures = TypeVar("AnyFigures", bound=Figures)


def add_paths(parser: ArgumentParser) -> None:
    """Let the arguments name models."""
    parser.add_argument(
        "paths", nargs="*", type=Path, help="models, or folders (default: the published table's)"
    )


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


def tabulate(
    models: Mapping[str, Path],
    measure: Callable[[str, Path], AnyFigures],
    not_measured: tuple[type[Exception], ...],
    summary: Callable[[Sequence[AnyFigures]], str],
    markdown: Path | None,
) -> int:
    """Measure models one after the other, and print and write the table.

    Args:
        models: The models by name.
        measure: Measures one, by its name and file.
        not_measured: The errors for which a model is left out.
        summary: Says what is so of all.
        markdown: A file to write the table to.

    Returns:
        The exit status: 0, or 2 if no model was measured.
    """
    found: list[AnyFigures] = []
    for name, path in models.items():
        try:
            found.append(measure(name, path))
        except not_measured as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        report.print_row(found[-1].row(), titles=len(found) == 1, first_width=52)
    if not found:
        return 2
    print(f"\n{summary(found)}")
    if markdown is not None:
        table = report.markdown_table([each.row() for each in found])
        markdown.write_text(f"{table}\n{summary(found)}\n", encoding="utf-8")
    return 0
