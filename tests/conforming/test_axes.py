"""Conformed nodes count their axes from the front, and name those that they remove."""

import numpy as np
import pytest

import sonnx_ort
from support.conformed import require_fixed, violated
from support.graphs import parse

FROM_THE_END = {
    "Softmax": "(float[2,3,4] x) => (float[] y) { [node] y = Softmax <axis = -2> (x) }",
    "ArgMax": "(float[2,3,4] x) => (int64[] y) { [node] y = ArgMax <axis = -1> (x) }",
    "Concat": "(float[2,3,4] x) => (float[] y) { [node] y = Concat <axis = -3> (x, x) }",
}


@pytest.mark.parametrize("name", FROM_THE_END)
def test_axis_is_counted_from_the_front(name: str) -> None:
    before = parse(FROM_THE_END[name])
    assert violated(before)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    require_fixed(before, {"x": x})


@pytest.mark.parametrize("name", FROM_THE_END)
def test_axis_stays_where_no_rank_is_known(name: str) -> None:
    model = parse(FROM_THE_END[name].replace("float[2,3,4]", "float[]"))
    remaining = sonnx_ort.conform(model, operators=name).remaining
    assert [reason for _, reason in remaining] == ["the rank of 'x' is not known"]


@pytest.mark.parametrize("opset", [11, 13])
def test_removed_axes_are_named(opset: int) -> None:
    before = parse("(float[1,3,1] x) => (float[] y) { [node] y = Squeeze(x) }")
    before.opset_import[0].version = opset
    assert violated(before)
    require_fixed(before, {"x": np.ones((1, 3, 1), np.float32)})


NOT_NAMED = {
    "which axes of 'x' have the size 1 is known only in a run": "n,1",
    "it removes no axis, but the profile requires one to be named": "2,3",
}


@pytest.mark.parametrize("reason", NOT_NAMED)
def test_squeeze_stays_where_no_axis_can_be_named(reason: str) -> None:
    text = f"(float[{NOT_NAMED[reason]}] x) => (float[] y) {{ [node] y = Squeeze(x) }}"
    remaining = sonnx_ort.conform(parse(text), operators="Squeeze").remaining
    assert [given for _, given in remaining] == [reason]
