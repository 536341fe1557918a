"""How waivers meet obligations: which violations they are for, and what is enforced in their place.

A waiver is for exactly one violation. Where the shapes of operands are not equal a Broadcast is
written out in front of the node, and all other rules are enforced behind it. Of another rule
nothing is enforced; of what else binds the node, all is.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.rule import Subject


def waiver_of(obligation: Obligation, waivers: Iterable[Waiver]) -> Waiver | None:
    """Give the first waiver that names an obligation, whatever its model and status; None for none.

    Args:
        obligation: The obligation.
        waivers: The waivers.
    """
    rule, node, path = obligation.rule.id, obligation.node, obligation.path
    return next((waiver for waiver in waivers if waiver.is_for(rule, node, path)), None)


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
    waived: dict[tuple[int, int], Waiver] = {}
    for waiver in waivers:
        place = _place(reports, waiver)
        if place in waived:
            raise SonnxError(f"{waiver.place} is the second one for that violation; remove one")
        waived[place] = waiver
    return tuple(
        mark(report, [w for (position, _), w in waived.items() if position == index], today)
        for index, report in enumerate(reports)
    )


def mark(report: Report, waivers: Sequence[Waiver], today: dt.date) -> Report:
    """Mark the violations of a report that waivers name, and pass over other waivers.

    Args:
        report: The report.
        waivers: The waivers, of any model.
        today: The day on which they have to hold.
    """

    def marked(obligation: Obligation) -> Obligation:
        waiver = waiver_of(obligation, waivers) if _fails(obligation) else None
        if waiver is None:
            return obligation
        return replace(obligation, waiver=waiver, waiver_expired=waiver.expired(today))

    return replace(report, obligations=tuple(map(marked, report.obligations)))


def tolerate(
    examined: ExaminedNode, waivers: Sequence[Waiver], broadcasting: Callable[[], ExaminedNode]
) -> ExaminedNode:
    """Give what is to be enforced of a node whose violations waivers may be for.

    Args:
        examined: The node.
        waivers: Those of the model.
        broadcasting: Examines the node with a Broadcast in front.
    """
    violated = [o for o in examined.obligations if o.status is Status.VIOLATED]
    waived = tuple(o for o in violated if waiver_of(o, waivers) is not None)
    if not waived:
        return examined
    unequal = [o for o in violated if _about_equal_shapes(o)]
    if unequal and all(o in waived for o in unequal):
        examined = broadcasting()
    return replace(examined, waived=waived)


def still_violated(examined: ExaminedNode) -> tuple[Obligation, ...]:
    """Say why no Broadcast takes the place of equal shapes that are waived; empty where one does.

    Args:
        examined: The node, with what is to be enforced of it.
    """
    waived = {o.rule.id for o in examined.waived if _about_equal_shapes(o)}
    return tuple(
        o for o in examined.obligations if o.rule.id in waived and o.status is Status.VIOLATED
    )


def _about_equal_shapes(obligation: Obligation) -> bool:
    return obligation.rule.requirement.subject is Subject.EQUAL_SHAPES


def _fails(obligation: Obligation) -> bool:
    return obligation.enforced and obligation.status is Status.VIOLATED


def _place(reports: Sequence[Report], waiver: Waiver) -> tuple[int, int]:
    """Find the one violation that a waiver is for: its report's position, and its own in that."""
    named = {
        (index, position): obligation
        for index, report in enumerate(reports)
        if waiver.model in (None, report.identity.sha256)
        for position, obligation in enumerate(report.obligations)
        if waiver_of(obligation, [waiver]) is not None
    }
    match [place for place, obligation in named.items() if _fails(obligation)]:
        case [place]:
            return place
        case []:
            raise SonnxError(f"{waiver.place} is for no violation: {_why(named.values())}")
        case places:
            raise SonnxError(
                f"{waiver.place} is for {len(places)} violations; tell them apart by 'path', "
                "or by 'model'"
            )


def _why(named: Iterable[Obligation]) -> str:
    for obligation in named:
        if obligation.status is not Status.VIOLATED:
            return f"the rule is {obligation.status} there; remove it"
        return f"{obligation.operator} is not among the operators to be enforced; remove it"
    return "no such rule binds such a node; correct or remove it"
