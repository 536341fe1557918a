"""The bar of what is counted while it is done, with the time that is left."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def counting(*, on_terminals_alone: bool = False) -> Progress:
    """Make a bar that nothing is counted on yet."""
    console = Console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=on_terminals_alone and not console.is_terminal,
    )
