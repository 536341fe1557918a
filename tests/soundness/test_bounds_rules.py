"""Every entry of the list of bounded operators holds what ONNX Runtime computes.

Each operator runs often: types, attributes, versions and numbers vary, numbers at the ends of the
types among them. An interval that were narrower by one would not hold: both its ends are reached.

`SONNX_ORT_RUNS=10 pytest tests/soundness/test_bounds_rules.py` has them run ten times.
"""

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.errors import InvalidModel
from sonnx_ort.kernel.bounds import BOUNDS_RULES
from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.profile.contract import NO_CONTRACT
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.isolated import run_often_enough
from support.soundness.nodes import VERSIONS, NodeCase, random_case

OPERATORS = sorted(BOUNDS_RULES)
ATTEMPTS = 1000
"""How many attempts there can be for each operator."""

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

_OLDEST = 9
"""The first version in which numbers of all types can be compared."""

_DATA: Mapping[str, Sequence[int]] = {
    "OneHot": (2,),
    "Pad": (0, 2),
    "ScatterElements": (0, 2),
    "ScatterND": (0, 2),
    "Where": (1, 2),
}
"""The positions of the inputs that outputs have their elements from, where it is not the first."""


def attempt(number: int) -> dict[str, Any] | None:
    """Try one node.

    Returns:
        `refused`, why ONNX Runtime did not run it; or `misfit`, what contradicts an interval, and
        which of its ends were `reached`. None for a model that `check` refuses, or of which
        nothing is bounded.
    """
    ort.set_default_logger_severity(4)
    operator = OPERATORS[number // ATTEMPTS]
    rng = random.Random(f"bounds {operator} {number % ATTEMPTS}")  # noqa: S311 - no cryptography
    built = _Model(rng)
    model = built.of(_case(rng, operator))
    try:
        loaded = load(model).graph_model
    except InvalidModel:
        return None
    known = Facts(loaded).numbers_under(NO_CONTRACT).bounds
    bounds = [known.get(output) for output in loaded.graph.outputs]
    if all(bound is None for bound in bounds):
        return None
    try:
        options = on_one_thread(rng.choice(("none", "all")))
        session = ort.InferenceSession(model.SerializeToString(), options)
        outputs = session.run(None, built.feeds)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return {"refused": str(error)[:200]}
    pairs = [(b, np.asarray(o)) for b, o in zip(bounds, outputs, strict=True) if b is not None]
    found = [text for bound, output in pairs if (text := _misfit(bound, output))]
    told = f"{found} of\n{onnx.printer.to_text(model)}\n{built.feeds}" if found else ""
    return {"misfit": told, "reached": sorted({e for pair in pairs for e in _reached(*pair)})}


def _numbers(output: Array) -> list[int]:
    """The elements; the bytes of bools."""
    numbers: list[int] = (
        output.view(np.uint8 if output.dtype == bool else output.dtype).ravel().tolist()
    )
    return numbers


def _misfit(bounds: Bounds, output: Array) -> str:
    outside = [number for number in _numbers(output) if number not in bounds]
    return f"{outside} outside {bounds}" if outside else ""


def _reached(bounds: Bounds, output: Array) -> list[str]:
    numbers = _numbers(output)
    ends = {"lower": bounds.lower, "upper": bounds.upper}
    return [name for name, end in ends.items() if end in numbers]


@dataclass
class _Model:
    """Makes a model of one node: its inputs are the model's, constants, or results of Less."""

    rng: random.Random
    feeds: dict[str, Array] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)

    def of(self, case: NodeCase) -> onnx.ModelProto:
        names = [self._source(index, array) for index, array in enumerate(case.inputs)]
        return case.model(names, self.inputs, self.constants, self.nodes)

    def _source(self, index: int, array: Array | None) -> str:
        if array is None:
            return ""
        name = f"x{index}"
        if array.dtype == bool and self.rng.random() < 0.5:
            one = self._given(f"{name}_p", array.astype(np.int32))
            other = self._given(f"{name}_q", np.ones(array.shape, np.int32))
            self.nodes.append(helper.make_node("Less", [one, other], [name]))
            return name
        if self.rng.random() < 0.75:
            self.constants.append(numpy_helper.from_array(array, name))
            return name
        return self._given(name, array)

    def _given(self, name: str, array: Array) -> str:
        self.feeds[name] = array
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(array.shape)))
        return name


