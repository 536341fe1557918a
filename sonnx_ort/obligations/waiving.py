"""Matches waivers with violations, and decides what is enforced instead.

A waiver covers exactly one violation. If the rule requires equal shapes, an explicit Broadcast is
inserted and all other rules are enforced behind it. Any other waived rule is not enforced; the
remaining rules of the node are. The metadata of the rewritten model lists the waivers used, for
readers and to recognize what the native backend generated. This list grants no exemption: rewriting
such a model again requires the waivers again.
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
    """Attach waivers to the violations that they cover, in unfiltered reports, in order.

    An expired waiver is attached too, but the violation still counts.

    Raises:
        SonnxError: A waiver matches no violation, several, or one that already has a waiver.
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
    """Attach waivers to the violations of one report; waivers that match none are ignored."""

    def marked(obligation: Obligation) -> Obligation:
        waiver = waiver_of(obligation, waivers) if _is_violation(obligation) else None
        if waiver is None:
            return obligation
        return replace(obligation, waiver=waiver, waiver_expired=waiver.expired(today))

    return replace(report, obligations=tuple(map(marked, report.obligations)))


def still_violated(examined: ExaminedNode) -> tuple[Obligation, ...]:
    """The waived equal-shape obligations for which no Broadcast can help."""
    waived = {o.rule.id for o in examined.waived if _requires_equal_shapes(o)}
    return tuple(
        o for o in examined.obligations if o.rule.id in waived and o.status is Status.VIOLATED
    )


def _requires_equal_shapes(obligation: Obligation) -> bool:
    return obligation.rule.requirement.subject is Subject.EQUAL_SHAPES


def _is_violation(obligation: Obligation) -> bool:
    return obligation.enforced and obligation.status is Status.VIOLATED


def _place(reports: Sequence[Report], waiver: Waiver) -> tuple[int, int]:
    """Find the one violation that a waiver covers: the index of the report, and its index there."""
    candidates = {
        (index, position): obligation
        for index, report in enumerate(reports)
        if waiver.model in (None, report.identity.sha256)
        for position, obligation in enumerate(report.obligations)
        if waiver_of(obligation, [waiver]) is not None
    }
    match [place for place, obligation in candidates.items() if _is_violation(obligation)]:
        case [place]:
            return place
        case []:
            raise SonnxError(f"{waiver.place} is for no violation: {_why(candidates.values())}")
        case places:
            raise SonnxError(
                f"{waiver.place} is for {len(places)} violations; tell them apart by 'path', "
                "or by 'model'"
            )


def _why(candidates: Iterable[Obligation]) -> str:
    for obligation in candidates:
        if obligation.status is not Status.VIOLATED:
            return f"the rule is {obligation.status} there; remove it"
        return f"{obligation.operator} is not among the operators to be enforced; remove it"
    return "no such rule binds such a node; correct or remove it"


WAIVERS = "sonnx_ort.waivers"
"""Key in a model's metadata for the waivers used."""


def recorded_waivers(properties: Mapping[str, str], key: str = WAIVERS) -> tuple[Waiver, ...]:
    """Read the waivers used from a model's metadata, or from the options of a record."""
    return waivers_from_json(properties.get(key, "[]"))


def record_waivers(model: ir.Model, waivers: Sequence[Waiver]) -> bool:
    """Write the waivers used into a model's metadata; return whether this changed it."""
    before = model.metadata_props.pop(WAIVERS, None)
    if waivers:
        model.metadata_props[WAIVERS] = waivers_to_json(waivers)
    return before != model.metadata_props.get(WAIVERS)


def with_recorded_waivers(report: Report, recorded: Sequence[Waiver]) -> Report:
    """Note in a report which obligations were waived before, according to the model's metadata."""
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
    """Return the waivers that apply to a model; reject the model if they are not sufficient.

    The model may be a rewritten one, which contains recorded waivers; the caller provides the given
    ones.

    Raises:
        ModelRejected: As for `require_waived`.
        SonnxError: As for `require_waived`, or no Broadcast can make waived shapes equal.
    """
    applied = tuple(_recorded_and_applied(examination, recorded, given))
    effective = require_waived(examination.report, given, applied)
    for node in examination.nodes:
        for obligation in still_violated(node):
            raise _ineffective(obligation, obligation.evidence)
    return effective


def require_waived(
    report: Report, given: Sequence[Waiver], applied: Sequence[Waiver] = ()
) -> tuple[Waiver, ...]:
    """Reject a model with a violation that no waiver covers, and waivers that cannot apply.

    Returns the waivers that apply, each with the path of its node. Of the given ones, a previous
    rewrite has `applied` some, so that no violation remains for them.

    Raises:
        ModelRejected: A violation has no waiver.
        SonnxError: A waiver has expired, matches no violation or several, or covers a rule that
            cannot be waived.
    """
    today = _today()
    for waiver in given:
        if waiver.expired(today):
            raise SonnxError(
                f"{waiver.place} expired on {waiver.until.isoformat()}; mend the model, or have "
                "the waiver renewed"
            )
    unused = [w for w in given if not any(replace(w, path=a.path) == a for a in applied)]
    (waived,) = waive([report], unused, today)
    for obligation in waived.waived:
        if not obligation.rule.waivable:
            raise _ineffective(obligation, _why_not_waivable(obligation.rule))
    if not waived.ok:
        raise ModelRejected(waived)
    marked = (replace(o.waiver, path=o.path) for o in waived.waived if o.waiver is not None)
    return tuple(sorted((*applied, *marked), key=lambda w: (w.path or (), w.node, w.rule)))


def _recorded_and_applied(
    examination: Examination, recorded: Sequence[Waiver], given: Sequence[Waiver]
) -> Iterator[Waiver]:
    """The recorded waivers with an inserted Broadcast, replaced by given ones if possible."""
    places = {(rule.id, n.label, n.path) for n in examination.enforced for rule in n.rules}
    # If the shapes are proved equal, the standard operator remains behind the Broadcast.
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


def _ineffective(obligation: Obligation, why: str) -> SonnxError:
    return SonnxError(
        f"the waiver of {obligation.rule.id} at {obligation.place} cannot have effect: {why}; "
        "mend the model"
    )


def _today() -> dt.date:
    return dt.date.today()
