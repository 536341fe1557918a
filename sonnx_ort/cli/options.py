"""Options and exit statuses of all commands."""

import enum
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from sonnx_ort.backends import Backend
from sonnx_ort.errors import ContractViolation, SonnxError, printable_lines
from sonnx_ort.files import is_standard_output
from sonnx_ort.obligations.report import ModelRejected, Report
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.remedies import in_commands
from sonnx_ort.reporting.terminal import fitted


class ExitStatus(enum.IntEnum):
    """The meaning of the command's exit status."""

    KEPT = 0
    VIOLATED = 1
    UNUSABLE = 2


@contextmanager
def errors_as_sentences(model: Path | None = None, *, conformed: bool = False) -> Iterator[None]:
    """Print errors without a traceback, and exit with the appropriate status.

    Args:
        model: The model to be rewritten; if it is rejected, the command to type next is printed.
        conformed: Whether it was conformed first.

    Raises:
        Exit: An error occurred.
    """
    try:
        yield
    except ModelRejected as error:
        if model is not None:
            error.add_note(f"next: {_next_command(error.report, model, conformed=conformed)}")
        _leave(error, ExitStatus.VIOLATED)
    except ContractViolation as error:
        _leave(error, ExitStatus.VIOLATED)
    except SonnxError as error:
        _leave(error, ExitStatus.UNUSABLE)


def _next_command(rejected: Report, model: Path, *, conformed: bool) -> str:
    from sonnx_ort.api import check
    from sonnx_ort.reporting.remedies import next_command

    report = rejected
    if not conformed:
        # A rejection does not say what conforming the model would fix.
        demands = rejected.demands
        report = check(
            model,
            edition=demands.edition,
            broadcast=demands.broadcasting,
            operators=demands.operators,
        )
    return next_command(report, str(model))


def _leave(error: Exception, status: ExitStatus) -> NoReturn:
    say("\n".join([f"sonnx-ort: {error}", *getattr(error, "__notes__", ())]), err=True)
    raise typer.Exit(status) from None


def say(text: str, *written: Path | None, err: bool = False) -> None:
    """Write lines for people: the options in them are the command's.

    What a terminal would obey is escaped.

    Args:
        text: The lines.
        *written: The files that were written; if one is standard output, the lines do not go there.
        err: Whether they go to standard error in any case.
    """
    err = err or any(map(is_standard_output, written))
    lines = printable_lines(in_commands(text))
    # What another program reads keeps its lines.
    shown = (sys.stderr if err else sys.stdout).isatty()
    typer.echo(fitted(lines) if shown else lines, err=err)


def subcommand() -> typer.Typer:
    """An application for one subcommand, whose help is plain text."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def examples(*lines: str) -> str:
    """The help text with examples below the options of a command."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="The file of the ONNX model.")]
EditionOption = Annotated[Edition, typer.Option(help="The edition of the profile to apply.")]
BroadcastOption = Annotated[
    Broadcasting,
    typer.Option(
        help="Operands of different shapes: 'reject' them, or insert an 'explicit' Broadcast."
    ),
]
OperatorsOption = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="The operators to enforce: 'default' (Div, Sub, Broadcast), 'elementwise', 'profile' "
        "(all operators, and the rules on graphs), or names separated by commas; -NAME leaves one "
        "out.",
    ),
]
RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE",
        help="Also write an evidence record in CycloneDX 1.6, which `verify` compares.",
    ),
]
WaiversOption = Annotated[
    Path | None,
    typer.Option(
        "--waivers",
        metavar="FILE",
        help="A TOML file of waivers: accepted violations, with reasons; they are not enforced.",
    ),
]
ContractOption = Annotated[
    Path | None,
    typer.Option(
        "--contract",
        metavar="FILE",
        help="A TOML file of what inputs and other values may be; what follows from it is proved.",
    ),
]
SizesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="NAME=N",
        help="The size of an open dimension of random inputs, by its name; repeat for each.",
    ),
]
InputShapesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input-shape",
        metavar="NAME=N,N,...",
        help="The shape of a random input, such as x=1,3,48,320; repeat for each.",
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Inputs: NAME.npy, or input_0.pb and so on, in it or in a folder for each sample.",
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="The seed of the random inputs.")]
OutputOption = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The file for the report; '-' is standard output.",
    ),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Write nothing to standard output.")
]
ConformOption = Annotated[
    bool, typer.Option("--conform", help="First make the safe changes that `conform` makes.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Write the file even if it replaces the model.")
]
BackendOption = Annotated[
    Backend | None,
    typer.Option(
        help="What enforces the rules: custom operators in Python, standard ones, or a library. "
        "[default: python where onnxruntime-extensions is, or else compiled, or else native]"
    ),
]
