"""`sonnx-ort check`: what is known of models, and whether they keep the profile."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sonnx_ort.analysis.checked_model import Check, FailOn
from sonnx_ort.analysis.rule_choice import rules_told_of
from sonnx_ort.cli.exit_status import ExitStatus, errors_as_sentences
from sonnx_ort.cli.options import (
    BroadcastOption,
    EditionOption,
    OperatorsOption,
    QuietOption,
    RecordOption,
    examples,
)
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.choice import DEFAULT, choose_demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.formats import WRITERS, ReportFormat
from sonnx_ort.reporting.text_report import text_reports
from sonnx_ort.rewriting.whole_file import check_place, write_text

STANDARD = "-"
"""What stands for standard output in the place of a file."""

app = typer.Typer()


@app.command(
    epilog=examples(
        "sonnx-ort check model.onnx",
        "sonnx-ort check models/ --format sarif -o models.sarif",
        "sonnx-ort check model.onnx --operators all --fail-on runtime --quiet",
        "sonnx-ort check model.onnx --select Div,Sub --ignore Div.int",
        "sonnx-ort check model.onnx --waivers waivers.toml --record record.json",
        "sonnx-ort check - < model.onnx",
    )
)
def check(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="The models' files; folders stand for the .onnx files in and below them, '-' "
            "for standard input.",
        ),
    ],
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = DEFAULT,
    report_format: Annotated[
        ReportFormat, typer.Option("--format", help="How the report is written.")
    ] = ReportFormat.TEXT,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the report is written; '-' is standard output.",
        ),
    ] = STANDARD,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            help="'violated': exit with 1 if a rule is violated in every run; 'runtime': also if "
            "one is left to the run."
        ),
    ] = FailOn.VIOLATED,
    select: Annotated[
        str | None,
        typer.Option(
            metavar="RULES",
            help="The rules to tell of: ids or what they begin with, such as Div.int, with commas "
            "between.",
        ),
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(metavar="RULES", help="The rules among them not to tell of.")
    ] = None,
    waivers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML file of violations that are tolerated, and why."),
    ] = None,
    record: RecordOption = None,
    quiet: QuietOption = False,
) -> None:
    """Tell for every rule at every node whether it holds, and why. Runs no model.

    Of several models each is checked, whatever becomes of the others.

    Exit status 0: all keep the profile; 1: a rule is violated; 2: a model is unusable.
    """
    from sonnx_ort.analysis.waivers import read_waivers
    from sonnx_ort.batch import check_models, find_models, settle
    from sonnx_ort.reporting.progress import progress

    with errors_as_sentences():
        if output != STANDARD:
            check_place(Path(output))
        demands = choose_demands(edition, broadcast, operators)
        rules = rules_told_of(select, ignore)
        names = find_models(models)
        given = () if waivers is None else read_waivers(waivers)
        with progress(len(names), Console(stderr=True, quiet=quiet)) as step:
            drawn = report_format is ReportFormat.HTML
            checked = check_models(names, demands, before_each=step, drawn=drawn)
        done = Check(checked, fail_on, alone=names == models and len(names) == 1)
        _tell_of_unusable(done)
        done = replace(done, models=settle(checked, waivers=given, rules=rules))
        if record is not None:
            _record(done, record)
        if output != STANDARD or not quiet:
            _write(output, report_format, done)
    if done.unusable:
        raise typer.Exit(ExitStatus.UNUSABLE)
    if done.failed:
        raise typer.Exit(ExitStatus.VIOLATED)


def _tell_of_unusable(check: Check) -> None:
    """Say on standard error which models cannot be used; one that is alone ends the command."""
    for model in check.models:
        if model.report is None and check.alone:
            raise InvalidModel(model.error)
        if model.report is None:
            typer.echo(f"sonnx-ort: {model.name}: {model.error}", err=True)


def _record(check: Check, record: Path) -> None:
    from sonnx_ort.batch import STANDARD_INPUT
    from sonnx_ort.checking import record_check

    (model, *others) = check.models
    if others or model.report is None or model.name == STANDARD_INPUT:
        raise SonnxError("a record is of one model, which is a file")
    record_check(Path(model.name), model.report, record)


def _write(output: str, report_format: ReportFormat, check: Check) -> None:
    if output != STANDARD:
        write_text(Path(output), f"{WRITERS[report_format](check)}\n")
    elif report_format is ReportFormat.TEXT and _colours_wanted():
        typer.echo(text_reports(check, coloured=True), color=True)
    else:
        typer.echo(WRITERS[report_format](check))


def _colours_wanted() -> bool:
    """Whether standard output is a terminal that shows colours, and nobody wants none."""
    console = Console()
    return console.color_system is not None and not console.no_color
