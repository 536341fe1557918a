"""LSTM, by ball arithmetic (python-flint, the extra `oracle`).

Sources: SONNX LSTM, draft of the working group; ONNX LSTM, version 22, for the results Y_h and Y_c,
for the axis of the directions in Y, which the draft takes for that of the sequence once, and for
`clip` and peepholes. What Y is after the end of a shorter sequence no document says.

All is computed twice: over the reals, and with the errors of a type. A sum of n summands is off by
at most `relative_error` of n roundings times the sum of magnitudes; an activation by 1 ulp, as the
draft demands in "Accuracy".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.balls import WITHOUT_FLINT, anything, ball_type, has_flint, precision
from sonnx_ort.oracle.functions import hyperbolic_tangent, logistic
from sonnx_ort.oracle.node import BallNode, Node, mapped
from sonnx_ort.oracle.numbers import Exact
from sonnx_ort.oracle.results import UNDEFINED, Elements, Enclosed, NotDefinedError, between_balls

if TYPE_CHECKING:
    from flint import arb

_BITS = 512

_BOUND = "sums in any order (ours), and activations off by 1 ulp (the draft, Accuracy)"
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


@dataclass(frozen=True)
class Cell:
    """The weights of one direction as balls, and its activations; gates are in the order iofc.

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
        self, node: BallNode, x: Sequence[Any], hidden: Sequence[Any], cells: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The hidden state and the cells after one element of the sequence."""
        first, second, third = self.names
        places = range(len(hidden))

        def gate(which: int, name: str, place: int, cell: Any) -> Any:
            weighted = [*zip(self.w[which, place], x, strict=True)]
            weighted += zip(self.r[which, place], hidden, strict=True)
            if self.peepholes is not None and which < 3:
                weighted.append((self.peepholes[which, place], cell))
            biases = ((bias,) for bias in self.biases[:, which, place])
            return activated(node, name, self._clipped(total(node, [*weighted, *biases])))

        made, shown = [], []
        for place in places:
            old = cells[place]
            taken = gate(0, first, place, old)
            kept = total(node, [(1,), (-1, taken)]) if self.coupled else gate(2, first, place, old)
            new = total(node, [(kept, old), (taken, gate(3, second, place, old))])
            opened = gate(1, first, place, new)
            made.append(new)
            shown.append(total(node, [(opened, activated(node, third, self._clipped(new)))]))
        return shown, made

    def _clipped(self, x: Any) -> Any:
        unclipped = self.clip is None or not x.is_finite()
        return x if unclipped else x.min(self.clip).max(-self.clip)


def lstm(node: Node) -> tuple[Elements, ...]:
    """LSTM: Y, Y_h and Y_c; forward, reverse or both.

    Raises:
        NotDefinedError: Shapes do not fit each other, or the direction is none of the three.
        ValueError: An activation other than Sigmoid, Tanh and Relu.
    """
    if not has_flint():
        raise ImportError(WITHOUT_FLINT)
    with precision(_BITS):
        if isinstance(node, BallNode):
            # Another rounding is that of the bound; what no document defines is anything.
            made = [
                mapped(lambda e: anything() if e is UNDEFINED else node.rounded(e), each)
                for each in _states(node)
            ]
        else:
            exact, rounded = (_states(node.with_balls(each)) for each in (None, node.format()))
            made = [mapped(_between, *pair) for pair in zip(exact, rounded, strict=True)]
    return tuple(Elements(each, node.element_type(), _BOUND, _UNDEFINED) for each in made)


def _between(exact: Any, rounded: Any) -> Enclosed:
    return exact if exact is UNDEFINED else between_balls(exact, rounded)


def _states(node: BallNode) -> list[Exact]:
    """Y, Y_h and Y_c as balls."""
    x = node.exact(0)
    batchwise = bool(node.integer("layout", 0))
    if batchwise:
        x = x.swapaxes(0, 1)
    direction = str(node.attributes.get("direction", "forward"))
    if direction not in _DIRECTIONS:
        raise NotDefinedError(f"direction {direction} is none of {', '.join(_DIRECTIONS)}")
    ends = _ends(node, x, len(_DIRECTIONS[direction]))
    ways = [_results(node, x, ends, *way) for way in enumerate(_DIRECTIONS[direction])]
    y, *states = (np.stack(each) for each in zip(*ways, strict=True))
    y = y.swapaxes(0, 1)
    if batchwise:
        y, states = y.transpose(2, 0, 1, 3), [state.swapaxes(0, 1) for state in states]
    return [y, *states]


def _ends(node: Node, x: Exact, ways: int) -> list[int]:
    """The length of each sequence, where all shapes fit each other."""
    w, r = node.operand(1).shape, node.operand(2).shape
    length, batch, inputs = x.shape
    hidden = r[-1]
    if w != (ways, 4 * hidden, inputs) or r != (ways, 4 * hidden, hidden):
        raise NotDefinedError(f"X {x.shape}, W {w} and R {r} do not fit each other")
    given = node.optional(4)
    ends = [length] * batch if given is None else [int(end) for end in given]
    if len(ends) != batch or not all(0 <= end <= length for end in ends):
        raise NotDefinedError(f"sequence_lens {ends} are not lengths of {batch} sequences")
    return ends


def _results(
    node: BallNode, x: Exact, ends: Sequence[int], way: int, reverse: bool
) -> tuple[Exact, ...]:
    """Y, Y_h and Y_c of one direction."""
    cell, shape = _cell(node, way), (len(ends), node.operand(2).shape[-1])
    y = np.full((len(x), *shape), UNDEFINED, object)
    starts = [_state(node, place, way, shape) for place in (5, 6)]
    last = [np.empty(shape, object) for _ in starts]
    for b, end in enumerate(ends):
        hidden, cells = (start[b].tolist() for start in starts)
        for t in range(end)[:: -1 if reverse else 1]:
            hidden, cells = cell.step(node, x[t, b].tolist(), hidden, cells)
            y[t, b] = hidden
        last[0][b], last[1][b] = hidden, cells
    return y, *last


def _cell(node: BallNode, way: int) -> Cell:
    w, r = (node.exact(place)[way] for place in (1, 2))
    hidden = r.shape[-1]
    biases = _optional(node, 3, way, 8 * hidden)
    names = node.attributes.get("activations", ["Sigmoid", "Tanh", "Tanh"] * 2)
    chosen = [str(name).capitalize() for name in names][3 * way : 3 * way + 3]
    if len(chosen) < 3 or not set(chosen) <= set(_ACTIVATIONS):
        raise ValueError(f"activations {list(names)} are not computed")
    peepholes = None
    if node.optional(7) is not None:
        peepholes = _optional(node, 7, way, 3 * hidden).reshape(3, hidden)
    return Cell(
        w.reshape(4, hidden, w.shape[1]),
        r.reshape(4, hidden, hidden),
        biases.reshape(2, 4, hidden),
        peepholes,
        chosen,
        node.factor("clip", 0) if "clip" in node.attributes else None,
        bool(node.integer("input_forget", 0)),
    )


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
