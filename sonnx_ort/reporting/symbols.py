"""What the symbols in shapes mean, for a reader of a report."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sonnx_ort.obligations.report import Report
from sonnx_ort.profile.operand import format_shape


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
        "a name is an open size, as an input of the model declares it",
        r"(?<![\w?])[A-Za-z_]\w*(?![\w(])",
    ),
    Symbol(
        "?1",
        "a size that only a run tells; the same number is the same size",
        r"\?\d",
    ),
    Symbol("?", "a size of which nothing is known", r"\?(?!\d)"),
    Symbol("trunc(a/b)", "the quotient, rounded towards zero", r"\btrunc\("),
    Symbol("min(a, b)", "the smaller of the two", r"\bmin\("),
    Symbol(
        "sliced(n, start, end, step)",
        "how many of n elements a Slice takes",
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