def _case(rng: random.Random, operator: str) -> NodeCase:
    maker = _MAKERS.get(operator)
    if maker is None:
        return _with_integers(rng, random_case(rng, operator))
    inputs, attributes = maker(rng, rng.choice(INTEGERS))
    versions = [v for v in VERSIONS[operator] if v >= _OLDEST] or [_OLDEST]
    outputs = 4 if operator == "Unique" else 1
    return NodeCase(operator, rng.choice(versions), inputs, attributes, outputs)


Made = tuple[list[Array | None], dict[str, Any]]


def _broadcast(rng: random.Random, dtype: str) -> Made:
    return [_integers(rng, dtype, rng.choice([[3], [1], [2, 3], []])) for _ in range(2)], {}


def _divided(rng: random.Random, dtype: str) -> Made:
    if rng.random() < 0.1:
        # Wider types would end the process.
        dtype = rng.choice(["int8", "int16"])
        return [np.full(3, np.iinfo(dtype).min, dtype), np.full(3, -1, dtype)], {}
    dividends, divisors = (_integers(rng, dtype, [3]) for _ in range(2))
    return [dividends, np.where(divisors == 0, 1, divisors).astype(dtype)], {}


def _remainders(rng: random.Random, dtype: str) -> Made:
    inputs, _ = _divided(rng, dtype)
    return inputs, {"fmod": rng.choice([0, 1])} if rng.random() < 0.5 else {}


def _shifted(rng: random.Random, dtype: str) -> Made:
    inputs, _ = _broadcast(rng, dtype)
    return inputs, {"direction": rng.choice(["LEFT", "RIGHT"])}


def _any_number(rng: random.Random, dtype: str) -> Made:
    return [_integers(rng, dtype, [3]) for _ in range(rng.randint(1, 3))], {}


def _one(rng: random.Random, dtype: str) -> Made:
    return [_integers(rng, dtype, [3])], {}


def _not(rng: random.Random, dtype: str) -> Made:
    del dtype
    return [_truths(rng)], {}


def _two_truths(rng: random.Random, dtype: str) -> Made:
    del dtype
    return [_truths(rng), _truths(rng)], {}


def _converted(rng: random.Random, dtype: str) -> Made:
    given = _truths(rng) if rng.random() < 0.3 else _integers(rng, dtype, [3])
    if rng.random() < 0.1:
        given = np.array([0, -0.0, 0.3, np.nan], rng.choice(["float32", "float64", "float16"]))
    to = np.dtype(rng.choice([*INTEGERS, "bool", "bool"]))
    return [given], {"to": helper.np_dtype_to_tensor_dtype(to)}


def _clipped(rng: random.Random, dtype: str) -> Made:
    limits = [_integers(rng, dtype, []) if rng.random() < 0.7 else None for _ in range(2)]
    return [_integers(rng, dtype, [3]), *limits], {}


def _ranged(rng: random.Random, dtype: str) -> Made:
    dtype = rng.choice(["int16", "int32", "int64"])
    ends = [rng.randint(-9, 9) for _ in range(2)]
    if rng.random() < 0.2:
        shift = rng.choice([np.iinfo(dtype).max - 9, np.iinfo(dtype).min + 9])
        ends = [int(shift) + end for end in ends]
    return [np.array(n, dtype) for n in (*ends, rng.choice([1, 2, 3, -1, -2]))], {}


def _with_repeats(rng: random.Random, dtype: str) -> Made:
    dtype = rng.choice(["int8", "int64"])
    return [_integers(rng, dtype, [rng.randint(0, 5)])], {"sorted": rng.choice([0, 1])}


def _compressed(rng: random.Random, dtype: str) -> Made:
    chosen = np.array([rng.random() < 0.6 for _ in range(3)])
    return [_integers(rng, dtype, rng.choice([[3], [3, 2]])), chosen], {"axis": 0}


def _constant(rng: random.Random, dtype: str) -> Made:
    return [], {"value": numpy_helper.from_array(_integers(rng, dtype, [3]))}


def _filled(rng: random.Random, dtype: str) -> Made:
    shape = np.array([rng.randint(0, 3) for _ in range(2)], np.int64)
    return [shape], {"value": numpy_helper.from_array(_integers(rng, dtype, [1]))}


def _floats(rng: random.Random, dtype: str) -> Made:
    del dtype
    numbers = [0, np.inf, -np.inf, np.nan, 1]
    return [np.array([rng.choice(numbers) for _ in range(9)], np.float32)], {}


def _with_axes(rng: random.Random, dtype: str) -> Made:
    return [np.ones([rng.choice([0, 1, 2]) for _ in range(rng.randint(1, 4))], dtype)], {}


