"""What the oracle says of GRU: the equations of ONNX in double, by hand, and wrong kernels."""

from typing import Any

import numpy as np
import pytest

from sonnx_ort.meaning import Result
from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.documented import followed, meaning_of
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import FLOAT_FORMATS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import Applied
from support.meanings import Array, Verdict, by_onnxruntime, verdicts

F = np.float32
LENGTH, BATCH, INPUTS, HIDDEN = 3, 2, 3, 2
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def forward(x: Array, weights: list[Array], hidden: Array, *, linear: bool) -> list[Array]:
    """One direction over one sequence, as ONNX has it; gates are in the order zrh."""
    shown, (w, r, bias) = [], weights
    of_w, of_r = np.split(bias, 2)
    for element in x:
        z, reset, h = np.split(w @ element + of_w, 3)
        rz, rr, rh = np.split(r, 3)
        bz, br, bh = np.split(of_r, 3)
        share = logistic(z + rz @ hidden + bz)
        kept = logistic(reset + rr @ hidden + br)
        state = kept * (rh @ hidden + bh) if linear else rh @ (kept * hidden) + bh
        hidden = (1 - share) * np.tanh(h + state) + share * hidden
        shown.append(hidden)
    return shown


def in_double(direction: str, operands: list[Array], *, linear: bool) -> tuple[Array, Array]:
    x, w, r, bias, lengths, start = (o.astype(np.float64) for o in operands)
    ways = DIRECTIONS[direction]
    y, last = np.zeros((LENGTH, ways, BATCH, HIDDEN)), np.zeros((ways, BATCH, HIDDEN))
    for way in range(ways):
        step = -1 if direction == "reverse" or way else 1
        for b, end in enumerate(lengths.astype(int)):
            weights = [w[way], r[way], bias[way]]
            shown = forward(x[:end, b][::step], weights, start[way, b], linear=linear)
            y[:end, way, b], last[way, b] = shown[::step], shown[-1]
    return y, last


def operands_of(direction: str) -> list[Any]:
    generator, ways = np.random.default_rng(0), DIRECTIONS[direction]
    shapes = [
        *[(LENGTH, BATCH, INPUTS), (ways, 3 * HIDDEN, INPUTS), (ways, 3 * HIDDEN, HIDDEN)],
        *[(ways, 6 * HIDDEN), (BATCH,), (ways, BATCH, HIDDEN)],
    ]
    made = [generator.normal(size=shape).astype(F) for shape in shapes]
    made[4] = np.array([LENGTH, 2], np.int32)
    return made


def results(operands: list[Any], **attributes: Any) -> tuple[Result, ...]:
    node = Node(22, {"hidden_size": HIDDEN, **attributes}, tuple(operands))
    found = meaning_of("GRU", node)
    assert isinstance(found, tuple), found
    return found


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_equations_of_onnx(direction: str, linear: bool) -> None:
    operands = operands_of(direction)
    found = results(operands, direction=direction, linear_before_reset=int(linear))
    assert len(found) == 2
    for result, expected in zip(found, in_double(direction, operands, linear=linear), strict=True):
        kept = ~result.undefined
        assert kept.any()
        np.testing.assert_allclose(result.nearest[kept], expected[kept], rtol=1e-7, atol=1e-9)
        assert result.bound == (
            "sums in any order (ours), and activations off by 1 ulp (ours: as the draft of LSTM "
            "demands)"
        )


@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_onnxruntime_keeps_the_equations_in_float(direction: str, linear: int) -> None:
    attributes = {"hidden_size": HIDDEN, "direction": direction, "linear_before_reset": linear}
    node = Applied("GRU", operands_of(direction), attributes, 2)
    assert isinstance(node.meaning, tuple)
    for result, array in zip(node.meaning, by_onnxruntime(node), strict=True):
        assert Verdict.OUTSIDE not in verdicts(result, array)[~result.undefined]


def test_reset_before_and_after_the_product_are_told_apart() -> None:
    operands = operands_of("forward")
    y, _ = results(operands, linear_before_reset=1)
    wrong, _ = in_double("forward", operands, linear=False)
    assert (verdicts(y, wrong.astype(F))[~y.undefined] == Verdict.OUTSIDE).all()


