"""Two models side by side: the first difference, violations, and deaths of the process."""

from collections.abc import Mapping

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.comparing.difference import (
    EXACT,
    Comparison,
    Measure,
    Tolerance,
    compare,
    compared,
    survey,
)
from sonnx_ort.comparing.runs import run_both
from sonnx_ort.errors import SonnxError
from support.backends import BACKENDS
from support.graphs import binary_model, parse

CHAIN = """(float[3] x, float[3] y) => (float[3] z)
    {{ [first] a = Div(x, y) [second] b = {operator}(a, y) [last] z = Relu(b) }}"""

FEEDS = {"x": np.array([1, 2, 3], np.float32), "y": np.array([4, 0.5, 1], np.float32)}


def chain(operator: str) -> onnx.ModelProto:
    return parse(CHAIN.format(operator=operator))


@pytest.fixture(scope="module")
def changed() -> Comparison:
    return compare(chain("Mul"), chain("Add"), FEEDS)


def test_first_difference_is_that_of_the_first_node(changed: Comparison) -> None:
    assert list(changed.nodes) == ["a", "b", "z"]
    assert changed.same == ("a",)
    assert [m.name for m in changed.mismatches] == ["b", "z"]
    first = changed.mismatches[0]
    assert (first.node, first.index, first.count) == ("Mul 'second'", (0,), 3)
    assert first.elements == (1.0, 4.25)
    assert not changed.equal


@BACKENDS
@pytest.mark.parametrize("name", ["normalization_broadcast", "div_in_if"])
def test_rewritten_model_computes_the_same(name: str, backend: str) -> None:
    original = sonnx_ort.models.load(name)
    enforced = sonnx_ort.rewrite(original, broadcast="explicit", backend=backend)
    comparison = compare(original, enforced, {}, seed=3)
    assert comparison.equal
    assert len(comparison.same) == sum(len(node.output) for node in original.graph.node)


def integers(b: list[int]) -> Mapping[str, np.ndarray]:
    return {"A": np.array([6, -(2**31)], np.int32), "B": np.array(b, np.int32)}


@pytest.mark.upstream
def test_original_that_ends_the_process_is_a_line_beside_the_violation() -> None:
    original = binary_model("Div", "int32", [2], [2])
    comparison = compare(original, sonnx_ort.rewrite(original), integers([3, -1]))
    died, refused = comparison.stops
    assert died is not None
    assert refused is not None
    assert (died.node, died.reason, died.violated) == (
        *("Div 'the_node'", "the process is killed by SIGFPE"),
        False,
    )
    assert refused.violated
    assert refused.reason.startswith("Div 'the_node' breaks Div.int.C2: a quotient beyond the type")
    assert not comparison.equal


@BACKENDS
def test_what_was_computed_before_a_violation_is_compared(backend: str) -> None:
    original = parse(
        """(int32[2] A, int32[2] B) => (int32[2] z) {
            [before] a = Sub(A, B) [division] b = Div(a, B) [behind] z = Neg(b) }"""
    )
    enforced = sonnx_ort.rewrite(original, backend=backend)
    comparison = compare(original, enforced, integers([3, 0]))
    assert comparison.same == ("a",)
    first, second = comparison.stops
    assert first is not None
    assert first.node == "Div 'division'"
    assert second is not None
    assert second.violated
    assert "Div 'division' breaks Div.int.C1" in second.reason


def test_shapes_that_differ_have_no_index() -> None:
    one = parse("(float[3] x) => (float[3] y) { y = Relu(x) }")
    other = parse("(float[3] x) => (float[1] y) { y = ReduceSum(x) }")
    comparison = compare(one, other, {})
    (mismatch,) = comparison.mismatches
    assert (mismatch.index, mismatch.count) == (None, 0)
    with pytest.raises(ValueError, match="has no elements that can be set side by side"):
        _ = mismatch.elements


def test_outputs_of_one_model_only_are_a_difference() -> None:
    one = parse("(float[3] x) => (float[3] y) { y = Relu(x) }")
    other = parse("(float[3] x) => (float[3] z) { y = Relu(x) z = Identity(y) }")
    comparison = compare(one, other, {})
    assert comparison.pair.unshared_outputs == ("y", "z")
    assert comparison.same == ("y",)
    assert not comparison.equal


