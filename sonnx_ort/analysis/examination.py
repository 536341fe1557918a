"""Analyzes a loaded model: evaluates every applicable rule at every node."""

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue, checked_values
from sonnx_ort.analysis.declared_shapes import (
    Behind,
    is_behind,
    unproved_shapes,
    value_without_declarations,
    values_behind,
    without_declarations,
)
from sonnx_ort.analysis.examined_node import ExaminedNode, examine_node
from sonnx_ort.analysis.findings import find_declarations, graph_obligations
from sonnx_ort.analysis.obligation import (
    Identity,
    Obligation,
    judged_for,
    once_rewritten,
    waiver_of,
)
from sonnx_ort.analysis.passed_guards import PassedGuards
from sonnx_ort.analysis.progress import followed
from sonnx_ort.analysis.report import Coverage, Extent, Report, asks_for_numbers
from sonnx_ort.analysis.ruled_nodes import (
    RuledNode,
    is_of_known_version,
    require_allowed_types,
    require_known_version,
    ruled_nodes,
)
from sonnx_ort.analysis.values.declarations import is_sparse
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import GraphIndex, every_node, index_of
from sonnx_ort.profile.catalog import STANDARD_OPERATORS, standing_of
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.graph import GR1, GRAPH
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.options import Broadcasting
from sonnx_ort.profile.rule import Status, Subject


def coverage(
    model: ir.Model, every: Iterable[ir.Node], operators: Collection[str]
) -> tuple[Coverage, ...]:
    """Count the nodes of a canonical model by operator, and classify each operator.

    Args:
        model: The model.
        every: The nodes of its graph and subgraphs.
        operators: The operators to enforce.

    Returns:
        One entry per operator, most frequent first, without the domain `sonnx`.
    """
    nodes = list(every)
    for function in model.functions.values():
        nodes.extend(every_node(function.graph))
    counts = Counter((node.domain, node.op_type) for node in nodes if node.domain != DOMAIN)
    return tuple(
        Coverage(
            f"{domain}::{name}" if domain else name,
            count,
            _extent(domain, name, operators),
            standing_of(domain, name),
        )
        for (domain, name), count in counts.most_common()
    )


def _extent(domain: str, name: str, operators: Container[str]) -> Extent:
    if domain != STANDARD_DOMAIN or name not in STANDARD_OPERATORS:
        return Extent.NO_RULES
    return Extent.ENFORCED if name in operators else Extent.NOT_ASKED_FOR


@dataclass(frozen=True, slots=True)
class Examination:
    """The full result of the analysis, with the nodes in graph order.

    Attributes:
        nodes: The nodes to enforce.
        limited: The values that have to be finite or within a contract, if that is asked for.
        runtime: The version of onnxruntime that runs the model; None for any.
        rests_on_numbers: Whether something is proved by floats that a kernel computes. Then no
            optimizer may act that forms other floats.
    """

    report: Report
    nodes: tuple[ExaminedNode, ...]
    facts: Facts
    limited: tuple[CheckedValue, ...] = ()
    runtime: str | None = None
    rests_on_numbers: bool = False

    @property
    def checked_values(self) -> tuple[CheckedValue, ...]:
        """The values whose elements each run has to check."""
        return tuple(value for value in self.limited if value.left_to_the_run)

    @property
    def once_rewritten(self) -> "Examination":
        """The same, with all proved of nodes that the rewritten model keeps without a check there.

        A node before checks it, or it rests on declarations that the rewritten model does not have.
        """
        nodes = (
            replace(each, obligations=tuple(map(once_rewritten, each.obligations)))
            for each in self.nodes
        )
        return replace(self, nodes=tuple(nodes))

    @property
    def proved(self) -> frozenset[ir.Node]:
        """The nodes that have rules, all of which are proved once the model is rewritten."""
        return frozenset(
            examined.ruled.node
            for examined in self.nodes
            if examined.obligations and all(o.settled for o in examined.obligations)
        )


@dataclass(frozen=True, slots=True)
class _Terms:
    """What nodes are held to.

    Attributes:
        runtime: The version of onnxruntime that runs the model; None for any.
        behind: The values behind declared shapes that are not proved.
    """

    demands: Demands
    waivers: Sequence[Waiver]
    runtime: str | None
    behind: Behind


