"""`sonnx-ort suite`: the conformance vectors of the profile, and what engines make of them."""

from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.options import (
    EditionOption,
    ExitStatus,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.options import Edition

app = subcommand()


@app.command(
    epilog=examples(
        "sonnx-ort suite -o vectors",
        "sonnx-ort suite -o vectors --operators Div,Sub --seed 7",
        "sonnx-ort suite --run vectors --engine onnxruntime",
        "sonnx-ort suite --run vectors --engine my_engine:Engine --verbose",
    )
)
def suite(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Write the vectors, into a new folder."
        ),
    ] = None,
    operators: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The operators, separated by commas.  [default: all]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the random elements.")] = 0,
    edition: EditionOption = Edition.TYPED,
    folder: Annotated[
        Path | None, typer.Option("--run", metavar="FOLDER", help="Run an engine on the vectors.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="onnxruntime, onnx.reference, sonnx_ort, sonnx_ort:BACKEND or module:Class.",
        ),
    ] = "onnxruntime",
    every: Annotated[
        bool, typer.Option("--verbose", "-v", help="List every case that is not right as well.")
    ] = False,
) -> None:
    """Write the conformance vectors of the profile, or run an engine on them.

    For every operator, type, rule and special value: a model of one node, inputs, and what is
    right: exact results, an admitted interval, or that it must be refused. `manifest.json` says it
    of each; the folder `computed` is as ONNX's own runner takes it.

    Exit status 0: all are as they should be; 1: a case is not; 2: unusable input.
    """
    from sonnx_ort.reporting.difference_report import suite_report
    from sonnx_ort.suite.running import Outcome, run

    with errors_as_sentences():
        if output is not None and folder is None:
            say(_write(output, operators, seed, edition))
            return
        if folder is None or output is not None:
            raise SonnxError("give either -o FOLDER or --run FOLDER")
        judged = list(run(folder, engine))
    say(suite_report(judged, every=every))
    if any(each.outcome is not Outcome.CONFORMS for each in judged):
        raise typer.Exit(ExitStatus.VIOLATED)


def _write(output: Path, operators: str | None, seed: int, edition: Edition) -> str:
    from sonnx_ort.errors import did_you_mean
    from sonnx_ort.profile.catalog import STANDARD_OPERATORS
    from sonnx_ort.suite.cases import cases
    from sonnx_ort.suite.vectors import write

    chosen = STANDARD_OPERATORS if operators is None else frozenset(operators.split(","))
    for name in sorted(chosen - STANDARD_OPERATORS):
        near = did_you_mean(name, STANDARD_OPERATORS)
        raise SonnxError(f"the profile has no rules for an operator '{name}'{near}")
    count = write(cases(chosen, seed, edition), output, seed)
    return f"{count} cases in '{output}'"
