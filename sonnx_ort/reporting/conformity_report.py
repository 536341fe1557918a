"""What `conform` did, as text."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sonnx_ort.conforming.change import Safety
from sonnx_ort.conforming.conformity import Conformed
from sonnx_ort.conforming.rounds import Made
from sonnx_ort.errors import printable
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.reporting.terminal import fitted, in_columns
from sonnx_ort.reporting.verdict import counted

_KINDS = {Safety.ROUNDING: "rounding", Safety.INTERFACE: "adding outputs"}
"""What changes that are not safe do."""

_SHOWN = 5
"""How many nodes are named for one reason."""


def conformity_report(conformed: Conformed[Any], *, every: bool = False) -> str:
    """The text of what was changed, rule by rule, and of what is still violated.

    With `every`, each change and each remaining violation is listed.
    """
    lines = [*_assumed(conformed), *_fixed(conformed.changes), *_bounds(conformed.changes)]
    if every and conformed.changes:
        lines += ["", "changes", *(f"  {change}" for change in conformed.changes)]
    if conformed.left_out:
        lines += ["", "not made, because a run gave other bits"]
        lines += [f"  {change}" for change in conformed.left_out]
    lines += [*_measured(conformed), *_remaining(conformed, every=every), "", _summary(conformed)]
    return fitted("\n".join(map(printable, lines)).strip("\n"))


def _assumed(conformed: Conformed[Any]) -> Iterator[str]:
    for name, value in conformed.assumed.items():
        yield f"assumed: {name} is {value} in every run"
    if conformed.assumed:
        yield ""


def _fixed(changes: tuple[Made, ...]) -> Iterator[str]:
    counts = Counter(
        (o.rule.id, f"{change.title}{change.safety.label}")
        for change in changes
        for o in change.fixed
    )
    if counts:
        yield "fixed"
        yield from _table_of_counts(counts)


def _bounds(changes: tuple[Made, ...]) -> Iterator[str]:
    """How far the results of each change that rounds may be from those of its node."""
    bounds = dict.fromkeys((each.title, each.bound) for each in changes if each.bound is not None)
    if bounds:
        yield from ("", "what rounds, and how far from the kernels of ONNX Runtime at most")
    for title, bound in bounds:
        yield from (f"  {title}", f"    {bound}")


def _measured(conformed: Conformed[Any]) -> Iterator[str]:
    """How far outputs are from the original ones, in runs of both models."""
    measured = conformed.measured
    if measured is not None:
        yield from (
            "",
            in_command(measured.in_words),
            *(f"  {each}" for each in measured.deviations),
        )


def _table_of_counts(counts: Counter[tuple[str, str]]) -> list[str]:
    rows = [(rule, f"{count:,}", text) for (rule, text), count in counts.most_common()]
    return in_columns(rows, "  ")


def _remaining(conformed: Conformed[Any], *, every: bool) -> Iterator[str]:
    places: dict[tuple[str, str], list[str]] = {}
    for obligation, reason in conformed.remaining:
        places.setdefault((obligation.rule.id, reason.in_command), []).append(obligation.place)
    if not places:
        return
    yield from ("", "still violated")
    counts = Counter({key: len(found) for key, found in places.items()})
    for line, (key, _) in zip(_table_of_counts(counts), counts.most_common(), strict=True):
        yield line
        found = places[key]
        if every:
            yield from (f"    {place}" for place in found)
        else:
            more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
            yield f"    {', '.join(found[:_SHOWN])}{more}"


def _summary(conformed: Conformed[Any]) -> str:
    """One sentence: the violations before and after, and how many changes led there."""
    before, after = len(conformed.before.violations), len(conformed.remaining)
    if not conformed.changes:
        return f"nothing to change; {_violations(after)}"
    added = counted(sum(len(change.added) for change in conformed.changes), "new node")
    new = f", {len(conformed.new):,} of them new" if conformed.new else ""
    return (
        f"{_violations(before)} before, {after:,} now{new}; "
        f"{_count_of_changes(conformed.changes)}, with {added}"
    )


def _count_of_changes(changes: tuple[Made, ...]) -> str:
    counts = Counter(change.safety for change in changes)
    others = [(counts[each], kind) for each, kind in _KINDS.items() if counts[each]]
    if len(changes) == 1:
        return f"1 change, {others[0][1] if others else 'safe'}"
    listed = ", ".join(f"{count:,} of them {kind}" for count, kind in others)
    return f"{len(changes):,} changes, {listed or 'all of them safe'}"


def _violations(count: int) -> str:
    return counted(count, "violation") if count else "nothing is violated"
