"""LSTM: every input is given, and all but X are constants.

An input that is omitted gets what ONNX says of it (LSTM-7): each sequence is as long as X, both
states begin with zeros. ONNX Runtime fills in the same numbers and computes in the same way. It
skips what a bias and peepholes add, however, so that for these zeros have to be proved to add
nothing.

Peepholes of zeros add 0 * c to a gate, where c is the state of the cell. That is a zero if c is
finite, and a gate keeps its bits then, but for a zero that changes its sign, of which Sigmoid makes
the same. Let the gates be Sigmoid, Tanh and Tanh. c is multiplied by a sigmoid and gets a sigmoid
times a tangent added, both at most 1 + 2^-22 as ONNX Runtime rounds them. So from at most 2^20 on,
c is infinite not before 3 * 10^8 steps, whose gates ONNX Runtime cannot count. If c is NaN, so is
the hidden state, with which every gate of the next step is NaN either way.

A bias of zeros changes what is computed from a NaN: ONNX Runtime limits gates to finite numbers
while it adds a bias, and makes a finite number of NaN. Else -0.0 added changes no number.

States that a run gives, as a model has that is called for one part of a signal after the other,
cannot be constants. Then the LSTM becomes the nodes of all its steps, by the equations of ONNX.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.bounds import Bound, Inputs, Reference
from sonnx_ort.conforming.change import Change, NoChangeError, NodeEdit, filled
from sonnx_ort.conforming.moved_constants import stored_elements
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.errors.remedies import Remedy

_X, _W, _R, _B, _SEQUENCE_LENS, _INITIAL_H, _INITIAL_C, _P = range(8)
_NAMES = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")
_SIGMOID_AND_TANH = ("Sigmoid", "Tanh", "Tanh")

_STAYS_FINITE = 2.0**20
"""The largest state of a cell to begin with that is proved to stay finite."""


def give_sequence_lens(edit: NodeEdit) -> bool:
    """Give each sequence the length that X has."""
    length, batch = _sizes(edit, "sequence_lens")
    return _give(edit, _SEQUENCE_LENS, filled([batch], length, np.int32))


def give_state(edit: NodeEdit, position: int) -> bool:
    """Give the hidden state or that of the cell to begin with, as zeros."""
    _, batch = _sizes(edit, _NAMES[position], only_batch=True)
    sizes = (_directions(edit), batch, _hidden(edit))
    return _give(edit, position, filled(sizes, 0.0, edit.dtype(edit.operand(_X)).numpy()))


def give_bias(edit: NodeEdit) -> bool:
    """Give a bias of zeros, of the sign that changes no number."""
    sizes = (_directions(edit), 8 * _hidden(edit))
    return _give(edit, _B, filled(sizes, -0.0, edit.dtype(edit.operand(_X)).numpy()))


def give_peepholes(edit: NodeEdit) -> bool:
    """Give peepholes of zeros, which read whatever state the cell has."""
    sizes = (_directions(edit), 3 * _hidden(edit))
    return _give(edit, _P, filled(sizes, 0.0, edit.dtype(edit.operand(_X)).numpy()))


def give_peepholes_of_finite_cells(edit: NodeEdit) -> bool:
    """Give peepholes of zeros where the state of the cell is proved to stay finite."""
    _require_usual_gates(edit, "peepholes of zeros are proved to have no effect")
    initial = edit.input(_INITIAL_C)
    if initial is not None:
        state = stored_elements(initial, edit.facts, edit.opset)
        if state is None:
            raise NoChangeError(
                "the cell may start with an infinite state, and 0 times infinity is NaN"
            )
        # A NaN compares as false.
        if not (np.abs(state.astype(np.float64)) <= _STAYS_FINITE).all():
            raise NoChangeError("the state of the cell is not proved to stay finite")
    return give_peepholes(edit)


def store_inputs(edit: NodeEdit) -> bool:
    """Store the inputs that are made of stored tensors by moving elements."""
    stored: dict[int, npt.NDArray[Any]] = {}
    others: list[str] = []
    for position, value in enumerate(edit.node.inputs):
        if position == _X or value is None or _is_stored(value):
            continue
        elements = stored_elements(value, edit.facts, edit.opset)
        if elements is None:
            others.append(_NAMES[position])
        else:
            stored[position] = elements
    if others:
        verb = "depends" if len(others) == 1 else "depend"
        values = [value for value in edit.inputs if not _is_stored(value)]
        raise NoChangeError(
            f"{' and '.join(others)} {verb} on the input", edit.fixing_sizes(*values)
        )
    for position, elements in stored.items():
        edit.set_input(position, edit.constant(elements, _NAMES[position]))
    return bool(stored)


@dataclass(frozen=True, slots=True)
class _Cell:
    """What one direction computes with: weights by gate, and peepholes of each gate, if any."""

    op: Operators
    hidden: int
    of_input: ir.Value
    of_state: ir.Value
    bias: ir.Value | None
    peepholes: tuple[ir.Value, ...]

    def step(self, x: ir.Value, h: ir.Value, c: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The hidden state and that of the cell after one element of the sequences."""
        op = self.op
        gates = op.Add(op.MatMul(x, self.of_input), op.MatMul(h, self.of_state))
        if self.bias is not None:
            gates = op.Add(gates, self.bias)
        ends = range(0, 5 * self.hidden, self.hidden)
        i, o, f, g = (op.slice(gates, 1, *ends[k : k + 2]) for k in range(4))
        if self.peepholes:
            i, f = (op.Add(gate, op.Mul(self.peepholes[k], c)) for gate, k in ((i, 0), (f, 2)))
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)))
        if self.peepholes:
            o = op.Add(o, op.Mul(self.peepholes[1], c))
        return op.Mul(op.Sigmoid(o), op.Tanh(c)), c


