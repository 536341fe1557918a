"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table; its last columns, so many, have numbers."""
    aligned = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "\n".join(map(_row, (head, aligned, *rows)))


def code(names: Iterable[str]) -> str:
    """Names as code, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
