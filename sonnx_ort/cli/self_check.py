"""`sonnx-ort self-check`: checks this installation."""

import enum
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.options import (
    ExitStatus,
    OutputOption,
    QuietOption,
    errors_as_sentences,
    examples,
    subcommand,
)
from sonnx_ort.files import check_place, write_text
from sonnx_ort.installation import Outcome, SelfCheck
from sonnx_ort.installation import self_check as check_installation
from sonnx_ort.reporting.terminal import fitted, in_columns, lines_for_standard_output

_STANDARD = "-"

app = subcommand()


class SelfCheckFormat(enum.StrEnum):
    """The formats of the report."""

    TEXT = "text"
    JSON = "json"


@app.command(
    epilog=examples("sonnx-ort self-check", "sonnx-ort self-check --format json -o installed.json")
)
def self_check(
    report_format: Annotated[
        SelfCheckFormat, typer.Option("--format", help="The format of the report.")
    ] = SelfCheckFormat.TEXT,
    output: OutputOption = _STANDARD,
    quiet: QuietOption = False,
) -> None:
    """Check whether this installation works as the tests showed elsewhere.

    Compares versions, installed files and the cases of all bundled models, with each backend, with
    what is expected, and verifies that ONNX Runtime respects the options that switch optimizers
    off. Takes about half a minute, and needs no network.

    Exit status 0: nothing failed, but read what was not checked; 1: something failed; 2: unusable
    arguments.
    """
    with errors_as_sentences():
        if output != _STANDARD:
            check_place(Path(output))
        result = check_installation()
        as_json = report_format is SelfCheckFormat.JSON
        with lines_for_standard_output(shown=output == _STANDARD):
            text = result.to_json() if as_json else fitted("\n".join(_lines(result)))
        if output != _STANDARD:
            write_text(Path(output), text + "\n")
        elif not quiet:
            typer.echo(text)
    if not result.ok:
        raise typer.Exit(ExitStatus.VIOLATED)


def _lines(result: SelfCheck) -> Iterator[str]:
    flags = ", ".join(result.processor_flags) or "instructions not known"
    yield f"sonnx_ort {result.versions['sonnx_ort']}"
    yield f"{result.platform}, {result.processor} ({flags})"
    yield ""
    rows = in_columns([(c.outcome, f"{c.name}: {c.detail}") for c in result.checks])
    for row, check in zip(rows, result.checks, strict=True):
        yield row
        yield from (f"    {fault}" for fault in check.faults)
    yield ""
    yield ", ".join(f"{result.count(outcome)} {outcome}" for outcome in Outcome)
