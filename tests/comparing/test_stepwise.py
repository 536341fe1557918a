"""Values of two models, each computed from those of the first one."""

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.comparing.difference import compare_stepwise
from sonnx_ort.loading.source import read
from support.conformed import violated
from support.graphs import parse

X = np.float32([0.1, -7.5, 3e4, 0.0, np.inf])


def model(nodes: str) -> onnx.ModelProto:
    constants = {"one": np.float32(1), "two": np.float32(1.01), "far": np.float32(1e30)}
    return parse(f"(float[5] X) => (float[5] Y) {{ {nodes} Y = Mul(s, far) }}", constants=constants)


ORIGINAL = "s = Softsign(X)"
SAME = "a = Abs(X) b = Add(a, one) s = Div(X, b)"
OTHER = "a = Abs(X) b = Add(a, two) s = Div(X, b)"
INEXACT = "a = Abs(X) b = Add(a, far) c = Sub(b, far) d = Add(c, one) s = Div(X, d)"


@pytest.mark.parametrize(
    ("nodes", "rounding", "different"),
    [
        (SAME, {"s"}, []),
        (OTHER, {"s"}, ["s"]),
        (OTHER, set(), ["s", "Y"]),
        (INEXACT, {"s"}, ["s"]),
        ("t = Neg(X) u = Neg(t) s = Softsign(u)", {"s"}, []),
    ],
)
def test_value_is_computed_from_those_of_the_first_run(
    nodes: str, rounding: set[str], different: list[str]
) -> None:
    found = compare_stepwise(read(model(ORIGINAL)), read(model(nodes)), {"X": X}, rounding)
    assert [mismatch.name for mismatch in found.mismatches] == different


def test_difference_of_a_change_that_keeps_bits_is_found_behind_one_that_rounds() -> None:
    other = model(SAME)
    other.graph.node[-1].op_type = "Div"
    found = compare_stepwise(read(model(ORIGINAL)), read(other), {"X": X}, {"s"})
    assert [mismatch.name for mismatch in found.mismatches] == ["Y"]


QUANTIZED = """(float[2,4] X) => (uint8[2,4] q, float[2,4] Y) {
    n = LayerNormalization(X, w) c = Cos(n) q = QuantizeLinear(c, s, z) Y = Round(n)
}"""


def test_changes_that_round_are_verified_and_kept() -> None:
    constants = {"w": np.float32([1, 2, 3, 4]), "s": np.float32(0.01), "z": np.uint8(128)}
    original = parse(QUANTIZED, constants={k: np.asarray(v) for k, v in constants.items()})
    made = sonnx_ort.conform(original, rounding=True, verify=True)
    assert made.left_out == ()
    assert violated(made.model) == set()


def test_external_values_and_branches_are_read_as_the_first_run_computed_them() -> None:
    constants = {"k": np.float32([1, 2])}
    original = parse(
        """(float[2] X, bool b) => (float[2] Y) { s = Softsign(X) Y = If (b) <
        then_branch = p () => (float[2] t) { t = Mul(s, k) },
        else_branch = q () => (float[2] u) { u = Neg(s) }> }""",
        constants=constants,
    )
    made = sonnx_ort.conform(original, rounding=True, verify=True)
    assert made.left_out == ()
    assert "Softsign" in [change.operator for change in made.changes]
