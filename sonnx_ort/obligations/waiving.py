"""How waivers meet obligations: which violations they cover, and what is enforced in their place.

A waiver covers exactly one violation. Where the shapes of operands are not equal a Broadcast is
written out in front of the node, and all other rules are enforced behind it. Of another rule
nothing is enforced; of what else binds the node, all is. A rewritten model's metadata names the
waivers that had effect, for people and their tools, and to recognize what the native backend made.
Nothing is exempt because a file says so: whoever rewrites such a model gives the waivers again.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.errors import SonnxError
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.obligation import Obligation, waiver_of
from sonnx_ort.obligations.report import ModelRejected, Report
from sonnx_ort.obligations.waivers import Waiver, waivers_from_json, waivers_to_json
from sonnx_ort.profile.rule import Rule, Status, Subject


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


WAIVERS = "sonnx_ort.waivers"
"""The key in a model's metadata under which the waivers stand that had effect on it."""


def recorded_waivers(properties: Mapping[str, str], key: str = WAIVERS) -> tuple[Waiver, ...]:
    """Read the waivers that had effect on a model, as it was written down.

    Args:
        properties: The model's metadata, or the options of a record.
        key: Where they stand in it.
    """
    return waivers_from_json(properties.get(key, "[]"))


def record_waivers(model: ir.Model, waivers: Sequence[Waiver]) -> bool:
    """Write into a model's metadata which waivers had effect on it.

    Args:
        model: The model; changed in place.
        waivers: The waivers.

    Returns:
        Whether it said otherwise before.
    """
    before = model.metadata_props.pop(WAIVERS, None)
    if waivers:
        model.metadata_props[WAIVERS] = waivers_to_json(waivers)
    return before != model.metadata_props.get(WAIVERS)


def with_recorded_waivers(report: Report, recorded: Sequence[Waiver]) -> Report:
    """Let a report say which of its obligations were waived before.

    Args:
        report: What was found of a model.
        recorded: The waivers that the model says had effect on it.
    """
    return replace(report, obligations=tuple(_annotated(o, recorded) for o in report.obligations))


def _annotated(obligation: Obligation, recorded: Sequence[Waiver]) -> Obligation:
    waiver = waiver_of(obligation, recorded)
    if waiver is None or not obligation.enforced:
        return obligation
    says = f"the model's metadata says that it was waived {waiver}"
    if obligation.status is Status.VIOLATED:
        hint = f"{obligation.hint}; {says}; give that waiver to tolerate it"
        return replace(obligation, hint=hint)
    return replace(obligation, evidence=f"{obligation.evidence}; {says}")


def waivers_in_effect(
    examination: Examination, recorded: Sequence[Waiver], given: Sequence[Waiver]
) -> tuple[Waiver, ...]:
    """Give the waivers that have effect on a model, which is refused where they are not enough.

    Args:
        examination: All that the profile demands of the model, which may be a rewritten one.
        recorded: The waivers that the model says had effect on it.
        given: The waivers that are given now.

    Raises:
        ModelRejected: As for `require_waived`.
        SonnxError: As for `require_waived`, or no Broadcast makes shapes equal that are waived.
    """
    applied = tuple(_applied(examination, recorded, given))
    effective = require_waived(examination.report, given, applied)
    for node in examination.nodes:
        for obligation in still_violated(node):
            raise _without_effect(obligation, obligation.evidence)
    return effective


def require_waived(
    report: Report, given: Sequence[Waiver], applied: Sequence[Waiver] = ()
) -> tuple[Waiver, ...]:
    """Refuse a model with a violation that no waiver is for, and waivers that cannot have effect.

    Args:
        report: What was found of the model.
        given: The waivers that are given now.
        applied: Those of which nothing is violated any more, as the model was rewritten with them.

    Returns:
        The waivers that have effect, each with the path of the node that it is for.

    Raises:
        ModelRejected: A violation has no waiver.
        SonnxError: A waiver has expired, is for no violation or for several, or for one of a rule
            without which no model is enforced.
    """
    today = _today()
    for waiver in given:
        if waiver.expired(today):
            raise SonnxError(
                f"{waiver.place} expired on {waiver.until.isoformat()}; mend the model, or have "
                "the waiver renewed"
            )
    left = [w for w in given if not any(replace(w, path=a.path) == a for a in applied)]
    (waived,) = waive([report], left, today)
    for obligation in waived.waived:
        if not obligation.rule.waivable:
            raise _without_effect(obligation, _why_not_waivable(obligation.rule))
    if not waived.ok:
        raise ModelRejected(waived)
    marked = (replace(o.waiver, path=o.path) for o in waived.waived if o.waiver is not None)
    return tuple(sorted((*applied, *marked), key=lambda w: (w.path or (), w.node, w.rule)))


def _applied(
    examination: Examination, recorded: Sequence[Waiver], given: Sequence[Waiver]
) -> Iterator[Waiver]:
    """The recorded waivers in whose place a Broadcast was written out, renewed where given."""
    places = {(rule.id, n.label, n.path) for n in examination.enforced for rule in n.rules}
    # Where all is the same in every run the standard operator was left behind the Broadcast.
    places |= {
        (o.rule.id, o.node, o.path)
        for o in examination.report.obligations
        if o.status is Status.PROVED and o.rule.requirement.subject is Subject.EQUAL_SHAPES
    }
    for old in recorded:
        for place in (place for place in places if old.is_for(*place)):
            renewed = (replace(new, path=place[-1]) for new in given if new.is_for(*place))
            yield next(renewed, old)


def _why_not_waivable(rule: Rule) -> str:
    if not rule.in_run:
        return "no run decides that rule, so that there is nothing to leave out"
    return (
        "it is not known that ONNX Runtime survives what breaks that rule, so that no model is "
        "rewritten without it"
    )


def _without_effect(obligation: Obligation, why: str) -> SonnxError:
    return SonnxError(
        f"the waiver of {obligation.rule.id} at {obligation.place} cannot have effect: {why}; "
        "mend the model"
    )


def _today() -> dt.date:
    return dt.date.today()
