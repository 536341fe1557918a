"""LSTM: inputs that are left out, and inputs that move elements of stored tensors."""

import re

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from models.example import same_elements
from sonnx_ort.profile.rule import Status
from support.conformed import conformed, reasons, require_fixed, require_same_bits, violated
from support.graphs import operators, parse
from support.sessions import LEVELS, quiet

OPTIONAL = ("B", "sequence_lens", "initial_h", "initial_c", "P")
HIDDEN, INPUTS = 3, 4
OWN_LENGTHS = "its sequences have lengths of their own"
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 1e-40, 3e38)


def stored(
    rng: np.random.Generator, directions: int, length: int, batch: int
) -> dict[str, np.ndarray]:
    sizes = {
        "W": (directions, 4 * HIDDEN, INPUTS),
        "R": (directions, 4 * HIDDEN, HIDDEN),
        "B": (directions, 8 * HIDDEN),
        "initial_h": (directions, batch, HIDDEN),
        "initial_c": (directions, batch, HIDDEN),
        "P": (directions, 3 * HIDDEN),
    }
    made = {name: rng.standard_normal(size).astype(np.float32) for name, size in sizes.items()}
    return {**made, "sequence_lens": rng.integers(1, length + 1, batch).astype(np.int32)}


def lstm(
    *left_out: str,
    direction: str = "forward",
    length: int | str = 5,
    batch: int | str = 2,
    opset: int = 17,
    given: str = "",
    **replaced: np.ndarray,
) -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    directions = 2 if direction == "bidirectional" else 1
    whole = [size if isinstance(size, int) else 5 for size in (length, batch)]
    constants = stored(rng, directions, *whole) | replaced
    names = ["X", "W", "R", *("" if name in left_out else name for name in OPTIONAL)]
    while not names[-1]:
        names.pop()
    return parse(
        f"""(float[{length},{batch},{INPUTS}] X) => (
            float[?,?,?,?] Y, float[?,?,?] H, float[?,?,?] C
        ) {{
            Y, H, C = LSTM <hidden_size={HIDDEN}, direction="{direction}"{given}> (
                {", ".join(name or '""' for name in names)}
            )
        }}""",
        constants={name: constants[name] for name in names if name and name != "X"},
        opset=opset,
    )


def runs(length: int = 5, batch: int = 2) -> list[dict[str, np.ndarray]]:
    """Random elements, and special values among them in several places."""
    rng = np.random.default_rng(2)
    made = [rng.standard_normal((length, batch, INPUTS)).astype(np.float32) for _ in range(8)]
    for x in made[1:]:
        for value in SPECIAL:
            x.flat[rng.integers(x.size)] = value
    made.append(np.where(rng.random(made[0].shape) < 0.5, 0.0, -0.0).astype(np.float32))
    return [{"X": x} for x in made]


SAFE = [name for name in OPTIONAL if name != "B"]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("opset", [7, 14, 22])
def test_input_that_is_left_out_is_given_with_the_same_bits(
    name: str, direction: str, opset: int
) -> None:
    model = lstm(name, direction=direction, opset=opset)
    assert f"LSTM.{name}" in violated(model)
    require_fixed(model, *runs())


@pytest.mark.parametrize(("length", "batch"), [(1, 1), (1, 3), (40, 1), (17, 5)])
def test_inputs_that_are_left_out_together_are_given_with_the_same_bits(
    length: int, batch: int
) -> None:
    model = lstm(*SAFE, length=length, batch=batch)
    require_fixed(model, *runs(length, batch))


@pytest.mark.parametrize("left_out", [(), SAFE], ids=["all inputs given", "inputs left out"])
def test_conformed_lstm_is_proved_finite_within_the_range_of_its_input(left_out: list[str]) -> None:
    within = sonnx_ort.Contract((sonnx_ort.ValueContract("X", (-4, 4)),))
    after = conformed(lstm(*left_out))
    report = sonnx_ort.check(after, operators="Graph.finite_values", contract=within)
    found = [o.status for o in report.obligations if o.rule.id == "Graph.finite"]
    assert found == [Status.PROVED] * 3


