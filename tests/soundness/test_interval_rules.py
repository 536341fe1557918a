"""No kernel of ONNX Runtime computes a float outside of the interval that a rule gives it.

Each operator runs often: types, versions, attributes and shapes vary, and floats of all magnitudes,
with ends of intervals, zeros and infinities among them. The interval of an input is that of its
elements, or wider; some inputs are constants.

`SONNX_ORT_RUNS=10 pytest tests/soundness/test_interval_rules.py` has them run ten times.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.facts.catalog import INTERVAL_RULES
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.profile.contract import Contract, ValueContract
from support.soundness.arrays import Array
from support.soundness.extremes import with_extremes
from support.soundness.nodes import NodeCase, random_case
from support.soundness.operator_runs import (
    Attempt,
    HeldToRuns,
    OneNode,
    chosen,
    held_to_a_run,
    misfit,
    runs_of,
    runs_of_numbers,
)

OPERATORS = sorted(INTERVAL_RULES)

_INFINITY = float("inf")
_EXTREMES: Sequence[Sequence[Sequence[float]]] = (
    [()],
    [(0.0, 0.0, -0.0, 1.0, -2.0)],
    [(_INFINITY, _INFINITY, 1.0), (0.0, -_INFINITY, 1.0)],
    [(0.0, _INFINITY, 1.0), (_INFINITY, _INFINITY, 1.0)],
    [(_INFINITY, -_INFINITY, _INFINITY, 1.0)],
    *[[()]] * 3,
)
"""Numbers of which operands are made up alone, in turn, in three of the first four attempts.

