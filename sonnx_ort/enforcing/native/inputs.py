"""Guards of a model's inputs, where they decide the shapes of several nodes.

Sizes that a model declares with one symbol prove something only in a run in which they are equal.
That can be looked at once, at the inputs, for all nodes whose proofs rest on it. No run may fail
that way in which every node would have kept its rules, so only those sizes are held to each other
that a node which every run reaches holds to each other itself.

There is one look at the inputs for all nodes whose shapes rest on their agreement:

    Shape(x), Shape(y) -> Gather -> Equal -> Where(equal, Shape(x), -code) -> Reshape(x) -> x

Every input that is concerned can only be reached through such a `Reshape`.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import onnx_ir as ir

from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.enforcing.hidden_shapes import hide_declarations, readers_of, scalars_behind
from sonnx_ort.enforcing.native.record import GroupRecorder, Original
from sonnx_ort.enforcing.nodes import StandardNodes, Uses, put_behind_inputs, uses_of
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.traversal import ValueNames, every_node
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.obligations.findings import dead_nodes
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.profile.operand import Operand, symbols_in
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.rule import Rule, Status, Subject

_FEWEST = 2
"""A node that would be alone with a look at the inputs looks at its own operands."""

SETTLED = "the inputs agree on what the shapes rest on, which is checked once"
"""The evidence for a rule that an agreement settles."""


@dataclass(frozen=True, slots=True)
class InputAxis:
    """An axis of a graph input.

    Attributes:
        value: The input.
        axis: The axis.
        symbol: What the model declares its size with.
    """

    value: ir.Value
    axis: int
    symbol: str


Part = tuple[InputAxis, ...]
"""Axes whose sizes are held to each other."""

AxesOf = Callable[[str, tuple[ir.Value, ...]], Part]
"""Gives the axes of inputs that are declared with a symbol."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Sizes of inputs that have to be equal.

    Attributes:
        symbol: What the model declares them with.
        axes: Where they stand.
        holders: The nodes of which one breaks a rule about shapes if they are not equal.
        resting: The nodes whose obligations about shapes hold if this agreement is kept, and the
            others that they rest on.
    """

    symbol: str
    axes: Part
    holders: tuple[ExaminedNode, ...]
    resting: tuple[ExaminedNode, ...]


def find_agreements(
    model: ir.Model, nodes: Sequence[ExaminedNode], facts: Facts
) -> tuple[Agreement, ...]:
    """Find the agreements of inputs that decide the shapes of several nodes.

    Args:
        model: A canonical model.
        nodes: Its examined nodes.
        facts: What is known of its values.
    """
    dead = set(dead_nodes(list(every_node(model.graph))))
    candidates = [
        node
        for node in nodes
        if node.target.node.graph is model.graph
        and node.target.node not in dead
        and _rests_on_symbols(node)
    ]
    # Many nodes depend on the same inputs.
    axes_of = functools.cache(_axes_declared)
    held = [tuple(_held_equal(node, facts, axes_of)) for node in candidates]
    part_of = _joined(pair for pairs in held for pair in pairs)
    rests_on = [_parts(node, facts, axes_of, part_of) for node in candidates]
    users = Counter(part for parts in rests_on for part in parts)
    return tuple(
        Agreement(
            symbol=part[0].symbol,
            axes=part,
            holders=tuple(
                node
                for node, pairs in zip(candidates, held, strict=True)
                if any(one in part for one, _ in pairs)
            ),
            resting=resting,
        )
        for part in users
        if (resting := _worth_it(part, candidates, rests_on, users))
    )


def settle(examined: ExaminedNode) -> ExaminedNode:
    """Take the rules about shapes of a node that rests on agreements as proved.

    Args:
        examined: The node.
    """
    obligations = (
        replace(o, status=Status.PROVED, evidence=SETTLED) if _about_shapes_of_a_run(o) else o
        for o in examined.obligations
    )
    return replace(examined, obligations=tuple(obligations))


def _rests_on_symbols(node: ExaminedNode) -> bool:
    """Whether the shapes would be proved equal if each symbol stood for one size."""
    if node.broadcast is not None:
        return False
    operands = [replace(operand, shared_symbols=frozenset()) for operand in node.operands]
    left = [o for o in node.obligations if _about_shapes_of_a_run(o)]
    judged = (o.rule.requirement.judge(operands).status for o in left)
    return bool(left) and all(status is Status.PROVED for status in judged)


def _about_shapes_of_a_run(obligation: Obligation) -> bool:
    subject = obligation.rule.requirement.subject
    return obligation.status is Status.RUNTIME and subject is Subject.EQUAL_SHAPES


def _held_equal(
    node: ExaminedNode, facts: Facts, axes_of: AxesOf
) -> Iterator[tuple[InputAxis, InputAxis]]:
    """The pairs of input axes of which the node refuses different sizes."""
    first, *others = node.target.inputs
    for symbol in _uncertain(node.operands):
        if symbol not in (node.operands[0].shape or ()):
            continue
        for other in others:
            ones = axes_of(symbol, facts.inputs_behind([first]))
            twos = axes_of(symbol, facts.inputs_behind([other]))
            if len(ones) == len(twos) == 1 and ones != twos:
                yield ones[0], twos[0]


def _uncertain(operands: Sequence[Operand]) -> list[str]:
    """The symbols in the shapes that more than one axis behind the node is declared with."""
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
    """The axes that are held to each other, be it by way of others."""
    part_of: dict[InputAxis, Part] = {}
    for pair in dict.fromkeys(pairs):
        joined = tuple(dict.fromkeys(p for one in pair for p in part_of.get(one, (one,))))
        part_of.update(dict.fromkeys(joined, joined))
    return part_of


def _parts(
    node: ExaminedNode, facts: Facts, axes_of: AxesOf, part_of: dict[InputAxis, Part]
) -> tuple[Part, ...]:
    """What a node's proof rests on; nothing if it is not all held to each other."""
    inputs = facts.inputs_behind(node.target.inputs)
    parts: list[Part] = []
    for symbol in _uncertain(node.operands):
        axes = axes_of(symbol, inputs)
        part = part_of.get(axes[0], ())
        if not set(axes) <= set(part):
            return ()
        parts.append(part)
    return tuple(parts)


