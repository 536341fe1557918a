"""What a contract says, as a table of a page."""

from collections.abc import Iterator

from sonnx_ort.errors import to_html
from sonnx_ort.profile.contract import (
    Contract,
    ShapeContract,
    SizeContract,
    ValueContract,
    format_ends,
)
from sonnx_ort.reporting.page_parts import table


def contract_table(contract: Contract) -> str:
    """A table in HTML: what each entry is of, what it allows, and its message."""
    rows = (tuple(f"<bdi>{to_html(text)}</bdi>" for text in row) for row in _rows(contract))
    return table(("Of", "Allowed", "Message"), rows)


def _rows(contract: Contract) -> Iterator[tuple[str, str, str]]:
    for value in contract.values:
        yield f"value '{value.value}'", _numbers(value), value.message
    for shape in contract.shapes:
        yield f"shape of '{shape.input}'", _axes(shape), ""
    for size in contract.sizes:
        yield f"size {size.name}", _sizes(size), size.message
    for kind in contract.types:
        yield f"type of '{kind.input}'", kind.dtype, ""
    for state in contract.states:
        yield f"state '{state.input}'", f"what '{state.output}' gave in the run before", ""


def _numbers(entry: ValueContract) -> str:
    kind = "whole numbers, " if entry.whole else ""
    if entry.axis is not None:
        ranges = "; ".join(map(format_ends, entry.ranges))
        return f"{kind}by index on axis {entry.axis}: {ranges}"
    return kind + (format_ends(entry.ranges[0]) if entry.ranges else "finite")


def _axes(entry: ShapeContract) -> str:
    axes = ("any" if axis is None else str(axis) for axis in entry.axes)
    return f"[{', '.join(axes)}]"


def _sizes(entry: SizeContract) -> str:
    ends = f"{entry.least}" if entry.least == entry.most else f"{entry.least} to {entry.most}"
    return ends + (f", a multiple of {entry.multiple_of}" if entry.multiple_of != 1 else "")