@pytest.mark.parametrize(
    "fault",
    [
        lambda w, r, b: (np.roll(w, HIDDEN, 1), np.roll(r, HIDDEN, 1), b),
        lambda w, r, b: (w, r[:, ::-1], b),
        lambda w, r, b: (w, r, np.roll(b, HIDDEN, 1)),
        lambda w, r, b: (w, r, np.concatenate([b[:, : 3 * HIDDEN], 0 * b[:, 3 * HIDDEN :]], 1)),
    ],
    ids=["gates in the order hzr", "columns", "other biases", "one bias"],
)
def test_other_gates_are_refused(fault: Any) -> None:
    operands = operands_of("forward")
    wrong = in_double("forward", [operands[0], *fault(*operands[1:4]), *operands[4:]], linear=False)
    y = results(operands)[0]
    assert (verdicts(y, wrong[0].astype(F))[~y.undefined] == Verdict.OUTSIDE).all()


@pytest.mark.parametrize("dtype", [np.float16, F, np.float64])
def test_enclosures_are_some_units_wide(dtype: Any) -> None:
    operands = [o.astype(dtype) for o in operands_of("forward")[:3]]
    for result in results(operands):
        admitted: Any = result.admitted
        width = admitted.highest.astype(float) - admitted.lowest.astype(float)
        assert 0 < width.max() < 60 * np.finfo(dtype).eps


def test_what_is_behind_the_end_of_a_sequence_is_not_defined() -> None:
    y, hidden = results(operands_of("forward"))
    assert y.undefined[2, :, 1].all()
    assert y.undefined.sum() == HIDDEN
    assert y.reason == "it is after the end of its sequence"
    assert not hidden.undefined.any()


def test_layout_exchanges_axes() -> None:
    operands = operands_of("bidirectional")
    expected = results(operands, direction="bidirectional")
    turned = [*operands]
    for place in (0, 5):
        turned[place] = operands[place].swapaxes(0, 1)
    y, hidden = results(turned, direction="bidirectional", layout=1)
    assert (y.nearest == expected[0].nearest.transpose(2, 0, 1, 3)).all()
    assert (hidden.nearest == expected[1].nearest.swapaxes(0, 1)).all()


SHARE, START = logistic(2), 3


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, (1 - SHARE) * np.tanh(2) + SHARE * START),
        ({"clip": 0.5}, (1 - logistic(0.5)) * np.tanh(0.5) + logistic(0.5) * START),
        ({"activations": ["Sigmoid", "Relu"]}, (1 - SHARE) * 2 + SHARE * START),
        ({"activations": ["Relu", "Tanh"]}, -np.tanh(2) + 2 * START),
    ],
)
def test_one_step_by_hand(attributes: dict[str, Any], expected: float) -> None:
    zeros, bias = np.zeros((1, 3, 1), F), np.zeros((1, 6), F)
    bias[0, :3] = 2
    start = np.full((1, 1, 1), START, F)
    y, hidden = results([np.ones((1, 1, 1), F), zeros, zeros, bias, None, start], **attributes)
    assert y.nearest.item() == hidden.nearest.item() == F(expected)


@pytest.mark.parametrize(
    ("attributes", "change", "reason"),
    [
        ({"direction": "backward"}, {}, "direction backward is none of forward, reverse, bid"),
        ({"direction": "bidirectional"}, {}, "X (3, 2, 3), W (1, 6, 3) and R (1, 6, 2) do not fit"),
        ({}, {4: np.array([4, 1])}, "sequence_lens [4, 1] are not lengths of 2 sequences"),
        ({}, {3: np.zeros((1, 4), F)}, "operand 3 has 4 elements, not 12"),
        ({"activations": ["Elu", "Tanh"]}, {}, "activations ['Elu', 'Tanh'] are not computed"),
    ],
)
def test_what_is_not_known_has_a_reason(
    attributes: dict[str, Any], change: dict[int, Array], reason: str
) -> None:
    operands = [change.get(k, o) for k, o in enumerate(operands_of("forward"))]
    with pytest.raises(NotFollowedError) as caught:
        results(operands, **attributes)
    assert str(caught.value).startswith(reason)


def test_balls_of_a_format_contain_what_is_admitted() -> None:
    operands = tuple(operands_of("forward")[:3])
    node = Node(22, {"hidden_size": HIDDEN}, operands)
    admitted: Any = results([*operands])[0].admitted
    (balls, _) = followed("GRU", node, FLOAT_FORMATS[ElementType.FLOAT])
    for ball, *ends in zip(
        balls.ravel(), admitted.lowest.ravel(), admitted.highest.ravel(), strict=True
    ):
        assert all(ball.contains(float(end)) for end in ends)
