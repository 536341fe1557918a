"""What the symbols in shapes mean, for a reader of a report."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sonnx_ort.obligations.report import Report
from sonnx_ort.terms.operand import format_shape


@dataclass(frozen=True, slots=True)
class Symbol:
    """A kind of symbol.

    Attributes:
        form: How it looks.
        meaning: What it stands for.
        pattern: A regular expression, in Python and in JavaScript, that finds it in a shape.
    """

    form: str
    meaning: str
    pattern: str


SYMBOLS = (
    Symbol(
        "n",
        "a size that the model leaves open, by the name that an input declares",
        r"(?<![\w?])[A-Za-z_]\w*(?![\w(])",
    ),
    Symbol(
        "?1",
        "a size known only in a run; the same number means the same size",
        r"\?\d",
    ),
    Symbol("?", "an unknown size", r"\?(?!\d)"),
    Symbol("trunc(a/b)", "the quotient, rounded towards zero", r"\btrunc\("),
    Symbol("min(a, b)", "the smaller of the two", r"\bmin\("),
    Symbol(
        "sliced(n, start, end, step)",
        "the number of elements that a Slice takes from n",
        r"\bsliced\(",
    ),
    Symbol("int32(n)", "n as an int32, which wraps around if n is larger", r"\bint32\("),
)


def symbols_of(report: Report) -> Iterator[Symbol]:
    """The kinds of symbols in the shapes of a report."""
    shapes = {
        format_shape(operand.shape)
        for obligation in report.obligations
        for operand in obligation.operands
        if operand.shape is not None
    }
    text = "\n".join(shapes)
    return (symbol for symbol in SYMBOLS if re.search(symbol.pattern, text))