@pytest.mark.parametrize(("one", "other", "feeds", "told"), [
    (chain("Mul"), parse("(float[3] x) => (float[3] z) { z = Relu(x) }"), {},
     "the two models have other inputs: float 'x', float 'y'; float 'x'"),
    (chain("Mul"), parse("(float[3] x, int32[3] y) => (float[3] z) { z = Relu(x) }"), {},
     "the two models have other inputs: float 'x', float 'y'; float 'x', int32 'y'"),
    (chain("Mul"), chain("Mul"), FEEDS | {"x": np.ones((2, 2), np.float32)},
     ("the input 'x' is float32 of shape (2, 2), but the model needs float32 of shape (3,); give "
      "it 1 axis")),
    (*(parse(f"(float[{size}] x) => (float[m] y) {{ y = Neg(x) }}") for size in (3, 2)), {},
     ("the second model does not take the inputs of the first: the input 'x' is float32 of shape "
      "(3,), but the model needs float32 of shape (2,); give axis 0 size 2")),
], ids=["fewer inputs", "another type", "another rank", "other sizes"])  # fmt: skip
def test_inputs_that_do_not_fit_both_models(
    one: onnx.ModelProto, other: onnx.ModelProto, feeds: Mapping[str, np.ndarray], told: str
) -> None:
    with pytest.raises(SonnxError) as caught:
        compare(one, other, feeds)
    assert str(caught.value) == told


@BACKENDS
def test_violation_is_the_same_in_each_run(backend: str) -> None:
    model = "(int32[n] A, int32[n] B) => (int32[n] z) { [one] C = Div(A, B) z = Div(C, B) }"
    enforced = sonnx_ort.rewrite(parse(model), backend=backend)
    feeds = {"A": np.array([6, 9], np.int32), "B": np.array([3, 0], np.int32)}
    comparison = compare(enforced, enforced, feeds)
    assert comparison.mismatches == ()
    one, other = comparison.stops
    assert one is not None
    assert one.violated
    assert one == other


NEAR, FAR = (
    parse(f"(float[2] x) => (float[2] y) <float[2] c = {{{c}}}> {{ y = Mul(x, c) }}")
    for c in ("1, 1", "1, 1.5")
)


@pytest.mark.parametrize(("measure", "most", "equal"), [
    (Measure.BITS, 0, False), (Measure.ABSOLUTE, 0.5, False), (Measure.ABSOLUTE, 1, True),
    (Measure.RELATIVE, 0.25, False), (Measure.RELATIVE, 0.5, True), (Measure.ULP, 2**22 - 1, False),
    (Measure.ULP, 2**22, True),
])  # fmt: skip
def test_difference_within_the_tolerance_is_none(
    measure: Measure, most: float, equal: bool
) -> None:
    sample = {"x": np.array([1, 2], np.float32)}
    found = compare(NEAR, FAR, sample, tolerance=Tolerance(measure, most))
    assert found.equal is equal
    assert [(m.name, m.index, m.count) for m in found.mismatches] == [("y", (1,), 1)] * (not equal)


def test_bits_are_not_tolerated() -> None:
    with pytest.raises(SonnxError) as caught:
        Tolerance(Measure.BITS, 2)
    assert str(caught.value) == "tolerance=2: bits are the same or not; name another measure="


def test_samples_are_gathered_by_their_names() -> None:
    given = [({"x": np.array([1, second], np.float32)}, 0) for second in (0, 2, 4)]
    tolerance = Tolerance(Measure.ABSOLUTE, 0.5)
    comparisons = (compared(runs, tolerance) for runs in run_both(NEAR, FAR, given))
    found = survey(zip(("none", "one", "two"), comparisons, strict=True))
    assert found.differences == {"y": {"none": 0, "one": 1, "two": 2}}
    assert (found.samples, found.unequal) == (("none", "one", "two"), ("one", "two"))
    name, shown = found.shown
    assert name == "one"
    assert shown.inputs.arrays["x"].tolist() == [1, 2]


def test_first_sample_is_shown_where_none_differs() -> None:
    given = [({}, seed) for seed in (5, 6)]
    comparisons = (compared(runs, EXACT) for runs in run_both(NEAR, NEAR, given))
    found = survey(zip("ab", comparisons, strict=True))
    assert (found.unequal, found.shown[0], found.shown[1].inputs.seed) == ((), "a", 5)
