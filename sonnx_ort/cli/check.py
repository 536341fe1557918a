"""`sonnx-ort check`: checks models one after the other."""

import datetime as dt
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from sonnx_ort.cli.options import (
    BackendOption,
    BroadcastOption,
    EditionOption,
    ExitStatus,
    OperatorsOption,
    QuietOption,
    RecordOption,
    errors_as_sentences,
    examples,
)
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.files import check_place, write_text
from sonnx_ort.loading.source import collector_paused
from sonnx_ort.obligations.report import selected_rules
from sonnx_ort.obligations.waivers import Waiver
from sonnx_ort.obligations.waiving import waive
from sonnx_ort.options import DEFAULT, Backend, Choices, choose_demands
from sonnx_ort.pipeline import examine, load, preview
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.checked_models import Check, CheckedModel, FailOn, check_with_outline
from sonnx_ort.reporting.formats import WRITERS, ReportFormat
from sonnx_ort.reporting.text_report import text_reports

DELAY = 1.0
"""The delay in seconds before the progress is shown."""


@contextmanager
def progress(total: int, console: Console) -> Iterator[Callable[[str], None]]:
    """Show the progress of a loop until the block ends.

    Args:
        total: The number of steps.
        console: The console; nothing is shown if it is not a terminal.

    Yields:
        A function to call with the name of each step before it is done.
    """
    if not console.is_interactive:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("", total=total, completed=-1)
    timer = threading.Timer(DELAY, bar.start)
    timer.start()
    try:
        yield lambda name: bar.update(task, description=name, advance=1)
    finally:
        timer.cancel()
        # The timer may be starting the display at this moment.
        timer.join()
        bar.stop()


STANDARD_INPUT = "-"
"""The name of the model on standard input."""


def find_models(given: Iterable[str]) -> list[str]:
    """Find the files of models.

    Args:
        given: Files, which need not exist; folders, which stand for all `.onnx` files in or below
            them, sorted by name; or "-".

    Returns:
        The files without repetitions.

    Raises:
        SonnxError: A folder has no such file.
    """
    found: list[str] = []
    for name in given:
        folder = Path(name)
        if not folder.is_dir():
            found.append(name)
            continue
        inside = sorted(str(path) for path in folder.rglob("*.onnx") if path.is_file())
        if not inside:
            raise SonnxError(f"there is no .onnx file in the folder '{name}'")
        found.extend(inside)
    return list(dict.fromkeys(found))


def check_models(
    names: Sequence[str],
    choices: Choices,
    *,
    before_each: Callable[[str], None] = lambda _: None,
    drawn: bool = False,
) -> tuple[CheckedModel, ...]:
    """Check models.

    `before_each` is called with each name before its model is checked.
    """
    checked: list[CheckedModel] = []
    for name in names:
        before_each(name)
        checked.append(_check(name, choices, drawn=drawn))
    return tuple(checked)


def with_waivers(
    checked: Sequence[CheckedModel],
    *,
    waivers: Iterable[Waiver] = (),
    rules: Iterable[str] | None = None,
) -> tuple[CheckedModel, ...]:
    """Apply waivers to checked models, and select the reported rules.

    None for the rules means all.

    Raises:
        SonnxError: A waiver does not match exactly the violations that it covers.
    """
    reports = [model.report for model in checked if model.report is not None]
    waived = iter(waive(reports, waivers, dt.date.today()))
    return tuple(
        model if model.report is None else replace(model, report=next(waived).selected(rules))
        for model in checked
    )


def _check(name: str, choices: Choices, *, drawn: bool) -> CheckedModel:
    try:
        source = sys.stdin.buffer.read() if name == STANDARD_INPUT else name
        if drawn:
            report, graph = check_with_outline(source, choices)
            return CheckedModel(name, report, graph=graph)
        with collector_paused():
            report = preview(examine(load(source, choices), complete=True))
        return CheckedModel(name, report)
    except SonnxError as error:
        return CheckedModel(name, None, str(error))


STANDARD = "-"
"""The name of standard output instead of a file."""

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
    backend: BackendOption = Backend.PYTHON,
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
            help="The rules to report: ids or what they begin with, such as Div.int, with commas "
            "between.",
        ),
    ] = None,
    ignore: Annotated[
        str | None, typer.Option(metavar="RULES", help="The rules to leave out of the report.")
    ] = None,
    waivers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML file of waived violations, with reasons."),
    ] = None,
    record: RecordOption = None,
    quiet: QuietOption = False,
) -> None:
    """Report the status of every rule at every node, with its evidence. Runs no model.

    Of several models each is checked, whatever becomes of the others.

    Exit status 0: all keep the profile; 1: a rule is violated; 2: a model is unusable.
    """
    from sonnx_ort.cli.check import check_models, find_models, progress, with_waivers
    from sonnx_ort.obligations.waivers import read_waivers

    with errors_as_sentences():
        if output != STANDARD:
            check_place(Path(output))
        choices = Choices(choose_demands(edition, broadcast, operators), backend)
        rules = selected_rules(select, ignore)
        names = find_models(models)
        given = () if waivers is None else read_waivers(waivers)
        with progress(len(names), Console(stderr=True, quiet=quiet)) as step:
            drawn = report_format is ReportFormat.HTML
            checked = check_models(names, choices, before_each=step, drawn=drawn)
        done = Check(checked, fail_on, alone=names == models and len(names) == 1)
        _print_unusable(done)
        done = replace(done, models=with_waivers(checked, waivers=given, rules=rules))
        if record is not None:
            _record(done, record, backend)
        if output != STANDARD or not quiet:
            _write(output, report_format, done)
    if done.unusable:
        raise typer.Exit(ExitStatus.UNUSABLE)
    if done.failed:
        raise typer.Exit(ExitStatus.VIOLATED)


def _print_unusable(check: Check) -> None:
    """Print on standard error which models cannot be used; a single one ends the command."""
    for model in check.models:
        if model.report is None and check.alone:
            raise InvalidModel(model.error)
        if model.report is None:
            typer.echo(f"sonnx-ort: {model.name}: {model.error}", err=True)


def _record(check: Check, record: Path, backend: Backend) -> None:
    from sonnx_ort.cli.check import STANDARD_INPUT
    from sonnx_ort.evidence.making import record_check

    (model, *others) = check.models
    if others or model.report is None or model.name == STANDARD_INPUT:
        raise SonnxError("a record is of one model, which is a file")
    record_check(Path(model.name), model.report, record, backend)


def _write(output: str, report_format: ReportFormat, check: Check) -> None:
    if output != STANDARD:
        write_text(Path(output), f"{WRITERS[report_format](check)}\n")
    elif report_format is ReportFormat.TEXT and _colours_wanted():
        typer.echo(text_reports(check, coloured=True), color=True)
    else:
        typer.echo(WRITERS[report_format](check))


def _colours_wanted() -> bool:
    """Whether standard output is a terminal that shows colours, and colours are not disabled."""
    console = Console()
    return console.color_system is not None and not console.no_color
