"""No kernel of ONNX Runtime computes a float outside of the interval that a rule gives it.

Each operator runs often: types, versions, attributes and shapes vary, and floats of all magnitudes,
with ends of intervals, zeros and infinities among them. The interval of an input is that of its
elements, or wider; some inputs are constants.

`SONNX_ORT_RUNS=10 pytest tests/soundness/test_interval_rules.py` has them run ten times.
"""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.errors import InvalidModel
from sonnx_ort.kernel.interval_layout import INTERVAL_RULES
from sonnx_ort.kernel.ranges import Interval
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.profile.contract import Contract, ValueContract
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.isolated import run_often_enough
from support.soundness.nodes import NodeCase, random_case

OPERATORS = sorted(INTERVAL_RULES)
ATTEMPTS = 1000
"""How many attempts there can be for each operator."""

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


def attempt(number: int) -> dict[str, Any] | None:
    """Try one node.

    Returns:
        `refused`, why ONNX Runtime did not run it; or `misfit`, what contradicts an interval, and
        whether one is `near` to what was computed. None for a model that `check` refuses, or of
        which nothing is known.
    """
    ort.set_default_logger_severity(4)
    operator = OPERATORS[number // ATTEMPTS]
    rng = random.Random(f"intervals {operator} {number % ATTEMPTS}")  # noqa: S311 - no cryptography
    built = _Model(rng)
    model = built.of(_with_floats(rng, _case(rng, operator)))
    try:
        loaded = load(model).graph_model
    except InvalidModel:
        return None
    contract = Contract(tuple(built.contracts))
    numbers = Facts(loaded).numbers_under(contract)
    intervals = [numbers.intervals.get(output) for output in loaded.graph.outputs]
    if all(interval is None for interval in intervals):
        return None
    try:
        options = on_one_thread(rng.choice(("none", "all")))
        session = ort.InferenceSession(model.SerializeToString(), options)
        outputs = session.run(None, built.feeds)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return {"refused": str(error)[:200]}
    pairs = [(i, np.asarray(o)) for i, o in zip(intervals, outputs, strict=True) if i is not None]
    found = [text for interval, output in pairs if (text := misfit(interval, output))]
    told = f"{found} of\n{onnx.printer.to_text(model)}\n{built.feeds}" if found else ""
    return {"misfit": told, "near": any(_is_near(*pair) for pair in pairs)}


def misfit(interval: Interval, output: Array) -> str:
    """What of a tensor is outside of its interval."""
    numbers = output.astype(np.float64)
    if np.isnan(numbers).any() and not interval.nan:
        return f"NaN outside {interval.whole}"
    outside = (numbers < interval.lower) | (numbers > interval.upper)
    return f"{numbers[outside][:3]} outside {interval.whole}" if outside.any() else ""


def _is_near(interval: Interval, output: Array) -> bool:
    """Whether an end is finite, and no more than the width of what was computed away from it."""
    numbers = output.astype(np.float64).ravel()
    if numbers.size == 0 or not np.isfinite(numbers).all():
        return False
    whole, (lower, upper) = interval.whole, (float(numbers.min()), float(numbers.max()))
    width = 4 * (upper - lower) + 0.5 * max(abs(lower), abs(upper))
    return whole.lower >= lower - width or whole.upper <= upper + width


@dataclass
class _Model:
    """Makes a model of one node: its inputs are the model's, with contracts, or constants."""

    rng: random.Random
    feeds: dict[str, Array] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    contracts: list[ValueContract] = field(default_factory=list)

    def of(self, case: NodeCase) -> onnx.ModelProto:
        constant = _CONSTANTS.get(case.operator, ())
        names = [
            self._source(index, array, constant=index in constant)
            for index, array in enumerate(case.inputs)
        ]
        return case.model(names, self.inputs, self.constants, ())

    def _source(self, index: int, array: Array | None, *, constant: bool) -> str:
        if array is None:
            return ""
        name = f"x{index}"
        is_float = array.dtype.kind == "f"
        if constant or not is_float or self.rng.random() < 0.3:
            self.constants.append(numpy_helper.from_array(array, name))
            return name
        self.feeds[name] = array
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(array.shape)))
        if array.size and not np.isnan(array).any():
            lower, upper = float(array.min()), float(array.max())
            if self.rng.random() < 0.3:
                lower, upper = lower - abs(lower) / 2, upper + abs(upper) / 2
            self.contracts.append(ValueContract(name, (lower, upper)))
        return name


