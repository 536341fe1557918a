"""Runs single nodes in ONNX Runtime, and holds what is known of their results against the outcome.

Each operator is tried again and again, until it has run often enough; attempts are for
`support.soundness.isolated`.
"""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors import InvalidModel
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.loading.canonical import load_canonical as load
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.isolated import Line, run_attempts
from support.soundness.nodes import NodeCase

_ATTEMPTS = 1000
"""How many attempts there can be for each operator."""

Attempt = dict[str, Any] | None
"""What came of a node: `refused`, why ONNX Runtime did not run it; or `misfit`, what contradicts
what is known, and more. None for a model that `check` refuses, or of which nothing is known."""


def runs_of_numbers(default: int) -> int:
    """How many runs of each operator are to show that what is known of its elements holds.

    They have a variable of their own beside that of all runs: they take little time, and what is
    wrong in few runs of an older kernel shows in many alone.
    """
    said = os.environ.get("SONNX_ORT_RUNS_OF_NUMBERS") or os.environ.get("SONNX_ORT_RUNS")
    return int(said or default)


def chosen(purpose: str, operators: Sequence[str], number: int) -> tuple[str, random.Random]:
    """The operator of an attempt, and what else is chosen by; after the last part comes another."""
    several, step = divmod(number, _ATTEMPTS)
    part, index = divmod(several, len(operators))
    seed = f"{purpose} {operators[index]} {part * _ATTEMPTS + step}"
    return operators[index], random.Random(seed)  # noqa: S311 - no cryptography


@dataclass
class OneNode:
    """Makes a model of one node, whose operands are constants, or inputs of the model."""

    feeds: dict[str, Array] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    before: list[onnx.NodeProto] = field(default_factory=list)

    def model(self, case: NodeCase, source: Callable[[int, Array], str]) -> onnx.ModelProto:
        """The model of a node; `source` gives the name of what is read in the place of an input."""
        names = [source(i, a) if a is not None else "" for i, a in enumerate(case.inputs)]
        return case.model(names, self.inputs, self.constants, self.before)

    def constant(self, name: str, array: Array) -> str:
        """Add a constant."""
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def given(self, name: str, array: Array, shape: Sequence[int | str] | None) -> str:
        """Add an input of the model, of a declared shape."""
        self.feeds[name] = array
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name


def held_to_a_run(
    rng: random.Random,
    model: onnx.ModelProto,
    feeds: dict[str, Array],
    known: Callable[[Facts], Callable[[str], Any]],
    compare: Callable[[list[Any], list[Any]], dict[str, Any]],
) -> Attempt:
    """Run a model, and compare its outputs with what is known of them.

    Args:
        rng: Chooses the level of optimization.
        model: The model.
        feeds: What it is run with.
        known: Gives of the facts of a model what tells what is known of a value, None if nothing.
        compare: Gives `misfit` and more, of what is known of each output and of the outputs.
    """
    ort.set_default_logger_severity(4)
    try:
        loaded = load(model).graph_model
    except InvalidModel:
        return None
    of_outputs = [*map(known(Facts(loaded)), loaded.graph.outputs)]
    if all(each is None for each in of_outputs):
        return None
    try:
        options = on_one_thread(rng.choice(("none", "all")))
        session = ort.InferenceSession(model.SerializeToString(), options)
        outputs = [np.asarray(output) for output in session.run(None, feeds)]
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return {"refused": str(error)[:200]}
    compared = compare(of_outputs, outputs)
    if compared["misfit"]:
        compared["misfit"] += f" of\n{onnx.printer.to_text(model)}\n{feeds}"
    return compared


def misfit(interval: Interval, output: Array) -> str:
    """What of a tensor is outside of its interval."""
    numbers = output.astype(np.float64)
    if np.isnan(numbers).any() and not interval.nan:
        return f"NaN outside {interval.whole}"
    outside = (numbers < interval.lower) | (numbers > interval.upper)
    return f"{numbers[outside][:3]} outside {interval.whole}" if outside.any() else ""


def runs_of(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The runs in which something was known."""
    results = (line.get("result") or {} for line in lines)
    return [result for result in results if "misfit" in result]


class HeldToRuns:
    """What tests promise of each operator of a list.

    Attributes:
        attempt: The function that tries a node, by its module and name.
        operators: The operators, in the order of the numbers of attempts.
        needed: How many runs are needed of each.
    """

    attempt: str
    operators: Sequence[str]
    needed: int

    @pytest.fixture(scope="class")
    @classmethod
    def attempts(
        cls, once: Callable[..., dict[str, list[Line]]], part_of_trials: int
    ) -> dict[str, list[Line]]:
        """What came of enough attempts at each operator: twice as many as are needed, or more."""
        return once(cls.attempt, lambda: cls._attempts(part_of_trials))

    @classmethod
    def _attempts(cls, part: int) -> dict[str, list[Line]]:
        begin = (part - 1) * len(cls.operators)
        lines: dict[str, list[Line]] = {operator: [] for operator in cls.operators}
        first, count = 0, 2 * cls.needed
        while first < _ATTEMPTS:
            found = [len(runs_of(lines[operator])) for operator in cls.operators]
            steps = range(first, min(first + count, _ATTEMPTS))
            wanting = [index for index, runs in enumerate(found) if runs < cls.needed]
            numbers = [(begin + index) * _ATTEMPTS + step for index in wanting for step in steps]
            for line in run_attempts(cls.attempt, numbers, processes=2):
                lines[cls.operators[line["number"] // _ATTEMPTS - begin]].append(line)
            first, count = steps.stop, 2 * count
        return lines

    def test_every_attempt_is_a_valid_one(self, attempts: dict[str, list[Line]]) -> None:
        """No attempt fails for another reason than that the model is refused."""
        lines = [line for several in attempts.values() for line in several]
        assert [line["error"] for line in lines if "error" in line] == []

    def test_no_kernel_contradicts_what_is_known(self, attempts: dict[str, list[Line]]) -> None:
        """What is known holds of all that was computed."""
        misfits = [run["misfit"] for lines in attempts.values() for run in runs_of(lines)]
        assert "\n\n".join(filter(None, misfits)) == ""

    def test_every_operator_has_run_often_enough(self, attempts: dict[str, list[Line]]) -> None:
        """Else the other tests would say nothing."""
        counts = {operator: len(runs_of(lines)) for operator, lines in attempts.items()}
        assert {o: count for o, count in counts.items() if count < self.needed} == {}
