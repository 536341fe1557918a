"""Every entry of the list of bounded operators holds what ONNX Runtime computes.

Each operator runs often: types, attributes, versions and numbers vary, numbers at the ends of the
types among them. An interval that were narrower by one would not hold: both its ends are reached.

`SONNX_ORT_RUNS=10 pytest tests/soundness/test_bounds_rules.py` has them run ten times.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import defs, helper, numpy_helper

from sonnx_ort.facts.catalog import BOUNDS_RULES
from sonnx_ort.facts.operators import RULES
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.profile.contract import NO_CONTRACT
from support.changes import INSTALLED
from support.soundness.arrays import Array
from support.soundness.nodes import VERSIONS, NodeCase, random_case
from support.soundness.operator_runs import (
    Attempt,
    HeldToRuns,
    OneNode,
    chosen,
    held_to_a_run,
    runs_of,
    runs_of_numbers,
)

_BYTES_ALONE = frozenset({"DepthToSpace", "SpaceToDepth"})
"""Operators with kernels for integers of 8 bits alone, which no older version has."""


def _gives_integers(operator: str) -> bool:
    """Whether a first result can have integers or bools, which a Dropout has not."""
    schema = defs.get_schema(operator, RULES[operator].since[1])
    kinds = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    given = schema.outputs[0].type_str
    return any("int" in kind or "bool" in kind for kind in kinds.get(given, [given]))


BOUNDED = {operator for operator in BOUNDS_RULES if _gives_integers(operator)}
OPERATORS = sorted(BOUNDED - (_BYTES_ALONE if INSTALLED < (1, 31) else set()))
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


def attempt(number: int) -> Attempt:
    """Try one node; of the intervals of its outputs, tell which ends were `reached`."""
    operator, rng = chosen("bounds", OPERATORS, number)
    made = OneNode()
    model = made.model(_case(rng, operator), lambda *given: _source(rng, made, *given))
    return held_to_a_run(
        rng,
        model,
        made.feeds,
        lambda facts: facts.numbers_under(NO_CONTRACT).established("bounds").get,
        _compared,
    )


def _compared(bounds: list[Bounds | None], outputs: list[Array]) -> dict[str, Any]:
    pairs = [(b, o) for b, o in zip(bounds, outputs, strict=True) if b is not None]
    return {
        "misfit": "; ".join(filter(None, (_misfit(*pair) for pair in pairs))),
        "reached": sorted({end for pair in pairs for end in _reached(*pair)}),
    }


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


def _source(rng: random.Random, made: OneNode, index: int, array: Array) -> str:
    """An operand: a constant, an input of the model, or what a Less gives."""
    name = f"x{index}"
    if array.dtype == bool and rng.random() < 0.5:
        one = made.given(f"{name}_p", array.astype(np.int32), array.shape)
        other = made.given(f"{name}_q", np.ones(array.shape, np.int32), array.shape)
        made.before.append(helper.make_node("Less", [one, other], [name]))
        return name
    if rng.random() < 0.75:
        return made.constant(name, array)
    return made.given(name, array, array.shape)


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
    if case.operator in _BYTES_ALONE:
        dtype = rng.choice(["int8", "uint8"])
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
NEEDED = runs_of_numbers(DEFAULT)

COUNTED = {"ArgMax", "ArgMin", "NonZero", "Shape", "Size"}
"""Of these only the lower end can be reached."""


class TestBounds(HeldToRuns):
    """No result lies outside of its interval, and intervals are as narrow as they can be."""

    attempt = "soundness.test_bounds_rules:attempt"
    operators = OPERATORS
    needed = NEEDED

    @pytest.mark.usefixtures("first_part")
    @pytest.mark.skipif(NEEDED < DEFAULT, reason="too few runs to tell")
    def test_both_ends_of_intervals_are_reached(self, attempts):
        reached = {
            operator: {end for run in runs_of(lines) for end in run["reached"]}
            for operator, lines in attempts.items()
        }
        wanted = {o: {"lower"} if o in COUNTED else {"lower", "upper"} for o in OPERATORS}
        assert {o: ends for o, ends in reached.items() if ends < wanted[o]} == {}