def _case(rng: random.Random, operator: str) -> NodeCase:
    if operator == "Range":
        start, step = rng.uniform(-9, 9), rng.choice([0.1, 0.5, 1.0, 3.0])
        ends = [np.array(n, np.float32) for n in (start, start + rng.uniform(-2, 30), step)]
        return NodeCase(operator, 11, ends)
    if operator == "Compress":
        chosen = np.array([rng.random() < 0.6 for _ in range(3)])
        return NodeCase(operator, rng.choice([9, 11]), [np.ones(3), chosen], {"axis": 0})
    return random_case(rng, operator)


def _with_floats(rng: random.Random, case: NodeCase) -> NodeCase:
    """The case with floats of one type, of any magnitude, where it has numbers to compute with."""
    dtype, kept = rng.choice(_FLOATS), _KEPT.get(case.operator, ())
    attributes = dict(case.attributes)
    if case.operator == "ConstantOfShape":
        attributes["value"] = numpy_helper.from_array(_numbers(rng, dtype, [1]))
    if case.operator == "Cast":
        to = np.dtype(rng.choice(("float32", "float64", "float16")))
        attributes["to"] = helper.np_dtype_to_tensor_dtype(to)
    inputs = [
        array
        if array is None or index in kept or array.dtype.kind != "f"
        else _numbers(rng, dtype, array.shape)
        for index, array in enumerate(case.inputs)
    ]
    if case.operator == "BatchNormalization" and inputs[4] is not None:
        inputs[4] = np.abs(inputs[4])
    return replace(case, inputs=inputs, attributes=attributes)


def _numbers(rng: random.Random, dtype: str, shape: Sequence[int]) -> Array:
    """Floats of an interval of some magnitude, on one side of zero or on both."""
    limits = np.finfo(dtype)
    scale = rng.choice([1.0, 1.0, 1.0, 20.0, 1e-3, 1e4, 1e-6, float(limits.max) / 3])
    center = rng.choice([0.0, 0.0, scale, -scale, 3 * scale, -3 * scale])
    count = int(np.prod(shape, dtype=np.int64))
    special = [center - scale, center + scale, center, 0.0, -0.0]
    if rng.random() < 0.05:
        special += [float("inf"), float("-inf"), float(limits.tiny), float(limits.max)]
    drawn = [
        rng.choice(special) if rng.random() < 0.3 else rng.uniform(center - scale, center + scale)
        for _ in range(count)
    ]
    with np.errstate(over="ignore"):
        return np.array(drawn, np.float64).astype(dtype).reshape(shape)


DEFAULT = 12
NEEDED = int(os.environ.get("SONNX_ORT_RUNS", str(DEFAULT)))


def runs_of(lines):
    """The runs in which something was known."""
    results = (line.get("result") or {} for line in lines)
    return [result for result in results if "misfit" in result]


@pytest.fixture(scope="module")
def attempts(once):
    """What came of enough attempts at each operator: twice as many as are needed, or more."""
    function = "soundness.test_interval_rules:attempt"
    enough = function, OPERATORS, ATTEMPTS, NEEDED, runs_of
    return once("interval_rules", lambda: run_often_enough(*enough))


def test_every_attempt_is_a_valid_one(attempts):
    assert [line["error"] for lines in attempts.values() for line in lines if "error" in line] == []


def test_no_kernel_leaves_an_interval(attempts):
    misfits = [run["misfit"] for lines in attempts.values() for run in runs_of(lines)]
    assert "\n\n".join(filter(None, misfits)) == ""


def test_every_operator_has_run_often_enough(attempts):
    counts = {operator: len(runs_of(lines)) for operator, lines in attempts.items()}
    assert sorted(counts) == sorted(INTERVAL_RULES)
    assert {o: count for o, count in counts.items() if count < NEEDED} == {}


@pytest.mark.skipif(NEEDED < DEFAULT, reason="too few runs to tell")
def test_interval_of_every_operator_is_near_to_what_is_computed(attempts):
    near = {o: any(run["near"] for run in runs_of(lines)) for o, lines in attempts.items()}
    assert [operator for operator, found in near.items() if not found] == []


def test_planted_faults_are_found():
    """What is outside of an interval by one unit, or NaN, is a misfit."""
    interval = Interval.of(-1.0, 2.0)
    one = np.float32(2)
    assert misfit(interval, np.array([one])) == ""
    assert misfit(interval, np.array([np.nextafter(one, np.float32(3))])).startswith("[2.")
    assert misfit(interval, np.array([np.nan])) == "NaN outside -1 to 2"
