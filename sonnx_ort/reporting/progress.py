"""A progress bar for what takes longer than a second, where somebody sees it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

DELAY = 1.0
"""How many seconds pass before it is shown."""


@contextmanager
def progress(total: int, console: Console) -> Iterator[Callable[[str], None]]:
    """Show how far a loop is, until the block ends.

    Args:
        total: How many steps there are.
        console: Where to show it; nothing is shown where that is no terminal.

    Yields:
        What to call with the name of each step before it is done.
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
        # It may be starting at this very moment.
        timer.join()
        bar.stop()
