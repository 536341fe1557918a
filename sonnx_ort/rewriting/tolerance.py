"""What a model may be rewritten without: the violations that waivers in force are for."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.report import ModelRejected, Report
from sonnx_ort.analysis.tolerance import still_violated
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.analysis.waiving import waive
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.rule import Rule, Subject


def require_kept_or_waived(
    report: Report, waivers: Iterable[Waiver], settled: Iterable[Waiver] = ()
) -> tuple[Waiver, ...]:
    """Refuse a model with a violation that no waiver is for, and waivers that cannot have effect.

    Args:
        report: What was found of the model.
        waivers: The waivers.
        settled: Those that had effect when the model was rewritten before.

    Returns:
        The waivers, each with the path of the node that it is for.

    Raises:
        ModelRejected: A violation has no waiver.
        SonnxError: A waiver has expired, is for no violation or for several, or for one of a rule
            without which no model is enforced.
    """
    waivers = tuple(waivers)
    today = _today()
    for waiver in waivers:
        if waiver.expired(today):
            raise SonnxError(
                f"{waiver.place} expired on {waiver.until.isoformat()}; mend the model, or have "
                "the waiver renewed"
            )
    settled = tuple(settled)
    (waived,) = waive([report], [w for w in waivers if not _among(w, settled)], today)
    effective = tuple(
        replace(o.waiver, path=o.path) for o in waived.obligations if o.waiver is not None
    )
    for obligation in waived.waived:
        if not obligation.rule.waivable:
            raise SonnxError(
                f"the waiver of {obligation.rule.id} at {obligation.place} cannot have effect: "
                f"{_why_not_waivable(obligation.rule)}; mend the model"
            )
    if not waived.ok:
        raise ModelRejected(waived)
    # Rewritten again, a model has some of them settled.
    return tuple(sorted((*settled, *effective), key=lambda w: (w.path or (), w.node, w.rule)))


def require_effect(nodes: Iterable[ExaminedNode]) -> None:
    """Refuse waivers of equal shapes where no Broadcast can take their place.

    Args:
        nodes: The nodes that are to be enforced.

    Raises:
        SonnxError: There is one.
    """
    for obligation in (o for node in nodes for o in still_violated(node)):
        raise SonnxError(
            f"the waiver of {obligation.rule.id} at {obligation.place} cannot have effect: "
            f"{obligation.evidence}; mend the model"
        )


def settled_before(
    examination: Examination, told: Iterable[Waiver], waivers: Sequence[Waiver]
) -> tuple[Waiver, ...]:
    """The waivers in whose place a Broadcast was written out, so that nothing is violated any more.

    Args:
        examination: All that the profile demands of a model that may be a rewritten one.
        told: The waivers that the model says had effect on it.
        waivers: Those that are given now; one of the same violation takes the place of the other.
    """
    places = {(rule.id, n.label, n.path) for n in examination.enforced for rule in n.rules}
    # Where all is the same in every run the standard operator was left behind the Broadcast.
    places |= {
        (o.rule.id, o.node, o.path)
        for o in examination.report.obligations
        if o.status is Status.PROVED and o.rule.requirement.subject is Subject.EQUAL_SHAPES
    }
    settled = []
    for place, old in ((place, old) for old in told for place in places if old.is_for(*place)):
        renewed = (replace(new, path=place[-1]) for new in waivers if new.is_for(*place))
        settled.append(next(renewed, old))
    return tuple(settled)


def _why_not_waivable(rule: Rule) -> str:
    if not rule.in_run:
        return "no run decides that rule, so that there is nothing to leave out"
    return (
        "it is not known that ONNX Runtime survives what breaks that rule, so that no model is "
        "rewritten without it"
    )


def _among(waiver: Waiver, others: Iterable[Waiver]) -> bool:
    return any(replace(waiver, path=other.path) == other for other in others)


def _today() -> dt.date:
    return dt.date.today()