def _worth_it(
    part: Part,
    candidates: Sequence[ExaminedNode],
    rests_on: Sequence[tuple[Part, ...]],
    users: Counter[Part],
) -> tuple[ExaminedNode, ...]:
    """The nodes that rest on a part, if all that they rest on serves several nodes."""
    return tuple(
        node
        for node, parts in zip(candidates, rests_on, strict=True)
        if part in parts and all(users[each] >= _FEWEST for each in parts)
    )


_MANY = 8
"""Of more nodes than this, a name says only how many there are."""


def prepare_inputs(
    model: ir.Model, examination: Examination, names: ValueNames, recorder: GroupRecorder
) -> Sequence[ExaminedNode]:
    """Guard inputs where that decides the shapes of several nodes, and hide false declarations.

    Args:
        model: The model; changed in place.
        examination: All that the profile demands of it.
        names: Gives names to new values.
        recorder: Takes down what is added.

    Returns:
        The nodes with what is left to enforce.
    """
    opset = model.opset_imports[STANDARD_DOMAIN]

    def put_behind(nodes: StandardNodes, behind: Mapping[ir.Value, ir.Value], uses: Uses) -> None:
        pairs = tuple((str(v.name), str(guarded.name)) for v, guarded in behind.items())
        recorder.record(nodes.nodes, Original(None, inputs=pairs))
        put_behind_inputs(model.graph, uses, nodes.nodes, behind)

    scalars = scalars_behind(examination.nodes, examination.facts)
    if scalars:
        uses = readers_of(scalars)
        nodes = StandardNodes(names, "inputs", opset)
        put_behind(nodes, hide_declarations(nodes, scalars), uses)
    agreements = find_agreements(model, examination.nodes, examination.facts)
    if agreements:
        uses = uses_of(place.value for agreement in agreements for place in agreement.axes)
        nodes = StandardNodes(names, "inputs", opset)
        put_behind(nodes, _guard_inputs(nodes, agreements), uses)
    resting = {id(node) for agreement in agreements for node in agreement.resting}
    return [settle(n) if id(n) in resting else n for n in examination.nodes]


def _guard_inputs(
    nodes: StandardNodes, agreements: Sequence[Agreement]
) -> dict[ir.Value, ir.Value]:
    """Let inputs through where they agree.

    Args:
        nodes: Takes the new nodes.
        agreements: What the inputs have to agree on.

    Returns:
        For each input that is concerned, itself behind its guard.
    """
    concerned = dict.fromkeys(place.value for a in agreements for place in a.axes)
    shapes = {value: nodes.shape(value) for value in concerned}
    kept = [(agreement, _all_equal(nodes, agreement.axes, shapes)) for agreement in agreements]
    guarded = {}
    for value, shape in shapes.items():
        own = [(a, equal) for a, equal in kept if any(p.value is value for p in a.axes)]
        agreed = reduce(
            lambda one, other: nodes.add("And", [one, other], "agreed"), [e for _, e in own]
        )
        agreement = own[0][0]
        rule = _broken_rule(agreement.holders[0])
        decided = nodes.add(
            "Where", [agreed, shape, nodes.constant([-rule.code], "code")], "shape_or_code"
        )
        name = _name(value, agreement, rule)
        guarded[value] = nodes.add("Reshape", [value, decided], f"{value.name}_agreed", name=name)
    return guarded


def _all_equal(
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
    equal = [nodes.add("Equal", [first, other], "equal") for other in others]
    return reduce(lambda one, other: nodes.add("And", [one, other], "all_equal"), equal)


def _broken_rule(node: ExaminedNode) -> Rule:
    """The rule that the node breaks where the inputs do not agree."""
    return next(
        o.rule
        for o in node.obligations
        if o.status is Status.RUNTIME and o.rule.requirement.subject is Subject.EQUAL_SHAPES
    )


def _name(value: ir.Value, agreement: Agreement, rule: Rule) -> str:
    holder = agreement.holders[0].target
    others = dict.fromkeys(f"'{p.value.name}'" for p in agreement.axes if p.value is not value)
    labels = [f"{n.target.operator.name} '{n.target.label}'" for n in agreement.resting]
    shown = ", ".join(labels) if len(labels) <= _MANY else f"{len(labels)} nodes"
    return (
        f"{guard_name(holder.operator.name, holder.label, [rule])}; input '{value.name}' has to "
        f"agree with {', '.join(others)} on '{agreement.symbol}' for {shown}"
    )
