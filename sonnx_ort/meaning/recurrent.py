"""LSTM and GRU, by ball arithmetic (python-flint, the extra `oracle`).

Sources: SONNX LSTM, draft of the working group; ONNX LSTM, version 22, for the results Y_h and Y_c,
for the axis of the directions in Y, which the draft takes for that of the sequence once, and for
`clip` and peepholes; ONNX GRU, version 22, of which SONNX has no document. What Y is after the end
of a shorter sequence no document says.

All is computed twice: over the reals, and with the errors of a type. A sum of n summands is off by
at most `relative_error` of n roundings times the sum of magnitudes; an activation by 1 ulp, as the
draft of LSTM demands in "Accuracy", and as is taken of GRU too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sonnx_ort.meaning.balls import WITHOUT_FLINT, anything, ball_type, has_flint, precision
from sonnx_ort.meaning.functions import hyperbolic_tangent, logistic
from sonnx_ort.meaning.node import BallNode, Node, mapped
from sonnx_ort.meaning.numbers import Exact
from sonnx_ort.meaning.results import UNDEFINED, Elements, Enclosed, NotDefinedError, between_balls

if TYPE_CHECKING:
    from flint import arb

_BITS = 512

_BOUND = "sums in any order (ours), and activations off by 1 ulp (the draft, Accuracy)"
_BOUND_OF_GRU = (
    "sums in any order (ours), and activations off by 1 ulp (ours: as the draft of LSTM demands)"
)
_UNDEFINED = "it is after the end of its sequence"

_FUNCTIONS = {"Sigmoid": logistic, "Tanh": hyperbolic_tangent}
_ACTIVATIONS = (*_FUNCTIONS, "Relu")
_DIRECTIONS: Mapping[str, tuple[bool, ...]] = {
    "forward": (False,),
    "reverse": (True,),
    "bidirectional": (False, True),
}
"""The directions of a node: whether each goes from the end to the start."""


def activated(node: BallNode, name: str, x: "arb") -> "arb":
    """An activation function, all of which are monotonic, off by 1 ulp.

    An operand that may be anything may be NaN.
    """
    if not x.is_finite():
        return x
    return x.max(0) if name == "Relu" else node.rounded(_FUNCTIONS[name](x), 1)


def total(node: BallNode, products: Sequence[Sequence[Any]]) -> "arb":
    """The sum of some products, which may have one factor only."""
    made = [prod(factors) for factors in products]
    return node.rounded(sum(made), len(made), sum(map(abs, made)))


class Cell(Protocol):
    """The weights of one direction as balls, and its activations."""

    def step(
        self, node: BallNode, x: Sequence[Any], states: Sequence[Sequence[Any]]
    ) -> Sequence[list[Any]]:
        """The states after one element of the sequence; the hidden one is first."""
        ...


@dataclass(frozen=True)
class Layer:
    """What an operator has of its own.

    Attributes:
        gates: How many gates each place of the hidden state has.
        states: The operands with the initial states; that of the hidden one is first.
        cell: Gives the cell of a direction.
        bound: The error that is admitted, and its source.
    """

    gates: int
    states: Sequence[int]
    cell: Callable[[BallNode, int], Cell]
    bound: str


@dataclass(frozen=True)
class LstmCell:
    """A cell of LSTM; gates are in the order iofc.

    Attributes:
        w: The weights of the operand, for each gate and place of the hidden state.
        r: Those of the hidden state.
        biases: Both biases of each gate and place.
        peepholes: The weights of the cell for the gates iof, if there are any.
        names: The activations f, g and h.
        clip: The threshold, if there is one.
        coupled: Whether the forget gate is 1 - the input gate.
    """

    w: Exact
    r: Exact
    biases: Exact
    peepholes: Exact | None
    names: Sequence[str]
    clip: Any
    coupled: bool

    def step(
        self, node: BallNode, x: Sequence[Any], states: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[Any]]:
        """The hidden state and the cells after one element of the sequence."""
        hidden, cells = states
        first, second, third = self.names
        places = range(len(hidden))

        def gate(which: int, name: str, place: int, cell: Any) -> Any:
            weighted = [*zip(self.w[which, place], x, strict=True)]
            weighted += zip(self.r[which, place], hidden, strict=True)
            if self.peepholes is not None and which < 3:
                weighted.append((self.peepholes[which, place], cell))
            biases = ((bias,) for bias in self.biases[:, which, place])
            return activated(node, name, clipped(total(node, [*weighted, *biases]), self.clip))

        made, shown = [], []
        for place in places:
            old = cells[place]
            taken = gate(0, first, place, old)
            kept = total(node, [(1,), (-1, taken)]) if self.coupled else gate(2, first, place, old)
            new = total(node, [(kept, old), (taken, gate(3, second, place, old))])
            opened = gate(1, first, place, new)
            made.append(new)
            shown.append(total(node, [(opened, activated(node, third, clipped(new, self.clip)))]))
        return shown, made


@dataclass(frozen=True)
class GruCell:
    """A cell of GRU; gates are in the order zrh.

    Attributes:
        w: The weights of the operand, for each gate and place of the hidden state.
        r: Those of the hidden state.
        biases: The bias that is added to what `w` makes, and that which is added to what `r` makes,
            of each gate and place.
        names: The activations f and g.
        clip: The threshold, if there is one.
        linear: Whether the hidden state is reset after it is multiplied by `r`.
    """

    w: Exact
    r: Exact
    biases: Exact
    names: Sequence[str]
    clip: Any
    linear: bool

    def step(
        self, node: BallNode, x: Sequence[Any], states: Sequence[Sequence[Any]]
    ) -> tuple[list[Any]]:
        """The hidden state after one element of the sequence."""
        (hidden,) = states
        first, second = self.names
        places = range(len(hidden))

        def of_operand(which: int, place: int) -> list[tuple[Any, ...]]:
            weighted = zip(self.w[which, place], x, strict=True)
            return [*weighted, (self.biases[0, which, place],)]

        def of_state(which: int, place: int, state: Sequence[Any]) -> list[tuple[Any, ...]]:
            weighted = zip(self.r[which, place], state, strict=True)
            return [*weighted, (self.biases[1, which, place],)]

        def gate(which: int, place: int) -> Any:
            whole = total(node, [*of_operand(which, place), *of_state(which, place, hidden)])
            return activated(node, first, clipped(whole, self.clip))

        resets = [gate(1, place) for place in places]
        kept = [total(node, [pair]) for pair in zip(resets, hidden, strict=True)]

        def proposed(place: int) -> Any:
            if self.linear:
                reset = (resets[place], total(node, of_state(2, place, hidden)))
                whole = total(node, [*of_operand(2, place), reset])
            else:
                whole = total(node, [*of_operand(2, place), *of_state(2, place, kept)])
            return activated(node, second, clipped(whole, self.clip))

        return ([_mixed(node, gate(0, k), proposed(k), hidden[k]) for k in places],)


def _mixed(node: BallNode, share: Any, new: Any, old: Any) -> Any:
    """A share of the old state and the rest of the new one.

    (1 - share) new + share old and new + share (old - new) are admitted, which both have three
    roundings.
    """
    made = (1 - share) * new + share * old
    return node.rounded(made, 3, abs(new) + abs(share) * (abs(new) + abs(old)))


def clipped(x: Any, threshold: Any) -> Any:
    """An element between a threshold and its negative, if there is a threshold."""
    unclipped = threshold is None or not x.is_finite()
    return x if unclipped else x.min(threshold).max(-threshold)


def lstm(node: Node) -> tuple[Elements, ...]:
    """LSTM: Y, Y_h and Y_c; forward, reverse or both.

    Raises:
        NotDefinedError: Shapes do not fit each other, or the direction is none of the three.
        ValueError: An activation other than Sigmoid, Tanh and Relu.
    """
    return _results_of(node, _LSTM)


def gru(node: Node) -> tuple[Elements, ...]:
    """GRU: Y and Y_h; forward, reverse or both.

    Raises:
        NotDefinedError: Shapes do not fit each other, or the direction is none of the three.
        ValueError: An activation other than Sigmoid, Tanh and Relu.
    """
    return _results_of(node, _GRU)


def _results_of(node: Node, layer: Layer) -> tuple[Elements, ...]:
    if not has_flint():
        raise ImportError(WITHOUT_FLINT)
    with precision(_BITS):
        if isinstance(node, BallNode):
            # Another rounding is that of the bound; what no document defines is anything.
            made = [
                mapped(lambda e: anything() if e is UNDEFINED else node.rounded(e), each)
                for each in _states(node, layer)
            ]
        else:
            formats = (None, node.format())
            exact, rounded = (_states(node.with_balls(each), layer) for each in formats)
            made = [mapped(_between, *pair) for pair in zip(exact, rounded, strict=True)]
    return tuple(Elements(each, node.element_type(), layer.bound, _UNDEFINED) for each in made)


def _between(exact: Any, rounded: Any) -> Enclosed:
    return exact if exact is UNDEFINED else between_balls(exact, rounded)


def _states(node: BallNode, layer: Layer) -> list[Exact]:
    """Y and the last states as balls."""
    x = node.exact(0)
    batchwise = bool(node.integer("layout", 0))
    if batchwise:
        x = x.swapaxes(0, 1)
    direction = str(node.attributes.get("direction", "forward"))
    if direction not in _DIRECTIONS:
        raise NotDefinedError(f"direction {direction} is none of {', '.join(_DIRECTIONS)}")
    ends = _ends(node, x, len(_DIRECTIONS[direction]), layer.gates)
    ways = [_results(node, layer, x, ends, *way) for way in enumerate(_DIRECTIONS[direction])]
    y, *states = (np.stack(each) for each in zip(*ways, strict=True))
    y = y.swapaxes(0, 1)
    if batchwise:
        y, states = y.transpose(2, 0, 1, 3), [state.swapaxes(0, 1) for state in states]
    return [y, *states]


def _ends(node: Node, x: Exact, ways: int, gates: int) -> list[int]:
    """The length of each sequence, where all shapes fit each other."""
    w, r = node.operand(1).shape, node.operand(2).shape
    length, batch, inputs = x.shape
    hidden = r[-1]
    if w != (ways, gates * hidden, inputs) or r != (ways, gates * hidden, hidden):
        raise NotDefinedError(f"X {x.shape}, W {w} and R {r} do not fit each other")
    given = node.optional(4)
    ends = [length] * batch if given is None else [int(end) for end in given]
    if len(ends) != batch or not all(0 <= end <= length for end in ends):
        raise NotDefinedError(f"sequence_lens {ends} are not lengths of {batch} sequences")
    return ends


def _results(  # noqa: PLR0913, PLR0917 - a direction of a layer
    node: BallNode, layer: Layer, x: Exact, ends: Sequence[int], way: int, reverse: bool
) -> tuple[Exact, ...]:
    """Y and the last states of one direction."""
    cell, shape = layer.cell(node, way), (len(ends), node.operand(2).shape[-1])
    y = np.full((len(x), *shape), UNDEFINED, object)
    starts = [_state(node, place, way, shape) for place in layer.states]
    last = [np.empty(shape, object) for _ in starts]
    for b, end in enumerate(ends):
        states: Sequence[Any] = [start[b].tolist() for start in starts]
        for t in range(end)[:: -1 if reverse else 1]:
            states = cell.step(node, x[t, b].tolist(), states)
            y[t, b] = states[0]
        for made, state in zip(last, states, strict=True):
            made[b] = state
    return y, *last


def _lstm_cell(node: BallNode, way: int) -> LstmCell:
    hidden = node.operand(2).shape[-1]
    peepholes = None
    if node.optional(7) is not None:
        peepholes = _optional(node, 7, way, 3 * hidden).reshape(3, hidden)
    return LstmCell(
        *_weights(node, way, 4),
        peepholes,
        _chosen(node, way, ("Sigmoid", "Tanh", "Tanh")),
        _threshold(node),
        bool(node.integer("input_forget", 0)),
    )


def _gru_cell(node: BallNode, way: int) -> GruCell:
    return GruCell(
        *_weights(node, way, 3),
        _chosen(node, way, ("Sigmoid", "Tanh")),
        _threshold(node),
        bool(node.integer("linear_before_reset", 0)),
    )


_LSTM = Layer(4, (5, 6), _lstm_cell, _BOUND)
_GRU = Layer(3, (5,), _gru_cell, _BOUND_OF_GRU)


def _weights(node: BallNode, way: int, gates: int) -> tuple[Exact, Exact, Exact]:
    """W, R and both biases of a direction, by gates."""
    w, r = (node.exact(place)[way] for place in (1, 2))
    hidden = r.shape[-1]
    return (
        w.reshape(gates, hidden, w.shape[1]),
        r.reshape(gates, hidden, hidden),
        _optional(node, 3, way, 2 * gates * hidden).reshape(2, gates, hidden),
    )


def _chosen(node: BallNode, way: int, default: Sequence[str]) -> Sequence[str]:
    """The activations of a direction."""
    names, count = node.attributes.get("activations", [*default] * 2), len(default)
    chosen = [str(name).capitalize() for name in names][count * way : count * (way + 1)]
    if len(chosen) < count or not set(chosen) <= set(_ACTIVATIONS):
        raise ValueError(f"activations {list(names)} are not computed")
    return chosen


def _threshold(node: BallNode) -> Any:
    return node.factor("clip", 0) if "clip" in node.attributes else None


def _optional(node: BallNode, place: int, way: int, size: int) -> Exact:
    """The elements of an operand for one direction; zeros if it is omitted."""
    if node.optional(place) is None:
        return np.full(size, ball_type()(0), object)
    found = node.exact(place)[way : way + 1].ravel()
    if found.size != size:
        raise NotDefinedError(f"operand {place} has {found.size} elements, not {size}")
    return found


def _state(node: BallNode, place: int, way: int, shape: tuple[int, int]) -> Exact:
    """The initial states of a direction, for each sequence; zeros if they are omitted."""
    if node.optional(place) is None:
        return np.full(shape, ball_type()(0), object)
    found = node.exact(place)
    if node.integer("layout", 0) and found.ndim == 3:
        found = found.swapaxes(0, 1)
    if found.ndim != 3 or way >= len(found) or found.shape[1:] != shape:
        raise NotDefinedError(f"operand {place} has the shape {node.operand(place).shape}")
    state: Exact = found[way]
    return state


def multiplications(node: Node) -> int:
    """How many it takes."""
    length, batch, *_ = node.operand(0).shape
    return prod((length, batch, node.operand(1).size + node.operand(2).size))
