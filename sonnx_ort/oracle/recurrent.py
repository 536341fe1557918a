"""LSTM, by ball arithmetic (python-flint, the extra `oracle`).

Sources: SONNX LSTM, draft of the working group; ONNX LSTM, version 22, for the results Y_h and Y_c,
for the axis of the directions in Y, which the draft takes for that of the sequence once, and for
`clip` and peepholes. What Y is behind the end of a shorter sequence no document says.

All is computed twice: over the reals, and with the errors of a type. A sum of n summands is off by
at most `relative_error` of n roundings times the sum of magnitudes; an activation by 1 ulp, as the
draft demands in "Accuracy".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle.elements import Exact
from sonnx_ort.oracle.functions import exact_end
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.numbers import NAN, BinaryFormat, Kind, Number, power_of_two
from sonnx_ort.oracle.results import (
    UNDEFINED,
    Elements,
    Enclosed,
    NotDefinedError,
    half_a_subnormal,
    number,
    relative_error,
    tensor,
)

if TYPE_CHECKING:
    from flint import arb

_BITS = 512
_FAR = 2048
"""Beyond it no activation function but Relu changes by more than two to its negative power."""

_BOUND = "sums in any order (ours), and activations off by 1 ulp (the draft, Accuracy)"
_BEHIND = "it is behind the end of its sequence"
_BEYOND = Enclosed(NAN, NAN, reach=power_of_two(1 << 12))
"""Any result, because an operand is not finite or a sum may overflow."""

_FUNCTIONS: "Mapping[str, Callable[[arb], arb]]" = MappingProxyType(
    {"Sigmoid": lambda x: 1 / (1 + (-x).exp()), "Tanh": lambda x: x.tanh()}
)
_ACTIVATIONS = (*_FUNCTIONS, "Relu")
_DIRECTIONS: Mapping[str, tuple[bool, ...]] = MappingProxyType(
    {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
)
"""The directions of a node: whether each goes from the end to the start."""


@dataclass
class Kernel:
    """Arithmetic on balls with the errors of a format, or none.

    Attributes:
        binary: The format; None over the reals.
        reach: The largest magnitude of a sum, if there is a format.
    """

    binary: BinaryFormat | None
    reach: Fraction = field(default=Fraction(0))

    def total(self, products: Iterable[Sequence[Any]]) -> "arb":
        """The sum of some products, which may have one factor only."""
        from flint import arb  # noqa: PLC0415 - an optional dependency

        total, magnitude, count = arb(0), arb(0), 0
        for factors in products:
            product = arb(1)
            for factor in factors:
                product *= factor
            total += product
            magnitude += abs(product)
            count += 1
        return self._off(total, magnitude, count + 1)

    def activated(self, name: str, x: "arb") -> "arb":
        """An activation function, all of which are monotonic, off by 1 ulp."""
        from flint import arb  # noqa: PLC0415 - an optional dependency

        if name == "Relu":
            return x.max(0)
        ends = [end.max(-_FAR).min(_FAR) for end in (x.lower(), x.upper())]
        made = _FUNCTIONS[name](ends[0]).union(_FUNCTIONS[name](ends[1]))
        if abs(x).upper() > _FAR:
            made += arb(0, arb(2) ** -_FAR)
        return self._off(made, abs(made), 2)

    def _off(self, x: "arb", magnitude: "arb", roundings: int) -> "arb":
        from flint import arb, fmpq  # noqa: PLC0415 - an optional dependency

        if self.binary is None:
            return x
        if not magnitude.is_finite():
            self.reach = _BEYOND.reach
            return x
        relative = relative_error(roundings, self.binary)
        underflow = 2 * roundings * half_a_subnormal(self.binary)
        error = magnitude * fmpq(relative.numerator, relative.denominator)
        error += arb(fmpq(underflow.numerator, underflow.denominator))
        self.reach = max(self.reach, exact_end((magnitude + error).upper()))
        return x + arb(0, error.upper())


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
        self, kernel: Kernel, x: Sequence[Any], hidden: Sequence[Any], cells: Sequence[Any]
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
            return kernel.activated(name, self._clipped(kernel.total([*weighted, *biases])))

        made, shown = [], []
        for place in places:
            old = cells[place]
            taken = gate(0, first, place, old)
            kept = kernel.total([(1,), (-1, taken)]) if self.coupled else gate(2, first, place, old)
            new = kernel.total([(kept, old), (taken, gate(3, second, place, old))])
            opened = gate(1, first, place, new)
            made.append(new)
            shown.append(kernel.total([(opened, kernel.activated(third, self._clipped(new)))]))
        return shown, made

    def _clipped(self, x: Any) -> Any:
        return x if self.clip is None else x.min(self.clip).max(-self.clip)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a node, and the length of each sequence."""

    length: int
    batch: int
    hidden: int
    ends: Sequence[int]