def test_without_a_bias_a_state_that_is_nan_stays_so() -> None:
    model = lstm("B", *SAFE)
    after = conformed(model)
    assert violated(after) == {"LSTM.B"}
    require_same_bits(model, after, *runs())


def test_special_weights_give_the_same_bits() -> None:
    rng = np.random.default_rng(3)
    weights = stored(rng, 1, 5, 2)
    for name in ("W", "R"):
        for value in SPECIAL:
            weights[name].flat[rng.integers(weights[name].size)] = value
    for without in (["B"], []):
        model = lstm(*without, *SAFE, W=weights["W"], R=weights["R"])
        require_same_bits(model, conformed(model), *runs())


def test_two_threads_give_the_same_bits() -> None:
    model = lstm(*SAFE, direction="bidirectional", batch=4, length=30)
    options = quiet()
    options.intra_op_num_threads = 2
    options.graph_optimization_level = LEVELS["none"]
    one, two = (
        ort.InferenceSession(m.SerializeToString(), options) for m in (model, conformed(model))
    )
    for feeds in runs(30, 4):
        for a, b in zip(one.run(None, feeds), two.run(None, feeds), strict=True):
            assert same_elements(a, b)


def test_largest_state_that_is_proved_to_stay_finite_gives_the_same_bits() -> None:
    state = np.full((1, 2, HIDDEN), [2.0**20, -(2.0**20), 0.0], np.float32)
    model = lstm("P", initial_c=state)
    require_same_bits(model, conformed(model), *runs())


@pytest.mark.parametrize("element", [np.inf, np.nan, 2.0**21])
def test_peepholes_of_cells_that_may_become_infinite_round(element: float) -> None:
    model = lstm("P", initial_c=np.full((1, 2, HIDDEN), element, np.float32))
    title = "add peepholes of zeros to cells of any state"
    reason = (
        f"the state of the cell is not proved to stay finite; rounding=True may fix it: {title}"
    )
    assert reasons(model, operators="LSTM") == {"LSTM.P": reason}
    assert violated(conformed(model, rounding=True, measure=False)) == set()


@pytest.mark.parametrize("given", [
    ', activations=["Relu","Tanh","Tanh"]',
    ', activations=["Sigmoid","Tanh","Relu"]',
    ", clip=3.0",
    ", input_forget=1",
])  # fmt: skip
def test_peepholes_of_other_gates_round(given: str) -> None:
    reason = reasons(lstm("P", given=given))["LSTM.P"]
    assert reason.endswith("rounding=True may fix it: add peepholes of zeros to cells of any state")


def test_activations_that_are_written_down_are_the_assumed_ones() -> None:
    given = ', activations=["Sigmoid","Tanh","Tanh","Sigmoid","Tanh","Tanh"]'
    model = lstm("P", direction="bidirectional", given=given)
    assert violated(conformed(model)) == set()


def test_bias_rounds() -> None:
    model = lstm("B")
    title = "add a bias of zeros, with which NaN becomes a number"
    assert reasons(model, operators="LSTM") == {"LSTM.B": f"rounding=True may fix it: {title}"}


def test_bias_changes_no_number() -> None:
    model = lstm("B")
    after = conformed(model, rounding=True, measure=False)
    assert violated(after) == set()
    require_same_bits(model, after, runs()[0], runs()[-1])


def test_lengths_that_a_run_knows_cannot_be_constant() -> None:
    model = lstm("sequence_lens", length="n")
    assert reasons(model, operators="LSTM") == {
        "LSTM.sequence_lens": "sequence_lens must be constant, but the length of the sequences "
        "of 'X' depends on the input; fix it: assume_shapes={'X': (1, 2, "
        "4)}"
    }


@pytest.mark.parametrize("name", ["sequence_lens", "initial_h", "initial_c"])
def test_sequences_that_a_run_counts_cannot_be_constant(name: str) -> None:
    model = lstm(*OPTIONAL[1:4], batch="n")
    assert reasons(model, operators="LSTM")[f"LSTM.{name}"] == (
        f"{name} must be constant, but the number of the sequences of 'X' depends on the input; "
        "fix it: assume_shapes={'X': (5, 1, 4)}"
    )


