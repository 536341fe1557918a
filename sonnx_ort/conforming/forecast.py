"""The forecast of `check`: which violations `conform` would fix, and whether that rounds.

The changes are made without those that round. If there were any, they are made once more with them.
Each violation that is gone afterwards is marked, and those that are new are counted. Of one that is
left, the report has the reason if it names an option.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import NewViolations, Report
from sonnx_ort.conforming.outcome import outcome_of
from sonnx_ort.conforming.rounds import Made, Place, Selection, place_of
from sonnx_ort.conforming.worsening import Start, conform_without_worsening
from sonnx_ort.errors.remedies import Advice
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Status

_logger = logging.getLogger("sonnx_ort")

_AROUND = "change the nodes around it"
"""The title of what other changes fix beside their own."""


def with_marks(report: Report, starts: Iterator[Start]) -> Report:
    """The report, which says of each violation what change would fix it, and whether that rounds.

    Of one that only a further option fixes, it says which, and why. It also counts the violations
    that the changed model would have anew. Nothing else in it changes. A forecast that fails is
    omitted, for a report needs none.

    Args:
        report: The report.
        starts: The graph that it is of, as often as it is wanted; it is changed.
    """
    marks: dict[int, tuple[str, bool]] = {}
    new: list[dict[str, int]] = []
    reasons: dict[Place, Advice] = {}
    try:
        for rounding in (False, True):
            selection = Selection(frozenset(RULES), rounding)
            conformed = conform_without_worsening(starts, selection)
            outcome = outcome_of(report, conformed)
            titles = _titles(conformed.made)
            for obligation in outcome.fixed:
                place = place_of(obligation)
                title = titles.get(place) or titles.get(("", *place[1:4], "")) or _AROUND
                marks.setdefault(id(obligation), (title, rounding))
            reasons = {place: each for place, each in outcome.reasons.items() if each.remedies}
            new.append(dict(Counter(o.rule.id for o in outcome.new)))
            if len(marks) == len(report.violated) or not conformed.held_back:
                break
    except Exception as error:  # noqa: BLE001 - what is violated is known without it
        _logger.debug("what can be fixed is unknown: %s", error)

    def marked(obligation: Obligation) -> Obligation:
        if obligation.waived or obligation.status is not Status.VIOLATED:
            return obligation
        if (mark := marks.get(id(obligation))) is not None:
            return replace(obligation, mendable=mark[0], rounding=mark[1])
        reason = reasons.get(place_of(obligation))
        if reason is None:
            return obligation
        return replace(obligation, advice=reason, options=reason.remedies)

    counted = NewViolations(new[0], new[-1]) if new else NewViolations()
    obligations = tuple(map(marked, report.obligations))
    return replace(report, obligations=obligations, new_violations=counted)


def _titles(made: Iterable[Made]) -> dict[Place, str]:
    """The titles of changes by what they fix, and by their nodes for what they fix beside it."""
    titles: dict[Place, str] = {}
    for change in made:
        places = [*map(place_of, change.fixed), ("", change.operator, change.node, change.path, "")]
        for place in places:
            titles.setdefault(place, change.title)
    return titles
