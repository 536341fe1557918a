"""Guards of graph inputs that decide the shapes of several nodes, and of values with contracts.

Equal symbols in the declarations prove equal sizes only if the run's inputs agree. That can be
checked once, at the inputs, for all nodes whose proofs depend on it. A run must not fail that would
have kept all rules, so two sizes are only compared if a node that every run reaches demands that
they are equal.

    Shape(x), Shape(y) -> Gather -> Equal -> Where(equal, Shape(x), -code) -> Reshape(x) -> x

All readers of a guarded input read the result of such a `Reshape`.

After a value whose elements have to be finite, or within a contract, stands another guard:

    y -> Greater, Less -> any outside -> y's shape or [-code] -> Reshape(y) -> y

Of a contract's range the extremes decide, in place of all elements, where its limits allow it.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.findings import dead_nodes
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.inspection import value_guard_name
from sonnx_ort.enforcing.hidden.shapes import hide_scalars_after, hide_shape
from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.enforcing.native.decision import all_equal
from sonnx_ort.enforcing.nodes import StandardNodes, uses_of
from sonnx_ort.errors import SonnxError, escaped
from sonnx_ort.guards.catalog import breach, compares_each
from sonnx_ort.guards.guard import GuardedNode
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.profile.contract_rules import OnSizes
from sonnx_ort.profile.rule import Rule, Status, Subject
from sonnx_ort.terms.operand import Operand, symbols_in

_FEWEST = 2
"""The minimum number of nodes per guard; a single node is guarded at its own operands."""

SETTLED = "a check at the start of each run ensures that the inputs agree on these shapes"
"""The evidence for a rule that is proved by guarded inputs."""


@dataclass(frozen=True, slots=True)
class InputAxis:
    """An axis of a graph input.

    Attributes:
        value: The input.
        axis: The axis.
        symbol: The symbol that declares its size.
    """

    value: ir.Value
    axis: int
    symbol: str


Part = tuple[InputAxis, ...]
"""Axes that must have equal sizes."""

AxesOf = Callable[[str, tuple[ir.Value, ...]], Part]
"""Returns the axes of inputs that are declared with a symbol."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Sizes of inputs that must be equal.

    Attributes:
        symbol: The symbol that declares them.
        axes: The axes with these sizes.
        checking_nodes: The nodes of which at least one violates a rule about shapes if the sizes
            differ.
        dependent_nodes: The nodes whose rules about shapes are kept if this agreement and the
            others that they depend on hold.
    """

    symbol: str
    axes: Part
    checking_nodes: tuple[ExaminedNode, ...]
    dependent_nodes: tuple[ExaminedNode, ...]


def find_agreements(
    model: ir.Model, nodes: Sequence[ExaminedNode], facts: Facts
) -> tuple[Agreement, ...]:
    """Find the agreements of inputs that decide the shapes of several nodes."""
    dead = set(dead_nodes(list(every_node(model.graph))))
    candidates = [
        node
        for node in nodes
        if node.ruled.node.graph is model.graph
        and node.ruled.node not in dead
        and _depends_on_symbols(node)
    ]
    # Many nodes depend on the same inputs.
    axes_of = functools.cache(_axes_declared)
    demanded = [tuple(_demanded_equal(node, facts, axes_of)) for node in candidates]
    part_of = _joined(pair for pairs in demanded for pair in pairs)
    depends_on = [_parts(node, facts, axes_of, part_of) for node in candidates]
    users = Counter(part for parts in depends_on for part in parts)
    return tuple(
        Agreement(
            symbol=part[0].symbol,
            axes=part,
            checking_nodes=tuple(
                node
                for node, pairs in zip(candidates, demanded, strict=True)
                if any(one in part for one, _ in pairs)
            ),
            dependent_nodes=dependent_nodes,
        )
        for part in users
        if (dependent_nodes := _useful(part, candidates, depends_on, users))
    )


def prove_by_inputs(examined: ExaminedNode) -> ExaminedNode:
    """Mark the rules about shapes of a node as proved by the guarded inputs."""
    obligations = (
        replace(o, status=Status.PROVED, evidence=SETTLED) if _about_shapes_of_a_run(o) else o
        for o in examined.obligations
    )
    return replace(examined, obligations=tuple(obligations))


def _depends_on_symbols(node: ExaminedNode) -> bool:
    """Whether the shapes would be proved equal if each symbol had one size."""
    if node.broadcast is not None:
        return False
    operands = [replace(operand, shared_symbols=frozenset()) for operand in node.operands]
    unproved = [o for o in node.obligations if _about_shapes_of_a_run(o)]
    judged = (o.rule.requirement.judge(operands).status for o in unproved)
    return bool(unproved) and all(status is Status.PROVED for status in judged)


def _about_shapes_of_a_run(obligation: Obligation) -> bool:
    subject = obligation.rule.requirement.subject
    return obligation.status is Status.RUNTIME and subject is Subject.EQUAL_SHAPES


def _demanded_equal(
    node: ExaminedNode, facts: Facts, axes_of: AxesOf
) -> Iterator[tuple[InputAxis, InputAxis]]:
    """Pairs of input axes for which the node rejects different sizes."""
    first, *others = node.ruled.inputs
    for symbol in _uncertain(node.operands):
        if symbol not in (node.operands[0].shape or ()):
            continue
        for other in others:
            found = [facts.provenance.first_declaring(symbol, [each]) for each in (first, other)]
            (one, ones), (two, twos) = found
            if one is not None and two is not None and ones == twos == 1 and one is not two:
                yield axes_of(symbol, (one,))[0], axes_of(symbol, (two,))[0]


def _uncertain(operands: Sequence[Operand]) -> list[str]:
    """The symbols in the shapes that declare more than one axis of the inputs."""
    names = (name for operand in operands for name in symbols_in(operand.shape))
    return [name for name in dict.fromkeys(names) if name in operands[0].shared_symbols]


def _axes_declared(symbol: str, inputs: tuple[ir.Value, ...]) -> Part:
    return tuple(
        InputAxis(value, axis, symbol)
        for value in inputs
        for axis, dimension in enumerate(value.shape or ())
        if dimension == symbol
    )


def _joined(pairs: Iterable[tuple[InputAxis, InputAxis]]) -> dict[InputAxis, Part]:
    """The groups of axes that must be equal, directly or by way of others."""
    part_of: dict[InputAxis, Part] = {}
    for pair in dict.fromkeys(pairs):
        joined = tuple(dict.fromkeys(p for one in pair for p in part_of.get(one, (one,))))
        part_of.update(dict.fromkeys(joined, joined))
    return part_of


def _parts(
    node: ExaminedNode, facts: Facts, axes_of: AxesOf, part_of: dict[InputAxis, Part]
) -> tuple[Part, ...]:
    """The groups that a node's proof depends on; none if the groups do not cover all its axes."""
    values = node.ruled.inputs
    parts: list[Part] = []
    for symbol in _uncertain(node.operands):
        first, count = facts.provenance.first_declaring(symbol, values)
        part = () if first is None else part_of.get(axes_of(symbol, (first,))[0], ())
        # To count takes less time than to list them.
        if count > len(part):
            return ()
        if not set(axes_of(symbol, facts.inputs_affecting(values))) <= set(part):
            return ()
        parts.append(part)
    return tuple(parts)


