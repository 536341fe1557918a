"""In what two analyses, or two rewritings, of one model differ."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sonnx_ort.recording.changes import Change
from sonnx_ort.recording.record import Analysis, Document, ModelFiles, place_of

_NOT_COMPARED = frozenset({"waiver"})
"""What is no part of an analysis, but of what somebody said of it."""


def differing_obligations(recorded: Analysis, today: Analysis) -> Iterator[str]:
    """Tell, obligation by obligation, what is not the same.

    Args:
        recorded: What a record has of a model.
        today: What is found of it now.
    """
    before, after = _by_place(recorded.obligations), _by_place(today.obligations)
    for place in dict.fromkeys((*before, *after)):
        told = f"{place[0]} at {place[1]}"
        if place not in after:
            yield f"{told}: recorded as {before[place]['status']}, and not found today"
        elif place not in before:
            yield f"{told}: {after[place]['status']} today, and not recorded"
        else:
            fields = [name for name in before[place] if name not in _NOT_COMPARED]
            for name in fields:
                old, new = before[place][name], after[place].get(name)
                if old != new:
                    yield f"{told}: {name} recorded as {_shown(old)}, today {_shown(new)}"


def differing_surroundings(recorded: Analysis, today: Analysis) -> Iterator[str]:
    """Tell what findings and operators are not the same.

    Args:
        recorded: What a record has of a model.
        today: What is found of it now.
    """
    for name, before, after in (
        ("finding", recorded.findings, today.findings),
        ("operator", recorded.coverage, today.coverage),
    ):
        yield from _only_in_one(name, map(_in_words, before), map(_in_words, after))


def differing_changes(recorded: Sequence[Change], today: Sequence[Change]) -> Iterator[str]:
    """Tell which nodes rewriting changes otherwise.

    Args:
        recorded: The changes of a record.
        today: Those that rewriting makes now.
    """
    yield from _only_in_one("change", map(str, recorded), map(str, today))


def differing_files(recorded: ModelFiles, found: ModelFiles) -> Iterator[str]:
    """Tell which files of a model are not those that were recorded.

    Args:
        recorded: The files of a record.
        found: The files that are there.
    """
    if recorded.sha256 != found.sha256:
        yield f"the model: SHA-256 recorded as {recorded.sha256}, is {found.sha256}"
    for location in sorted(recorded.external.keys() | found.external.keys()):
        old, new = recorded.external.get(location), found.external.get(location)
        if old != new:
            yield f"its external data '{location}': SHA-256 recorded as {old}, is {new}"


def _by_place(obligations: Iterable[Document]) -> dict[tuple[str, str, int], Document]:
    """Obligations by rule, by node in words, and by which of several there it is."""
    found: dict[tuple[str, str, int], Document] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for obligation in obligations:
        place = (str(obligation["rule"]), place_of(obligation))
        found[*place, seen[place]] = obligation
        seen[place] += 1
    return found


def _only_in_one(kind: str, recorded: Iterable[str], today: Iterable[str]) -> Iterator[str]:
    before, after = Counter(recorded), Counter(today)
    yield from (f"{kind} recorded, and not found today: {entry}" for entry in before - after)
    yield from (f"{kind} found today, and not recorded: {entry}" for entry in after - before)


def _in_words(entry: Document) -> str:
    return ", ".join(f"{name} {value}" for name, value in entry.items())


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
