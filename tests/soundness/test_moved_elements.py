"""Operators that are said to move elements give elements of their operands, and no others.

Bounds, intervals and signs of zeros are taken from the operands to the results of these operators.
Each row of the table that says so is tried, in all types of numpy and all verified versions, on
numbers with infinities, NaN, subnormal ones and zeros of both signs, also on empty tensors.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import defs, helper

from sonnx_ort.analysis.values.graph_node import GraphNode
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.facts.node import Moved
from sonnx_ort.facts.operators import RULES
from sonnx_ort.facts.sizes import Rejected
from sonnx_ort.profile.contract import NO_CONTRACT
from support.soundness.arrays import Array
from support.soundness.extremes import with_extremes
from support.soundness.nodes import NodeCase, random_case
from support.soundness.operator_runs import (
    Attempt,
    HeldToRuns,
    OneNode,
    chosen,
    held_to_a_run,
    runs_of_numbers,
)

OPERATORS = sorted(name for name, rules in RULES.items() if rules.moves is not None)

_TYPES = (
    *("float32", "float32", "float64", "float16", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)

_FEWEST = 3
"""No element is 0 or 1, so that a result that nothing was written to is noticed."""

_EXTREMES = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45, 1e38)

NEEDED = runs_of_numbers(30)


def attempt(number: int) -> Attempt:
    """Try one node, whose operands have distinct numbers where their type is that of the result."""
    operator, rng = chosen("moved elements", OPERATORS, number)
    case, made = random_case(rng, operator), OneNode()
    if rng.random() < 0.3:
        case = with_extremes(rng, case)
    case = _with_numbers(rng, case)

    def source(index: int, array: Array) -> str:
        """An operand: a constant, an input of the model, or truth values that a Less gives."""
        name = f"x{index}"
        if index > 0 and rng.random() < 0.5:
            return made.constant(name, array)
        if array.dtype == bool and not array.view(np.uint8).max(initial=0) > 1:
            numbers = made.given(f"{name}_p", array.astype(np.int32), array.shape)
            zeros = made.given(f"{name}_q", np.zeros(array.shape, np.int32), array.shape)
            made.before.append(helper.make_node("Less", [zeros, numbers], [name]))
            return name
        return made.given(name, array, array.shape)

    def compared(moved: list[Moved | None], outputs: list[Array]) -> dict[str, Any]:
        pairs = zip(moved, outputs, strict=True)
        found = [_strange(case, own, each) for own, each in pairs if own is not None]
        return {"misfit": "; ".join(filter(None, found))}

    return held_to_a_run(rng, made.model(case, source), made.feeds, _moved, compared)


def _moved(facts: Facts) -> Callable[[ir.Value], Moved | None]:
    """Whose elements a result has."""
    known = facts.numbers_under(NO_CONTRACT)

    def of(value: ir.Value) -> Moved | None:
        producer = value.producer()
        assert producer is not None
        node = GraphNode(producer, known.version, known)
        rules = RULES[node.op_type]
        assert rules.moves is not None
        try:
            rules.require_verified(node)
            found = rules.moves(node)
        except Rejected:
            return None
        return found if value in producer.outputs[: found.results] else None

    return of


def _with_numbers(rng: random.Random, case: NodeCase) -> NodeCase:
    """The case with distinct numbers of one type in all operands of the type of the result."""
    schema, dtype = defs.get_schema(case.operator, case.opset), rng.choice(_TYPES)
    wanted = schema.outputs[0].type_str
    inputs: list[Array | None] = []
    for index, array in enumerate(case.inputs):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        moves = array is not None and formal.type_str == wanted
        inputs.append(_numbers(rng, array.shape, dtype, index) if moves else array)
    return replace(case, inputs=inputs)


def _numbers(rng: random.Random, shape: Sequence[int], dtype: str, index: int) -> Array:
    count = int(np.prod(shape, dtype=np.int64))
    numbers = (np.arange(count) % 30 + 30 * (index % 4) + _FEWEST).astype(dtype)
    if numbers.dtype.kind == "f" and rng.random() < 0.6:
        for place in range(count):
            if rng.random() < 0.4:
                with np.errstate(over="ignore", under="ignore"):
                    numbers[place] = np.float64(rng.choice(_EXTREMES)).astype(dtype)
    return numbers.reshape(shape)


def _strange(case: NodeCase, moved: Moved, output: Array) -> str:
    """What a result has that is no element, told by bits; any NaN is one, and 0 stands for -0."""
    given = [case.inputs[index] for index in moved.operands]
    parts = [array.ravel() for array in given if array is not None]
    if moved.zero or any((array == 0).any() for array in parts):
        parts.append(np.zeros(1, output.dtype))
    of_nan = any(array.dtype.kind == "f" and np.isnan(array).any() for array in parts)
    known = {number.tobytes() for array in parts for number in array}
    strange = [
        number
        for number in output.ravel()
        if number.tobytes() not in known and not (of_nan and np.isnan(number))
    ]
    return f"{strange[:3]} is no element" if strange else ""


class TestMovedElements(HeldToRuns):
    """No result has an element that the operands do not have."""

    attempt = "soundness.test_moved_elements:attempt"
    operators = OPERATORS
    needed = NEEDED


def test_elements_that_no_operand_has_are_found():
    case = NodeCase("Identity", 13, [np.array([3, -0.0], np.float32)])
    assert _strange(case, Moved([0]), np.array([3, -0.0], np.float32)) == ""
    assert _strange(case, Moved([0]), np.array([3, 0.0], np.float32)) == ""
    found = _strange(case, Moved([0]), np.array([1, np.nan], np.float32))
    assert found == "[np.float32(1.0), np.float32(nan)] is no element"
    positive = NodeCase("Identity", 13, [np.array([3], np.float32)])
    assert _strange(positive, Moved([0]), np.array([0.0], np.float32)) != ""
    assert _strange(positive, Moved([0], zero=True), np.array([0.0], np.float32)) == ""
    assert _strange(positive, Moved([0], zero=True), np.array([-0.0], np.float32)) != ""
