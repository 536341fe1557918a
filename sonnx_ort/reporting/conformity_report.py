"""What `conform` did, as text."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sonnx_ort.conforming.change import Safety
from sonnx_ort.conforming.rounds import Made
from sonnx_ort.conformity import Conformed
from sonnx_ort.errors import printable
from sonnx_ort.reporting.terminal import fitted

_SHOWN = 5
"""How many nodes are named for one reason."""


def conformity_report(conformed: Conformed[Any], *, every: bool = False) -> str:
    """The text of what was changed, rule by rule, and of what is still violated.

    Args:
        conformed: What `conform` gives.
        every: Whether each change and each remaining violation is listed.
    """
    lines = [*_assumed(conformed), *_mended(conformed.changes)]
    if every and conformed.changes:
        lines += ["", "changes", *(f"  {change}" for change in conformed.changes)]
    lines += [*_left_out(conformed), *_remaining(conformed, every=every), "", _summary(conformed)]
    return fitted("\n".join(map(printable, lines)).strip("\n"))


def _assumed(conformed: Conformed[Any]) -> Iterator[str]:
    for name, told in conformed.assumed.items():
        yield f"assumed: {name} is {told} in every run"
    if conformed.assumed:
        yield ""


def _mended(changes: tuple[Made, ...]) -> Iterator[str]:
    counts = Counter((o.rule.id, _title(change)) for change in changes for o in change.mended)
    if counts:
        yield "fixed"
        yield from _table(counts)


def _title(change: Made) -> str:
    return f"{change.title} (rounds)" if change.safety is Safety.ROUNDING else change.title


def _table(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    names = max(len(rule) for rule, _ in counts)
    digits = max(len(f"{count:,}") for count in counts.values())
    for (rule, text), count in counts.most_common():
        yield f"  {rule:<{names}}  {count:>{digits},}  {text}"


def _left_out(conformed: Conformed[Any]) -> Iterator[str]:
    if conformed.left_out:
        yield from ("", "left out, because a run gave other bits")
        yield from (f"  {change}" for change in conformed.left_out)


def _remaining(conformed: Conformed[Any], *, every: bool) -> Iterator[str]:
    places: dict[tuple[str, str], list[str]] = {}
    for obligation, reason in conformed.remaining:
        places.setdefault((obligation.rule.id, reason), []).append(obligation.place)
    if not places:
        return
    yield from ("", "still violated")
    counts = Counter({key: len(found) for key, found in places.items()})
    for line, (key, _) in zip(_table(counts), counts.most_common(), strict=True):
        yield line
        found = places[key]
        if every:
            yield from (f"    {place}" for place in found)
        else:
            more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
            yield f"    {', '.join(found[:_SHOWN])}{more}"


def _summary(conformed: Conformed[Any]) -> str:
    before, after = len(conformed.before.violations), len(conformed.remaining)
    if not conformed.changes:
        return f"nothing to change; {_violations(after)}"
    nodes = sum(len(change.added) for change in conformed.changes)
    added = f"{nodes:,} new node{'' if nodes == 1 else 's'}"
    return (
        f"{_violations(before)} before, {after:,} now; {_changes(conformed.changes)}, with {added}"
    )


def _changes(changes: tuple[Made, ...]) -> str:
    rounding = sum(change.safety is Safety.ROUNDING for change in changes)
    if len(changes) == 1:
        return "1 change, rounding" if rounding else "1 change, safe"
    return f"{len(changes):,} changes, {f'{rounding:,}' if rounding else 'all'} of them " + (
        "rounding" if rounding else "safe"
    )


def _violations(count: int) -> str:
    return f"{count:,} violation{'' if count == 1 else 's'}" if count else "nothing is violated"
