"""The verdict on a model, and the state of each of its nodes."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import BOUND, Coverage, Extent, Report
from sonnx_ort.profile.catalog import OperatorStanding
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.options import Broadcasting
from sonnx_ort.profile.rule import Status

REFUSED = "[!]"
"""The mark of a violation for which `rewrite` rejects the model by default."""

OPERATORS_NAMED = 3
"""So many operators are named at most in a sentence."""

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
    """The verdict of a report."""

    state: NodeState
    word: str
    detail: str


def verdict(report: Report) -> Verdict:
    """The verdict of a report."""
    total, runtime = len(report.enforced), report.counts["runtime"]
    if not report.ok:
        failing, fixed = _share(len(report.violations), total), len(report.mendable)
        sentences = [
            f"{failing} whatever the inputs are.",
            *_refused(report),
            *([f"sonnx-ort conform fixes {fixed:,}."] if fixed else []),
            *_passed_over(report),
        ]
        return Verdict(NodeState.VIOLATED, "Violated", " ".join(sentences))
    if report.waived:
        failing = _share(len(report.waived), total)
        sentences = [
            f"{failing} whatever the inputs are, and waivers accept that.",
            "With these waivers, sonnx-ort rewrite enforces the others.",
            *_passed_over(report),
        ]
        return Verdict(NodeState.VIOLATED, "Violated, and waived", " ".join(sentences))
    if total == 0:
        return Verdict(NodeState.NOT_ASKED_FOR, "Not checked", _absent(report))
    if runtime == 0:
        word, proved = "Kept", "proved for every run"
    else:
        word = f"Kept, with {counted(runtime, 'check')} in each run"
        proved = (
            f"{report.counts['proved']:,} of them proved for every run. The rewritten model checks "
            f"the other {runtime:,} in each run, and fails with an error if one is violated"
        )
    state = NodeState.RUNTIME if runtime else NodeState.PROVED
    found = f"{_keeping(report)}{counted(total, 'obligation')}{_rewritten(report)}, {proved}."
    sentences = [found, *([bound(report)] if report.whole else _passed_over(report))]
    return Verdict(state, word, " ".join(sentences))


def _share(count: int, total: int) -> str:
    return f"{count:,} of {counted(total, 'obligation')} {'fails' if count == 1 else 'fail'}"


def _refused(report: Report) -> list[str]:
    """What `rewrite` says of the model, as a sentence."""
    if not report.whole:
        return ["sonnx-ort rewrite refuses the model."]
    refused = sum(violation.refused for violation in report.violations)
    if not refused:
        return ["sonnx-ort rewrite, which enforces Div and Sub by default, accepts the model."]
    if refused == len(report.violations):
        return ["sonnx-ort rewrite refuses the model."]
    marked = f"the {refused:,} marked {REFUSED}"
    return [f"sonnx-ort rewrite, which enforces Div and Sub by default, refuses {marked}."]


def _passed_over(report: Report) -> list[str]:
    """What a report of fewer operators says nothing of, as a sentence."""
    return [f"{_nodes_passed_over(report)}."] if report.passed_over else []


def _keeping(report: Report) -> str:
    """Which operators keep their rules, in front of a report of fewer than all."""
    looked_at = [c.operator for c in report.coverage if c.extent is Extent.ENFORCED]
    if report.whole or not looked_at:
        return ""
    if len(looked_at) > OPERATORS_NAMED:
        return "The operators named keep their rules: "
    keep = "keeps its" if len(looked_at) == 1 else "keep their"
    return f"{listed(looked_at, 'and')} {keep} rules: "


def _absent(report: Report) -> str:
    """Why nothing was checked: operators that the model does not have."""
    names = sorted(report.demands.operators - {BROADCAST.name}) or [BROADCAST.name]
    kinds = listed(names, "or") if len(names) <= OPERATORS_NAMED else "operator of those named"
    return f"There is no {kinds} here; {_nodes_passed_over(report)}."


def _nodes_passed_over(report: Report) -> str:
    count = report.passed_over
    return f"{counted(count, 'node')} {'was' if count == 1 else 'were'} not looked at"


def bound(report: Report) -> str:
    """What binds the nodes of a model, as a sentence; empty if there is no node."""
    by_standing: dict[OperatorStanding, list[Coverage]] = {}
    for coverage in report.coverage:
        by_standing.setdefault(coverage.standing, []).append(coverage)
    parts = [
        _bound(standing, by_standing[standing])
        for standing in OperatorStanding
        if standing in by_standing
    ]
    nodes = sum(coverage.nodes for coverage in report.coverage)
    return f"Of {counted(nodes, 'node')}, {', '.join(parts)}." if parts else ""


def _bound(standing: OperatorStanding, coverage: Sequence[Coverage]) -> str:
    nodes = sum(each.nodes for each in coverage)
    words = f"{nodes:,} {'is' if nodes == 1 else 'are'} {BOUND[standing]}"
    if standing is OperatorStanding.DRAFT:
        return words
    names = [each.operator for each in coverage]
    more = len(names) - OPERATORS_NAMED
    shown = ", ".join(names[:OPERATORS_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{words} ({shown})"


def listed(names: Sequence[str], word: str) -> str:
    """Names in a sentence, with a word in front of the last one."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def _rewritten(report: Report) -> str:
    """The subject of a verdict: with explicit broadcasting the given model may still broadcast."""
    explicit = report.broadcasting is Broadcasting.EXPLICIT
    return " of the rewritten model, with its broadcasts written out" if explicit else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun, given in the singular: `1 node`, `2 nodes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
