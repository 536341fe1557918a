"""Intervals of the results of LSTM and GRU.

A gate is a function of a sum: products of W with X, of R with the hidden state and, with peepholes,
of P with the state of the cell, and biases. Where no such sum can be infinite, nothing is NaN, and
magnitudes bound what follows. Sigmoid and Tanh give at most 1, and Relu no more than the sum:

    LSTM    c = i * g + f * c           |c| grows by 1 in a step, with Relu by what the gates are
            h = o * tanh(c)             |h| is at most 1, with Relu at most o
    GRU     h = (1 - z) * n + z * h     between -1, 1 and the first state

After the end of a shorter sequence results are 0.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .arithmetic import FORMATS, SLACK, Format
from .interval_functions import ZERO
from .interval_sums import finite_weights
from .intervals import element_count, hull, operand
from .node import Node
from .ranges import Interval
from .sizes import Bounds, Rejected, bounds_of_size, require

_WEIGHTS, _RECURRENCE, _BIAS, _HIDDEN, _CELL, _PEEPHOLES = 1, 2, 3, 5, 6, 7
"""The operands beside X and the lengths of the sequences."""

_FUNCTIONS: Mapping[str, Collection[Sequence[str]]] = {
    "GRU": {("Sigmoid", "Tanh")},
    "LSTM": {("Sigmoid", "Tanh", "Tanh"), ("Relu", "Tanh", "Tanh")},
}
"""The functions of a direction that are known. Those with Sigmoid are the default."""

_MOST = 1 + 2.0**-7
"""The largest magnitude of a Sigmoid, a Tanh or their product, however a kernel computes them."""

_MOST_STEPS = 1 << 14
"""Steps with Relu are followed one by one, and more of them are not."""

_STAYS_FINITE = 2.0**20
"""A cell of float that starts with no more is finite after as many steps as a kernel can count.