def examine_model(  # noqa: PLR0913 - keyword arguments
    model: ir.Model,
    demands: Demands,
    identity: Identity,
    *,
    complete: bool = False,
    waivers: Iterable[Waiver] = (),
    runtime: str | None = None,
    known: Examination | None = None,
) -> Examination:
    """Find all obligations of a canonical model, which is not modified.

    Args:
        model: The model.
        demands: The edition, broadcasting and operators to enforce.
        identity: The identity for the report.
        complete: Whether the report includes operators that are not enforced, in supported
            versions, and findings if nothing is violated.
        waivers: The waivers. What they cover is not enforced; the report still contains the
            violation.
        runtime: The version of onnxruntime that runs the model; None for any.
        known: An examination under the same terms, from before an edit that left every value as it
            was and added none. Its facts are taken over, and so are the nodes that it has, without
            those about which declared shapes may say more now.

    Raises:
        InvalidModel: An operand has a type that its operator does not support, or the model imports
            an unsupported version of an operator.
    """
    index = index_of(model.graph)
    facts = _facts_within(model, index, demands, known)
    profiled = tuple(
        t
        for t in ruled_nodes(model, index)
        if _to_enforce(t, demands) or (complete and is_of_known_version(t))
    )
    for ruled in profiled:
        require_known_version(ruled)
        _require_operands(ruled)
        require_allowed_types(ruled, facts)
    unproved = unproved_shapes(frozenset(model.graph.inputs), index.values, facts)
    terms = _Terms(demands, tuple(waivers), runtime, values_behind(model.graph, unproved))
    kept = {} if known is None else {each.ruled.node: each for each in known.nodes}
    # An edit may have written down a shape that is not proved.
    kept = {node: each for node, each in kept.items() if not is_behind(each, terms.behind)}
    nodes = _examine_in_order(model, index.nodes, profiled, facts, terms, kept)
    general = _general_obligations(index.values, facts, nodes)
    graph = GRAPH in demands.operators
    limited = tuple(
        value_without_declarations(value, terms.behind)
        for value in checked_values(model, index, facts, demands)
    )
    obligations = (
        *general,
        *(graph_obligations(model, index, facts, identity, unproved) if graph else ()),
        *(o for node in nodes for o in node.found),
        *(value.obligation for value in limited),
    )
    tells_all = complete or any(o.status is Status.VIOLATED for o in obligations)
    report = Report(
        demands,
        obligations,
        findings=find_declarations(model, index, facts) if tells_all and not graph else (),
        coverage=coverage(model, index.nodes, demands.operators),
        identity=identity,
    )
    asked_for = tuple(node for node in nodes if _to_enforce(node.ruled, demands))
    numbers = _rests_on_numbers(asked_for, limited, facts)
    return Examination(report, asked_for, facts, limited, runtime, numbers)


def _rests_on_numbers(
    nodes: Iterable[ExaminedNode], limited: Iterable[CheckedValue], facts: Facts
) -> bool:
    """Whether anything is proved by floats that a kernel computes."""
    by_kernels = {
        of_elements: facts.known_by_kernels(numbers=of_elements) for of_elements in (True, False)
    }
    for node in nodes:
        names, inputs = node.ruled.operand_names, node.ruled.inputs
        for obligation in node.obligations:
            some = by_kernels[_is_of_elements(obligation)]
            if (
                some
                and obligation.settled
                and not some.isdisjoint(obligation.rule.select_operands(names, inputs))
            ):
                return True
    return any(
        each.value in by_kernels[_is_of_elements(each.obligation)]
        for each in limited
        if each.obligation.settled
    )


def _facts_within(
    model: ir.Model, index: GraphIndex, demands: Demands, known: "Examination | None"
) -> Facts:
    """What is certain of a model, which has the values that a contract names.

    Weights matter where it is asked what numbers values can be.
    """
    contract, reads_weights = demands.contract, asks_for_numbers(demands)

    def found() -> Facts:
        if known is not None:
            return known.facts
        return Facts(model, contract, index=index, reads_weights=reads_weights)

    if not contract:
        return found()
    # No proof without a contract rests on what holds contracts against models.
    from sonnx_ort.analysis.contracts import require_inputs, require_values

    require_inputs(model.graph, contract)
    facts = found()
    require_values(model, contract, facts)
    return facts


