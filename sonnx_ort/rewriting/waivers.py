"""What a rewriting does with waivers: what a model goes without, and what its metadata says of it.

The metadata is for people and their tools, and to find out what the native backend did. Nothing is
exempt because a file says so: whoever rewrites such a model gives the waivers again.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import ModelRejected, Report
from sonnx_ort.analysis.waivers import Waiver, waivers_from_json, waivers_to_json
from sonnx_ort.analysis.waiving import still_violated, waive, waiver_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.rule import Rule, Subject

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
    report = with_recorded_waivers(examination.report, recorded)
    effective = require_waived(report, given, tuple(_applied(examination, recorded, given)))
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
