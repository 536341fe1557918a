"""From a loaded model to all that the profile demands of it: every rule at every node it binds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.declarations import is_sparse
from sonnx_ort.analysis.examined_node import ExaminedNode, examine_node
from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.findings import find
from sonnx_ort.analysis.onnx_schemas import require_allowed_types
from sonnx_ort.analysis.passed_guards import PassedGuards
from sonnx_ort.analysis.recognition import EnforcedNode, recognize_enforced_nodes
from sonnx_ort.analysis.report import Identity, Obligation, Report, identify
from sonnx_ort.analysis.targets import Target, targets
from sonnx_ort.loading.canonical import LoadedModel
from sonnx_ort.loading.traversal import defined_values
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.domain import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.general import GR1
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.rule import Subject


def count_not_covered(model: ir.Model) -> Mapping[str, int]:
    """Count the nodes whose operators no rule binds, by operator.

    Args:
        model: A canonical model.

    Returns:
        How many nodes there are of each, most frequent first; the default domain is left out of
        the names, and operators of the domain `sonnx` are covered by definition.
    """
    nodes = list(RecursiveGraphIterator(model.graph))
    for function in model.functions.values():
        nodes.extend(RecursiveGraphIterator(function.graph))
    counts = Counter(
        f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        for node in nodes
        if node.domain != DOMAIN and not _covered(node)
    )
    return dict(counts.most_common())


def _covered(node: ir.Node) -> bool:
    operator = OPERATORS.get(node.op_type)
    return operator is not None and operator.domain == node.domain


@dataclass(frozen=True, slots=True)
class Examination:
    """All that the profile demands of a model.

    Attributes:
        report: Every obligation.
        nodes: The nodes that operators of the profile constrain, in the order of the graph.
        enforced: The nodes that custom operators enforce already, in that order.
        facts: What is known of the model's values.
    """

    report: Report
    nodes: tuple[ExaminedNode, ...]
    enforced: tuple[EnforcedNode, ...]
    facts: Facts


def examine(
    model: ir.Model, edition: Edition, broadcasting: Broadcasting, identity: Identity
) -> Examination:
    """Find all obligations of a model.

    Args:
        model: A canonical model; not modified.
        edition: The edition that it is held to.
        broadcasting: What becomes of operands of different shapes.
        identity: What the report is about.

    Raises:
        InvalidModel: A node in the domain `sonnx` only looks like an enforced one, or an operand
            is of a type that its operator's version does not take.
        SonnxError: A node is enforced already, under the other edition.
    """
    enforced = recognize_enforced_nodes(model, edition)
    facts = Facts(model)
    found = tuple(targets(model))
    for target in found:
        require_allowed_types(target, facts)
    nodes = _examine_in_order(model, found, facts, edition, broadcasting)
    general = _general_obligations(model, facts, nodes)
    obligations = (
        *general,
        *(o for node in nodes for o in node.obligations),
        *(o for node in enforced for o in _already_enforced(node, facts)),
    )
    report = Report(
        edition,
        broadcasting,
        obligations,
        findings=find(model, facts),
        not_covered=count_not_covered(model),
        identity=identity,
    )
    return Examination(report, nodes, enforced, facts)


def _examine_in_order(
    model: ir.Model,
    found: Sequence[Target],
    facts: Facts,
    edition: Edition,
    broadcasting: Broadcasting,
) -> tuple[ExaminedNode, ...]:
    """Examine the nodes, each with what those before it make certain."""
    by_node = {target.node: target for target in found}
    passed = PassedGuards(model.opset_imports.get(STANDARD_DOMAIN, 1), facts.shape)
    nodes = []
    for node in RecursiveGraphIterator(model.graph):
        if node not in by_node:
            passed.follow(node)
            continue
        examined = passed.settle(examine_node(by_node[node], facts, edition, broadcasting))
        passed.record(examined)
        nodes.append(examined)
    return tuple(nodes)


def _already_enforced(enforced: EnforcedNode, facts: Facts) -> tuple[Obligation, ...]:
    """The rules that a node of a rewritten model decides in each run."""
    values = [value for value in enforced.node.inputs if value is not None]
    operands = facts.operands(enforced.operator.operand_names(len(values)), values)
    evidence = f"the model enforces it, by sonnx::{enforced.node.op_type}"
    return tuple(
        Obligation(rule, enforced.operator.name, enforced.label, operands, Status.RUNTIME, evidence)
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
        hint = GR1.requirement.hint(operands) if judgement.status is Status.VIOLATED else ""
        obligations.append(
            Obligation(GR1, "", "", operands, judgement.status, judgement.evidence, hint)
        )
    return tuple(obligations)


def examine_loaded(
    loaded: LoadedModel, edition: Edition, broadcasting: Broadcasting
) -> Examination:
    """Find all obligations of a loaded model.

    Args:
        loaded: The model.
        edition: The edition that it is held to.
        broadcasting: What becomes of operands of different shapes.
    """
    identity = identify(loaded.sha256, loaded.proto)
    return examine(loaded.graph_model, edition, broadcasting, identity)
