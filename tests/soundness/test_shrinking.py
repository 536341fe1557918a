"""A failing model is shrunk to the smallest on which the same check fails in the same way."""

import os
import signal
import time

import numpy as np
import onnx
import pytest

from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.runs.reduce.shrinking import Known, Trial, shrink
from support.graphs import parse
from support.soundness import isolated
from support.soundness.isolated import failures_of, how_it_ends, run_attempts
from support.soundness.shrinking import smallest

LARGE = """(float[n] x, float[m] y, bool c) => (float[k] z, float[k] w, int64[1] t)
    <float[2] b, float[2] two = {2, 2}> {
        a = Relu(x)
        b = local.halved(a)
        r = If(c) <
            then_branch = g () => (float[k] p) { s = Sub(b, y) p = Abs(s) },
            else_branch = h () => (float[k] q) { q = Neg(b) }
        >
        u = Add(r, two)
        z = Tanh(u)
        w = Mul(a, y)
        t = Shape(w)
    }
    <opset_import: ["": 17], domain: "local"> halved (v) => (e) {
        one = Constant<value_float = 1.0>()
        d = Div(v, one)
        e = Exp(d)
    }"""


def large():
    feeds = {"x": np.ones(2, np.float32), "y": np.ones(2, np.float32), "c": np.array(True)}
    return Trial(parse(LARGE, domains={"local": 1}), (feeds, feeds))


def nothing(trial):
    """Know no values, so that no part of a graph can be cut off."""
    del trial
    return Known()


def fails_on(*operators):
    """Give a check that fails on valid models with operators."""

    def fails(trial):
        try:
            onnx.checker.check_model(trial.model)
        except onnx.checker.ValidationError:
            return False
        return set(operators) <= {node.op_type for node in all_nodes(trial.model)}

    return fails


@pytest.mark.parametrize(
    "operator", ["Relu", "Exp", "Sub", "Neg", "Add", "Mul", "Shape", "Constant"]
)
def test_one_node_that_a_check_fails_on_is_left_alone(operator):
    found = shrink(large(), fails_on(operator), nothing)
    assert [node.op_type for node in all_nodes(found.model)] == [operator]
    assert len(found.model.graph.output) == len(found.runs) == 1
    assert not found.model.graph.value_info


def test_inputs_become_constants():
    found = shrink(large(), fails_on("Mul"), nothing)
    assert not found.model.graph.input
    assert found.runs == ({},)
    assert {"x", "y"} <= {tensor.name for tensor in found.model.graph.initializer}


def test_result_still_fails_and_what_was_given_is_left_as_it_is():
    trial, fails = large(), fails_on("Sub")
    assert fails(shrink(trial, fails, nothing))
    assert str(trial) == str(large())


def test_tries_are_limited():
    tried = []
    shrink(large(), lambda trial: bool(tried.append(trial)), nothing, most_tries=5)
    assert len(tried) == 5


def refuse_division(trial):
    """Raise for a Div; where there is a Sub as well, another error."""
    operators = {node.op_type for node in all_nodes(trial.model)}
    if {"Div", "Sub"} <= operators:
        raise ValueError
    if "Div" in operators:
        raise KeyError


def end_at_division(trial):
    if "Div" in {node.op_type for node in all_nodes(trial.model)}:
        os.abort()


@pytest.mark.parametrize(
    ("check", "kept"), [(refuse_division, {"Div", "Sub"}), (end_at_division, {"Div"})]
)
def test_smallest_ends_as_the_large_one_does(check, kept):
    assert {node.op_type for node in all_nodes(smallest(large(), check).model)} == kept


def test_check_without_an_end_is_ended():
    assert how_it_ends(time.sleep, 60, seconds=1) == f"status {signal.SIGALRM}"


def test_failures_are_told_with_the_smallest_input():
    lines = run_attempts("math:factorial", [3, -1, -2, 4], processes=2)
    assert [line["result"] for line in lines if "result" in line] == [6, 24]
    first, second = failures_of(lines, "builtins:abs", most=1)
    assert first.startswith("-2: Traceback")
    assert first.endswith("The smallest on which it does so:\n2")
    assert second.startswith("-1: Traceback")
    assert second.endswith("ValueError: factorial() not defined for negative values\n")


def test_failure_that_takes_too_long_to_shrink_is_told_all_the_same(monkeypatch):
    monkeypatch.setattr(isolated, "_SECONDS_TO_START", 0)
    monkeypatch.setattr(isolated, "_SECONDS_TO_SHRINK", 0.5)
    (told,) = failures_of([{"number": 9, "error": "what is wrong"}], "time:sleep")
    assert told.startswith("9: what is wrong\nIt was not shrunk: ")
