"""Kernels that compute nothing are audited by the shapes that they give."""

from collections.abc import Sequence

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.runs.audit.audited_node import Audited
from sonnx_ort.runs.audit.checking_kernels import judge_checking
from sonnx_ort.runs.audit.verdicts import Verdict
from support.backends import RUNS_PYTHON
from support.graphs import parse

FINITE_X = sonnx_ort.Contract((sonnx_ort.ValueContract("x"),))
SIZES = np.int64
CASES = [
    ("CheckedElements", [np.zeros((2, 3), np.float32)], (2, 3)),
    ("CheckedSizes", [SIZES([2, 3, 4]), SIZES([2, 1])], (2, 3)),
    ("ConcatOperands", [SIZES([2, 3, 1, 3]), SIZES([2, 2])], (2, 3)),
    ("ConvOperands", [SIZES([1, 2, 4]), SIZES([2, 2, 3]), SIZES([2])], (1, 2, 4)),
    ("ArgMaxOperands", [np.zeros((2, 0), np.float32)], (2, 0)),
]


def audited(kernel: str, operands: Sequence[np.ndarray], *results: np.ndarray) -> Audited:
    names = [f"x{index}" for index in range(len(operands))]
    node = onnx.helper.make_node(kernel, names, ["shape", "rank"], domain="sonnx")
    return Audited(node, 17, operands, results)


@pytest.mark.parametrize(("kernel", "operands", "shape"), CASES, ids=lambda given: str(given)[:16])
def test_kernel_gives_the_shape_of_what_it_checks(
    kernel: str, operands: Sequence[np.ndarray], shape: tuple[int, ...]
) -> None:
    made = judge_checking(audited(kernel, operands, SIZES(shape), SIZES([len(shape)])))
    assert made is not None
    assert (made.verdict, made.audited, made.elements) == (
        (Verdict.EXACT, len(shape) + 1, len(shape) + 1)
    )


@pytest.mark.parametrize(("results", "wrong"), [
    ((SIZES([3, 2]), SIZES([2])), "shape"),
    ((SIZES([2, 3, 1]), SIZES([2])), "shape"),
    ((np.int32([2, 3]), SIZES([2])), "shape"),
    ((SIZES([2, 3]), SIZES([-24])), "rank"),
])  # fmt: skip
def test_another_shape_is_outside(results: tuple[np.ndarray, ...], wrong: str) -> None:
    made = judge_checking(audited("CheckedElements", [np.zeros((2, 3), np.float32)], *results))
    assert made is not None
    assert (made.verdict, made.reason) == (
        (Verdict.OUTSIDE, f"'{wrong}' is not the shape of the operand")
    )


@pytest.mark.parametrize("kernel", ["CheckedDiv", "BroadcastShape"])
def test_kernel_that_gives_something_else_is_left_to_others(kernel: str) -> None:
    assert judge_checking(audited(kernel, [SIZES([1])], SIZES([1]), SIZES([1]))) is None


@pytest.mark.thorough
@pytest.mark.skipif(not RUNS_PYTHON, reason="onnxruntime-extensions is not installed")
def test_each_node_of_an_enforced_model_with_a_contract_is_judged() -> None:
    model = parse(
        """(float[n, 2] x, float[m, 2] y) => (float[p, 2] z, int64[q, 1] i) {
            c = Concat <axis = 0>(x, y)
            d = Div(c, c)
            z = MatMul(d, w)
            i = ArgMax <axis = 1>(z)
        }""",
        constants={"w": np.eye(2, dtype=np.float32)},
    )
    enforced = sonnx_ort.rewrite(model, operators="all,-Graph", backend="python", contract=FINITE_X)
    found = sonnx_ort.audit(enforced, {"x": np.ones((1, 2), np.float32), "y": np.float32([[1, 2]])})
    assert {node.operator: node.verdict for node in found.nodes if "sonnx" in node.operator} == {
        f"sonnx::{name}": Verdict.EXACT
        for name in (
            *("CheckedElements", "ConcatOperands", "CheckedDiv", "MatMulOperands"),
            "ArgMaxOperands",
        )
    }
