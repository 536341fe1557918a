"""How a command ends: with a status, and with a sentence where something went wrong."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from sonnx_ort.analysis.report import ModelRejected
from sonnx_ort.errors import ContractViolation, SonnxError


class ExitStatus(enum.IntEnum):
    """What the command's exit status says."""

    KEPT = 0
    VIOLATED = 1
    UNUSABLE = 2


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Say what went wrong, without a traceback, and leave with the status that fits.

    Raises:
        Exit: Something went wrong.
    """
    try:
        yield
    except (ModelRejected, ContractViolation) as error:
        _leave(error, ExitStatus.VIOLATED)
    except SonnxError as error:
        _leave(error, ExitStatus.UNUSABLE)


def _leave(error: Exception, status: ExitStatus) -> NoReturn:
    typer.echo(f"sonnx-ort: {error}", err=True)
    raise typer.Exit(status) from None
