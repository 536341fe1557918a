"""The verdict on a model and on each of its nodes."""

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
    """The state of a node that at least one rule binds, worst first."""

    VIOLATED = "violated"
    """A rule fails in every run."""

    RUNTIME = "runtime"
    """No rule fails in every run, and one is decided in each run."""

    PROVED = "proved"
    """All rules hold in every run."""

    NOT_ASKED_FOR = "not-asked-for"
    """No rule of it is to be enforced."""


def node_states(report: Report) -> Mapping[NodeKey, NodeState]:
    """Give each node the worst of its obligations that are to be enforced.

    Args:
        report: The report.
    """
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
    """What a report comes to.

    Attributes:
        state: As which state it is to be shown.
        word: The verdict.
        detail: What it means.
    """

    state: NodeState
    word: str
    detail: str


def verdict(report: Report) -> Verdict:
    """Say what a report comes to.

    Args:
        report: The report.
    """
    total, runtime = len(report.enforced), report.counts["runtime"]
    if not report.ok:
        count = len(report.violations)
        return Verdict(
            NodeState.VIOLATED,
            "Violated",
            f"{count:,} of {counted(total, 'obligation')} {'fails' if count == 1 else 'fail'} in "
            "every run that reaches the node. Such a model is not rewritten.",
        )
    if report.waived:
        return Verdict(
            NodeState.VIOLATED,
            "Violated, and waived",
            f"{len(report.waived):,} of {counted(total, 'obligation')}, each with a waiver. It is "
            "rewritten without what these are for, if they are given to rewrite as well.",
        )
    if total == 0:
        return Verdict(
            NodeState.NOT_ASKED_FOR,
            "Nothing to keep",
            "The model has no node of an operator that is to be enforced.",
        )
    if runtime == 0:
        return Verdict(
            NodeState.PROVED,
            "Kept",
            f"{counted(total, 'obligation')}, proved for every run{_rewritten(report)}.",
        )
    return Verdict(
        NodeState.RUNTIME,
        f"Kept, with {runtime:,} decided in runs",
        f"{counted(total, 'obligation')}: none is violated in every run, "
        f"{report.counts['proved']:,} proved{_rewritten(report)}. "
        f"The enforced model checks the other {runtime:,} in each run, and fails with an error "
        "where one is broken.",
    )


def _rewritten(report: Report) -> str:
    """Of what that is said: with explicit broadcasting the model as given may still broadcast."""
    explicit = report.broadcasting is Broadcasting.EXPLICIT
    return " of the rewritten model, where a Broadcast is written out" if explicit else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 node`, `2 nodes`.

    Args:
        number: How many.
        noun: Of what, in the singular.
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
