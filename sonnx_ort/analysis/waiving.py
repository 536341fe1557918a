"""Applies waivers to reports: each to the one violation that it is for."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.judgement import Status

_Place = tuple[int, int]
"""The position of a report, and that of an obligation in it."""


def waive(
    reports: Sequence[Report], waivers: Iterable[Waiver], today: dt.date
) -> tuple[Report, ...]:
    """Mark the violations that waivers are for.

    A waiver that expired marks its violation too, which stays one.

    Args:
        reports: The reports of models that were checked together, of all their rules.
        waivers: The waivers.
        today: The day on which they have to hold.

    Returns:
        The reports with the waivers, in their order.

    Raises:
        SonnxError: A waiver is for no violation, for several, or for one that has a waiver.
    """
    waived: dict[_Place, Waiver] = {}
    for waiver in waivers:
        place = _place(reports, waiver)
        if place in waived:
            raise SonnxError(f"{waiver.place} is the second one for that violation; remove one")
        waived[place] = waiver
    return tuple(
        replace(
            report,
            obligations=tuple(
                _marked(obligation, waived.get((index, position)), today)
                for position, obligation in enumerate(report.obligations)
            ),
        )
        for index, report in enumerate(reports)
    )


def mark(report: Report, waivers: Iterable[Waiver], today: dt.date) -> Report:
    """Mark the violations of a report that waivers are for, and pass over other waivers.

    Args:
        report: The report.
        waivers: The waivers, which were settled for another report.
        today: The day on which they have to hold.
    """
    waivers = tuple(waivers)
    obligations = []
    for obligation in report.obligations:
        own = (w for w in waivers if w.is_for(obligation.rule.id, obligation.node, obligation.path))
        violated = obligation.enforced and obligation.status is Status.VIOLATED
        obligations.append(_marked(obligation, next(own, None) if violated else None, today))
    return replace(report, obligations=tuple(obligations))


def _marked(obligation: Obligation, waiver: Waiver | None, today: dt.date) -> Obligation:
    if waiver is None:
        return obligation
    return replace(obligation, waiver=waiver, waiver_expired=waiver.expired(today))


def _place(reports: Sequence[Report], waiver: Waiver) -> _Place:
    """Find the one violation that a waiver is for."""
    bound = dict(_bound(reports, waiver))
    violated = [p for p, o in bound.items() if o.enforced and o.status is Status.VIOLATED]
    match violated:
        case [place]:
            return place
        case []:
            raise SonnxError(f"{waiver.place} is for no violation: {_why(bound.values())}")
        case _:
            raise SonnxError(
                f"{waiver.place} is for {len(violated)} violations; tell them apart by 'path', "
                "or by 'model'"
            )


def _bound(reports: Sequence[Report], waiver: Waiver) -> Iterator[tuple[_Place, Obligation]]:
    for index, report in enumerate(reports):
        if waiver.model not in (None, report.identity.sha256):
            continue
        for position, o in enumerate(report.obligations):
            if waiver.is_for(o.rule.id, o.node, o.path):
                yield (index, position), o


def _why(bound: Iterable[Obligation]) -> str:
    for obligation in bound:
        if obligation.status is not Status.VIOLATED:
            return f"the rule is {obligation.status} there; remove it"
        return f"{obligation.operator} is not among the operators to be enforced; remove it"
    return "no such rule binds such a node; correct or remove it"