def lstm(node: Node) -> tuple[Elements, ...]:
    """LSTM: Y, Y_h and Y_c; forward, reverse or both.

    Raises:
        NotDefinedError: Shapes do not fit each other, or the direction is none of the three.
        ValueError: An activation other than Sigmoid, Tanh and Relu.
    """
    import flint  # noqa: PLC0415 - an optional dependency

    x = node.exact(0)
    batchwise = bool(node.integer("layout", 0))
    if batchwise:
        x = x.swapaxes(0, 1)
    direction = str(node.attributes.get("direction", "forward"))
    if direction not in _DIRECTIONS:
        raise NotDefinedError(f"direction {direction} is none of {', '.join(_DIRECTIONS)}")
    sizes = _sizes(node, x, len(_DIRECTIONS[direction]))
    with flint.ctx.workprec(_BITS):
        ways = [_results(node, x, sizes, *way) for way in enumerate(_DIRECTIONS[direction])]
    y, *states = (np.stack(each) for each in zip(*ways, strict=True))
    y = y.swapaxes(0, 1)
    if batchwise:
        y, states = y.transpose(2, 0, 1, 3), [state.swapaxes(0, 1) for state in states]
    return tuple(Elements(e, node.element_type(), _BOUND, _BEHIND) for e in (y, *states))


def _sizes(node: Node, x: Exact, ways: int) -> Sizes:
    w, r = node.operand(1).shape, node.operand(2).shape
    length, batch, inputs = x.shape
    hidden = r[-1]
    if w != (ways, 4 * hidden, inputs) or r != (ways, 4 * hidden, hidden):
        raise NotDefinedError(f"X {x.shape}, W {w} and R {r} do not fit each other")
    given = node.optional(4)
    ends = [length] * batch if given is None else [int(end) for end in given]
    if len(ends) != batch or not all(0 <= end <= length for end in ends):
        raise NotDefinedError(f"sequence_lens {ends} are not lengths of {batch} sequences")
    return Sizes(length, batch, hidden, ends)


def _results(node: Node, x: Exact, sizes: Sizes, way: int, reverse: bool) -> tuple[Exact, ...]:
    """Y, Y_h and Y_c of one direction."""
    cell = _cell(node, way)
    y = np.full((sizes.length, sizes.batch, sizes.hidden), UNDEFINED, object)
    last = [np.empty((sizes.batch, sizes.hidden), object) for _ in range(2)]
    starts = [_state(node, place, way, sizes) for place in (5, 6)]
    for b, end in enumerate(sizes.ends):
        order = list(range(end))[:: -1 if reverse else 1]
        sequence = [x[t, b].tolist() for t in order]
        start = [start[b].tolist() for start in starts]
        exact, rounded = (
            _walk(cell, Kernel(each), sequence, start) for each in (None, node.format())
        )
        for t, states in zip([None, *order], zip(exact[0], rounded[0], strict=True), strict=True):
            shown = [_enclosed(*pair, rounded[1]) for pair in zip(*states, strict=True)]
            for state, elements in zip(last, shown, strict=True):
                state[b] = tensor(elements, [sizes.hidden])
            if t is not None:
                y[t, b] = last[0][b]
    return y, *last


