"""The bounds of all changes that round, as a table of the documentation."""

from collections.abc import Iterator

from sonnx_ort.conforming.bounds import OF_FUNCTIONS, Bound
from sonnx_ort.conforming.decomposing import TEMPLATES
from sonnx_ort.conforming.rounds import CHANGES, TELLING_SIZES
from sonnx_ort.conforming.sixteen_bit_floats import MOVED_ROUNDING, SIXTEEN_BIT_FLOATS


def bounds_table() -> str:
    """A table in Markdown: what is written or changed, for which types, and the bound."""
    lines = ["| what `conform --rounding` does | types | results |", "| --- | --- | --- |"]
    return "\n".join(
        [*lines, *(f"| {what} | {types} | {bound} |" for what, types, bound in _rows())]
    )


def _rows() -> Iterator[tuple[str, str, Bound]]:
    for operator, template in sorted(TEMPLATES.items()):
        if template.bound is not None:
            near = template.near - template.exact
            yield f"writes {operator}", ", ".join(sorted(near)), template.bound
    for operator, known in sorted(OF_FUNCTIONS.items()):
        types = "all" if known.types is None else ", ".join(sorted(known.types))
        yield f"writes {operator} as ONNX defines it", types, known.bound
    for change in (*CHANGES, *TELLING_SIZES):
        if change.bound is not None:
            yield f"{change.title} ({', '.join(_operators(change.rules))})", "all", change.bound
    narrow = ", ".join(sorted(SIXTEEN_BIT_FLOATS))
    yield "any other change of a chain of nodes", narrow, MOVED_ROUNDING


_SHOWN = 3


def _operators(rules: frozenset[str]) -> list[str]:
    """The operators whose rules are fixed, or a word for many; of none it is reductions."""
    found = sorted({rule.partition(".")[0] for rule in rules}) or ["reductions"]
    return found if len(found) <= _SHOWN else ["element-wise operators"]
