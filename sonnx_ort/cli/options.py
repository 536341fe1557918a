"""Options and exit statuses of all commands."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.files import is_standard_output
from sonnx_ort.obligations.report import ModelRejected
from sonnx_ort.options import Backend
from sonnx_ort.printable import printable_lines
from sonnx_ort.profile.options import Broadcasting, Edition


class ExitStatus(enum.IntEnum):
    """The meaning of the command's exit status."""

    KEPT = 0
    VIOLATED = 1
    UNUSABLE = 2


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Print errors without a traceback, and exit with the appropriate status.

    Raises:
        Exit: An error occurred.
    """
    try:
        yield
    except (ModelRejected, ContractViolation) as error:
        _leave(error, ExitStatus.VIOLATED)
    except SonnxError as error:
        _leave(error, ExitStatus.UNUSABLE)


def _leave(error: Exception, status: ExitStatus) -> NoReturn:
    say(f"sonnx-ort: {error}", err=True)
    raise typer.Exit(status) from None


def say(text: str, *written: Path | None, err: bool = False) -> None:
    """Write lines for people, without characters of names that a terminal obeys.

    Args:
        text: The lines.
        *written: The files that were written; if one is standard output, the lines do not go there.
        err: Whether they go to standard error in any case.
    """
    typer.echo(printable_lines(text), err=err or any(map(is_standard_output, written)))


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
    Backend,
    typer.Option(
        help="What enforces the rules: custom operators in Python, standard ones, or a library."
    ),
]