def test_open_length_still_gets_states_and_peepholes() -> None:
    model = lstm(*SAFE, length="n")
    after = conformed(model)
    assert violated(after) == {"LSTM.sequence_lens"}
    require_same_bits(model, after, *runs(1), *runs(9))


def moved(nodes: str, opset: int = 17) -> onnx.ModelProto:
    """An LSTM whose R and B are made by nodes from `r` (12, 3), `b` (24), `half` and `i`."""
    rng = np.random.default_rng(4)
    everything = stored(rng, 1, 5, 2)
    return parse(
        f"""(float[5,2,{INPUTS}] X, float[1,2,{HIDDEN}] h) => (float[?,?,?,?] Y) {{
            {nodes}
            Y = LSTM <hidden_size={HIDDEN}> (
                X, W, R, B, sequence_lens, initial_h, initial_c, P
            )
        }}""",
        constants={
            "W": everything["W"],
            "r": everything["R"][0],
            "b": everything["B"][0],
            "half": everything["B"][0][:12],
            "zero": np.array([0], np.int64),
            "six": np.array([6], np.int64),
            "twelve": np.array([12], np.int64),
            "backwards": np.arange(11, -1, -1, dtype=np.int64),
            "shape": np.array([1, -1], np.int64),
            "of_state": np.array([1, 2, HIDDEN], np.int64),
            **{name: everything[name] for name in ("sequence_lens", "initial_c", "P")},
        },
        opset=opset,
    )


SLICES = """
    first = Slice(half, zero, six, zero)
    second = Slice(half, six, twelve, zero)
    joined = Concat <axis=0> (second, first, second, first)
    B = Reshape(joined, shape)
    initial_h = ConstantOfShape(of_state)
"""


@pytest.mark.parametrize(("opset", "nodes"), [
    (17, f"R = Unsqueeze(r, zero) {SLICES}"),
    (11, f"R = Unsqueeze <axes=[0]> (r) {SLICES}"),
    (17, f"""g = Gather <axis=0> (r, backwards) t = Transpose <perm=[1,0]> (g)
            u = Transpose <perm=[1,0]> (t) R = Unsqueeze(u, zero) {SLICES}"""),
])  # fmt: skip
def test_inputs_that_move_stored_elements_are_stored(nodes: str, opset: int) -> None:
    model = moved(nodes, opset)
    assert "LSTM.constant" in violated(model)
    after = conformed(model)
    assert not {rule for rule in violated(after) if rule.startswith("LSTM.")}
    require_same_bits(
        model, after, *({**feeds, "h": np.zeros((1, 2, HIDDEN), np.float32)} for feeds in runs())
    )


def test_nodes_whose_elements_are_stored_are_removed() -> None:
    after = conformed(moved(f"R = Unsqueeze(r, zero) {SLICES}"))
    assert [node.op_type for node in after.graph.node] == ["LSTM"]


def test_stored_elements_keep_the_bits_of_nan() -> None:
    bits = np.array([0x7FC00001, 0xFFC12345, 0x80000000] * 4, np.uint32)
    model = moved(f"R = Unsqueeze(r, zero) {SLICES}")
    (half,) = [t for t in model.graph.initializer if t.name == "half"]
    half.CopyFrom(onnx.numpy_helper.from_array(bits.view(np.float32), "half"))
    after = conformed(model)
    bias = [t for t in after.graph.initializer if t.name == after.graph.node[0].input[3]]
    found = onnx.numpy_helper.to_array(bias[0]).view(np.uint32)[0]
    assert found.tolist() == [*bits[6:], *bits[:6]] * 2


@pytest.mark.parametrize(("nodes", "reason"), [
    (f"R = Unsqueeze(r, zero) {SLICES.replace('ConstantOfShape(of_state)', 'Identity(h)')}",
     f"initial_h depends on the input; {OWN_LENGTHS}"),
    (f"s = Mul(r, r) R = Unsqueeze(s, zero) {SLICES}",
     f"R depends on the input; {OWN_LENGTHS}"),
    ("""s = Mul(r, r) R = Unsqueeze(s, zero) c = Mul(b, b) B = Reshape(c, shape)
            initial_h = ConstantOfShape(of_state)""",
     f"R and B depend on the input; {OWN_LENGTHS}"),
])  # fmt: skip
def test_input_that_is_computed_says_so(nodes: str, reason: str) -> None:
    assert reasons(moved(nodes))["LSTM.constant"] == reason