def _useful(
    part: Part,
    candidates: Sequence[ExaminedNode],
    depends_on: Sequence[tuple[Part, ...]],
    users: Counter[Part],
) -> tuple[ExaminedNode, ...]:
    """The nodes that depend on a group, if all their groups serve several nodes."""
    return tuple(
        node
        for node, parts in zip(candidates, depends_on, strict=True)
        if part in parts and all(users[each] >= _FEWEST for each in parts)
    )


_MANY = 8
"""A guard's name lists at most this many nodes; beyond that it has only their number."""


def prepare_inputs(
    model: ir.Model,
    examination: Examination,
    groups: Groups,
    reads_shapes: Callable[[ExaminedNode | CheckedValue], bool],
) -> Sequence[ExaminedNode]:
    """Guard inputs that decide the shapes of several nodes, and hide uncertain declarations.

    Args:
        model: The model.
        examination: What is known of it.
        groups: Takes what is inserted.
        reads_shapes: Whether nodes read shapes for what a node, or a value, is checked for.

    Returns:
        The nodes with the obligations that are still to be enforced.
    """
    checked = filter(reads_shapes, examination.checked_values)
    reading = filter(reads_shapes, examination.nodes)
    hide_scalars_after(model.graph, groups, reading, examination.facts, checked)
    agreements = find_agreements(model, examination.nodes, examination.facts)
    if agreements:
        uses = uses_of(place.value for agreement in agreements for place in agreement.axes)
        nodes = groups.nodes("inputs")
        groups.read_after_inputs(model.graph, nodes, _guard_inputs(nodes, agreements), uses)
    dependent_nodes = {id(node) for agreement in agreements for node in agreement.dependent_nodes}
    return [prove_by_inputs(n) if id(n) in dependent_nodes else n for n in examination.nodes]


