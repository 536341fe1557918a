"""Matches waivers with violations, and decides what is enforced instead.

A waiver covers exactly one violation, or as many as it says. If the rule requires equal shapes, an
explicit Broadcast is inserted and all other rules are enforced after it. Any other waived rule is
not enforced; the remaining rules of the node are. The metadata of the rewritten model lists the
waivers used, for readers and to recognize what the native backend generated. This list grants no
exemption: rewriting such a model again requires the waivers again.
"""

import datetime as dt
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import Obligation, waiver_of
from sonnx_ort.analysis.report import ModelRejected, Report
from sonnx_ort.analysis.waivers import Waiver, waivers_from_json, waivers_to_json
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice
from sonnx_ort.profile.rule import Rule, Status, Subject


def waive(
    reports: Sequence[Report], waivers: Iterable[Waiver], today: dt.date
) -> tuple[Report, ...]:
    """Attach waivers to the violations that they cover, in unfiltered reports, in order.

    An expired waiver is attached too, but the violation still counts.

    Raises:
        SonnxError: A waiver matches no violation, another number of them than it covers, or one
            that already has a waiver.
    """
    waived: dict[tuple[int, int], Waiver] = {}
    for waiver in waivers:
        for place, violation in _violations(reports, waiver).items():
            if place in waived:
                raise SonnxError(
                    f"{waiver.place} is the second waiver for the violation at {violation.place}; "
                    "remove one"
                )
            waived[place] = waiver
    return tuple(
        mark(report, list(dict.fromkeys(w for (i, _), w in waived.items() if i == index)), today)
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


def _violations(reports: Sequence[Report], waiver: Waiver) -> Mapping[tuple[int, int], Obligation]:
    """Find the violations that a waiver covers, by the index of the report and the index there."""
    candidates = {
        (index, position): obligation
        for index, report in enumerate(reports)
        if waiver.model in (None, report.identity.sha256)
        for position, obligation in enumerate(report.obligations)
        if waiver_of(obligation, [waiver]) is not None
    }
    found = {place: o for place, o in candidates.items() if _is_violation(o)}
    if not found:
        raise SonnxError(f"{waiver.place} matches no violation: {_why(candidates.values())}")
    if len(found) != (waiver.count or 1):
        raise SonnxError(f"{waiver.place} matches {_other_number(waiver, [*found.values()])}")
    return found


def _other_number(waiver: Waiver, found: Sequence[Obligation]) -> str:
    number = "1 violation" if len(found) == 1 else f"{len(found)} violations"
    if waiver.count is None:
        return f"{number}; add 'path' or 'model' to select one"
    first = ", ".join(obligation.place for obligation in found[:3])
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return (
        f"{number}, but its 'count' is {waiver.count}: {first}{more}; review them, and correct "
        "the waiver or the model"
    )


def _why(candidates: Iterable[Obligation]) -> str:
    """Why a waiver matches no violation, and what to do then."""
    statuses = {obligation.status: obligation.operator for obligation in candidates}
    if Status.VIOLATED in statuses:
        operator = statuses[Status.VIOLATED]
        return f"{operator} is not among the enforced operators; remove the waiver"
    if statuses:
        return f"the rule is {' or '.join(sorted(statuses))} there; remove the waiver"
    return "no such node has this rule; correct or remove the waiver"


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
    needed = _needed(report, recorded)

    def annotated(obligation: Obligation) -> Obligation:
        waiver = waiver_of(obligation, recorded)
        if waiver is None or not obligation.enforced:
            return obligation
        # A waiver of many nodes does not say which of these were violated.
        what = "it was" if waiver.count is None else "such violations were"
        says = f"the model's metadata says that {what} waived {waiver}"
        if obligation.status is Status.VIOLATED:
            hint = Advice(obligation.hint, f"; {says}; give that waiver to accept it")
            return replace(obligation, hint=hint)
        if waiver in needed:
            return obligation
        return replace(obligation, evidence=f"{obligation.evidence}; {says}")

    return replace(report, obligations=tuple(map(annotated, report.obligations)))


def waivers_in_effect(
    examination: Examination,
    recorded: Sequence[Waiver],
    given: Sequence[Waiver],
    *,
    rewritten: bool = False,
) -> tuple[Waiver, ...]:
    """Return the waivers that apply to a model; reject the model if they are not sufficient.

    Args:
        examination: The examination of the model.
        recorded: The waivers in its metadata.
        given: The waivers of the caller.
        rewritten: Whether `rewrite` made the model, so that the recorded waivers are in effect.

    Raises:
        ModelRejected: As for `require_waived`.
        SonnxError: As for `require_waived`, or no Broadcast can make waived shapes equal.
    """
    held = {Status.PROVED, Status.RUNTIME} if rewritten else {Status.PROVED}
    applied = tuple(_recorded_and_applied(examination, recorded, given, held))
    effective = require_waived(examination.report, given, applied)
    for node in examination.nodes:
        for obligation in still_violated(node):
            raise _ineffective(obligation, obligation.evidence)
    return effective


def require_waived(
    report: Report, given: Sequence[Waiver], applied: Sequence[Waiver] = ()
) -> tuple[Waiver, ...]:
    """Reject a model with a violation that no waiver covers, and waivers that cannot apply.

    Returns the waivers that apply, those of one node with its path. Of the given ones, a previous
    rewrite has `applied` some, so that no violation remains for them.

    Raises:
        ModelRejected: A violation has no waiver.
        SonnxError: A waiver has expired, matches no violation or another number than it covers, or
            covers a rule that cannot be waived.
    """
    today = _today()
    for waiver in given:
        if waiver.expired(today):
            raise SonnxError(
                f"{waiver.place} expired on {waiver.until.isoformat()}; fix the model, or have "
                "the waiver renewed"
            )
    unused = [w for w in given if not any(w.at(a.path) == a for a in applied)]
    (waived,) = waive([report], unused, today)
    for obligation in waived.waived:
        if not obligation.rule.waivable:
            raise _ineffective(obligation, _why_not_waivable(obligation.rule))
    if not waived.ok:
        raise ModelRejected(waived)
    marked = (o.waiver.at(o.path) for o in waived.waived if o.waiver is not None)
    return tuple(sorted(dict.fromkeys((*applied, *marked)), key=_in_order))


def _in_order(waiver: Waiver) -> tuple[object, ...]:
    named = (waiver.node, waiver.rule, waiver.operator, waiver.nodes)
    return (waiver.path or (), *(name or "" for name in named))


def _recorded_and_applied(
    examination: Examination,
    recorded: Sequence[Waiver],
    given: Sequence[Waiver],
    held: Container[Status],
) -> Iterator[Waiver]:
    """The recorded waivers of enforced nodes, replaced by given ones if possible.

    Args:
        examination: The examination of the model.
        recorded: The recorded waivers.
        given: The given ones.
        held: What waived rules are after the Broadcast that made shapes equal.
    """
    places = {
        (o.rule.id, o.operator, o.node, o.path)
        for o in examination.report.obligations
        if o.status in held and _requires_equal_shapes(o)
    }
    needed = _needed(examination.report, recorded)
    for old in (waiver for waiver in recorded if waiver not in needed):
        for place in (place for place in places if old.is_for(*place)):
            renewed = (n for n in given if n.scope == old.scope and n.path in (None, place[-1]))
            yield next((new.at(place[-1]) for new in renewed), old)


def _needed(report: Report, recorded: Sequence[Waiver]) -> Container[Waiver | None]:
    """The recorded waivers that are for a violation still."""
    return {waiver_of(o, recorded) for o in report.obligations if _is_violation(o)}


def _why_not_waivable(rule: Rule) -> str:
    if rule.requirement.subject is Subject.HELD:
        return "ONNX Runtime itself refuses what violates it, so there is no check to waive"
    if not rule.in_run:
        return "no run checks that rule, so there is no check to waive"
    return (
        "ONNX Runtime may not survive a violation of that rule, so no model is rewritten without it"
    )


def _ineffective(obligation: Obligation, why: str) -> SonnxError:
    return SonnxError(
        f"the waiver of {obligation.rule.id} at {obligation.place} has no effect: {why}; "
        "fix the model"
    )


def _today() -> dt.date:
    return dt.date.today()