_MAKERS: Mapping[str, Callable[[random.Random, str], Made]] = {
    **dict.fromkeys(("Add", "BitwiseAnd", "Equal", "Greater", "GreaterOrEqual"), _broadcast),
    **dict.fromkeys(("Less", "LessOrEqual", "Mul", "Sub"), _broadcast),
    **dict.fromkeys(("Abs", "Neg", "Relu", "Sign"), _one),
    **dict.fromkeys(("And", "Or", "Xor"), _two_truths),
    **dict.fromkeys(("Max", "Min"), _any_number),
    **dict.fromkeys(("IsInf", "IsNaN"), _floats),
    "BitShift": _shifted,
    "Cast": _converted,
    "Clip": _clipped,
    "Compress": _compressed,
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Div": _divided,
    "Mod": _remainders,
    "Not": _not,
    "Range": _ranged,
    "Shape": _with_axes,
    "Unique": _with_repeats,
}
"""How inputs and attributes are made where the numbers matter more than the shapes."""


def _with_integers(rng: random.Random, case: NodeCase) -> NodeCase:
    """The case with integers of one type where elements come from."""
    dtype = rng.choice(INTEGERS)
    everything = range(len(case.inputs))
    positions = everything if case.operator == "Concat" else _DATA.get(case.operator, (0,))
    if case.operator in ("ArgMax", "ArgMin", "TopK", "NonZero"):
        dtype = rng.choice(["int32", "int64"])
    inputs = [
        array if array is None or index not in positions else _integers(rng, dtype, array.shape)
        for index, array in enumerate(case.inputs)
    ]
    return replace(case, inputs=inputs)


def _integers(rng: random.Random, dtype: str, shape: Sequence[int]) -> Array:
    """Numbers of an interval that is small, large, or at an end of the type."""
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    width = rng.choice([0, 1, 3, 9, 100])
    first = rng.choice([low, high - width, -width // 2, 0, 1, 2, -1, -width, low + 1, high // 2])
    if dtype == "int64" and rng.random() < 0.3:
        # Where the lower half of a number has its highest bit, or the upper half changes.
        first = rng.choice([-1, 1, 2]) * 2**31 - rng.randint(0, width)
    last = max(low, min(high, first + width))
    first = max(low, min(last, first))
    count = int(np.prod(shape, dtype=np.int64))
    numbers = [rng.choice([first, last, rng.randint(first, last)]) for _ in range(count)]
    return np.array(numbers, dtype).reshape(shape)


def _truths(rng: random.Random) -> Array:
    """Bools, also of bytes that are neither 0 nor 1."""
    values = [0, 1] if rng.random() < 0.5 else [0, 1, 2, 128, 255]
    return np.array([rng.choice(values) for _ in range(20)], np.uint8).view(bool)


DEFAULT = 12
NEEDED = int(os.environ.get("SONNX_ORT_RUNS", str(DEFAULT)))

COUNTED = {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"}
"""Of these only the lower end can be reached."""


def runs_of(lines):
    """The runs in which something was bounded."""
    results = (line.get("result") or {} for line in lines)
    return [result for result in results if "misfit" in result]


@pytest.fixture(scope="module")
def attempts(once):
    """What came of enough attempts at each operator: twice as many as are needed, or more."""
    function = "soundness.test_bounds_rules:attempt"
    enough = function, OPERATORS, ATTEMPTS, NEEDED, runs_of
    return once("bounds_rules", lambda: run_often_enough(*enough))


def test_every_attempt_is_a_valid_one(attempts):
    assert [line["error"] for lines in attempts.values() for line in lines if "error" in line] == []


def test_no_kernel_leaves_an_interval(attempts):
    misfits = [run["misfit"] for lines in attempts.values() for run in runs_of(lines)]
    assert "\n\n".join(filter(None, misfits)) == ""


def test_every_operator_has_run_often_enough(attempts):
    counts = {operator: len(runs_of(lines)) for operator, lines in attempts.items()}
    assert sorted(counts) == sorted(BOUNDS_RULES)
    assert {o: count for o, count in counts.items() if count < NEEDED} == {}


@pytest.mark.skipif(NEEDED < DEFAULT, reason="too few runs to tell")
def test_both_ends_of_intervals_are_reached(attempts):
    reached = {
        operator: {end for run in runs_of(lines) for end in run["reached"]}
        for operator, lines in attempts.items()
    }
    wanted = {o: {"lower"} if o in COUNTED else {"lower", "upper"} for o in BOUNDS_RULES}
    assert {o: ends for o, ends in reached.items() if ends < wanted[o]} == {}