_Walk = tuple[list[tuple[list[Any], list[Any]]], Fraction]


def _walk(cell: Cell, kernel: Kernel, sequence: Sequence[Any], start: Sequence[Any]) -> _Walk:
    """The hidden state and the cells at the start and after each element, and the reach."""
    hidden, cells = start
    found = [(hidden, cells)]
    for x in sequence:
        hidden, cells = cell.step(kernel, list(_balls(x)), hidden, cells)
        found.append((hidden, cells))
    return found, kernel.reach


def _enclosed(exact: Sequence[Any], rounded: Sequence[Any], reach: Fraction) -> list[Enclosed]:
    """The elements of a state, which were computed over the reals and with errors."""
    return [_between(*pair, reach) for pair in zip(exact, rounded, strict=True)]


def _between(exact: "arb", rounded: "arb", reach: Fraction) -> Enclosed:
    if not (exact.is_finite() and rounded.is_finite()):
        return _BEYOND
    (low, high), (least, most) = (
        (exact_end(ball.lower()), exact_end(ball.upper())) for ball in (exact, rounded)
    )
    return Enclosed(number(low), number(high), max(low - least, most - high, Fraction(0)), reach)


def _cell(node: Node, way: int) -> Cell:
    w, r = (node.exact(place)[way] for place in (1, 2))
    hidden = r.shape[-1]
    biases = _optional(node, 3, way, 8 * hidden)
    names = node.attributes.get("activations", ["Sigmoid", "Tanh", "Tanh"] * 2)
    chosen = [str(name).capitalize() for name in names][3 * way : 3 * way + 3]
    if len(chosen) < 3 or not set(chosen) <= set(_ACTIVATIONS):
        raise ValueError(f"activations {list(names)} are not computed")
    peepholes = None
    if node.optional(7) is not None:
        peepholes = tensor(_balls(_optional(node, 7, way, 3 * hidden)), (3, hidden))
    return Cell(
        tensor(_balls(w.ravel().tolist()), (4, hidden, w.shape[1])),
        tensor(_balls(r.ravel().tolist()), (4, hidden, hidden)),
        tensor(_balls(biases), (2, 4, hidden)),
        peepholes,
        chosen,
        next(_balls([node.factor("clip", 0)])) if "clip" in node.attributes else None,
        bool(node.integer("input_forget", 0)),
    )


def _optional(node: Node, place: int, way: int, size: int) -> list[Any]:
    """The elements of an operand for one direction; zeros if it is omitted."""
    if node.optional(place) is None:
        return [number(Fraction(0))] * size
    operand = node.exact(place)
    found: list[Any] = operand[way : way + 1].ravel().tolist()
    if len(found) != size:
        raise NotDefinedError(f"operand {place} has {len(found)} elements, not {size}")
    return found


def _state(node: Node, place: int, way: int, sizes: Sizes) -> Exact:
    """The initial states of a direction as balls, for each sequence; zeros if they are omitted."""
    if node.optional(place) is None:
        (zero,) = _balls([number(Fraction(0))])
        return np.full((sizes.batch, sizes.hidden), zero, object)
    found = node.exact(place)
    if node.integer("layout", 0) and found.ndim == 3:
        found = found.swapaxes(0, 1)
    if found.ndim != 3 or way >= len(found) or found.shape[1:] != (sizes.batch, sizes.hidden):
        raise NotDefinedError(f"operand {place} has the shape {node.operand(place).shape}")
    return tensor(_balls(found[way].ravel().tolist()), found.shape[1:])


def _balls(numbers: "Iterable[Number | arb]") -> Iterator["arb"]:
    """The balls that are these numbers; NaN for infinities. Balls stay what they are."""
    from flint import arb, fmpq  # noqa: PLC0415 - an optional dependency

    for each in numbers:
        if not isinstance(each, Number):
            yield each
        elif each.kind is Kind.FINITE:
            yield arb(fmpq(each.value.numerator, each.value.denominator))
        else:
            yield arb("nan")
