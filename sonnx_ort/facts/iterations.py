"""Loops and Scans: the values that pass between a node and its body, and what is assumed of them.

It is assumed that a state has the shape of its initial value, or that some of its axes have. That
holds if the body gives the next iteration the same again, which is compared after all is derived.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .node import Graph, Node, Value
from .sizes import PartialSizes, Rejected, Sizes, require

COUNTERS = 2
"""The inputs of a Loop, and of its body, before the states: the iteration and the condition."""

FIRST_WITHOUT_BATCH = 9
"""In earlier versions a Scan had an additional batch axis."""

_LAST = 25
"""The last verified version of both operators."""

Changing = Mapping[Value, frozenset[int] | None]
"""The axes of states that may change, by the input of the body; None if the rank may change."""


@dataclass(frozen=True, slots=True)
class State:
    """The values that hold one state.

    Attributes:
        initial: What the first iteration takes.
        taken: The input of the body.
        given: What an iteration gives to the next one.
        final: The result of the node.
    """

    initial: Value
    taken: Value
    given: Value
    final: Value


@dataclass(frozen=True, slots=True)
class Iteration:
    """A Loop or Scan.

    Attributes:
        body: The body.
        counters: The inputs of the body for the iteration and the condition.
        states: The states.
        elements: The inputs of a Scan's body that get a slice in each iteration, with the scanned
            tensor and axis.
        collected: The node's scan outputs, with the body's outputs that they concatenate.
    """

    body: Graph
    counters: Sequence[Value]
    states: Sequence[State]
    elements: Sequence[tuple[Value, Value, int]] = ()
    collected: Sequence[tuple[Value, Value]] = ()


def iteration_of(node: Node) -> Iteration | None:
    """The values passed between a node and its body; None if it is not a verified Loop or Scan."""
    if node.domain or node.op_type not in ("Loop", "Scan") or node.version > _LAST:
        return None
    if node.op_type == "Loop":
        return loop_of(node)
    bodies = node.bodies
    verified = len(bodies) == 1 and node.version >= FIRST_WITHOUT_BATCH
    return _scan(node, bodies[0]) if verified else None


def loop_of(node: Node) -> Iteration | None:
    """The values passed between a Loop and its body; None if it has no body."""
    bodies = node.bodies
    if len(bodies) != 1:
        return None
    (body,) = bodies
    count = max(node.operands - COUNTERS, 0)
    given = body.outputs[1:]
    results = [node.result(index) for index in range(node.results)]
    initial = [node.operand(index) for index in range(COUNTERS, node.operands)]
    return Iteration(
        body,
        body.inputs[:COUNTERS],
        _states(initial, body.inputs[COUNTERS:], given, results),
        collected=list(zip(results[count:], given[count:], strict=False)),
    )


def _scan(node: Node, body: Graph) -> Iteration | None:
    scanned = node.attribute("num_scan_inputs", 0)
    count = node.operands - scanned
    if not 0 <= scanned <= node.operands:
        return None
    axes = node.attribute("scan_input_axes") or [0] * scanned
    if len(axes) != scanned:
        return None
    given = [node.operand(index) for index in range(node.operands)]
    results = [node.result(index) for index in range(node.results)]
    elements = zip(body.inputs[count:], given[count:], axes, strict=False)
    return Iteration(
        body,
        (),
        _states(given[:count], body.inputs[:count], body.outputs[:count], results),
        [(taken, tensor, axis) for taken, tensor, axis in elements if tensor is not None],
        list(zip(results[count:], body.outputs[count:], strict=False)),
    )


def _states(
    initial: Sequence[Value | None],
    taken: Sequence[Value],
    given: Sequence[Value],
    results: Sequence[Value],
) -> list[State]:
    carried = zip(initial, taken, given, results, strict=False)
    return [State(*each) for each in carried if each[0] is not None]


class States:
    """The states of all Loops and Scans of a model, and what is assumed of them.

    Attributes:
        changing: The axes of states of which nothing is assumed.
    """

    def __init__(self, changing: Changing) -> None:
        """Begin with no assumption; of what may change, none is made."""
        self.changing = MappingProxyType(dict(changing))
        self._states: dict[Value, State] = {}
        self._final: dict[Value, Value] = {}
        self._assumed: dict[Value, PartialSizes] = {}

    def add(self, iteration: Iteration) -> None:
        """Take in the states of a Loop or Scan."""
        for state in iteration.states:
            self._states[state.taken] = state
            self._final[state.final] = state.taken

    def is_taken(self, value: Value) -> bool:
        """Whether a body takes a value as a state."""
        return value in self._states

    def is_final(self, value: Value) -> bool:
        """Whether a value is a last state."""
        return value in self._final

    def taken(self, value: Value, known: Callable[[str, Value], Any]) -> PartialSizes:
        """The shape of a state that a body takes, as it is assumed.

        Args:
            value: What the body takes.
            known: Gives what is established of a value.

        Raises:
            Rejected: Nothing is assumed of it.
        """
        changing = self.changing.get(value, frozenset())
        if changing is None:
            raise Rejected("the rank of the state may change")
        initial: Sizes = known("shape", self._states[value].initial)
        kept = tuple(None if axis in changing else size for axis, size in enumerate(initial))
        self._assume(value, kept)
        return kept

    def _assume(self, state: Value, sizes: PartialSizes) -> None:
        """Keep an assumption for `broken`. It is never changed: facts rest on it."""
        require(state not in self._assumed, "something is assumed of it already")
        self._assumed[state] = sizes

    def final(self, value: Value, known: Callable[[str, Value], Any]) -> PartialSizes:
        """The shape of the last state, which is the first one if there is no iteration.

        Raises:
            Rejected: Nothing is assumed of the state.
        """
        state = self._final[value]
        known("shape", state)
        return self._assumed[state]

    def broken(self, shape: Callable[[Value], Sizes | None]) -> Changing:
        """The states of which more is assumed than the body keeps, and the axes that change.

        This discharges all assumptions: each that was made is compared.

        Args:
            shape: Gives the established shape of a value, if it has one.
        """
        found: dict[Value, frozenset[int] | None] = {}
        for state, sizes in self._assumed.items():
            given = shape(self._states[state].given)
            if given is None or len(given) != len(sizes):
                found[state] = None
                continue
            pairs = enumerate(zip(sizes, given, strict=True))
            changed = frozenset(axis for axis, (size, now) in pairs if size not in (None, now))
            if changed:
                found[state] = changed | (self.changing.get(state) or frozenset())
        return found
