"""`sonnx-ort audit`: holds a run to the exact meaning of every operator."""

from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.api import check
from sonnx_ort.cli.options import (
    BroadcastOption,
    EditionOption,
    ExitStatus,
    InputShapesOption,
    ModelArgument,
    OperatorsOption,
    OutputOption,
    QuietOption,
    RecordOption,
    SizesOption,
    errors_as_sentences,
    examples,
    subcommand,
)
from sonnx_ort.cli.run import feed_files, read_errors, read_feeds, read_sizes
from sonnx_ort.cli.settings import CommandWithSettings, ShowSettingsOption
from sonnx_ort.comparing.audit import CPU, Audit
from sonnx_ort.comparing.audit import audit as audit_model
from sonnx_ort.comparing.isolated_run import Level
from sonnx_ort.evidence.making import check_place_of_record, record_check
from sonnx_ort.files import check_place, refuse_inputs, write_text
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.audit_page import audit_page
from sonnx_ort.reporting.audit_report import (
    AuditFormat,
    audit_document,
    audit_json,
    audit_junit,
    audit_text,
)
from sonnx_ort.reporting.terminal import colours_wanted, lines_for_standard_output

app = subcommand()


@app.command(
    cls=CommandWithSettings,
    epilog=examples(
        "sonnx-ort audit model.onnx --input x=x.npy",
        "sonnx-ort audit model.onnx --input-shape x=1,3,48,320",
        "sonnx-ort audit model.onnx --level all --exhaustive",
        "sonnx-ort audit model.onnx --error x=0.001",
        "sonnx-ort audit model.onnx --values values/",
        "sonnx-ort audit model.onnx --enclose --format html -o audit.html",
    ),
)
def audit(
    model: ModelArgument,
    feeds: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=FILE.npy", help="An input; the others are random."),
    ] = None,
    sizes: SizesOption = None,
    input_shapes: InputShapesOption = None,
    values: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Audit the values that another implementation computed, not a run: NAME.npy "
            "for each value, with '_' for characters other than letters, digits, '.', '_', '-'.",
        ),
    ] = None,
    save_values: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write each audited value to NAME.npy in this folder."),
    ] = None,
    level: Annotated[Level, typer.Option(help="How far ONNX Runtime optimizes.")] = Level.NONE,
    providers: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Execution providers, separated by commas."),
    ] = CPU[0],
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = PROFILE,
    seed: Annotated[int, typer.Option(min=0, help="Of random inputs and samples.")] = 0,
    samples: Annotated[
        int, typer.Option(min=1, help="How many elements of each result are audited at most.")
    ] = 100,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Audit all elements, and all steps of loops.")
    ] = False,
    enclose: Annotated[
        bool,
        typer.Option(
            "--enclose",
            help="Also follow the exact values over the reals to the outputs, for at most ten "
            "million operations.",
        ),
    ] = False,
    errors: Annotated[
        list[str] | None,
        typer.Option(
            "--error",
            metavar="NAME=E",
            help="Also bound the error of every float value, as the numerical-accuracy documents "
            "do, if this input is off by at most E, and those that are not named by nothing.",
        ),
    ] = None,
    report_format: Annotated[
        AuditFormat, typer.Option("--format", help="The format of the report.")
    ] = AuditFormat.TEXT,
    output: OutputOption = "-",
    record: RecordOption = None,
    every: Annotated[bool, typer.Option("--verbose", "-v", help="Show every node.")] = False,
    quiet: QuietOption = False,
    _show: ShowSettingsOption = False,
) -> None:
    """Run a model once, and hold every result to the exact meaning of its operator.

    Each node is compared with the exact result for the very operands that it was given. Large
    results are sampled.

    Exit status 0: all results are exact, admitted or not known; 1: a result is outside the admitted
    error; 2: unusable input.
    """
    with errors_as_sentences():
        if output != "-":
            check_place(Path(output))
            refuse_inputs(Path(output), [model, *feed_files(feeds or []).values()])
        if record is not None:
            check_place_of_record(record, read(model).proto, model)
        chosen = read_sizes(sizes or [], input_shapes or [])
        made = audit_model(
            model,
            read_feeds(feeds or []),
            values=values,
            save_values=save_values,
            level=level,
            providers=[name.strip() for name in providers.split(",")],
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            seed=seed,
            samples=samples,
            exhaustive=exhaustive,
            sizes=chosen.named,
            input_shapes=chosen.shapes,
            enclose_outputs=enclose,
            errors=None if errors is None else read_errors(errors),
        )
        if record is not None:
            report = check(model, edition=edition, broadcast=broadcast, operators=operators)
            record_check(model, report, record, audits=[audit_document(made)])
        _write(made, model, report_format, output, every=every, quiet=quiet)
    if not made.ok:
        raise typer.Exit(ExitStatus.VIOLATED)


def _write(
    made: Audit, model: Path, report_format: AuditFormat, output: str, *, every: bool, quiet: bool
) -> None:
    if output == "-" and quiet:
        return
    match report_format:
        case AuditFormat.TEXT:
            shown = output == "-"
            with lines_for_standard_output(shown=shown):
                coloured = shown and colours_wanted()
                text = audit_text(made, coloured=coloured, every=every)
        case AuditFormat.JSON:
            text = audit_json(made)
        case AuditFormat.JUNIT:
            text = audit_junit(made)
        case AuditFormat.HTML:
            text = audit_page(made, model)
    if output == "-":
        typer.echo(text)
    else:
        write_text(Path(output), f"{text}\n")
