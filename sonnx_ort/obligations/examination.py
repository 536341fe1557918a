"""From a loaded model to all that the profile demands of it: every rule at every node it binds."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import onnx_ir as ir

from sonnx_ort.errors import InvalidModel
from sonnx_ort.knowledge.declarations import is_sparse
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.traversal import defined_values, every_node
from sonnx_ort.obligations.examined_node import ExaminedNode, examine_node
from sonnx_ort.obligations.findings import find
from sonnx_ort.obligations.obligation import Obligation, waiver_of
from sonnx_ort.obligations.passed_guards import PassedGuards
from sonnx_ort.obligations.report import (
    Coverage,
    Extent,
    Identity,
    Report,
)
from sonnx_ort.obligations.targets import (
    EnforcedNode,
    Target,
    is_of_known_version,
    require_allowed_types,
    require_known_version,
    targets,
)
from sonnx_ort.obligations.waivers import Waiver
from sonnx_ort.profile.catalog import STANDARD_OPERATORS
from sonnx_ort.profile.general import GR1
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.options import Broadcasting, Demands
from sonnx_ort.profile.rule import Status, Subject


def coverage(model: ir.Model, operators: Container[str]) -> tuple[Coverage, ...]:
    """Count the nodes of a model by operator, and say how far the profile reaches to each.

    Args:
        model: A canonical model.
        operators: The names of the operators that are to be enforced.

    Returns:
        One entry for each operator, most frequent first; the domain `sonnx` is left out.
    """
    nodes = list(every_node(model.graph))
    for function in model.functions.values():
        nodes.extend(every_node(function.graph))
    counts = Counter((node.domain, node.op_type) for node in nodes if node.domain != DOMAIN)
    return tuple(
        Coverage(f"{domain}::{name}" if domain else name, count, _extent(domain, name, operators))
        for (domain, name), count in counts.most_common()
    )


def _extent(domain: str, name: str, operators: Container[str]) -> Extent:
    if domain != STANDARD_DOMAIN or name not in STANDARD_OPERATORS:
        return Extent.NO_DOCUMENT
    return Extent.ENFORCED if name in operators else Extent.NOT_ASKED_FOR


@dataclass(frozen=True, slots=True)
class Examination:
    """All that the profile demands of a model.

    Attributes:
        report: Every obligation.
        nodes: The nodes that are to be enforced, in the order of the graph.
        enforced: The nodes that custom operators enforce already, in that order.
        facts: What is known of the model's values.
    """

    report: Report
    nodes: tuple[ExaminedNode, ...]
    enforced: tuple[EnforcedNode, ...]
    facts: Facts


def examine_model(  # noqa: PLR0913 - by name
    model: ir.Model,
    demands: Demands,
    identity: Identity,
    *,
    enforced: tuple[EnforcedNode, ...] = (),
    complete: bool = False,
    waivers: Iterable[Waiver] = (),
) -> Examination:
    """Find all obligations of a model.

    Args:
        model: A canonical model; not modified.
        demands: What it is held to.
        identity: What the report is about.
        enforced: The nodes that custom operators enforce already, in the order of the graph.
        complete: Whether the report also tells of the operators that are not to be enforced, in
            the versions that the profile is applied to, and of findings if nothing is violated.
        waivers: What is not to be enforced, where it is violated. The report has such violations
            as they are.

    Raises:
        InvalidModel: An operand is of a type that its operator's version does not take, or the
            model imports a version of an operator that the profile is not applied to.
    """
    facts = Facts(model)
    computing = {e.computed_by for e in enforced}
    found = tuple(
        t
        for t in targets(model)
        if t.node not in computing
        and (_asked_for(t, demands) or (complete and is_of_known_version(t)))
    )
    for target in found:
        require_known_version(target)
        _require_operands(target)
        require_allowed_types(target, facts)
    nodes = _examine_in_order(model, found, facts, demands, tuple(waivers))
    general = _general_obligations(model, facts, nodes)
    obligations = (
        *general,
        *(o for node in nodes for o in node.found),
        *(o for node in enforced for o in _already_enforced(node, facts)),
    )
    tells_all = complete or any(o.status is Status.VIOLATED for o in obligations)
    report = Report(
        demands,
        obligations,
        findings=find(model, facts) if tells_all else (),
        coverage=coverage(model, demands.operators),
        identity=identity,
    )
    asked_for = tuple(node for node in nodes if _asked_for(node.target, demands))
    return Examination(report, asked_for, enforced, facts)


def _require_operands(target: Target) -> None:
    """The call of a function may leave an operand out, which the ONNX checker does not follow."""
    operator, inputs = target.operator, target.node.inputs
    for name, value in zip_longest(operator.operand_names(len(inputs)), inputs):
        if name is None or (value is None and name not in operator.optional):
            what = "has an operand too many" if name is None else f"has no operand {name}"
            raise InvalidModel(
                f"{target.operator.name} '{target.label}' {what}; mend it, or the function that "
                "it comes from and its calls"
            )
    if not any(output.name for output in target.node.outputs):
        raise InvalidModel(f"{target.operator.name} '{target.label}' has no result")


def _asked_for(target: Target, demands: Demands) -> bool:
    return target.operator.name in demands.operators


def _examine_in_order(
    model: ir.Model,
    found: Sequence[Target],
    facts: Facts,
    demands: Demands,
    waivers: Sequence[Waiver],
) -> tuple[ExaminedNode, ...]:
    """Examine the nodes, each with what those before it make certain."""
    by_node = {target.node: target for target in found}
    passed = PassedGuards(model.opset_imports[STANDARD_DOMAIN], facts.shape)
    nodes = []
    for node in every_node(model.graph):
        if node not in by_node:
            passed.follow(node)
            continue
        examined = _examine_target(by_node[node], facts, demands, passed, waivers)
        if _asked_for(examined.target, demands) and not examined.waived:
            passed.record(examined)
        else:
            # Nothing can rest on what is not enforced.
            passed.follow(node)
        nodes.append(examined)
    return tuple(nodes)


def _examine_target(
    target: Target,
    facts: Facts,
    demands: Demands,
    passed: PassedGuards,
    waivers: Sequence[Waiver],
) -> ExaminedNode:
    def examined_with(broadcasting: Broadcasting) -> ExaminedNode:
        return passed.settle(examine_node(target, facts, demands.edition, broadcasting))

    examined = examined_with(demands.broadcasting)
    if not _asked_for(target, demands):
        return _not_enforced(examined)
    return tolerate(examined, waivers, lambda: examined_with(Broadcasting.EXPLICIT))


def tolerate(
    examined: ExaminedNode, waivers: Sequence[Waiver], broadcasting: Callable[[], ExaminedNode]
) -> ExaminedNode:
    """Give what is to be enforced of a node whose violations waivers may be for.

    Args:
        examined: The node.
        waivers: Those of the model.
        broadcasting: Examines the node with a Broadcast in front.
    """
    violated = [o for o in examined.obligations if o.status is Status.VIOLATED]
    waived = tuple(o for o in violated if waiver_of(o, waivers) is not None)
    if not waived:
        return examined
    unequal = [o for o in violated if o.rule.requirement.subject is Subject.EQUAL_SHAPES]
    if unequal and all(o in waived for o in unequal):
        examined = broadcasting()
    return replace(examined, waived=waived)


def _not_enforced(examined: ExaminedNode) -> ExaminedNode:
    return replace(
        examined, obligations=tuple(replace(o, enforced=False) for o in examined.obligations)
    )


def _already_enforced(enforced: EnforcedNode, facts: Facts) -> tuple[Obligation, ...]:
    """The rules that a node of a rewritten model decides in each run."""
    values = [value for value in enforced.node.inputs if value is not None]
    operator = enforced.operator
    names = operator.operand_names(len(values)) if operator.elementwise else operator.looked_at
    operands = facts.operands(names, values)
    evidence = f"the model enforces it, by sonnx::{enforced.node.op_type}"
    return tuple(
        Obligation(
            rule,
            enforced.operator.name,
            enforced.label,
            operands,
            Status.RUNTIME,
            evidence,
            path=enforced.path,
        )
        for rule in enforced.rules
    )


def _general_obligations(
    model: ir.Model, facts: Facts, nodes: Sequence[ExaminedNode]
) -> tuple[Obligation, ...]:
    """Sparse tensors that no operator's own rule speaks of."""
    dense = [
        n
        for n in nodes
        if any(o.rule.requirement.subject is Subject.STORAGE for o in n.obligations)
    ]
    spoken_of = {
        value for node in dense for value in (*node.target.inputs, *node.target.node.outputs)
    }
    values = defined_values(model.graph)
    sparse = [v for v in values if is_sparse(v) and v not in spoken_of]
    obligations = []
    for value in sparse:
        operands = facts.operands(("tensor",), (value,))
        judgement = GR1.requirement.judge(operands)
        hint = GR1.requirement.hint(operands)
        obligations.append(
            Obligation(GR1, "", "", operands, judgement.status, judgement.evidence, hint)
        )
    return tuple(obligations)
