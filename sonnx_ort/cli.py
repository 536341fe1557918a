"""The command `sonnx-ort`.

Exit status 0: the profile is kept; 1: it is violated; 2: unusable input or arguments.
"""

import enum
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from sonnx_ort.analysis.checked_model import Check, FailOn
from sonnx_ort.analysis.report import ModelRejected
from sonnx_ort.analysis.rule_choice import rules_told_of
from sonnx_ort.errors import ContractViolation, InvalidModel, SonnxError
from sonnx_ort.loading.choice import DEFAULT, choose_demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.formats import WRITERS, ReportFormat
from sonnx_ort.reporting.text_report import text_reports
from sonnx_ort.rewriting.external_transfer import Transfer
from sonnx_ort.rewriting.options import Backend
from sonnx_ort.rewriting.whole_file import check_place, write_text

STANDARD = "-"
"""What stands for standard input or output in the place of a file."""


class ExitStatus(enum.IntEnum):
    """What the command's exit status says."""

    KEPT = 0
    VIOLATED = 1
    UNUSABLE = 2


app = typer.Typer(
    name="sonnx-ort",
    help="Makes ONNX models keep to the SONNX profile, and runs them in ONNX Runtime.\n\n"
    "Exit status 0: the profile is kept; 1: it is violated; 2: unusable input or arguments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _examples(*lines: str) -> str:
    """What stands below the options of a command."""
    return "\n\n".join(["Examples:", *lines])


ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="The ONNX model's file.")]
EditionOption = Annotated[Edition, typer.Option(help="The edition of the profile's documents.")]
BroadcastOption = Annotated[
    Broadcasting, typer.Option(help="What becomes of operands of different shapes.")
]
OperatorsOption = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="The operators that are enforced: 'default' (Div, Sub, Broadcast), 'all', or names "
        "with commas between.",
    ),
]
RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE",
        help="Also write a record of what was found and done, in CycloneDX 1.6, for `verify`.",
    ),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Write nothing to standard output.")
]
BackendOption = Annotated[Backend, typer.Option(help="What enforces the rules in a run.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        from sonnx_ort import __version__

        typer.echo(f"sonnx-ort {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""
    del version


@app.command(
    epilog=_examples(
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
    from sonnx_ort.analysis.waiver_file import read_waivers
    from sonnx_ort.batch import check_models, find_models, settle
    from sonnx_ort.reporting.progress import progress

    with _errors_as_sentences():
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


@app.command(epilog=_examples("sonnx-ort explain", "sonnx-ort explain Div.int.C1"))
def explain(
    rule: Annotated[
        str | None, typer.Argument(metavar="[RULE]", help="A rule's id; all rules if left out.")
    ] = None,
) -> None:
    """Explain a rule: its source, why it matters, what keeps and breaks it, how to mend it."""
    from sonnx_ort.reporting.explanation import explain as explain_rule
    from sonnx_ort.reporting.explanation import list_rules

    with _errors_as_sentences():
        typer.echo(list_rules() if rule is None else explain_rule(rule))


@app.command(
    epilog=_examples(
        "sonnx-ort rewrite model.onnx -o enforced.onnx",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --broadcast explicit",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --record record.json",
        "sonnx-ort rewrite model.onnx -o enforced.onnx --backend native --operators all",
    )
)
def rewrite(
    model: ModelArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = DEFAULT,
    backend: BackendOption = Backend.PYTHON,
    make_explicit: Annotated[
        bool,
        typer.Option(
            "--make-explicit", help="Also write down types, shapes and defaults left out."
        ),
    ] = False,
    external_data: Annotated[
        Transfer, typer.Option(help="What becomes of external data in another folder.")
    ] = Transfer.COPY,
    record: RecordOption = None,
    quiet: QuietOption = False,
) -> None:
    """Put what enforces the profile in the place of nodes: every Div and Sub, or more."""
    from sonnx_ort.rewriting.rewrite_file import rewrite_file

    with _errors_as_sentences():
        rewrite_file(
            model,
            output,
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            backend=backend,
            make_explicit=make_explicit,
            external_data=external_data,
            record=record,
        )
    if not quiet:
        typer.echo(f"{output}: written; it enforces the profile on itself")
        if record is not None:
            typer.echo(f"{record}: written; `sonnx-ort verify {output} {record}` reads it")


@app.command(epilog=_examples("sonnx-ort verify enforced.onnx record.json"))
def verify(
    model: ModelArgument,
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="What --record wrote.")],
    quiet: QuietOption = False,
) -> None:
    """Tell whether a model is one that was recorded, and whether the same is found of it today.

    Exit status 0: it is, and the same is found; 1: something differs; 2: unusable input.
    """
    from sonnx_ort.verification import verify as verify_file

    with _errors_as_sentences():
        verification = verify_file(model, record)
    if not quiet:
        for line in verification.lines():
            typer.echo(line)
    if not verification.kept:
        raise typer.Exit(ExitStatus.VIOLATED)


@app.command(
    epilog=_examples(
        "sonnx-ort run model.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort run model.onnx --input x=x.npy --output-dir outputs --quiet",
        "sonnx-ort run model.onnx --input x=x.npy --backend native --verify-proofs",
    )
)
def run(
    model: ModelArgument,
    feeds: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=FILE.npy", help="An input; once for each."),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Write each output to NAME.npy in this folder.")
    ] = None,
    edition: EditionOption = Edition.TYPED,
    broadcast: BroadcastOption = Broadcasting.REJECT,
    operators: OperatorsOption = DEFAULT,
    backend: BackendOption = Backend.PYTHON,
    verify_proofs: Annotated[
        bool,
        typer.Option(
            "--verify-proofs",
            help="With the native backend: let the python backend do the run as well, and fail if "
            "the verdicts differ.",
        ),
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Rewrite a model if need be, run it once, and show its outputs."""
    from sonnx_ort.reporting.tensors import describe_tensor
    from sonnx_ort.running import run_once, save_outputs

    with _errors_as_sentences():
        outputs = run_once(
            model,
            feeds or [],
            verify_proofs=verify_proofs,
            edition=edition,
            broadcast=broadcast,
            operators=operators,
            backend=backend,
        )
        told = [] if quiet else [describe_tensor(name, outputs[name]) for name in outputs]
        for line in told:
            typer.echo(line)
        for path in [] if output_dir is None else save_outputs(outputs, output_dir):
            if not quiet:
                typer.echo(f"written: {path}")


@app.command(
    epilog=_examples(
        "sonnx-ort diff model.onnx enforced.onnx",
        "sonnx-ort diff model.onnx enforced.onnx --seed 7 --all",
        "sonnx-ort diff model.onnx enforced.onnx --input x=x.npy --input y=y.npy",
    )
)
def diff(
    first: Annotated[
        str, typer.Argument(metavar="A", help="A model's file, such as the original.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one with the same inputs.")],
    feeds: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=FILE.npy", help="An input; the others are random."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random inputs.")] = 0,
    every: Annotated[
        bool, typer.Option("--all", help="List every value of A, node by node.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Run two models side by side, and show where they first differ.

    Compares every value that has a name in both, bit by bit, without optimizations.

    Exit status 0: nothing differs; 1: a value differs or a run ends early; 2: unusable input.
    """
    from sonnx_ort.differencing.difference import compare
    from sonnx_ort.reporting.difference_report import difference_report
    from sonnx_ort.running import read_feeds

    with _errors_as_sentences():
        given = read_feeds(feeds or [])
        comparison = compare(first, second, given, seed=seed)
    if not quiet:
        names = (first, second)
        typer.echo(difference_report(comparison, names, given=given, seed=seed, every=every))
    if not comparison.equal:
        raise typer.Exit(ExitStatus.VIOLATED)


@app.command(epilog=_examples("sonnx-ort demo", "sonnx-ort demo --backend native"))
def demo(backend: BackendOption = Backend.PYTHON) -> None:
    """Rewrite and run all bundled models, and show what happens beside what should."""
    from sonnx_ort.demonstration import demonstrate
    from sonnx_ort.reporting.demonstration_table import demonstration_table

    rows = list(demonstrate(backend))
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(demonstration_table(rows))
    failed = sum(not row.kept for row in rows)
    typer.echo(f"{len(rows)} cases, {len(rows) - failed} as expected, {failed} not")
    if failed:
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


@contextmanager
def _errors_as_sentences() -> Iterator[None]:
    """Say what went wrong, without a traceback, and leave with the status that fits."""
    try:
        yield
    except (ModelRejected, ContractViolation) as error:
        _leave(error, ExitStatus.VIOLATED)
    except SonnxError as error:
        _leave(error, ExitStatus.UNUSABLE)


def _leave(error: Exception, status: ExitStatus) -> NoReturn:
    typer.echo(f"sonnx-ort: {error}", err=True)
    raise typer.Exit(status) from None


def main() -> None:
    """Run the command."""
    app()
