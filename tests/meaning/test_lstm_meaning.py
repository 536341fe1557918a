"""What the oracle says of LSTM: the drafts' equations in double, by hand, and wrong kernels."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from sonnx_ort.meaning import Undefined, meaning
from sonnx_ort.meaning.node import BallNode
from sonnx_ort.meaning.numbers import FLOAT_FORMATS
from sonnx_ort.meaning.recurrent import activated
from sonnx_ort.profile.element_type import ElementType
from support.meanings import Verdict, meaning_over_the_reals, verdicts

F = np.float32
LENGTH, BATCH, INPUTS, HIDDEN = 3, 2, 3, 2
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def logistic(x):
    return 1 / (1 + np.exp(-x))


def forward(x, weights, hidden, cells):
    """One direction over one sequence, as the draft has it; gates are in the order iofc."""
    shown, (w, r, bias, peepholes) = [], weights
    for element in x:
        i, o, f, g = np.split(w @ element + r @ hidden + bias[: len(w)] + bias[len(w) :], 4)
        into, out, keep = np.split(peepholes, 3)
        old = cells
        cells = logistic(f + keep * old) * old + logistic(i + into * old) * np.tanh(g)
        hidden = logistic(o + out * cells) * np.tanh(cells)
        shown.append(hidden)
    return np.array(shown), hidden, cells


def in_double(direction, operands):
    x, w, r, bias, lengths, hidden, cells, peepholes = (o.astype(np.float64) for o in operands)
    ways = DIRECTIONS[direction]
    y = np.zeros((LENGTH, ways, BATCH, HIDDEN))
    last = np.zeros((2, ways, BATCH, HIDDEN))
    for way in range(ways):
        step = -1 if direction == "reverse" or way else 1
        for b, end in enumerate(lengths.astype(int)):
            weights = w[way], r[way], bias[way], peepholes[way]
            start = hidden[way, b], cells[way, b]
            shown, *states = forward(x[:end, b][::step], weights, *start)
            y[:end, way, b], last[:, way, b] = shown[::step], states
    return y, *last


def operands_of(direction):
    generator, ways = np.random.default_rng(0), DIRECTIONS[direction]
    shapes = [
        *[(LENGTH, BATCH, INPUTS), (ways, 4 * HIDDEN, INPUTS), (ways, 4 * HIDDEN, HIDDEN)],
        *[(ways, 8 * HIDDEN), (BATCH,), (ways, BATCH, HIDDEN), (ways, BATCH, HIDDEN)],
        (ways, 3 * HIDDEN),
    ]
    made = [generator.normal(size=shape).astype(F) for shape in shapes]
    made[4] = np.array([LENGTH, 2], np.int32)
    return made


def results(operands, **attributes):
    found = meaning("LSTM", 22, {"hidden_size": HIDDEN, **attributes}, operands)
    assert isinstance(found, tuple), found
    return found


@pytest.mark.satisfies("LSTM.draft.equations")
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_equations_of_the_draft(direction):
    operands = operands_of(direction)
    found = results(operands, direction=direction)
    for result, expected in zip(found, in_double(direction, operands), strict=True):
        kept = ~result.undefined
        assert kept.any()
        assert (verdicts(result, expected.astype(F))[kept] != Verdict.OUTSIDE).all()
        np.testing.assert_allclose(result.nearest[kept], expected[kept], rtol=1e-7, atol=1e-9)


@pytest.mark.satisfies("LSTM.draft.accuracy")
@pytest.mark.parametrize("function", ["Sigmoid", "Tanh"])
@pytest.mark.parametrize("x", [-3.0, 0.25, 2.0])
def test_activation_may_be_one_unit_off_and_not_two(function, x):
    exact = logistic(x) if function == "Sigmoid" else np.tanh(x)
    node = BallNode(22, {}, (), binary=FLOAT_FORMATS[ElementType.FLOAT])
    ball = activated(node, function, arb(x))
    unit = float(np.spacing(F(abs(exact))))
    admitted = [ball.contains(arb(exact + step * unit)) for step in (-2.01, -0.5, 0.5, 2.01)]
    assert admitted == [False, True, True, False]


@pytest.mark.parametrize("dtype", [np.float16, F, np.float64])
def test_enclosures_are_some_units_wide(dtype):
    operands = [o.astype(dtype) for o in operands_of("forward")[:3]]
    for result in results(operands):
        width = result.admitted.highest.astype(float) - result.admitted.lowest.astype(float)
        assert 0 < width.max() < 60 * np.finfo(dtype).eps


def test_what_is_behind_the_end_of_a_sequence_is_not_defined():
    y, hidden, cells = results(operands_of("forward"))
    assert y.undefined[2, :, 1].all()
    assert y.undefined.sum() == HIDDEN
    assert y.reason == "it is after the end of its sequence"
    assert not hidden.undefined.any()
    assert not cells.undefined.any()


@pytest.mark.parametrize(
    "fault",
    [
        lambda w, r, b: (w[:, ::-1], r, b),
        lambda w, r, b: (w, r[:, ::-1], b),
        lambda w, r, b: (w, r, np.roll(b, 2 * HIDDEN, 1)),
        lambda w, r, b: (w, r, np.concatenate([b[:, : 4 * HIDDEN], 0 * b[:, 4 * HIDDEN :]], 1)),
    ],
)
def test_other_gates_are_refused(fault):
    operands = operands_of("forward")
    wrong = in_double("forward", [operands[0], *fault(*operands[1:4]), *operands[4:]])
    y = results(operands)[0]
    assert (verdicts(y, wrong[0].astype(F))[~y.undefined] == Verdict.OUTSIDE).all()


def test_layout_exchanges_axes():
    operands = operands_of("bidirectional")
    expected = results(operands, direction="bidirectional")
    turned = [*operands]
    for place in (0, 5, 6):
        turned[place] = operands[place].swapaxes(0, 1)
    y, *states = results(turned, direction="bidirectional", layout=1)
    assert (y.nearest == expected[0].nearest.transpose(2, 0, 1, 3)).all()
    for found, other in zip(states, expected[1:], strict=True):
        assert (found.nearest == other.nearest.swapaxes(0, 1)).all()


def ones(value, *shape):
    return np.full(shape, value, F)


@pytest.mark.parametrize(
    ("attributes", "hidden", "cells"),
    [
        ({}, logistic(2) * np.tanh(logistic(2) * 3), logistic(2) * 3),
        ({"clip": 0.5}, logistic(0.5) * np.tanh(0.5), logistic(0.5) * 3),
        ({"input_forget": 1}, logistic(2) * np.tanh(3 - 3 * logistic(2)), 3 - 3 * logistic(2)),
        ({"activations": ["Relu", "Tanh", "Tanh"]}, 2 * np.tanh(6), 6),
    ],
)
def test_one_step_by_hand(attributes, hidden, cells):
    bias = np.zeros((1, 8), F)
    bias[0, :3] = 2
    zeros = ones(0, 1, 4, 1)
    start = [ones(0, 1, 1, 1), ones(3, 1, 1, 1)]
    y, h, c = results([ones(1, 1, 1, 1), zeros, zeros, bias, None, *start], **attributes)
    assert y.nearest.item() == h.nearest.item() == F(hidden)
    assert c.nearest.item() == F(cells)


def test_real_states_are_enclosed_narrowly():
    operands = [
        np.array([Fraction(round(100 * e), 100) for e in o.ravel()], object).reshape(o.shape)
        for o in operands_of("forward")[:3]
    ]
    expected = results([o.astype(float) for o in operands])
    for tensor, result in zip(meaning_over_the_reals("LSTM", {}, operands), expected, strict=True):
        for (low, high), near in zip(tensor.ravel(), result.nearest.ravel(), strict=True):
            assert 0 < high - low < Fraction(1, 1 << 256)
            assert abs(float(low) - near) < 1e-15


def test_infinite_operand_leaves_everything_open():
    operands = operands_of("forward")[:3]
    operands[0][0, 0, 0] = np.inf
    y = results(operands)[0]
    assert y.admitted.anything[:, :, 0].all()
    assert not y.admitted.anything[:, :, 1].any()


@pytest.mark.parametrize(
    ("attributes", "change", "reason"),
    [
        ({"direction": "backward"}, {}, "direction backward is none of forward, reverse"),
        ({"direction": "bidirectional"}, {}, "do not fit each other"),
        ({}, {4: np.array([4, 1])}, "sequence_lens [4, 1] are not lengths of 2 sequences"),
        ({}, {3: ones(0, 1, 4)}, "operand 3 has 4 elements, not 16"),
    ],
)
def test_operands_that_do_not_fit_have_no_result(attributes, change, reason):
    operands = [change.get(k, o) for k, o in enumerate(operands_of("forward"))]
    found = meaning("LSTM", 22, attributes, operands)
    assert isinstance(found, Undefined)
    assert reason in found.reason


def test_other_activations_are_an_error():
    with pytest.raises(ValueError, match=r"are not computed$"):
        results(operands_of("forward"), activations=["Elu", "Tanh", "Tanh"])


def test_gates_that_saturate_are_enclosed():
    operands = [ones(1e30, 1, 1, 1), ones(-1e8, 1, 4, 1), ones(0, 1, 4, 1)]
    y, _, c = meaning("LSTM", 22, {}, operands)
    assert y.admitted.admits(ones(0, 1, 1, 1, 1)).all()
    assert c.admitted.highest.item() < 1e-40
    assert not y.admitted.anything.any()