def with_states(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The same model, which a run gives its states; and what they were."""
    states = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.name.startswith("initial_")
    }
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in states]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for name, elements in states.items():
        declared = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, elements.shape)
        model.graph.input.append(declared)
    return model, states


def computed(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The same model, which computes an input of the layer."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.name = "before"
    model.graph.node.insert(0, onnx.helper.make_node("Neg", ["before"], [name]))
    return model


LENGTHS = np.full(2, 5, np.int32)
STATEFUL = {
    "forward": lstm("P", "sequence_lens"),
    "reverse": lstm("P", direction="reverse", sequence_lens=LENGTHS),
    "bidirectional": lstm("sequence_lens", direction="bidirectional"),
    "without a bias": lstm("B", "P", "sequence_lens"),
    "one sequence of one element": lstm("P", "sequence_lens", length=1, batch=1),
    "a hidden state alone": lstm("P", "sequence_lens", "initial_c"),
    "activations written down": lstm(
        "P", "sequence_lens", given=', activations = ["Sigmoid", "Tanh", "Tanh"]'
    ),
    "an early version": lstm("P", "sequence_lens", opset=10),
}


@pytest.mark.parametrize("case", STATEFUL)
def test_layer_whose_states_a_run_gives_becomes_its_steps(case: str) -> None:
    model, states = with_states(onnx.ModelProto.FromString(STATEFUL[case].SerializeToString()))
    after = conformed(model, rounding=True, measure=False)
    assert "LSTM" not in operators(after)
    assert violated(after) == set()
    sizes = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    feeds = {**runs(*sizes[:2])[0], **states}
    before, now = (
        ort.InferenceSession(each.SerializeToString(), quiet()).run(None, feeds)
        for each in (model, after)
    )
    for one, other in zip(before, now, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


UNWRITTEN = {
    "it has 17 steps; unroll=17 writes all of them": lstm("P", "sequence_lens", length=17),
    OWN_LENGTHS: lstm("P"),
    "W depends on the input": computed(lstm("P", "sequence_lens"), "W"),
    "its steps are written only with Sigmoid and Tanh": lstm(
        "P", "sequence_lens", given=', activations = ["Sigmoid", "Tanh", "Relu"]'
    ),
    "its attributes clip and input_forget change the gates": lstm(
        "P", "sequence_lens", given=", clip = 3.0"
    ),
    "the number of steps must be constant, but the length of the sequences of 'X' depends on the "
    "input; fix it: assume_shapes={'X': (1, 2, 4)}": lstm("P", "sequence_lens", length="n"),
    "version 9 of the standard operators slices by attributes; convert the model to a later "
    "version with onnx.version_converter": lstm("P", "sequence_lens", opset=9),
}


@pytest.mark.parametrize("reason", UNWRITTEN)
def test_layer_whose_steps_are_not_written_says_why(reason: str) -> None:
    model, _ = with_states(onnx.ModelProto.FromString(UNWRITTEN[reason].SerializeToString()))
    sizes = re.search("assume_shapes=.*", reason)
    states = (
        f"initial_h and initial_c depend on the input{f'; fix it: {sizes[0]}' if sizes else ''}"
    )
    assert reasons(model, rounding=True, measure=False)["LSTM.constant"].endswith(
        f"{states}; {reason}"
    )


def test_outputs_of_written_steps_may_be_left_out() -> None:
    model, states = with_states(lstm("P", "sequence_lens"))
    model.graph.node[0].output[0] = ""
    del model.graph.output[0]
    after = conformed(model, rounding=True, measure=False)
    feeds = {**runs()[0], **states}
    before, now = (
        ort.InferenceSession(each.SerializeToString(), quiet()).run(None, feeds)
        for each in (model, after)
    )
    np.testing.assert_allclose(now[1], before[1], rtol=1e-5, atol=1e-6)
