"""Shows on a terminal what a command works on, if that takes long."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sonnx_ort.analysis.progress import watched_by
from sonnx_ort.errors import printable
from sonnx_ort.reporting.terminal import may_be_terminal

if TYPE_CHECKING:
    from rich.console import Console

DELAY = 2.0
"""The delay in seconds before the progress is shown."""


@contextmanager
def progress(total: int, console: "Console | None") -> Iterator[Callable[[str], None]]:
    """Show the progress of a loop, and of the work of each step, until the block ends.

    Args:
        total: The number of steps.
        console: Where it is shown, if that is a terminal; None if nothing is shown.

    Yields:
        A function to call with the name of each step before it is done.
    """
    if console is None or not console.is_interactive:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
    )
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("", total=total, completed=-1)
    inner = bar.add_task("", visible=False)

    def watch(work: str, done: int, parts: int) -> None:
        bar.update(inner, description=work, completed=done, total=parts, visible=True)

    timer = threading.Timer(DELAY, bar.start)
    timer.start()
    try:
        with watched_by(watch):
            yield lambda name: bar.update(task, description=printable(name), advance=1)
    finally:
        timer.cancel()
        # The timer may be starting the display at this moment.
        timer.join()
        bar.stop()


def error_console(*, quiet: bool) -> "Console | None":
    """Standard error as a console; None if nothing is to be shown, or it is no terminal."""
    if quiet or not may_be_terminal(sys.stderr):
        return None
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def working_on(name: str, *, quiet: bool) -> Iterator[None]:
    """Show that one model is worked on until the block ends, if it takes long."""
    with progress(1, error_console(quiet=quiet)) as step:
        step(name)
        yield
