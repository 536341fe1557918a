"""Where one look at the inputs decides the shapes of several nodes.

Sizes that a model declares with one symbol prove something only in a run in which they are equal.
That can be looked at once, at the inputs, for all nodes whose proofs rest on it. No run may fail
that way in which every node would have kept its rules, so only those sizes are held to each other
that a node which every run reaches holds to each other itself.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.findings import dead_nodes
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.operand import Operand, symbols_in
from sonnx_ort.profile.rule import Subject

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
