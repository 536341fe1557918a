"""Rules that ONNX Runtime knows to be broken before all runs of a natively enforced model."""

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.errors import ContractViolation
from sonnx_ort.runtime.violations import violation_behind
from support.graphs import parse

GUARD = (
    "Div 'd' breaks the SONNX profile; the last four digits of the dimension below tell the rule: "
    "24 Div.int.C1"
)
REFUSED = f"Node ({GUARD}) Op (Reshape) [ShapeInferenceError] Invalid dimension value: -24"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(f"[ONNXRuntimeError] : 1 : FAIL : {REFUSED}", id="in the main graph"),
        pytest.param(
            "[ONNXRuntimeError] : 1 : FAIL : Node (if1) Op (If) [TypeInferenceError] Graph "
            f"attribute inferencing failed: {REFUSED}",
            id="in a branch",
        ),
        pytest.param(
            f"[ONNXRuntimeError] : 1 : FAIL : {REFUSED.replace('Div.int.C1)', 'Div.int.C1 (B))')}",
            id="at the other operand's guard",
        ),
    ],
)
def test_violation_is_read_from_the_message(message: str) -> None:
    found = violation_behind(message)
    assert isinstance(found, ContractViolation)
    assert (found.rule, found.operator, found.node) == ("Div.int.C1", "Div", "d")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("Node (r) Op (Reshape) [ShapeInferenceError] Invalid dimension value: -24"),
        pytest.param(f"{REFUSED}; and something else"),
    ],
)
def test_other_message_is_no_violation(message: str) -> None:
    assert violation_behind(message) is None


@pytest.mark.parametrize("size", [2, "n"])
def test_divisor_that_onnxruntime_computes_to_be_zero_is_a_violation_of_the_node(
    size: int | str,
) -> None:
    model = parse(
        f"(int32[{size}] x) => (int32[] z) {{"
        " c = Constant<value = float[2] {0.5, 0.5}>() b = Cast<to = 6>(c) [d] z = Div(x, b) }"
    )
    with pytest.raises(ContractViolation) as caught:
        # At the start or in the run, as ONNX Runtime chooses.
        sonnx_ort.InferenceSession(model, backend="native").run(None, {"x": np.ones(2, np.int32)})
    assert (caught.value.rule, caught.value.node) == ("Div.int.C1", "d")
