"""The installed ONNX Runtime is no less accurate than the table of accuracies says.

The campaign of accuracies tries every float. Here are the arguments with the largest errors that it
found, random ones, and all numbers of float16, in long and in short tensors.
"""

import json
import math
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from accuracy.arguments import DTYPES, random_floats, rising
from accuracy.findings import empty
from accuracy.functions import FUNCTIONS
from accuracy.sweeps import Sweep
from accuracy.table import loaded
from measure_accuracy import RECORD

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.accuracy import Accuracy, accuracy_of, measured_functions
from sonnx_ort.facts.catalog import INTERVAL_RULES
from sonnx_ort.facts.ranges import Interval

RECORDED = [measured["sweeps"] for measured in json.loads(RECORD.read_text("utf-8")).values()]
RANDOM = 1 << 15
SHARE_OF_DOUBLES = 37
SHORT = (1, 3, 4, 7, 15, 16, 17, 33)
"""Lengths of tensors that no vector, or more than one, divides."""

NAN = math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, NAN]


def worst_of(sweep: Sweep) -> Any:
    """The arguments with the largest errors, of any version."""
    found = [loaded(sweeps[str(sweep)]["found"]) for sweeps in RECORDED if str(sweep) in sweeps]
    worst = {
        argument for each in found for scale in each["worst"].values() for _, argument in scale
    }
    return np.array([*sorted(worst), *SPECIAL]).astype(DTYPES[sweep.element_type])


def others_of(sweep: Sweep) -> Any:
    match sweep.element_type:
        case "float16":
            return rising("float16", 0, 1 << 16)
        case "double":
            return sweep.arguments(0)[::SHARE_OF_DOUBLES]
        case _:
            return random_floats("float", RANDOM)


def excess(accuracy: Accuracy, found: dict[str, Any]) -> dict[str, object]:
    """What of a finding is worse than the table says."""
    errors = ("result", "result_near_zero", "argument", "argument_near_zero", "one")
    excessive = {e: found[e] for e in errors if found[e] > getattr(accuracy, e)}
    undefined = {name: found[name] for name in ("nan", "outside") if found[name]}
    outside: dict[str, object] = {}
    for side, x in (("below", Interval.of(-2, -1)), ("above", Interval.of(1, 2))):
        (least, largest), (lower, upper) = found[side], accuracy.limits(x)
        if least <= largest and (least < lower or largest > upper):
            outside[side] = found[side]
    of_nan = found["of_nan"] if found["of_nan"][0] <= found["of_nan"][1] else []
    lower, upper = accuracy.special(Interval.of(-math.inf, math.inf, nan=True))
    special = [n for n in (*found["infinities"], *of_nan) if n is not None and not math.isnan(n)]
    if strange := [number for number in special if not lower <= number <= upper]:
        outside["special"] = strange
    for expected, result in zip(accuracy.nan_of_infinities, found["infinities"], strict=True):
        if result is not None and math.isnan(result) and not expected:
            outside["infinity"] = result
    return excessive | undefined | outside


COMPUTED = {each for each in measured_functions() if Sweep(*each).has_kernel}
"""The functions and types of which the installed version has kernels; 1.23.0 has fewer."""


@pytest.mark.parametrize(("function", "element_type"), sorted(COMPUTED))
def test_installed_version_is_as_accurate_as_the_table_says(
    function: str, element_type: str
) -> None:
    sweep, found = Sweep(function, element_type), empty(rises=FUNCTIONS[function].rises)
    worst, others = worst_of(sweep), others_of(sweep)
    for arguments in (np.tile(worst, 8), others):
        sweep.add(found, arguments, sweep.computed(arguments), rising=False)
    for length in SHORT:
        parts = [worst[first : first + length] for first in range(0, worst.size, length)]
        results = np.concatenate([sweep.computed(part) for part in parts])
        sweep.add(found, worst, results, rising=False)
    assert excess(accuracy_of(function, element_type), found) == {}


@pytest.mark.parametrize(
    ("wrong", "excessive"),
    [
        ({}, {}),
        ({"one": 99.0}, {"one": 99.0}),
        ({"nan": 1}, {"nan": 1}),
        ({"outside": 2}, {"outside": 2}),
        ({"below": [-1e-9, 0.5]}, {"below": [-1e-9, 0.5]}),
        ({"above": [0.5, 1.001]}, {"above": [0.5, 1.001]}),
        ({"infinities": [-1.0, 1.0]}, {"special": [-1.0]}),
        ({"infinities": [0.0, NAN]}, {"infinity": NAN}),
        ({"of_nan": [7.0, 8.0]}, {"special": [7.0, 8.0]}),
    ],
)
def test_worse_results_are_found(wrong: dict[str, Any], excessive: dict[str, Any]) -> None:
    assert excess(accuracy_of("Sigmoid", "float"), empty(rises=True) | wrong) == excessive


def interval_of(sweep: Sweep, x: float) -> Interval:
    """What the rule says of one argument."""
    operator, _, approximate = sweep.function.partition(" ")
    value = ir.val("x")
    attributes = {"approximate": approximate} if approximate else {}
    node = ir.node(operator, [value], attributes)
    point = Interval.of(0, 0, nan=True) if math.isnan(x) else Interval.of(x, x)
    known = GraphNode(
        node, 20, Held(element_type=lambda _: sweep.element_type, intervals={value: point})
    )
    (found,) = INTERVAL_RULES[operator](known)
    assert found is not None
    return found


NOT_PROVED = {("Softplus", "float16")}
"""Functions of which no rule says anything, for not every version of them has this kernel."""


@pytest.mark.parametrize(("function", "element_type"), sorted(COMPUTED - NOT_PROVED))
def test_results_of_the_worst_arguments_lie_in_intervals(function: str, element_type: str) -> None:
    sweep = Sweep(function, element_type)
    worst = worst_of(sweep)
    results = sweep.computed(worst)
    for argument, result in zip(worst.tolist(), results.tolist(), strict=True):
        interval = interval_of(sweep, argument)
        whole = interval.whole
        assert interval.nan if math.isnan(result) else result in whole, (argument, result)
