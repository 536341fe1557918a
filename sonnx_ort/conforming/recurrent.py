"""LSTM: every input is given, and all but X are constants.

An input that is left out gets what ONNX says of it (LSTM-7): each sequence is as long as X, both
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
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.change import Change, NoChangeError, NodeEdit, Safety, filled
from sonnx_ort.conforming.constants import stored_elements
from sonnx_ort.terms.operand import Dimension

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
    attributes = edit.node.attributes
    activations = attributes.get_strings("activations", [*_SIGMOID_AND_TANH] * _directions(edit))
    if tuple(activations or ()) != _SIGMOID_AND_TANH * _directions(edit):
        raise NoChangeError(
            "peepholes of zeros are proved to have no effect only with Sigmoid and Tanh"
        )
    if "clip" in attributes or edit.integer("input_forget"):
        raise NoChangeError("its attributes clip and input_forget change the gates")
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
        verb = "is" if len(others) == 1 else "are"
        raise NoChangeError(f"{' and '.join(others)} {verb} known only in a run")
    for position, elements in stored.items():
        edit.set_input(position, edit.constant(elements, _NAMES[position]))
    return bool(stored)


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
        raise NoChangeError(f"'{x.name}' is of rank {len(shape)}, and not 3")
    length = 0 if only_batch else _size(shape[0], "length", x, what)
    return length, _size(shape[1], "number", x, what)


def _size(size: Dimension, noun: str, x: ir.Value, what: str) -> int:
    if not isinstance(size, int):
        raise NoChangeError(
            f"{what} has to be constant, and the {noun} of the sequences of '{x.name}' is known "
            "only in a run"
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
        raise NoChangeError("the number of hidden units is known only in a run")
    return size


def _given(
    position: int, title: str, make: Callable[[NodeEdit], bool], safety: Safety = Safety.SAFE
) -> Change:
    return Change(title, frozenset({f"LSTM.{_NAMES[position]}"}), make, safety)


CHANGES = (
    Change(
        "store the result of nodes that only move elements",
        frozenset({"LSTM.constant"}),
        store_inputs,
    ),
    _given(_SEQUENCE_LENS, "add the lengths of the sequences", give_sequence_lens),
    _given(_INITIAL_H, "add a hidden state of zeros", partial(give_state, position=_INITIAL_H)),
    _given(_INITIAL_C, "add a cell state of zeros", partial(give_state, position=_INITIAL_C)),
    _given(_P, "add peepholes of zeros", give_peepholes_of_finite_cells),
    _given(
        _P, "add peepholes of zeros to cells of any state", give_peepholes, safety=Safety.ROUNDING
    ),
    _given(_B, "add a bias of zeros, with which NaN becomes a number", give_bias, Safety.ROUNDING),
)
"""The changes of LSTM."""
