"""What the obligations of a node say of it together."""

import enum
from collections.abc import Mapping

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.profile.judgement import Status

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
