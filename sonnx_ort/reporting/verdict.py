"""The verdict on a model, and the state of each of its nodes."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.profile.options import Broadcasting
from sonnx_ort.profile.rule import Status

NodeKey = tuple[str, tuple[str, ...]]
"""A node's name and path, as in its obligations."""


class NodeState(enum.StrEnum):
    """The state of a node to which at least one rule applies, worst first."""

    VIOLATED = "violated"
    """A rule is violated."""

    RUNTIME = "runtime"
    """No rule is violated, and each run checks at least one."""

    PROVED = "proved"
    """All rules are proved."""

    NOT_ASKED_FOR = "not-asked-for"
    """No rule of it is enforced."""


def node_states(report: Report) -> Mapping[NodeKey, NodeState]:
    """The worst status of each node's enforced obligations."""
    order = list(NodeState)
    states: dict[NodeKey, NodeState] = {}
    for obligation in report.obligations:
        if obligation.operator:
            key = (obligation.node, obligation.path)
            known = states.get(key, NodeState.NOT_ASKED_FOR)
            states[key] = min(known, _state(obligation), key=order.index)
    return states


def _state(obligation: Obligation) -> NodeState:
    if not obligation.enforced:
        return NodeState.NOT_ASKED_FOR
    return {
        Status.VIOLATED: NodeState.VIOLATED,
        Status.RUNTIME: NodeState.RUNTIME,
        Status.PROVED: NodeState.PROVED,
    }[obligation.status]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a report.

    Attributes:
        state: The state that determines how it is shown.
        word: The verdict.
        detail: What it means.
    """

    state: NodeState
    word: str
    detail: str


def verdict(report: Report) -> Verdict:
    """The verdict of a report."""
    total, runtime = len(report.enforced), report.counts["runtime"]
    if not report.ok:
        count = len(report.violations)
        return Verdict(
            NodeState.VIOLATED,
            "Violated",
            f"{count:,} of {counted(total, 'obligation')} {'fails' if count == 1 else 'fail'} in "
            f"every run that reaches the node. `rewrite` rejects the model.{_mendable(report)}",
        )
    if report.waived:
        return Verdict(
            NodeState.VIOLATED,
            "Violated, and waived",
            f"Waivers accept {len(report.waived):,} of {counted(total, 'obligation')}, which "
            "fail in every run that reaches the node. With these waivers, `rewrite` enforces the "
            "others.",
        )
    if total == 0:
        return Verdict(
            NodeState.NOT_ASKED_FOR,
            "Nothing to check",
            "No node of the model has an operator that is to be enforced.",
        )
    if runtime == 0:
        return Verdict(
            NodeState.PROVED,
            "Kept",
            f"{counted(total, 'obligation')}{_rewritten(report)}, proved for every run.",
        )
    return Verdict(
        NodeState.RUNTIME,
        f"Kept, with {counted(runtime, 'check')} in each run",
        f"{counted(total, 'obligation')}{_rewritten(report)}: {report.counts['proved']:,} proved, "
        f"none violated in every run. The rewritten model checks the other {runtime:,} in each "
        "run, and fails with an error if one is violated.",
    )


def _mendable(report: Report) -> str:
    """How much can be fixed, as a further sentence; empty if that is nothing."""
    count = len(report.mendable)
    return f" sonnx-ort conform can fix {count:,} of these." if count else ""


def _rewritten(report: Report) -> str:
    """The subject of a verdict: with explicit broadcasting the given model may still broadcast."""
    explicit = report.broadcasting is Broadcasting.EXPLICIT
    return " of the rewritten model, with its broadcasts written out" if explicit else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun, given in the singular: `1 node`, `2 nodes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
