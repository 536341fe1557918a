"""The verdict on a model, the state of each of its nodes, and remedies in words."""

import enum
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import BOUND, Coverage, Extent, Report
from sonnx_ort.errors import to_html
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.profile.catalog import OperatorStanding
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.options import Broadcasting
from sonnx_ort.profile.rule import Rule, Status, Subject
from sonnx_ort.profile.source import Basis

MENDABLE = "[*]"
"""The mark of a violation that `conform` fixes without changing a result."""

MENDABLE_BY_ROUNDING = "[~]"
"""The mark of a violation that `conform` fixes if it may round otherwise."""

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
        failing = _share(len(report.violations), total)
        fixed = [
            f"sonnx-ort conform{option} fixes {share}"
            for _, option, share, _ in fixed_by_conform(report.violations)
        ]
        sentences = [
            f"{failing} for every input.",
            *_in_bodies(report.violations),
            "sonnx-ort rewrite refuses the model.",
            *([f"{', '.join(fixed)}."] if fixed else []),
            *new_violations(report),
            *_passed_over(report),
        ]
        return Verdict(NodeState.VIOLATED, "Violated", " ".join(sentences))
    if report.waived:
        failing = _share(len(report.waived), total)
        sentences = [
            f"{failing} for every input, and waivers accept that.",
            *_in_bodies(report.waived),
            "With these waivers, sonnx-ort rewrite enforces the others.",
            *_passed_over(report),
        ]
        return Verdict(NodeState.VIOLATED, "Violated, and waived", " ".join(sentences))
    if report.left_out.violated:
        left_out = counted(report.left_out.violated, "violated check")
        told = f"The selection of rules leaves {left_out} out; no other is found before a run."
        detail = " ".join([told, *_passed_over(report)])
        return Verdict(NodeState.VIOLATED, "Violated, and left out", detail)
    if total == 0:
        return Verdict(NodeState.NOT_ASKED_FOR, "Not checked", _absent(report))
    in_runs = runtime - len(resting_on_declarations(report))
    if runtime == 0:
        word, proved = "Kept", "proved for every run"
    else:
        word = f"Kept, with {counted(in_runs, 'check')} in each run" if in_runs else "Kept"
        word += "" if in_runs else " once rewritten"
        proved = f"{report.counts['proved']:,} of them proved for every run"
    if in_runs:
        proved += (
            f". The rewritten model checks {'the other ' if in_runs == runtime else ''}{in_runs:,} "
            "in each run, and fails with an error if one is violated"
        )
    if in_runs < runtime:
        proved += ". The rewritten model declares no shapes of inner values that are not proved"
    state = NodeState.RUNTIME if runtime else NodeState.PROVED
    found = f"{_keeping(report)}{counted(total, 'check')}{_rewritten(report)}, {proved}."
    sentences = [found, *([bound(report)] if report.whole else _passed_over(report))]
    return Verdict(state, word, " ".join(sentences))


def resting_on_declarations(report: Report) -> list[Obligation]:
    """What no run checks: declared shapes that are not proved, and what holds if they are true."""
    return [obligation for obligation in report.enforced if obligation.rests_on_declaration]


def _in_bodies(obligations: Sequence[Obligation]) -> list[str]:
    """How many of some violations not every run reaches, as a sentence; none if it is none.

    Rules on graphs are violated by the file alone.
    """
    of_graph = Subject.GRAPH
    count = sum(bool(o.path) and o.rule.requirement.subject is not of_graph for o in obligations)
    if not count:
        return []
    lie, them = ("lies at a node", "it") if count == 1 else ("lie at nodes", "them")
    return [
        f"{count:,} of them {lie} in a branch or loop, so that only runs that reach {them} fail."
    ]


def _share(count: int, total: int) -> str:
    return f"{count:,} of {counted(total, 'check')} {'fails' if count == 1 else 'fail'}"


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
    """How many nodes have a standing, and of which operators they are."""
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


def causes(obligations: Sequence[Obligation]) -> list[tuple[Obligation, ...]]:
    """Obligations by their cause: those of one rule with one remedy, whatever the shapes.

    Rules on operators come first, of these those that SONNX states, and then what many nodes share.
    """
    by_cause: dict[tuple[Rule, str], list[Obligation]] = defaultdict(list)
    for obligation in obligations:
        by_cause[obligation.rule, obligation.hint.partition(",")[0]].append(obligation)
    return sorted(map(tuple, by_cause.values()), key=_order)


def _order(cause: Sequence[Obligation]) -> tuple[bool, bool, int]:
    """Rules of the graph and our own come last, and the most frequent causes first."""
    rule = cause[0].rule
    return rule.requirement.subject is Subject.GRAPH, rule.basis is Basis.OURS, -len(cause)


def mark_of(obligation: Obligation) -> str:
    """The mark of a violation that `conform` fixes; else nothing."""
    mark = MENDABLE_BY_ROUNDING if obligation.rounding else MENDABLE
    return mark if obligation.mendable else ""


def fixed_by_conform(
    violations: Sequence[Obligation], whole: str = "", of_all: str = ""
) -> list[tuple[str, str, str, str]]:
    """What `conform` fixes of some violations, without rounding and with it alone.

    Returns:
        For each the mark, the option that it takes, how many it fixes, as in "3 of 4" and "1 more",
        or `whole` if it fixes all, and the title of the first change.
    """
    found: list[tuple[str, str, str, str]] = []
    for mark, option in ((MENDABLE, ""), (MENDABLE_BY_ROUNDING, " --rounding")):
        fixed = [o for o in violations if mark_of(o) == mark]
        if fixed:
            share = f"{len(fixed):,}" + (" more" if found else of_all)
            all_fixed = whole and len(fixed) == len(violations)
            found.append((mark, option, whole if all_fixed else share, fixed[0].mendable))
    return found


def advised(violations: Sequence[Obligation]) -> list[str]:
    """What `conform` fixes of some violations with a further option: the first reason, if any.

    Nothing is said twice: the hint may name the options itself.
    """
    found = [in_command(o.advice) for o in violations if o.advice and not _in_hint(o)]
    share = "it" if len(found) == len(violations) else f"{len(found):,} of {len(violations):,}"
    return [f"sonnx-ort conform with an option may fix {share}: {each}" for each in found[:1]]


def _in_hint(violation: Obligation) -> bool:
    hint = in_command(violation.hint)
    return all(each.in_command in hint for each in violation.options)


def new_violations(report: Report) -> list[str]:
    """What is violated anew after `conform`, as a sentence for each of its two forms."""
    new = report.new_violations
    forms = [("", new.safe)]
    if new.rounding != new.safe:
        forms.append((" --rounding", new.rounding))
    return [
        f"What sonnx-ort conform{option} adds has {counted(sum(found.values()), 'new violation')} "
        f"({', '.join(sorted(found))})."
        for option, found in forms
        if found
    ]


_STYLE = ' style="text-align: left; vertical-align: top"'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in HTML of texts, which are escaped; a line break stays one."""
    cells = "".join(f"<th{_STYLE}>{to_html(text)}</th>" for text in head)
    body = "".join(
        f"<tr>{''.join(f'<td{_STYLE}>{_in_lines(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _in_lines(text: str) -> str:
    return "<br>".join(map(to_html, text.split("\n")))