def _guard_inputs(
    nodes: StandardNodes, agreements: Sequence[Agreement]
) -> dict[ir.Value, ir.Value]:
    """Guard inputs that must agree.

    Returns:
        For each of these inputs, the guarded value.
    """
    concerned = dict.fromkeys(place.value for a in agreements for place in a.axes)
    shapes = {value: nodes.shape(value) for value in concerned}
    kept = [(agreement, _sizes_agree(nodes, agreement.axes, shapes)) for agreement in agreements]
    guarded = {}
    for value, shape in shapes.items():
        own = [(a, equal) for a, equal in kept if any(p.value is value for p in a.axes)]
        agreed = nodes.together("And", [equal for _, equal in own], "agreed")
        agreement = own[0][0]
        obligations = agreement.checking_nodes[0].obligations
        rule = next(o.rule for o in obligations if _about_shapes_of_a_run(o))
        decided = nodes.add(
            "Where", [agreed, shape, nodes.constant([-rule.code], "code")], "shape_or_code"
        )
        name = _guard_name(value, agreement, rule)
        guarded[value] = nodes.add("Reshape", [value, decided], f"{value.name}_agreed", name=name)
    return guarded


def _sizes_agree(
    nodes: StandardNodes, axes: Sequence[InputAxis], shapes: dict[ir.Value, ir.Value]
) -> ir.Value:
    first, *others = (
        nodes.add(
            "Gather",
            [shapes[place.value], nodes.constant([place.axis], "axis")],
            "size",
            {"axis": 0},
        )
        for place in axes
    )
    return all_equal(nodes, first, others)


def _guard_name(value: ir.Value, agreement: Agreement, rule: Rule) -> str:
    holder = agreement.checking_nodes[0].ruled
    others = dict.fromkeys(f"'{p.value.name}'" for p in agreement.axes if p.value is not value)
    labels = [f"{n.ruled.operator.name} '{n.ruled.label}'" for n in agreement.dependent_nodes]
    shown = ", ".join(labels) if len(labels) <= _MANY else f"{len(labels)} nodes"
    remark = (
        f"input '{value.name}' has to agree with {', '.join(others)} on '{agreement.symbol}' for "
        f"{shown}"
    )
    return f"{guard_name(holder.operator.name, holder.label, [rule])}; {escaped(remark)}"


def value_guard(nodes: StandardNodes, checked: CheckedValue, value: ir.Value) -> ir.Value:
    """The value, readable only if its elements are as demanded.

    Raises:
        SonnxError: No operator compares numbers of its type with the limits.
    """
    requirement, obligation = checked.requirement, checked.obligation
    kind = checked.element_type
    known = GuardedNode(obligation.operands, kind, kind)
    # ONNX Runtime takes tensors of any rank for an input that is declared as a scalar.
    of_any_rank = checked.node is None and checked.operand.scalar_inputs
    reuses = checked.shares_sizes and compares_each(requirement, kind)
    hidden = checked.may_be_misinferred or of_any_rank or reuses
    read = hide_shape(nodes, value) if hidden else value
    try:
        found = breach(nodes, requirement, [read, *checked.others], known)
    except ValueError as reason:
        raise SonnxError(
            f"{checked.rule.id}: '{checked.operand.value}' {reason}; give a smaller one, or use "
            "the python backend"
        ) from reason
    shape, code = nodes.shape(read), nodes.constant([-checked.rule.code], "code")
    # In front of the guard of sizes nothing but the declaration holds.
    certain = value.shape if isinstance(requirement, OnSizes) else checked.operand.shape
    may_be_scalar = checked.operand.scalar_inputs or certain is None or len(certain) == 0
    # ONNX Runtime renames what it inlines of a branch: guards are found by names in between.
    returned = bool(obligation.path) and value.is_graph_output()
    name = value_guard_name(obligation.operator, obligation.node, checked.rule, requirement)
    if may_be_scalar or returned:
        # A scalar's shape has no element to hold a code, so its rank is used.
        decided = nodes.add("Where", [found, code, nodes.shape(shape)], "rank_or_code")
        shape = nodes.add("Reshape", [shape, decided], "shape_if_within", name=name)
        return nodes.add("Reshape", [read, shape], "checked")
    decided = nodes.add("Where", [found, code, shape], "shape_or_code")
    return nodes.add("Reshape", [read, decided], "checked", name=name)
