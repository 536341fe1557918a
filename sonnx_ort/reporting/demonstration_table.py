"""The bundled models' outcomes as a table."""

from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from sonnx_ort.demonstration import Row


def demonstration_table(rows: Iterable[Row]) -> Table:
    """Set what happened beside what should, one row per case.

    Args:
        rows: The cases, in the order to show them in.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold", ratio=20)
    table.add_column("what it shows", overflow="fold", ratio=34)
    table.add_column("expected", overflow="fold", ratio=30)
    table.add_column("got", overflow="fold", ratio=30)
    table.add_column("verdict", no_wrap=True)
    previous = ""
    for row in rows:
        first = row.model != previous
        verdict = Text(row.verdict, style="green" if row.kept else "bold red")
        table.add_row(
            Text(f"{row.model}\n{row.case}" if first else row.case),
            Text(row.shows if first else ""),
            Text(row.expected),
            Text(row.got),
            verdict,
        )
        previous = row.model
    return table
