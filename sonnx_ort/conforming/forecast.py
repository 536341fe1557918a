"""The forecast of `check`: which violations `conform` would fix, and whether that rounds.

The changes are made, without those that round and with them, and each violation that is gone
afterwards is marked.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from sonnx_ort.conforming.rounds import Made, Place, Selection, place_of
from sonnx_ort.conforming.worsening import Start, conform_without_worsening
from sonnx_ort.obligations.report import Report
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Status

_logger = logging.getLogger("sonnx_ort")

_AROUND = "change the nodes around it"
"""The title of what other changes fix beside their own."""


def with_marks(report: Report, starts: Iterator[Start]) -> Report:
    """The report, which says of each violation what change would fix it, and whether that rounds.

    Nothing else in it changes. A forecast that fails is omitted, for a report needs none.

    Args:
        report: The report.
        starts: The graph that it is of, as often as it is wanted; it is changed.
    """
    forecast: dict[Place, tuple[str, bool]] = {}
    wanted = {place_of(o) for o in report.violations}
    try:
        for rounding in (False, True):
            selection = Selection(frozenset(RULES), rounding)
            conformed = conform_without_worsening(starts, selection)
            # Changes that round are made after the others.
            done = Start(conformed.model, conformed.examination, conformed.examine)
            starts = chain([done], starts)
            remaining = {place_of(o) for o in conformed.examination.report.violations}
            titles = _titles(conformed.made)
            for place in wanted - remaining:
                title = titles.get(place) or titles.get(("", *place[1:4], "")) or _AROUND
                forecast[place] = title, rounding
            wanted &= remaining
            if not wanted:
                break
    except Exception as error:  # noqa: BLE001 - what is violated is known without it
        _logger.debug("what can be fixed is unknown: %s", error)
    marked = (
        o if known is None else replace(o, mendable=known[0], rounding=known[1])
        for o in report.obligations
        for known in [forecast.get(place_of(o)) if o.status is Status.VIOLATED else None]
    )
    return replace(report, obligations=tuple(marked))


def _titles(made: Iterable[Made]) -> dict[Place, str]:
    """The titles of changes by what they fix, and by their nodes for what they fix beside it."""
    titles: dict[Place, str] = {}
    for change in made:
        places = [*map(place_of, change.fixed), ("", change.operator, change.node, change.path, "")]
        for place in places:
            titles.setdefault(place, change.title)
    return titles