def _require_operands(ruled: RuledNode) -> None:
    """Check for omitted operands: the checker does not follow calls that omit function inputs."""
    operator, inputs = ruled.operator, ruled.node.inputs
    for name, value in zip_longest(operator.operand_names(len(inputs)), inputs):
        if name is None or (value is None and name not in operator.optional):
            what = "has too many operands" if name is None else f"has no operand {name}"
            raise InvalidModel(
                f"{ruled.operator.name} '{ruled.label}' {what}; correct it, or the function "
                "that contains it and its calls"
            )
    if not any(output.name for output in ruled.node.outputs):
        raise InvalidModel(f"{ruled.operator.name} '{ruled.label}' has no output; name one")


def _is_of_elements(obligation: Obligation) -> bool:
    """Whether it is about elements; what ONNX Runtime holds itself, it checks in each run."""
    return obligation.rule.requirement.subject is Subject.ELEMENTS


def _to_enforce(ruled: RuledNode, demands: Demands) -> bool:
    return ruled.operator.name in demands.operators


def _examine_in_order(  # noqa: PLR0913, PLR0917 - what nodes are examined with
    model: ir.Model,
    every: Sequence[ir.Node],
    profiled: Sequence[RuledNode],
    facts: Facts,
    terms: _Terms,
    kept: Mapping[ir.Node, ExaminedNode],
) -> tuple[ExaminedNode, ...]:
    """Examine the nodes in graph order, using the guards of earlier nodes for proofs."""
    by_node = {ruled.node: ruled for ruled in profiled}
    passed = PassedGuards(model.opset_imports[STANDARD_DOMAIN], facts.shape)
    nodes = []
    for node in followed(every, "applying rules to nodes", len(every)):
        if node not in by_node:
            passed.visit(node)
            continue
        ruled = by_node[node]
        examined = kept.get(node) or _examine_ruled(ruled, facts, terms, passed)
        checked = _to_enforce(ruled, terms.demands) and ruled.operator.checked_in_runs
        if checked and not examined.waived:
            passed.record(examined)
        else:
            # A node that is not enforced guarantees nothing.
            passed.visit(node)
        nodes.append(examined)
    return tuple(nodes)


def _examine_ruled(
    ruled: RuledNode, facts: Facts, terms: _Terms, passed: PassedGuards
) -> ExaminedNode:
    demands = terms.demands

    def examined_with(broadcasting: Broadcasting) -> ExaminedNode:
        examined = examine_node(ruled, facts, demands.edition, broadcasting)
        examined = passed.prove(without_declarations(examined, terms.behind))
        judged = tuple(judged_for(o, terms.runtime) for o in examined.obligations)
        return replace(examined, obligations=judged)

    examined = examined_with(demands.broadcasting)
    if not _to_enforce(ruled, demands):
        return replace(
            examined, obligations=tuple(replace(o, enforced=False) for o in examined.obligations)
        )
    return apply_waivers(examined, terms.waivers, lambda: examined_with(Broadcasting.EXPLICIT))


def apply_waivers(
    examined: ExaminedNode, waivers: Sequence[Waiver], broadcasting: Callable[[], ExaminedNode]
) -> ExaminedNode:
    """Decide what to enforce at a node if waivers cover some of its violations.

    `broadcasting` examines the node again, with a Broadcast in front.
    """
    violated = [o for o in examined.obligations if o.status is Status.VIOLATED]
    waived = tuple(o for o in violated if waiver_of(o, waivers) is not None)
    if not waived:
        return examined
    unequal = [o for o in violated if o.rule.requirement.subject is Subject.EQUAL_SHAPES]
    if unequal and all(o in waived for o in unequal):
        examined = broadcasting()
    return replace(examined, waived=waived)


def _general_obligations(
    values: Iterable[ir.Value], facts: Facts, nodes: Sequence[ExaminedNode]
) -> tuple[Obligation, ...]:
    """The obligations for sparse tensors that no operator's rule covers."""
    sparse = list(filter(is_sparse, values))
    if not sparse:
        return ()
    dense = [
        n
        for n in nodes
        if any(o.rule.requirement.subject is Subject.STORAGE for o in n.obligations)
    ]
    covered = {value for node in dense for value in (*node.ruled.inputs, *node.ruled.node.outputs)}
    obligations = []
    for value in (each for each in sparse if each not in covered):
        operands = facts.operands(("tensor",), (value,))
        judgement = GR1.requirement.judge(operands)
        hint = GR1.hint(operands)
        obligations.append(
            Obligation(GR1, "", "", operands, judgement.status, judgement.evidence, hint)
        )
    return tuple(obligations)