ONNX Runtime counts the gates of all steps by int32. A Sigmoid, and what is multiplied by it, is
rounded to at most 1 + 2^-22 times as much.
"""


@dataclass(frozen=True, slots=True)
class _Layer:
    """What the gates of a layer are computed of.

    Attributes:
        kind: The type.
        of_input: The largest sum of what is added for X, and of the biases.
        recurrence: The largest sum of magnitudes of R for one gate.
        peephole: The largest magnitude of P.
        count: How many numbers are added.
        clip: The largest magnitude of a sum that a function is given.
        steps: How many steps there may be.
    """

    kind: Format
    of_input: float
    recurrence: float
    peephole: float
    count: int
    clip: float
    steps: Bounds | None

    @property
    def most_steps(self) -> float:
        """The largest number of steps, which may be infinite."""
        return math.inf if self.steps is None else self.steps.upper

    @property
    def rounding(self) -> float:
        """How far a state may be away from the exact one, as a share, for each step."""
        return SLACK * self.kind.unit

    @property
    def growth(self) -> float:
        """How many times as large as the exact one a state may be after all steps."""
        power = self.rounding * self.most_steps
        return math.exp(power) if power < _LARGEST_POWER else math.inf

    def gate(self, hidden: float, cell: float = 0.0) -> float:
        """The largest magnitude of what the function of a gate is given.

        Args:
            hidden: The largest magnitude of the hidden state.
            cell: That of the cell.

        Raises:
            Rejected: A sum may be infinite.
        """
        # Without peepholes nothing reads the cell, whatever it is.
        of_cell = self.peephole * cell if self.peephole else 0.0
        share = self.kind.share(self.count)
        # A GRU multiplies the hidden state by a Sigmoid before.
        largest = (self.of_input + self.recurrence * hidden * _MOST + of_cell) * (1 + share)
        largest += self.count * self.kind.normal
        require(share < 1 and largest <= self.kind.largest, "a gate may be infinite")
        return min(largest, self.clip)

    def results(self, *states: Interval | None) -> Sequence[Interval | None]:
        """Y, and the last states, which kernels leave unwritten without a step."""
        written = self.steps is not None and self.steps.lower > 0
        return [states[0], *states] if written else states[:1]

    def between(self, lower: float, upper: float) -> Interval:
        """States between two numbers."""
        return self.kind.rounded(np.asarray(lower), np.asarray(upper))


_OTHERS = 3
"""What is added beside products with weights: two biases and what peepholes read."""

_LARGEST_POWER = 700.0
"""The exponential of more may be beyond the numbers of double."""


def gated_unit(node: Node) -> Sequence[Interval | None]:
    """GRU: a state is a mean of the one before it and a tangent."""
    layer = _layer_of(node, 3)
    start = operand(node, _HIDDEN).uniform if node.given(_HIDDEN) else ZERO
    ends = hull([start, Interval.of(-_MOST, _MOST)])
    error = float(ends.magnitude) * (layer.growth - 1)
    lower, upper = float(ends.lower) - error, float(ends.upper) + error
    layer.gate(max(-lower, upper))
    return layer.results(layer.between(lower, upper))


def long_short_term_memory(node: Node) -> Sequence[Interval | None]:
    """LSTM: a hidden state is what a gate lets pass of the tangent of a cell."""
    layer = _layer_of(node, 4)
    hidden, cell = _largest(node, _HIDDEN), _largest(node, _CELL)
    if "Relu" in _functions_of(node):
        hidden, cell = _rectified(node, layer, hidden, cell)
        return layer.results(layer.between(-hidden, hidden), layer.between(-cell, cell))
    largest = (cell + layer.most_steps * _MOST) * layer.growth
    layer.gate(max(hidden, _MOST), largest)
    state = layer.between(-_MOST, _MOST)
    if largest <= layer.kind.largest:
        return layer.results(state, layer.between(-largest, largest))
    rounds_finely = layer.kind.unit <= FORMATS["float"].unit
    require(cell <= _STAYS_FINITE and rounds_finely, "the cell may become infinite")
    return layer.results(state, None)


def _rectified(node: Node, layer: _Layer, hidden: float, cell: float) -> tuple[float, float]:
    """The largest magnitudes of both states after a step, if gates are as large as their sums."""
    require(layer.most_steps <= _MOST_STEPS, "it has too many steps")
    # A direction may have a Sigmoid.
    least = _MOST if "Sigmoid" in _functions_of(node) else 0.0
    coupled, reached = bool(node.attribute("input_forget", 0)), 0.0
    for _ in range(int(layer.most_steps)):
        opened = max(layer.gate(hidden, cell), least)
        kept = (opened + coupled) * cell + opened * _MOST
        cell = max(cell, kept * (1 + layer.rounding) + layer.kind.normal)
        require(cell <= layer.kind.largest, "the cell may become infinite")
        # Peepholes of the last gate read the new cell.
        reached = max(layer.gate(hidden, cell), least) * _MOST
        hidden = max(hidden, reached)
    return reached, cell


def _functions_of(node: Node) -> Sequence[str]:
    """The functions of all directions; none if they are the default."""
    return tuple(node.attribute("activations") or ())


def _layer_of(node: Node, gates: int) -> _Layer:
    """What the gates of a node are computed of, so many of them.

    Raises:
        Rejected: That is not known, or may be infinite.
    """
    kind, shape, hidden = _format(node), node.shape(0), node.attribute("hidden_size")
    directions = 2 if node.attribute("direction") == "bidirectional" else 1
    functions, length = _functions_of(node), gates - 1
    parts = [functions[at : at + length] for at in range(0, len(functions), length)]
    fitting = len(parts) == directions and all(e in _FUNCTIONS[node.op_type] for e in parts)
    require(fitting or not functions, "its functions are not verified")
    require(hidden and not node.attribute("layout", 0), "its layout is not known")
    # Versions up to 1.28 of ONNX Runtime read beyond constant weights of other shapes.
    rows = (directions, gates * hidden)
    wanted = (*rows, *shape[2:]), (*rows, hidden)
    given = node.shape(_WEIGHTS), node.shape(_RECURRENCE)
    require(given == wanted, "its weights are of other shapes")
    clip = node.attribute("clip", math.inf)
    require(clip > 0, "it clips to no interval")
    return _Layer(
        kind,
        _largest(node, 0) * _largest_sum(node, _WEIGHTS) + 2 * _largest(node, _BIAS),
        _largest_sum(node, _RECURRENCE),
        _largest(node, _PEEPHOLES),
        element_count(node, _WEIGHTS, [2]).upper + hidden + _OTHERS,
        clip,
        bounds_of_size(shape[0]),
    )


def _format(node: Node) -> Format:
    kind = FORMATS.get(node.type() or "")
    if kind is None:
        raise Rejected("X is no float")
    return kind


def _largest(node: Node, index: int) -> float:
    """The largest magnitude of an operand, 0 if it is left out.

    Raises:
        Rejected: It may be infinite.
    """
    if not node.given(index):
        return 0.0
    largest = float(operand(node, index).magnitude.max())
    require(math.isfinite(largest), "an operand may be infinite")
    return largest


def _largest_sum(node: Node, index: int) -> float:
    """The largest sum of magnitudes of the weights of one gate."""
    weights = node.weights(index)
    if weights is not None:
        return float(np.abs(finite_weights(weights)).sum(axis=2, dtype=np.float64).max())
    return _largest(node, index) * element_count(node, index, [2]).upper
