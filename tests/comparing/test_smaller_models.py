"""What is left of a model and its inputs without some part of it."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sonnx_ort.comparing.shrinking import Known, Trial, smaller, with_nodes
from support.graphs import parse

CHAIN = """(float[2] x, bool c) => (float[2] z, float[2] w) <float[2] two = {2, 2}> {
    a = Abs(x) b = Exp(a) d = Mul(b, two) z = Neg(d) w = Neg(a) }"""

X, C = np.array([1, 2], np.float32), np.array(True)
TRIAL = Trial(parse(CHAIN), ({"x": X, "c": C},))


def known(*names: str) -> Known:
    return Known([dict.fromkeys(names, X * 3)])


@pytest.mark.parametrize(("kept", "inputs", "outputs", "constants"), [
    ([0], ["x"], ["a"], []),
    ([1, 2], ["a"], ["d"], ["two"]),
    ([3, 4], ["d", "a"], ["z", "w"], []),
    ([0, 1, 4], ["x"], ["b", "w"], []),
])  # fmt: skip
def test_part_reads_inputs_and_gives_what_the_rest_reads(
    kept: list[int], inputs: list[str], outputs: list[str], constants: list[str]
) -> None:
    found = with_nodes(TRIAL, kept, known("a", "b", "d"))
    assert found is not None
    graph = found.model.graph
    assert [value.name for value in graph.input] == inputs
    assert [value.name for value in graph.output] == outputs
    assert [tensor.name for tensor in graph.initializer] == constants
    assert found.runs[0].keys() == set(inputs)
    onnx.checker.check_model(found.model, full_check=True)


def test_value_at_a_cut_has_what_the_run_gave_it() -> None:
    found = with_nodes(TRIAL, [1], known("a", "b"))
    assert found is not None
    assert found.runs[0]["a"].tolist() == [3, 6]


@pytest.mark.parametrize("kept", [[], [1]], ids=["no output", "unknown type"])
def test_there_is_no_part(kept: list[int]) -> None:
    assert with_nodes(TRIAL, kept, Known()) is None


def test_sizes_that_differ_between_runs_are_open() -> None:
    runs = ({"x": X, "c": C}, {"x": X[:1], "c": C})
    found = with_nodes(
        Trial(parse(CHAIN), runs), [1], Known([{"a": X, "b": X}, {"a": X[:1], "b": X}])
    )
    assert found is not None
    dims = [
        value.type.tensor_type.shape.dim[0]
        for value in (*found.model.graph.input, *found.model.graph.output)
    ]
    assert [dim.dim_value for dim in dims] == [0, 2]


def test_axes_become_shorter_with_the_constants_that_say_their_size() -> None:
    text = """(float[6, 1] x, float k) => (float[6] y) <int64[1] shape = {6}> {
        r = Reshape(x, shape) y = Add(r, k) }"""
    feeds = {"x": np.ones((6, 1), np.float32), "k": np.array(1, np.float32)}
    found = [
        (each.runs[0]["x"].shape, numpy_helper.to_array(each.model.graph.initializer[0]).tolist())
        for each in smaller(Trial(parse(text), (feeds,)))
        if each.runs[0].keys() == feeds.keys() and each.runs[0]["x"].size < feeds["x"].size
    ]
    assert found == [((1, 1), [1]), ((3, 1), [3])]


def test_text_without_axes_stays_text() -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Neg(x) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array("t", object), "t"))
    for each in smaller(Trial(model, ({"x": X},))):
        for tensor in each.model.graph.initializer:
            assert tensor.name == "x" or list(tensor.string_data) == [b"t"]
