"""`sonnx-ort conform`: brings a model into the profile."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sonnx_ort.cli.options import (
    BroadcastOption,
    EditionOption,
    ExitStatus,
    ForceOption,
    InputShapesOption,
    ModelArgument,
    OperatorsOption,
    QuietOption,
    SeedOption,
    SizesOption,
    errors_as_sentences,
    examples,
    say,
    subcommand,
)
from sonnx_ort.cli.settings import CommandWithSettings, ShowSettingsOption
from sonnx_ort.errors import SonnxError
from sonnx_ort.files import Transfer, refuse_inputs
from sonnx_ort.options import PROFILE
from sonnx_ort.profile.options import Broadcasting, Edition

if TYPE_CHECKING:
    from sonnx_ort.obligations.obligation import Obligation

app = subcommand()


@app.command(
    cls=CommandWithSettings,
    epilog=examples(
        "sonnx-ort conform model.onnx -o conforming.onnx",
        "sonnx-ort conform model.onnx --diff --select Slice",
        "sonnx-ort conform model.onnx -o conforming.onnx --verify --input x=x.npy",
        "sonnx-ort conform model.onnx -o conforming.onnx --rounding --assume rate=16000",
    ),
)
def conform(
    model: ModelArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write.")
    ] = None,
    diff: Annotated[bool, typer.Option("--diff", help="List every change; write no file.")] = False,
    rounding: Annotated[
        bool,
        typer.Option(
            "--rounding", help="Also make changes after which results may be rounded differently."
        ),
    ] = False,
    name_outputs: Annotated[
        bool,
        typer.Option(
            "--name-outputs", help="Name outputs that nodes leave out, as outputs of the graph."
        ),
    ] = False,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER",
            help="The value of an input in every run, or NAME=FILE.npy; it becomes a constant.",
        ),
    ] = None,
    assume_shapes: Annotated[
        list[str] | None,
        typer.Option(
            "--assume-shape", metavar="NAME=N,N", help="The shape of an input in every run."
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Run both models, and leave out changes that change a bit."),
    ] = False,
    feeds: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=FILE.npy",
            help="An input for --verify; the other inputs are random.",
        ),
    ] = None,
    sizes: SizesOption = None,
    input_shapes: InputShapesOption = None,
    seed: SeedOption = 0,
    select: Annotated[
        str | None,
        typer.Option(
            metavar="RULES", help="The rules to fix, separated by commas: ids or their beginnings."
        ),
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(metavar="RULES", help="The rules not to fix.")
    ] = None,
    operators: OperatorsOption = PROFILE,
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    external_data: Annotated[
        Transfer,
        typer.Option(help="What to do with external data if the output is in another folder."),
    ] = Transfer.COPY,
    force: ForceOption = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write no file if a violation remains.")
    ] = False,
    quiet: QuietOption = False,
    _show: ShowSettingsOption = False,
) -> None:
    """Fix violations of the profile without changing any result.

    The changed model gives the same bits in every run of ONNX Runtime without optimizations.
    Changes after which results may be rounded differently are made only with --rounding.

    Exit status 0: no violation remains; 1: some remain; 2: unusable input.
    """
    from sonnx_ort.cli.batch import working_on
    from sonnx_ort.cli.run import feed_files, read_assumed, read_feeds, read_sizes
    from sonnx_ort.conformity import ConformOptions, conform_file
    from sonnx_ort.conformity import conform as conform_model
    from sonnx_ort.reporting.conformity_report import conformity_report
    from sonnx_ort.reporting.terminal import fitted

    with errors_as_sentences(), working_on(str(model), quiet=quiet):
        if (output is None) is not diff:
            raise SonnxError("give either -o FILE or --diff")
        chosen = read_sizes(sizes or [], input_shapes or [])
        options = ConformOptions(
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            rounding=rounding,
            name_outputs=name_outputs,
            assume=read_assumed(assume or []),
            assume_shapes=read_sizes([], assume_shapes or []).shapes,
            select=select,
            ignore=ignore,
            verify=verify,
            inputs=read_feeds(feeds or []),
            seed=seed,
            sizes=chosen.named,
            input_shapes=chosen.shapes,
        )
        if output is None:
            conformed = conform_model(model, **options)
        else:
            refuse_inputs(output, feed_files(feeds or []).values())
            conformed = conform_file(
                model, output, external_data=external_data, force=force, strict=strict, **options
            )
    if not quiet:
        say(conformity_report(conformed, every=diff), output)
        if output is not None:
            written = not (strict and conformed.remaining)
            done = "written" if written else "not written"
            say(fitted(f"{output}: {done}{_but(conformed.remaining)}"), output)
    if conformed.remaining:
        raise typer.Exit(ExitStatus.VIOLATED)


def _but(remaining: "Sequence[tuple[Obligation, str]]") -> str:
    """What a written model still violates, as the end of a sentence."""
    rules = sorted({obligation.rule.id for obligation, _ in remaining})
    return f"; it still violates {', '.join(rules)}" if rules else ""
