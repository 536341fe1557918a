"""What conforming would mend, found without conforming: for the report of `check`.

All that `conform` does is done once and in its order, but nothing is examined again: what is
written down is judged, and one round of changes is made, with the facts from before. A change that
becomes possible only behind another one is not foreseen.
"""

import logging
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import onnx_ir as ir

from sonnx_ort.conforming.declarations import ALL, give_inputs, make_graph_explicit
from sonnx_ort.conforming.fixpoint import (
    CORRECT,
    REMOVE_DROPOUT,
    REMOVE_NODE,
    WRITE_DOWN,
    Made,
    Round,
    Selection,
)
from sonnx_ort.conforming.removal import (
    correct_false_claims,
    remove_dead_nodes,
    remove_dropouts,
    remove_unread,
    unread,
)
from sonnx_ort.loading.traversal import ValueNames, every_node
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.findings import find_declarations
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.obligations.targets import label_of
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.graph import DEAD_NODE, FALSE_CLAIM, GR3, GR4, GRAPH, INFERENCE
from sonnx_ort.profile.rule import VERSION, Status, Subject

_logger = logging.getLogger("sonnx_ort")

_Violation = tuple[str, str, str, tuple[str, ...], str]
"""A rule, the operator, node and path that it binds, and what is so there."""


def with_mendable(model: ir.Model, examination: Examination) -> Report:
    """The report, which says of each violation what safe change would mend it.

    Nothing else in it changes. A preview that fails is left out, for a report needs none.

    Args:
        model: The canonical graph that was examined; it is edited, and of no use afterwards.
        examination: Its examination.
    """
    report = examination.report
    if report.ok:
        return report
    try:
        titles = _titles(model, examination)
    except Exception as error:  # noqa: BLE001 - what is violated is known without it
        _logger.debug("what can be mended is not known: %s", error)
        return report
    marked = (
        _marked(o, titles) if o.enforced and _is_violated(o) else o for o in report.obligations
    )
    return replace(report, obligations=tuple(marked))


def _marked(obligation: Obligation, titles: Mapping[_Violation, str]) -> Obligation:
    title = titles.get(_violation(obligation))
    return obligation if title is None else replace(obligation, mendable=title)


def _violation(obligation: Obligation) -> _Violation:
    o = obligation
    return o.rule.id, o.operator, o.node, o.path, o.evidence


def _titles(model: ir.Model, examination: Examination) -> Mapping[_Violation, str]:
    """What would mend each violation, in the order in which `conform` does it."""
    violated = {o.rule.id for o in examination.report.violations}
    unread_before = unread(model.graph)
    removed: dict[ir.Node, str] = {}
    if INFERENCE.id in violated:
        removed |= _removed(model, REMOVE_DROPOUT, lambda: remove_dropouts(model))
    if FALSE_CLAIM.id in violated:
        correct_false_claims(model, examination.facts)
    kept = [n for n in examination.nodes if n.target.node not in removed]
    written = frozenset(map(_violation, _written_down(model, examination, kept)))
    made = _made(model, examination, kept, written)
    remove_unread(model.graph, unread_before)
    if DEAD_NODE.id in violated:
        removed |= _removed(model, REMOVE_NODE, lambda: remove_dead_nodes(model.graph))
    titles = dict.fromkeys(written, WRITE_DOWN)
    titles |= {_violation(o): change.title for change in made for o in change.mended}
    titles |= {
        _violation(o): title
        for node in examination.nodes
        if (title := removed.get(node.target.node)) is not None
        for o in node.obligations
    }
    if GRAPH in examination.report.demands.operators:
        titles |= _mended_in_graph(model, examination, removed, made)
    return titles


def _removed(model: ir.Model, title: str, edit: Callable[[], None]) -> Mapping[ir.Node, str]:
    """The nodes that an edit removes, each with its title."""
    before = every_node(model.graph)
    edit()
    left = frozenset(every_node(model.graph))
    return {node: title for node in before if node not in left}


def _written_down(
    model: ir.Model, examination: Examination, nodes: Sequence[ExaminedNode]
) -> list[Obligation]:
    """What is violated no more at nodes once types, shapes and attributes stand in the graph."""
    report, facts = examination.report, examination.facts
    violated = [n for n in nodes if any(map(_is_violated, n.obligations))]
    given = {n.target.node: len(n.target.node.attributes) for n in violated}
    if any(o.rule is GR4 for o in report.violations):
        give_inputs(model, facts, ValueNames(model))
    of_graph = ALL if GRAPH in report.demands.operators else frozenset[str]()
    make_graph_explicit(model, facts, of_graph, frozenset(given))
    completed = [n for n in violated if len(n.target.node.attributes) > given[n.target.node]]
    return [obligation for node in completed for obligation in _mended_by_attributes(node)]


def _mended_by_attributes(examined: ExaminedNode) -> Iterator[Obligation]:
    """The obligations of a node that its attributes of now do not violate."""
    target = examined.target
    given = {**target.attributes, VERSION: target.version}
    names, results = target.operand_names, target.declared_results
    for obligation in filter(_is_violated, examined.obligations):
        rule = RULES[obligation.rule.id]
        if rule.attributes:
            judgement, _ = rule.of_node(given).judge(names, examined.operands, results)
            if judgement.status is not Status.VIOLATED:
                yield obligation


def _made(
    model: ir.Model,
    examination: Examination,
    nodes: Sequence[ExaminedNode],
    mended: Container[_Violation],
) -> list[Made]:
    """The changes of one round, at nodes that violate something that is not mended before it."""
    left: list[ExaminedNode] = []
    for node in nodes:
        violated = tuple(o for o in node.obligations if _is_violated(o))
        kept = tuple(o for o in violated if _violation(o) not in mended)
        if kept:
            left.append(node if len(kept) == len(violated) else replace(node, obligations=kept))
    selection = Selection(frozenset(RULES))
    return Round(model, replace(examination, nodes=tuple(left)), selection, {}).make_changes()


def _mended_in_graph(
    model: ir.Model,
    examination: Examination,
    removed: Mapping[ir.Node, str],
    made: Sequence[Made],
) -> dict[_Violation, str]:
    """The violations of rules on graphs that are gone behind all of it, each with what does it."""
    changed = {(change.operator, change.node): change.title for change in made}
    places = {
        place: title
        for node, title in removed.items()
        for place in ((node.op_type, label_of(node)), *(("value", o.name) for o in node.outputs))
    }
    found = find_declarations(model, examination.facts)
    still = {_violation(finding.obligation()) for finding in found}
    titles: dict[_Violation, str] = {}
    for obligation in examination.report.violations:
        if obligation.rule.requirement.subject is not Subject.GRAPH:
            continue
        place, rule = (obligation.operator, obligation.node), obligation.rule.id
        gone = rule in _DECLARATIONS and _violation(obligation) not in still
        title = changed.get(place) if rule == GR3.id else _DECLARATIONS.get(rule)
        title = places.get(place, title if gone else None)
        if title is not None:
            titles[_violation(obligation)] = title
    return titles


_DECLARATIONS = MappingProxyType(
    {**dict.fromkeys(ALL, WRITE_DOWN), FALSE_CLAIM.id: CORRECT, GR3.id: ""}
)
"""The rules that can be mended without removing a node, and how; GR3 by a change of its node."""


def _is_violated(obligation: Obligation) -> bool:
    return obligation.status is Status.VIOLATED
