"""`sonnx-ort verify`: compares a model with its record."""

from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.options import (
    ExitStatus,
    ModelArgument,
    QuietOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)

app = subcommand()


@app.command(
    epilog=examples(
        "sonnx-ort verify enforced.onnx record.json",
        "sonnx-ort verify model.onnx record.json --original",
    )
)
def verify(
    model: ModelArgument,
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="The file that --record wrote.")],
    original: Annotated[
        bool,
        typer.Option(
            "--original",
            help="MODEL is the original of a rewritten model; the rewrite is repeated.",
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Compare a model with its evidence record.

    Also analyzes the model again, and compares the result with the record. The original of a
    rewritten model differs unless --original is given, because it enforces nothing.

    Exit status 0: nothing differs; 1: something differs; 2: unusable input.
    """
    from sonnx_ort.evidence.verification import verify as verify_file

    with errors_as_sentences():
        verification = verify_file(model, record, original=original)
    if not quiet:
        for line in verification.lines():
            say(line)
    if not verification.kept:
        raise typer.Exit(ExitStatus.VIOLATED)