def write_steps(edit: NodeEdit) -> bool:
    """Write all steps of an LSTM as nodes."""
    length, batch = _sizes(edit, "the number of steps")
    if length > edit.most_steps:
        raise NoChangeError(
            f"it has {length} steps; ", Remedy("unroll", length), " writes all of them"
        )
    if edit.integer("layout"):
        raise NoChangeError("ONNX Runtime rejects its layout")
    _require_usual_gates(edit, "its steps are written")
    if edit.input(_SEQUENCE_LENS) is not None and (edit.elements(_SEQUENCE_LENS) != length).any():
        raise NoChangeError("its sequences have lengths of their own")
    x = edit.operand(_X)
    op = Operators(edit, edit.dtype(x))
    cells = _cells(op, batch)
    states = [_state_or_zeros(op, k, batch) for k in (_INITIAL_H, _INITIAL_C)]
    parts = [op.at(x, 0, t) for t in range(length)]
    outputs, last = [], []
    for direction, cell in enumerate(cells):
        backward = direction or edit.node.attributes.get_string("direction") == "reverse"
        h, c = (op.at(each, 0, direction) for each in states)
        made = []
        for part in reversed(parts) if backward else parts:
            h, c = cell.step(part, h, c)
            made.append(op.unsqueeze(h, [0, 1]))
        outputs.append(op.concat(reversed(made) if backward else made, 0))
        last.append((op.unsqueeze(h, [0]), op.unsqueeze(c, [0])))
    edit.replace_by(
        op.concat(outputs, 1), *(op.concat(each, 0) for each in zip(*last, strict=True))
    )
    return True


def _weights(edit: NodeEdit, position: int) -> npt.NDArray[Any]:
    found = stored_elements(edit.operand(position), edit.facts, edit.opset)
    if found is None:
        raise NoChangeError(f"{_NAMES[position]} depends on the input")
    return found


def _state_or_zeros(op: Operators, position: int, batch: int) -> ir.Value:
    given = op.edit.input(position)
    if given is not None:
        return given
    sizes = (_directions(op.edit), batch, _hidden(op.edit))
    return op.edit.constant(filled(sizes, 0.0, op.dtype.numpy()), _NAMES[position])


def _cells(op: Operators, batch: int) -> list[_Cell]:
    """What each direction computes with; what is added is a row for each sequence."""
    edit, hidden = op.edit, _hidden(op.edit)
    bias = _weights(edit, _B) if edit.input(_B) is not None else None
    peepholes = _weights(edit, _P) if edit.input(_P) is not None else None

    def rows(elements: npt.NDArray[Any], name: str) -> ir.Value:
        return edit.constant(np.tile(elements, (batch, 1)), name)

    return [
        _Cell(
            op,
            hidden,
            edit.constant(np.ascontiguousarray(w.T), "W"),
            edit.constant(np.ascontiguousarray(r.T), "R"),
            None if bias is None else rows(np.add(*np.split(bias[direction], 2)), "B"),
            ()
            if peepholes is None
            else tuple(rows(each, "P") for each in np.split(peepholes[direction], 3)),
        )
        for direction, (w, r) in enumerate(zip(_weights(edit, _W), _weights(edit, _R), strict=True))
    ]


