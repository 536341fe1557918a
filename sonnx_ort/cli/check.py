"""`sonnx-ort check`: checks models one after the other."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sonnx_ort.analysis.report import Report, RulesOf, selected_rules
from sonnx_ort.analysis.waivers import read_waivers
from sonnx_ort.cli.batch import STANDARD_INPUT, ModelToCheck, check_models, with_waivers
from sonnx_ort.cli.found_models import find_models
from sonnx_ort.cli.options import PATH, command, examples, flag, option, subcommand
from sonnx_ort.cli.output import STANDARD, ExitStatus, say, say_next, write_report
from sonnx_ort.cli.progress import error_console, progress
from sonnx_ort.cli.settings import Given, contract_file
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.saving import (
    Transfer,
    check_place,
    is_stream,
    refuse_external_data,
    refuse_inputs,
    write_model,
)
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE, Choices
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.reporting.checked_models import Check, FailOn
from sonnx_ort.reporting.formats import WRITERS, ReportFormat, check_in_command
from sonnx_ort.reporting.next_steps import GivenOptions, after_record
from sonnx_ort.reporting.text_report import overviews, statistics, text_reports
from sonnx_ort.reporting.viewers import annotated

app = subcommand()


@command(
    app,
    *("edition", "broadcast", "backend", "select", "ignore", "waivers", "contract", "output"),
    *("record", "cache", "quiet"),
    operators=PROFILE,
    settings=True,
    own={
        "report_format": option(
            ReportFormat, "The format of the report.", "--format", default=ReportFormat.TEXT
        ),
        "fail_on": option(
            FailOn,
            "When to exit with 1: 'violated' if a rule is violated for every input, 'runtime' "
            "also if whether it holds depends on the input.",
            default=FailOn.VIOLATED,
        ),
        "rules": option(
            RulesOf,
            "'stated': without the rules that sonnx_ort added to those of SONNX.",
            default=RulesOf.ALL,
        ),
        "annotate": option(
            PATH,
            "Also write the model with what was found in the metadata of its nodes, which viewers "
            "such as Netron show.",
            metavar="FILE",
            writes="annotated model",
        ),
        "detail": flag("Show every check and finding, with evidence.", "--verbose", "-v"),
        "no_forecast": flag(
            "Do not find out what `conform` fixes, which takes several times as long as the check.",
            "--no-forecast",
        ),
        "by_rule": flag("Show a table of rules instead of the report.", "--statistics"),
        "jobs": option(
            int,
            "Check N models in parallel; 0: one on each core.",
            *("--jobs", "-j"),
            metavar="N",
            default=1,
            least=0,
        ),
    },
    epilog=examples(
        "sonnx-ort check model.onnx",
        "sonnx-ort check models/ --format sarif -o models.sarif",
        "sonnx-ort check model.onnx --rules stated --fail-on runtime --quiet",
        "sonnx-ort check model.onnx --operators Div,Sub --ignore Div.int",
        "sonnx-ort check model.onnx --waivers waivers.toml --record record.json",
        "sonnx-ort check model.onnx --annotate annotated.onnx",
        "sonnx-ort check models/ --cache .sonnx-ort-cache",
        "sonnx-ort check - < model.onnx",
    ),
)
def check(
    context: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Files of models. A folder means all files in and below it whose names end with "
            ".onnx, .onnxtxt, .onnxtext or .onnxjson; '-' means standard input.",
        ),
    ],
    contract: Any,
    waivers: Any,
    report_format: ReportFormat,
    output: str,
    fail_on: FailOn,
    record: Path | None,
    cache: Path | None,
    annotate: Path | None,
    detail: bool,
    no_forecast: bool,
    by_rule: bool,
    jobs: int,
    quiet: bool,
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Report where a model violates the profile, without running it.

    All operators and rules are looked at, unless --operators names fewer. The report starts with
    the verdict, lists each cause with the number of nodes, and ends with the command to type next.
    For several models it has one line for each. An unusable model does not stop the check of the
    others.

    Exit status 0: all keep the profile; 1: a rule is violated; 2: a model is unusable.
    """
    report = None if output == STANDARD else Path(output)
    for path in filter(None, (report, annotate, record)):
        check_place(path)
    names = find_models(models)
    options = {**choices, "contract": contract, "forecast": not no_forecast}
    # A record is evidence, so it is of a report that was just made.
    options["cache"] = cache if record is None else None
    wanted = [_to_check(name, options, context.obj) for name in names]
    waived = read_waivers(waivers) if waivers else ()
    _refuse_models(report, annotate, names)
    with progress(len(names), error_console(quiet=quiet)) as step:
        drawn = report_format is ReportFormat.HTML
        checked = check_models(wanted, before_each=step, drawn=drawn, jobs=jobs)
    done = Check(checked, fail_on, names == models and len(names) == 1, given)
    _print_unusable(done)
    done = replace(done, models=with_waivers(wanted, checked, waived))
    if record is not None:
        from sonnx_ort.evidence.making import record_check

        model, found = _only(done, "--record")
        record_check(model, found, record)
    if annotate is not None:
        model, found = _only(done, "--annotate")
        made = annotated(read(model).proto, found)
        write_model(made, made.SerializeToString(), model, annotate, Transfer.COPY)
    done = check_in_command(done)
    text = statistics if by_rule else text_reports if detail else overviews
    written_as = WRITERS[report_format]
    write_report(
        output,
        lambda coloured: (
            text(done, coloured=coloured)
            if report_format is ReportFormat.TEXT
            else written_as(done)
        ),
        quiet=quiet,
    )
    if not quiet:
        aside = output == STANDARD and report_format is not ReportFormat.TEXT
        _say_written(names[0], record, annotate, aside=aside)
    if done.unusable:
        raise typer.Exit(ExitStatus.UNUSABLE)
    if done.failed:
        raise typer.Exit(ExitStatus.VIOLATED)


