"""What a rewritten model says of the violations that were waived when it was made.

It is for people and their tools, and to find out what the native backend did. Nothing is exempt
because a file says so: whoever rewrites such a model gives the waivers again.
"""

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import onnx_ir as ir

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import FIELDS, Waiver, from_fields, to_fields
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.judgement import Status

WAIVERS = "sonnx_ort.waivers"
"""The key in a model's metadata under which the waivers stand that had effect on it."""


def text_of(waivers: Iterable[Waiver]) -> str:
    """Give waivers as a line of JSON.

    Args:
        waivers: The waivers.
    """
    return json.dumps(
        [to_fields(waiver) for waiver in waivers],
        ensure_ascii=False,
        default=dt.date.isoformat,
    )


def waivers_in(text: str) -> tuple[Waiver, ...]:
    """Read what `text_of` gave.

    Args:
        text: The line.

    Returns:
        None of them if it is no such line.
    """
    try:
        return tuple(_waiver(entry) for entry in json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError, SonnxError):
        return ()


def _waiver(entry: dict[str, Any]) -> Waiver:
    fields = {name: entry[name] for name in FIELDS}
    return from_fields(fields | {"until": dt.date.fromisoformat(fields["until"])}, strict=False)


def told_waivers(model: ir.Model) -> tuple[Waiver, ...]:
    """Read from a model's metadata which waivers it says had effect on it.

    Args:
        model: The model.
    """
    return waivers_in(model.metadata_props.get(WAIVERS, "[]"))


def tell_waivers(model: ir.Model, waivers: Sequence[Waiver]) -> bool:
    """Write into a model's metadata which waivers had effect on it.

    Args:
        model: The model; changed in place.
        waivers: The waivers.

    Returns:
        Whether it said otherwise before.
    """
    before = model.metadata_props.pop(WAIVERS, None)
    if waivers:
        model.metadata_props[WAIVERS] = text_of(waivers)
    return before != model.metadata_props.get(WAIVERS)


def with_told_waivers(report: Report, model: ir.Model) -> Report:
    """Let a report say what a model's metadata says of its obligations.

    Args:
        report: What was found of the model.
        model: The model.
    """
    told = told_waivers(model)
    if not told:
        return report
    return replace(report, obligations=tuple(_annotated(o, told) for o in report.obligations))


def _annotated(obligation: Obligation, told: Sequence[Waiver]) -> Obligation:
    own = [w for w in told if w.is_for(obligation.rule.id, obligation.node, obligation.path)]
    if not own or not obligation.enforced:
        return obligation
    says = f"the model's metadata says that it was waived {own[0]}"
    if obligation.status is Status.VIOLATED:
        hint = f"{obligation.hint}; {says}; give that waiver to tolerate it"
        return replace(obligation, hint=hint)
    return replace(obligation, evidence=f"{obligation.evidence}; {says}")
