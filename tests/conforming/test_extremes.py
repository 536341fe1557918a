"""Operators outside the set at the extremes of their types: as ONNX Runtime computes them.

Sums of powers overflow, squares underflow, differences of large numbers cancel, and 0 times
infinity is NaN: a change that rounds is to give a number where the kernel gives one, and NaN and
infinity where it gives these.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from support.conformed import conformed, violated
from support.decomposed import Case, outputs
from support.extremes import extremes

FLOATS = ("float16", "float", "double")
LINES = ("n,m",)

AS_THE_KERNEL = [
    Case("A = ReduceLogSumExp <axes = [1]>(X)", LINES, FLOATS, "T[n,1]", (11, 13, 17)),
    # From version 18 on, that of float16 is a function which takes nothing out.
    Case("A = ReduceLogSumExp(X)", LINES, ("float", "double"), "T[1,1]", (18,)),
    Case("A = ReduceLogSumExp <keepdims = 0>(X, K)", ("2,n,m",), ("float", "double"), "T[n]", (18,),
        constants={"K": [-1, 0]}),
    Case("A = ReduceLogSumExp <noop_with_empty_axes = 1>(X)", LINES, ("float", "double"), "T[n,m]",
        (18,)),
    *(
        Case(f"A = LpNormalization <p = {p}, axis = {axis}>(X)", LINES, FLOATS, "T[n,m]", (11, 22))
        for p in (1, 2)
        for axis in (0, -1)
    ),
    Case("A = MeanVarianceNormalization(X)", ("2,3,n,m",), ("float",), "T[2,3,n,m]", (9, 13)),
    Case("A = MeanVarianceNormalization <axes = [-1, 0]>(X)", ("2,n,m",), ("float",), "T[2,n,m]",
        (13,)),
    Case("A = InstanceNormalization(X, Y, Z)", ("2,3,n,m", "3", "3"), ("float",), "T[2,3,n,m]",
        (11, 22)),
    *(
        Case(f'A = ai.onnx.ml.Normalizer <norm = "{norm}">(X)', ("n,3",), ("float",), "float[n,3]")
        for norm in ("L1", "L2")
    ),
]  # fmt: skip

NEAR_ZERO = {case.node for case in AS_THE_KERNEL if "Log" in case.node or "Inst" in case.node}
"""Whose results may be far from 0 before they become small by a difference."""


@pytest.mark.parametrize(
    ("case", "dtype", "opset"),
    [
        pytest.param(case, dtype, opset, id=f"{case.node.partition('= ')[2]}-{dtype}-{opset}")
        for case in AS_THE_KERNEL
        for dtype in case.dtypes
        for opset in case.opsets
    ],
)
def test_results_at_extremes_are_those_of_the_kernel(case: Case, dtype: str, opset: int) -> None:
    model = case.model(dtype, opset)
    made = conformed(model, rounding=True, measure=False)
    assert violated(made) == set()
    for name, feeds in runs_at_extremes(case, dtype):
        ((wanted,),) = outputs(model, [feeds])
        ((found,),) = outputs(made, [feeds])
        with np.errstate(invalid="ignore"):
            unit = float(np.finfo(wanted.dtype).eps)
            least = float(np.finfo(wanted.dtype).smallest_subnormal)
            np.testing.assert_allclose(
                found.astype(np.float64),
                wanted.astype(np.float64),
                rtol=16 * unit,
                atol=4 * (unit * _spread(feeds["X"]) if case.node in NEAR_ZERO else least),
                err_msg=name,
            )


def _spread(x: np.ndarray) -> float:
    """The size of numbers in parts of their deviation: rounding a mean is off in these."""
    numbers = x[np.isfinite(x)].astype(np.float64)
    with np.errstate(over="ignore"):
        deviation = float(numbers.std()) if numbers.size > 1 else 0.0
    return max(1.0, float(np.abs(numbers).max()) / deviation) if deviation > 0 else 1.0


def runs_at_extremes(case: Case, dtype: str) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Operands for each kind of the first one; the others are random."""
    rng = np.random.default_rng(3)
    for size in (0, 1, 2, 33):
        shapes = [
            [size if each in "nm" else int(each) for each in shape.split(",")]
            for shape in case.shapes
        ]
        for name, first in extremes(dtype, shapes[0]):
            others = (rng.standard_normal(shape).astype(first.dtype) for shape in shapes[1:])
            yield f"{name}, size {size}", dict(zip("XYZ", (first, *others), strict=False))


@pytest.mark.parametrize("length", [8, 10])
@pytest.mark.parametrize("form", ["", "inverse = 1"])
def test_transform_of_what_is_not_finite_is_not_finite_where_that_of_the_kernel_is_not(
    length: int, form: str
) -> None:
    case = Case(f"A = DFT <axis = 1, {form}>(X)".replace(", >", ">"), (f"n,{length},2",),
        ("float",), "T[n,a,2]")  # fmt: skip
    model = case.model("float", 17)
    made = conformed(model, rounding=True, measure=False)
    assert violated(made) == set()
    for name, feeds in runs_at_extremes(case, "float"):
        if not np.isfinite(feeds["X"]).all():
            ((wanted,),) = outputs(model, [feeds])
            ((found,),) = outputs(made, [feeds])
            assert (np.isfinite(found) == np.isfinite(wanted)).all(), name
            if length == 10:
                assert (np.isnan(found) == np.isnan(wanted)).all(), name