def _require_usual_gates(edit: NodeEdit, what: str) -> None:
    directions = _directions(edit)
    usual = [*_SIGMOID_AND_TANH] * directions
    if edit.node.attributes.get_strings("activations", usual) not in (usual, tuple(usual)):
        raise NoChangeError(f"{what} only with Sigmoid and Tanh")
    if "clip" in edit.node.attributes or edit.integer("input_forget"):
        raise NoChangeError("its attributes clip and input_forget change the gates")


def _is_stored(value: ir.Value) -> bool:
    """Whether the rule on constants admits a value as it is."""
    node = value.producer()
    return value.is_initializer() if node is None else node.op_type == "Constant"


def _give(edit: NodeEdit, position: int, elements: npt.NDArray[Any]) -> bool:
    if edit.integer("layout"):
        raise NoChangeError("ONNX Runtime rejects its layout")
    edit.set_input(position, edit.constant(elements, _NAMES[position]))
    return True


def _sizes(edit: NodeEdit, what: str, *, only_batch: bool = False) -> tuple[int, int]:
    """The length of the sequences, and their number; without the length, 0 stands for it."""
    x = edit.operand(_X)
    shape = edit.shape(x)
    if len(shape) != 3:
        raise NoChangeError(f"'{x.name}' has rank {len(shape)}, not 3")
    length = 0 if only_batch else _constant_size(edit, 0, "length", what)
    return length, _constant_size(edit, 1, "number", what)


def _constant_size(edit: NodeEdit, axis: int, noun: str, what: str) -> int:
    x = edit.operand(_X)
    size = edit.shape(x)[axis]
    if not isinstance(size, int):
        raise NoChangeError(
            f"{what} must be constant, but the {noun} of the sequences of '{x.name}' depends on "
            "the input",
            edit.fixing_sizes(x),
        )
    return size


def _directions(edit: NodeEdit) -> int:
    return 2 if edit.node.attributes.get_string("direction", "forward") == "bidirectional" else 1


def _hidden(edit: NodeEdit) -> int:
    """The number of hidden units, which R has as its last size."""
    hidden = edit.integer("hidden_size")
    if hidden > 0:
        return hidden
    *_, size = (None, *edit.shape(edit.operand(_R)))
    if not isinstance(size, int):
        raise NoChangeError(
            "the number of hidden units depends on the input", edit.fixing_sizes(edit.operand(_R))
        )
    return size


_VERIFIED = verified_of("LSTM")


def _given(
    position: int, title: str, make: Callable[[NodeEdit], bool], bound: Bound | None = None
) -> Change:
    return Change(title, frozenset({f"LSTM.{_NAMES[position]}"}), make, _VERIFIED, bound)


CHANGES = (
    Change(
        "store the result of nodes that only move elements",
        frozenset({"LSTM.constant"}),
        store_inputs,
        _VERIFIED,
    ),
    Change(
        "write the steps of a layer whose states a run gives",
        frozenset({"LSTM.constant"}),
        write_steps,
        _VERIFIED,
        Bound(4, Reference.ONE, Inputs.FINITE, each="term of each step", largest=4),
    ),
    _given(_SEQUENCE_LENS, "add the lengths of the sequences", give_sequence_lens),
    _given(_INITIAL_H, "add a hidden state of zeros", partial(give_state, position=_INITIAL_H)),
    _given(_INITIAL_C, "add a cell state of zeros", partial(give_state, position=_INITIAL_C)),
    _given(_P, "add peepholes of zeros", give_peepholes_of_finite_cells),
    _given(
        _P,
        "add peepholes of zeros to cells of any state",
        give_peepholes,
        Bound(0, inputs=Inputs.FINITE),
    ),
    _given(
        _B,
        "add a bias of zeros, with which NaN becomes a number",
        give_bias,
        Bound(0, inputs=Inputs.NUMBERS),
    ),
)
"""The changes of LSTM."""
