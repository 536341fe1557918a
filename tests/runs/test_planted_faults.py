"""Faults that are planted in values, and those that ONNX Runtime is known to have, are found."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.reporting.audit_report import details_of
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.verdicts import Verdict
from support.graphs import parse

Array = np.ndarray[Any, Any]
F, H = np.float32, np.float16

SUBTRACTION = "(float[n] x, float[n] y) => (float[n] z) { [subtract] z = Sub(x, y) }"
SMALLER = "(int64[n] x, int64[n] y) => (int64[n] z) { [smaller] z = Min(x, y) }"
PRODUCT = "(float[n, k] x, float[k, m] y) => (float[n, m] z) { [multiply] z = MatMul(x, y) }"
MOVED = "(float[n, k] x) => (float[k, n] z) { [turn] z = Transpose(x) }"
ONE_OPERAND = "(float[n] x) => (float[n] z) { z ="
GATED = (
    "(float[n, 1, 1] x, float[1, 3, 1] y) => (float[n, 1, 1, 1] z) "
    "{ z = GRU<hidden_size = 1>(x, y, y) }"
)


def random(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(1, 2, shape).astype(F)


def audit_of(
    folder: Path, model: onnx.ModelProto, values: Mapping[str, Array], **said: Any
) -> Audit:
    """The audit of values that another implementation is said to have computed."""
    for name, array in values.items():
        np.save(folder / f"{name}.npy", array)
    return sonnx_ort.audit(model, values=folder, **said)


def one_unit_off(z: Array) -> Array:
    changed = z.copy()
    changed[37] = np.nextafter(z[37], F(9))
    return changed


def test_one_element_that_is_one_unit_off_is_found(tmp_path: Path) -> None:
    x, y = random(500), random(500, seed=2)
    values = {"x": x, "y": y, "z": one_unit_off(x - y)}
    audit = audit_of(tmp_path, parse(SUBTRACTION), values, exhaustive=True)
    (node,) = audit.outside
    assert node.worst is not None
    assert (node.label, node.worst.index, node.worst.units) == ("Sub 'subtract'", (37,), 1)
    assert [each.partition(" = ")[0] for each in node.worst.operands] == ["x", "y"]
    assert not audit.ok


def test_correct_values_are_exact(tmp_path: Path) -> None:
    x, y = random(500), random(500, seed=2)
    values = {"x": x, "y": y, "z": x - y}
    audit = audit_of(tmp_path, parse(SUBTRACTION), values, exhaustive=True)
    assert audit.counts[Verdict.EXACT] == 1
    assert audit.ok


@pytest.mark.parametrize(("text", "shapes", "planted"), [
    pytest.param(SUBTRACTION, [(300,), (300,)], lambda x, y: y - x, id="swapped operands"),
    pytest.param(PRODUCT, [(20, 30), (30, 20)], lambda x, y: (y @ x)[:20, :20], id="product"),
    pytest.param(PRODUCT, [(20, 30), (30, 20)], lambda x,
        y: (x.astype(H) @ y.astype(H)).astype(F), id="half precision"),
    pytest.param(MOVED, [(4, 6)], lambda x: x.reshape(6, 4), id="reshaped, not transposed"),
    pytest.param(MOVED, [(4, 6)], lambda x: x, id="wrong shape"),
    pytest.param(SUBTRACTION, [(9,), (9,)], lambda x, y: (x - y).astype(np.float64),
        id="wrong dtype"),
    pytest.param(f"{ONE_OPERAND} Erf(x) }}", [(9,)], lambda x: np.tanh(F(1.2) * x),
        id="another curve than Erf"),
    pytest.param(f"{ONE_OPERAND} Softplus(x) }}", [(9,)], lambda x: np.log(1 + np.exp(-x)),
        id="Softplus of the negative"),
    pytest.param(f"{ONE_OPERAND} HardSwish(x) }}", [(9,)], lambda x: x * F(0.2) * x + x / 2,
        id="the slope of HardSigmoid"),
    pytest.param(GATED, [(5, 1, 1), (1, 3, 1)], lambda *_: np.full((5, 1, 1, 1), 0.5, F),
        id="states that do not change"),
])  # fmt: skip
def test_planted_fault_is_found_in_samples(
    text: str, shapes: list[tuple[int, ...]], planted: Callable[..., Array], tmp_path: Path
) -> None:
    operands = [random(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    values = dict(zip("xy", operands, strict=False)) | {"z": planted(*operands)}
    audit = audit_of(tmp_path, parse(text), values)
    assert [node.verdict for node in audit.nodes] == [Verdict.OUTSIDE]


ZEROS: dict[str, tuple[str, list[list[float]], list[float], Verdict]] = {
    "quotient": ("Div(x, y)", [[-1, 1], [np.inf, 2]], [0, 0.5], Verdict.OUTSIDE),
    "magnitude": ("Abs(x)", [[-0.0, 2], [0, 0]], [-0.0, 2], Verdict.OUTSIDE),
    "opposite": ("Neg(x)", [[0, 2], [0, 0]], [0, -2], Verdict.OUTSIDE),
    "product": ("Mul(x, y)", [[-1, 2], [0, 2]], [0, 4], Verdict.OUTSIDE),
    "larger one": ("Max(x, y)", [[-0.0, 0], [0, -0.0]], [-0.0, 0], Verdict.OUTSIDE),
    "selected": ("Where(c, x, y)", [[-0.0, 1], [2, 3]], [0, 1], Verdict.OUTSIDE),
    "right": ("Max(x, y)", [[-0.0, 0], [0, -0.0]], [0, 0], Verdict.EXACT),
    "left open": ("Relu(x)", [[-1, -2], [0, 0]], [0, -0.0], Verdict.EXACT),
    "passed on": ("Relu(x)", [[-1, -0.0], [0, 0]], [0, 0], Verdict.OUTSIDE),
}  # fmt: skip


@pytest.mark.parametrize("name", ZEROS)
def test_zero_of_the_wrong_sign_is_found(name: str, tmp_path: Path) -> None:
    node, operands, result, verdict = ZEROS[name]
    model = parse(
        f"(float[n] x, float[n] y, bool[n] c) => (float[n] z) {{ [the_node] z = {node} }}"
    )
    arrays = [np.array(each, F) for each in (*operands, result)]
    values = dict(zip("xyz", arrays, strict=True)) | {"c": np.ones(2, np.bool_)}
    (audited,) = audit_of(tmp_path, model, values).nodes
    assert audited.verdict is verdict


def test_report_of_a_wrong_zero_says_who_decides_its_sign(tmp_path: Path) -> None:
    model = parse("(float[n] x) => (float[n] z) { [size] z = Abs(x) }")
    audit = audit_of(tmp_path, model, {"x": np.array([-0.0], F), "z": np.array([-0.0], F)})
    (node,) = audit.outside
    signs = "signs of zeros are decided: the draft gives +0 of both zeros"
    assert [*details_of(node)] == [
        "z[0] = -0.0; exact 0.0",
        "error: a zero of the other sign",
        "operands: x = -0.0",
        f"admitted error: exact: no other result is admitted; {signs}",
    ]


def test_minimum_of_int64_beyond_int32_is_found(tmp_path: Path) -> None:
    # What ONNX Runtime up to 1.31.1 gives.
    values = {
        name: np.array([each]) for name, each in zip("xyz", (3 * 10**9, 0, 3 * 10**9), strict=True)
    }
    (node,) = audit_of(tmp_path, parse(SMALLER), values).outside
    assert node.worst is not None
    assert (node.worst.exact, node.worst.found) == ("0", "3000000000")
    assert [broken.rule.id for broken in node.broken] in ([], ["Min.int.C1"])


def test_chain_of_float16_is_rounded_at_its_end_only() -> None:
    model = parse(
        "(float16[n] x, float16[n] y) => (float16[n] z) "
        "{ [divide] a = Div(x, y) [subtract] b = Sub(a, y) [multiply] z = Mul(b, x) }"
    )
    feeds = {"x": random(50).astype(H), "y": random(50, seed=2).astype(H)}
    audit = sonnx_ort.audit(model, feeds)
    assert "Mul 'multiply'" in [node.label for node in audit.outside]


INVERSE = "(float[n] x, float[n] y) => (float[n] z) <float one = {1}> "
INVERSE += "{ [invert] a = Div(one, x) [multiply] z = Mul(a, y) }"


def test_optimizer_that_divides_once_is_found() -> None:
    feeds = {"x": random(50), "y": random(50, seed=2)}
    audit = sonnx_ort.audit(parse(INVERSE), feeds, level="all")
    (node,) = audit.outside
    assert (node.label, node.recomputed) == ("Mul 'multiply'", ("a",))


def test_node_that_was_joined_with_one_outside_is_not_known() -> None:
    feeds = {"x": random(50), "y": random(50, seed=2)}
    divide, multiply = sonnx_ort.audit(parse(INVERSE), feeds, level="all").nodes
    assert (divide.verdict, multiply.verdict) == (Verdict.NOT_KNOWN, Verdict.OUTSIDE)
    assert divide.reason == (
        "the run has no value for its result: the optimizer joined it with the node that reads "
        "it, or left it out"
    )


def test_without_an_optimizer_both_operators_are_exact() -> None:
    audit = sonnx_ort.audit(parse(INVERSE), {"x": random(50), "y": random(50, seed=2)})
    assert audit.counts[Verdict.EXACT] == 2


def test_elements_that_nothing_defines_do_not_hide_the_others(tmp_path: Path) -> None:
    model = parse("(float[n] x) => (int32[n] z) { [convert] z = Cast <to = 6> (x) }")
    x = np.array([1.5, np.nan, 2.5, np.inf], F)
    values = {"x": x, "z": np.array([1, 0, 2, 0], np.int32)}
    (node,) = audit_of(tmp_path, model, values).nodes
    assert (node.verdict, node.audited, node.undefined) == (Verdict.EXACT, 4, 2)