They stand in this order, so that the first ones meet where two operands have one element: 0/0 and
0 times infinity are among the four attempts of a quick run, too, and sums and differences of
infinities where they have two.
"""
_FLOATS = ("float32", "float32", "float64", "float16")

_KEPT: Mapping[str, Sequence[int]] = {
    "Resize": (1, 2, 3),
    "Pad": (1, 3),
    "Where": (0,),
    "DequantizeLinear": (0, 2),
    "Range": (0, 1, 2),
}
"""The inputs that stay as the case has them, beside integers and bools."""

_CONSTANTS: Mapping[str, Sequence[int]] = {
    "BatchNormalization": (1, 2, 3, 4),
    "ConvTranspose": (1,),
    "Resize": (1, 2, 3),
    "STFT": (2,),
}
"""The inputs that have to be constants for a rule to say anything."""


def attempt(number: int) -> Attempt:
    """Try one node; tell whether an interval is `near` to what was computed."""
    operator, rng = chosen("intervals", OPERATORS, number)
    made, contracts = OneNode(), list[ValueContract]()
    constant = _CONSTANTS.get(operator, ())

    def source(index: int, array: Array) -> str:
        name = f"x{index}"
        given = array.dtype.kind == "f" or array.dtype == bool
        if index in constant or not given or (array.size and rng.random() < 0.3):
            return made.constant(name, array)
        if array.dtype != bool and not np.isnan(array).any():
            contracts.append(ValueContract(name, _around(rng, array) if array.size else (2.0, 3.0)))
        shape = [f"n{index}_{axis}" if open_sizes else s for axis, s in enumerate(array.shape)]
        return made.given(name, array, shape)

    case, open_sizes = _case(rng, operator), rng.random() < 0.2
    if rng.random() < 0.5:
        case = with_extremes(rng, case)
    model = made.model(_with_floats(rng, case, _EXTREMES[number % len(_EXTREMES)]), source)
    contract = Contract(tuple(contracts))
    return held_to_a_run(
        rng,
        model,
        made.feeds,
        lambda facts: facts.numbers_under(contract).established("interval").get,
        _compared,
    )


def _around(rng: random.Random, array: Array) -> tuple[float, float]:
    """The interval of the elements, or a wider one."""
    lower, upper = float(array.min()), float(array.max())
    if rng.random() < 0.3:
        return lower - abs(lower) / 2, upper + abs(upper) / 2
    return lower, upper


def _compared(intervals: list[Interval | None], outputs: list[Array]) -> dict[str, Any]:
    pairs = [(i, o) for i, o in zip(intervals, outputs, strict=True) if i is not None]
    return {
        "misfit": "; ".join(filter(None, (misfit(*pair) for pair in pairs))),
        "near": any(_is_near(*pair) for pair in pairs),
    }


def _is_near(interval: Interval, output: Array) -> bool:
    """Whether an end is finite, and no more than the width of what was computed away from it."""
    numbers = output.astype(np.float64).ravel()
    if numbers.size == 0 or not np.isfinite(numbers).all():
        return False
    whole, (lower, upper) = interval.whole, (float(numbers.min()), float(numbers.max()))
    width = 4 * (upper - lower) + 0.5 * max(abs(lower), abs(upper))
    return whole.lower >= lower - width or whole.upper <= upper + width


def _case(rng: random.Random, operator: str) -> NodeCase:
    if operator == "Range":
        start, step = rng.uniform(-9, 9), rng.choice([0.1, 0.5, 1.0, 3.0])
        ends = [np.array(n, np.float32) for n in (start, start + rng.uniform(-2, 30), step)]
        return NodeCase(operator, 11, ends)
    return random_case(rng, operator)


def _with_floats(
    rng: random.Random, case: NodeCase, extremes: Sequence[Sequence[float]]
) -> NodeCase:
    """The case with floats of one type, of any magnitude, where it has numbers to compute with.

    Args:
        rng: Chooses.
        case: The node.
        extremes: What the floats of operands are taken from, in turn; none for others.
    """
    dtype, kept = rng.choice(_FLOATS), _KEPT.get(case.operator, ())
    attributes = dict(case.attributes)
    if case.operator == "ConstantOfShape":
        attributes["value"] = numpy_helper.from_array(_numbers(rng, dtype, [1], extremes[0]))
    if case.operator == "Cast":
        to = np.dtype(rng.choice(("float32", "float64", "float16")))
        attributes["to"] = helper.np_dtype_to_tensor_dtype(to)
    inputs = [
        array
        if array is None or index in kept or array.dtype.kind != "f"
        else _numbers(rng, dtype, array.shape, extremes[index % len(extremes)])
        for index, array in enumerate(case.inputs)
    ]
    negative = rng.random() < 0.1
    if case.operator == "BatchNormalization" and inputs[4] is not None and not negative:
        inputs[4] = np.abs(inputs[4])
    return replace(case, inputs=inputs, attributes=attributes)


def _numbers(
    rng: random.Random, dtype: str, shape: Sequence[int], extremes: Sequence[float]
) -> Array:
    """Floats of an interval of some magnitude, on one side of zero or on both; or some extremes."""
    if extremes:
        count = int(np.prod(shape, dtype=np.int64))
        return np.resize(np.array(extremes, dtype), count).reshape(shape)
    limits = np.finfo(dtype)
    ends = [float(limits.max) / 3, float(limits.tiny) * 3, float(limits.smallest_subnormal) * 9]
    scale = rng.choice([1.0, 1.0, 1.0, 20.0, 1e-3, 1e4, 1e-6, *ends])
    center = rng.choice([0.0, 0.0, scale, -scale, 3 * scale, -3 * scale])
    count = int(np.prod(shape, dtype=np.int64))
    special = [center - scale, center + scale, center, 0.0, -0.0]
    if rng.random() < 0.05:
        special += [float("inf"), float("-inf"), float(limits.tiny), float(limits.max)]
        special += [float(limits.smallest_subnormal)]
    if rng.random() < 0.02:
        special.append(float("nan"))
    drawn = [
        rng.choice(special) if rng.random() < 0.3 else rng.uniform(center - scale, center + scale)
        for _ in range(count)
    ]
    with np.errstate(over="ignore"):
        return np.array(drawn, np.float64).astype(dtype).reshape(shape)


DEFAULT = 12
NEEDED = runs_of_numbers(DEFAULT)


class TestIntervals(HeldToRuns):
    """No result lies outside of its interval, and intervals are near to the results."""

    attempt = "soundness.test_interval_rules:attempt"
    operators = OPERATORS
    needed = NEEDED

    @pytest.mark.usefixtures("first_part")
    @pytest.mark.skipif(NEEDED < DEFAULT, reason="too few runs to tell")
    def test_interval_of_every_operator_is_near_to_what_is_computed(self, attempts):
        near = {o: any(run["near"] for run in runs_of(lines)) for o, lines in attempts.items()}
        assert [operator for operator, found in near.items() if not found] == []


def test_planted_faults_are_found():
    """What is outside of an interval by one unit, or NaN, is a misfit."""
    interval = Interval.of(-1.0, 2.0)
    one = np.float32(2)
    assert misfit(interval, np.array([one])) == ""
    assert misfit(interval, np.array([np.nextafter(one, np.float32(3))])).startswith("[2.")
    assert misfit(interval, np.array([np.nan])) == "NaN outside -1 to 2"
