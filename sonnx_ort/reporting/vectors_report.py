"""What engines make of conformance vectors, as text."""

from collections import Counter
from collections.abc import Iterator, Sequence

from sonnx_ort.meaning.origins import Origin
from sonnx_ort.vectors.suite import Judged, Outcome

_COLUMNS = {
    Outcome.CONFORMS: "conforms",
    Outcome.DEVIATES: "deviates",
    Outcome.COMPUTES: "computes what it should refuse",
    Outcome.REFUSES: "refuses what it should compute",
    Outcome.DIES: "dies",
}


_MANY = 1_000_000
"""From how many units on they are shown with two digits."""


def suite_report(judged: Sequence[Judged], *, every: bool = False) -> str:
    """A table in Markdown, a row for each operator; with `every`, all cases that are not right."""
    lines = [*_suite_table(judged), *_measured(judged)]
    if every:
        wrong = (each for each in judged if each.outcome is not Outcome.CONFORMS)
        lines += ["", *(f"{each.id}: {each.outcome}: {each.reason}" for each in wrong)]
    return "\n".join(lines)


def _suite_table(judged: Sequence[Judged]) -> Iterator[str]:
    yield f"| operator | cases | {' | '.join(_COLUMNS.values())} | by units at most |"
    yield f"| --- |{' ---: |' * (len(_COLUMNS) + 2)}"
    for operator in dict.fromkeys(each.operator for each in judged):
        yield _suite_row(operator, [each for each in judged if each.operator == operator])
    yield _suite_row("all", judged)


def _measured(judged: Sequence[Judged]) -> Iterator[str]:
    """How many cases are right by an error that was measured, and what that says."""
    found = [
        each.operator
        for each in judged
        if each.outcome is Outcome.CONFORMS and Origin.MEASURED in each.origin
    ]
    if found:
        operators = ", ".join(dict.fromkeys(found))
        yield ""
        yield (
            f"Of those that conform, {len(found):,} ({operators}) are held to an error that was "
            "measured of ONNX Runtime. Of ONNX Runtime they say only that it computes as it did."
        )


def _suite_row(name: str, judged: Sequence[Judged]) -> str:
    found = Counter(each.outcome for each in judged)
    deviating = [each.units for each in judged if each.outcome is Outcome.DEVIATES]
    known = [units for units in deviating if units is not None]
    worst = f"{max(known):{'d' if max(known) < _MANY else '.1e'}}" if known else ""
    if len(known) < len(deviating):
        worst = f"{worst}, no number" if worst else "no number"
    cells = [name, str(len(judged)), *(str(found[o]) if found[o] else "" for o in _COLUMNS), worst]
    return f"| {' | '.join(cells)} |"