def _say_written(model: str, record: Path | None, annotate: Path | None, *, aside: bool) -> None:
    """Say which files were written beside the report, and what to type next.

    Args:
        model: The file of the model.
        record: The record.
        annotate: The model with what was found in its metadata.
        aside: Whether the report is for a program, so that these lines go to standard error.
    """
    for path in filter(None, (annotate, record)):
        say(f"{path}: written", path, err=aside)
    if record is not None and not is_stream(record):
        say_next(after_record(model, record), err=aside)


def _to_check(name: str, options: Mapping[str, Any], given: Given) -> ModelToCheck:
    """A model with the options of the command, and with the settings that it has by itself."""
    own = {**options, **{k: v for k, v in given.of(name).items() if k in options}}
    return ModelToCheck(
        name,
        Choices.of(
            own["edition"],
            own["broadcast"],
            own["operators"],
            own["backend"],
            contract=own["contract"] or NO_CONTRACT,
        ),
        selected_rules(own["select"], own["ignore"], own["rules"]),
        given.settings.name,
        own["forecast"],
        contract_file(own["contract"]),
        own["cache"],
    )


def _refuse_models(report: Path | None, annotate: Path | None, names: Iterable[str]) -> None:
    """Check that neither the report nor the annotated model replaces a file of a model."""
    models = [Path(name) for name in names]
    for path in filter(None, (report, annotate)):
        refuse_inputs(path, models)
        for model in models if path is annotate or path.exists() else ():
            # A model that cannot be read has its own message, and does not end the others' check.
            with suppress(InvalidModel):
                refuse_external_data(path, model, read(model).proto)


def _print_unusable(check: Check) -> None:
    """Print on standard error which models cannot be used; a single one ends the command."""
    for model in check.models:
        if model.report is None and check.alone:
            raise InvalidModel(model.error)
        if model.report is None:
            say(f"sonnx-ort: {model.name}: {model.error}", err=True)


def _only(check: Check, option: str) -> tuple[Path, Report]:
    """The file and the report of the only model."""
    (model, *others) = check.models
    if others or model.report is None or model.name == STANDARD_INPUT:
        raise SonnxError(f"{option} needs exactly one model, given as a file")
    return Path(model.name), model.report
