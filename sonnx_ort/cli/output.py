"""What a command prints, and the status that it ends with."""

import enum
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

from sonnx_ort.analysis.report import ModelRejected, Report
from sonnx_ort.backends import Backend
from sonnx_ort.errors import ContractViolation, SonnxError, printable_lines
from sonnx_ort.errors.remedies import Advice, in_command
from sonnx_ort.loading.saving import is_standard_output, write_text
from sonnx_ort.reporting.next_steps import NOTHING, GivenOptions, next_command
from sonnx_ort.reporting.terminal import colours_wanted, fitted, lines_for_standard_output

STANDARD = "-"
"""The name of standard input and output instead of a file."""


class ExitStatus(enum.IntEnum):
    """The meaning of the command's exit status."""

    KEPT = 0
    VIOLATED = 1
    UNUSABLE = 2


@contextmanager
def errors_as_sentences(
    model: Path | None = None, *, conformed: bool = False, given: GivenOptions = NOTHING
) -> Iterator[None]:
    """Print errors without a traceback, and exit with the appropriate status.

    Args:
        model: The model to be rewritten; if it is rejected, the command to type next is printed.
        conformed: Whether it was conformed first.
        given: The options of the command line.

    Raises:
        Exit: An error occurred.
    """
    try:
        yield
    except ModelRejected as error:
        _say_error(error)
        if model is not None:
            say_next(_next_command(error.report, model, given, conformed=conformed), err=True)
        raise typer.Exit(ExitStatus.VIOLATED) from None
    except ContractViolation as error:
        _leave(error, ExitStatus.VIOLATED)
    except SonnxError as error:
        _leave(error, ExitStatus.UNUSABLE)


def _next_command(rejected: Report, model: Path, given: GivenOptions, *, conformed: bool) -> str:
    from sonnx_ort.api.checking import check

    report = rejected
    if not conformed:
        # A rejection does not say what conforming the model would fix.
        demands = rejected.demands
        report = check(
            model,
            edition=demands.edition,
            broadcast=demands.broadcasting,
            operators=demands.operators,
            contract=demands.contract,
            backend=Backend(rejected.backend),
        )
    return next_command(report, str(model), given)


def _leave(error: Exception, status: ExitStatus) -> NoReturn:
    """Say an error, and exit with a status."""
    _say_error(error)
    raise typer.Exit(status) from None


def _say_error(error: Exception) -> None:
    text = error.advice if isinstance(error, SonnxError) else str(error)
    say(Advice("sonnx-ort: ", text), err=True)


def say_next(command: str, *written: Path | None, err: bool = False) -> None:
    """Write the command to type next, in one line: a broken one could not be pasted.

    Args:
        command: The line; nothing is written of an empty one.
        *written: The files that were written; if one is standard output, the line does not go
            there.
        err: Whether it goes to standard error in any case.
    """
    if command:
        typer.echo(f"next: {command}", err=err or any(map(is_standard_output, written)))


def say(text: str, *written: Path | None, err: bool = False, whole: bool = False) -> None:
    """Write lines for people; advice names the options of the command.

    What a terminal would obey is escaped.

    Args:
        text: The lines.
        *written: The files that were written; if one is standard output, the lines do not go there.
        err: Whether they go to standard error in any case.
        whole: Whether lines stay whole that are longer than the terminal is wide.
    """
    err = err or any(map(is_standard_output, written))
    lines = printable_lines(in_command(text))
    # What another program reads keeps its lines.
    shown = (sys.stderr if err else sys.stdout).isatty()
    typer.echo(fitted(lines) if shown and not whole else lines, err=err)


def write_report(output: str, text: Callable[[bool], str], *, quiet: bool) -> None:
    """Write a report to a file, and say so, or to standard output unless that is to be quiet.

    Args:
        output: The name of the file, or "-".
        text: Gives the report; its argument says whether it has colours.
        quiet: Whether nothing goes to standard output.
    """
    shown = output == STANDARD
    if shown and quiet:
        return
    coloured = shown and colours_wanted()
    with lines_for_standard_output(shown=shown):
        written = text(coloured)
    if shown:
        typer.echo(written, color=coloured or None)
    else:
        write_text(Path(output), f"{written}\n")
        if not quiet:
            say(f"{output}: written", Path(output))
