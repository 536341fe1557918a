"""A node is judged together with those that an optimizer joined with it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.runs.audit.audit import Audit
from support.graphs import parse
from support.sessions import quiet

Array = np.ndarray[Any, Any]
F = np.float32
ACTIVATED = parse(
    "(float[n, k] x, float[k, m] y, float[m] b) => (float[n, m] z) "
    "{ [multiply] p = MatMul(x, y) [add] a = Add(p, b) [activate] z = Relu(a) }"
)


def arrays() -> dict[str, Array]:
    generator = np.random.default_rng(6)
    shapes = {"x": (4, 64), "y": (64, 5), "b": (5,)}
    return {name: generator.uniform(-1, 1, shape).astype(F) for name, shape in shapes.items()}


def audit_of(folder: Path, values: dict[str, Array]) -> Audit:
    for name, array in values.items():
        np.save(folder / f"{name}.npy", array)
    return sonnx_ort.audit(ACTIVATED, values=folder)


def joined(values: dict[str, Array]) -> Array:
    """The result of an implementation that rounds once, at the end."""
    wide = {name: array.astype(np.float64) for name, array in values.items()}
    return np.maximum(wide["x"] @ wide["y"] + wide["b"], 0).astype(F)


def test_joined_nodes_that_round_less_are_admitted(tmp_path: Path) -> None:
    values = arrays()
    audit = audit_of(tmp_path, {**values, "z": joined(values)})
    assert [str(node.verdict) for node in audit.nodes] == ["admitted"] * 3
    assert [node.reason for node in audit.nodes[:2]] == [
        "the optimizer joined it with Relu 'activate'; they were judged together"
    ] * 2
    assert audit.nodes[2].bound == "what the joined nodes admit together (ours)"


OF_LOG = "3 units in the last place, measured of ONNX Runtime with each float (ours)"
TOGETHER = f"what the joined nodes admit together (ours); {OF_LOG}"


@pytest.mark.parametrize(
    ("nodes", "bound"),
    [
        (("Log", "Relu"), TOGETHER),
        (("Log", "Log"), TOGETHER),
        (("Relu", "Log"), OF_LOG),
        (("Log", "Identity"), TOGETHER),
    ],
)
def test_measured_bound_of_one_of_the_joined_nodes_is_told(
    nodes: tuple[str, str], bound: str, tmp_path: Path
) -> None:
    model = parse("(float[n] x) => (float[n] z) {{ y = {}(x) z = {}(y) }}".format(*nodes))
    z = x = F([3, 5, 70])
    for name in nodes:
        z = np.log(z.astype(np.float64)) if name == "Log" else z
    z = np.nextafter(z.astype(F), F(9))
    for name, array in {"x": x, "z": z}.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(model, values=tmp_path).nodes[1]
    assert (str(node.verdict), node.bound) == ("admitted", bound)
    assert node.is_measured


def test_result_that_the_run_has_not_is_left_out_where_floats_are_moved(tmp_path: Path) -> None:
    """A Split of what the run has not, of whose results it has one."""
    model = parse(
        "(float[n, k] x, float[k, m] y) => (float[p, m] a) {"
        " p = MatMul(x, y) [split] a, b = Split <axis = 0, num_outputs = 2> (p) }",
        opset=18,
    )
    x, y = (arrays()[name] for name in "xy")
    for name, array in {"x": x, "y": y, "a": (x @ y)[:2]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    split = sonnx_ort.audit(model, values=tmp_path).nodes[1]
    assert (split.label, str(split.verdict)) == ("Split 'split'", "admitted")


@pytest.mark.parametrize("error", [1e-3, -1e-3])
def test_fault_in_joined_nodes_is_found(error: float, tmp_path: Path) -> None:
    values = arrays()
    z = joined(values)
    place = np.unravel_index(np.argmax(z), z.shape)
    z[place] += F(error)
    (node,) = audit_of(tmp_path, {**values, "z": z}).outside
    assert node.worst is not None
    assert (node.node, node.worst.index) == ("activate", tuple(map(int, place)))


JOINED_WITH_A_SUM = {
    "a window": "MaxPool <kernel_shape = [2, 2]> (c)",
    "a transposition": "Transpose <perm = [0, 1, 3, 2]> (c)",
    "a concatenation": "Concat <axis = 2> (x, c)",
    "a mean": "ReduceMean <axes = [3]> (c)",
    "a conversion": "Cast <to = 1> (c)",
    "another convolution": "Conv <pads = [1, 1, 1, 1]> (c, y)",
}


def without_the_sum(folder: Path, reader: str, error: float = 0) -> Audit:
    """The audit of values of a Conv, and of a node that reads it, without those of the Conv."""
    model = parse(
        "(float[1, 1, 5, 3] x, float[1, 1, 3, 1] y) => (float[1, 1, p, q] z) "
        f"{{ [convolve] c = Conv(x, y) [read] z = {reader} }}"
    )
    generator = np.random.default_rng(8)
    x, y = (generator.uniform(-1, 1, (1, 1, *n)).astype(F) for n in ((5, 3), (3, 1)))
    session = ort.InferenceSession(model.SerializeToString(), quiet())
    (z,) = session.run(None, {"x": x, "y": y})
    z.ravel()[-1] += F(error)
    for name, array in {"x": x, "y": y, "z": z}.items():
        np.save(folder / f"{name}.npy", array)
    return sonnx_ort.audit(model, values=folder)


@pytest.mark.parametrize("name", JOINED_WITH_A_SUM)
def test_what_reads_a_joined_sum_is_held_to_all_that_it_may_be(name: str, tmp_path: Path) -> None:
    audit = without_the_sum(tmp_path, JOINED_WITH_A_SUM[name])
    assert {str(node.verdict) for node in audit.nodes} <= {"exact", "admitted"}


@pytest.mark.parametrize("name", JOINED_WITH_A_SUM)
def test_fault_in_what_reads_a_joined_sum_is_found(name: str, tmp_path: Path) -> None:
    (node,) = without_the_sum(tmp_path, JOINED_WITH_A_SUM[name], 1e-4).outside
    z = np.load(tmp_path / "z.npy")
    assert node.worst is not None
    assert (node.node, node.worst.index) == ("read", tuple(size - 1 for size in z.shape))


QUANTIZED = parse(
    "(float[3, 8] x, float[8, 2] y) => (uint8[3, 2] z) <float scale = {0.05}, uint8 zero = {100}> "
    "{ [multiply] p = MatMul(x, y) [quantize] z = QuantizeLinear(p, scale, zero) }"
)


@pytest.mark.parametrize(("error", "verdict"), [(0, "exact"), (1, "outside"), (-1, "outside")])
def test_quantized_sum_is_held_to_the_integers_that_it_may_be(
    error: int, verdict: str, tmp_path: Path
) -> None:
    generator = np.random.default_rng(3)
    x, y = (generator.uniform(-1, 1, shape).astype(F) for shape in ((3, 8), (8, 2)))
    (z,) = ort.InferenceSession(QUANTIZED.SerializeToString(), quiet()).run(None, {"x": x, "y": y})
    z[2, 1] = int(z[2, 1]) + error
    for name, array in {"x": x, "y": y, "z": z}.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(QUANTIZED, values=tmp_path).nodes[1]
    assert (node.node, str(node.verdict)) == ("quantize", verdict)


def test_index_of_the_largest_of_equal_joined_sums_is_not_known(tmp_path: Path) -> None:
    model = parse(
        "(float[3, 4] x, float[4, 3] y) => (int64[1, n] z) { "
        "[multiply] c = MatMul(x, y) [find] z = ArgMax(c) }"
    )
    values = {"x": np.ones((3, 4), F), "y": np.ones((4, 3), F), "z": np.zeros((1, 3), np.int64)}
    for name, array in values.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(model, values=tmp_path).nodes[1]
    assert (str(node.verdict), node.reason) == ("not known", "several elements may be the largest")


def test_index_of_a_joined_sum_that_is_larger_for_certain_is_judged(tmp_path: Path) -> None:
    model = parse(
        "(float[3, 4] x, float[4, 3] y) => (int64[1, n] z) { "
        "[multiply] c = MatMul(x, y) [find] z = ArgMax(c) }"
    )
    x = np.array([[1], [3], [2]], F) * np.ones((3, 4), F)
    for found, verdict in ((1, "exact"), (2, "outside")):
        values = {"x": x, "y": np.ones((4, 3), F), "z": np.full((1, 3), found, np.int64)}
        for name, array in values.items():
            np.save(tmp_path / f"{name}.npy", array)
        node = sonnx_ort.audit(model, values=tmp_path).nodes[1]
        assert (node.node, str(node.verdict)) == ("find", verdict)


def test_shape_of_a_joined_value_is_that_of_the_value(tmp_path: Path) -> None:
    model = parse("(float[2, 3] x) => (int64[2] z) { [square] c = Mul(x, x) [read] z = Shape(c) }")
    for name, array in {"x": np.ones((2, 3), F), "z": np.array([2, 3])}.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(model, values=tmp_path).nodes[-1]
    assert (node.node, str(node.verdict)) == ("read", "exact")


@pytest.mark.parametrize(("nodes", "z"), [
    ("[read] z = Pad(c, p)", [0, 2.25, 6.25, 0]),
    ("v = Constant <value = float {7}> () [read] z = Pad(c, p, v)", [7, 2.25, 6.25, 7]),
    ("d = Pad(c, p) [read] z = Relu(d)", [0, 2.25, 6.25, 0]),
    ("d = ConstantOfShape <value = float[1] {3}> (p) [read] z = Add(c, d)", [[5.25, 9.25]]),
    ("d = Constant <value = float[2] {3, 4}> () [read] z = Add(c, d)", [5.25, 10.25]),
])  # fmt: skip
def test_numbers_of_no_operand_are_those_that_the_operator_says(
    nodes: str, z: Any, tmp_path: Path
) -> None:
    model = parse(
        "(float[2] x, int64[2] p) => (float[] z) { [square] c = Mul(x, x) " + nodes + " }"
    )
    for name, array in {"x": F([1.5, 2.5]), "p": np.array([1, 1]), "z": F(z)}.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(model, values=tmp_path).nodes[-1]
    assert (node.node, str(node.verdict)) == ("read", "exact")


SPLIT = "Split <axis = 0, num_outputs = 2> (p)"


@pytest.mark.parametrize(("error", "verdict"), [(0, "admitted"), (1e-3, "outside")])
@pytest.mark.parametrize(
    ("nodes", "sign"), [(f"a, z = {SPLIT}", 1), (f"a, b = {SPLIT} z = Neg(b)", -1)]
)
def test_later_result_of_what_moves_a_joined_sum_is_held_to_its_own_elements(
    nodes: str, sign: int, error: float, verdict: str, tmp_path: Path
) -> None:
    model = parse(
        f"(float[n, k] x, float[k, m] y) => (float[p, m] z) {{ p = MatMul(x, y) {nodes} }}",
        opset=18,
    )
    x, y = (arrays()[name] for name in "xy")
    z = sign * (x @ y)[2:]
    z[1, 3] += F(error)
    before = {"a": (x @ y)[:2]} if sign > 0 else {}  # with it, the run would have to have b too
    for name, array in {"x": x, "y": y, "z": z, **before}.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(model, values=tmp_path).nodes[-1]
    assert (str(node.verdict), node.reason) == (verdict, "")


def test_padding_of_an_attribute_is_its_number(tmp_path: Path) -> None:
    model = parse(
        "(float[2] x) => (float[4] z) "
        "{ c = Mul(x, x) [read] z = Pad <pads = [1, 1], value = 7.0> (c) }",
        opset=10,
    )
    for name, array in {"x": F([1.5, 2.5]), "z": F([7, 2.25, 6.25, 7])}.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(model, values=tmp_path).nodes[-1]
    assert (node.node, str(node.verdict)) == ("read", "exact")


def test_joined_value_that_nothing_defines_is_not_known(tmp_path: Path) -> None:
    model = parse("(float[2] x) => (int32[2] z) { c = Cast <to = 6> (x) [read] z = Neg(c) }")
    for name, array in {"x": F([np.inf, 1]), "z": np.int32([0, -1])}.items():
        np.save(tmp_path / f"{name}.npy", array)
    node = sonnx_ort.audit(model, values=tmp_path).nodes[-1]
    assert (str(node.verdict), node.reason) == ("not known", "the value 'c' is not known")
