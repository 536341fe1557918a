"""The tables of real models: what is counted and compared, and how it is written."""

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper
from real_models.census import refusals, take_census
from real_models.comparison import Comparison, ModelNotTried, Outcome, compare, difference
from real_models.feeds import Data, DryRun
from real_models.measurement import MEASUREMENT, figures, summary

from support.graphs import binary_model, model, tensor

TRIAL = DryRun(1, (4,))


def with_a_body() -> onnx.ModelProto:
    """A Sub of equal shapes, and an If with a Div in each branch, one of which broadcasts."""

    def branch(operand):
        node = helper.make_node("Div", ["d", operand], ["q"], name=f"divide_by_{operand}")
        return helper.make_graph([node], operand, [], [tensor("q", "float", [3])])

    nodes = [
        helper.make_node("Sub", ["x", "y"], ["d"], name="subtract"),
        helper.make_node("If", ["c"], ["z"], then_branch=branch("y"), else_branch=branch("s")),
        helper.make_node("Relu", ["z"], ["r"]),
    ]
    inputs = [tensor("x", "float", [3]), tensor("y", "float", [3]), tensor("s", "float", [])]
    return model(nodes, [*inputs, tensor("c", "bool", [])], [tensor("r", "float", [3])])


def test_census_counts_bodies_too(saved):
    assert take_census(saved(with_a_body()), "python") == {
        "nodes": 5,
        "added": 15,
        "targets": 3,
        "broadcasting": 1,
        "guards": 4,
    }


def test_native_model_has_guards_only_where_something_is_left_to_the_run(saved):
    proved = take_census(saved(binary_model("Div", "float", [3], [3])), "native")
    open_ = take_census(saved(binary_model("Div", "float", ["n"], ["m"])), "native")
    assert (proved["guards"], open_["guards"] > 0) == (0, True)


def test_refusals_name_rule_and_node(saved):
    assert refusals(saved(with_a_body())) == [("Div.float.R1", "divide_by_s")]


def test_accepted_model_has_no_refusals(saved):
    assert refusals(saved(binary_model("Div", "float", [3], [3]))) == []


def figures_of(census, outcomes, original, rewritten):
    turns = [
        {"original": a, "defaults": a / 2, "rewritten": b}
        for a, b in zip(original, rewritten, strict=True)
    ]
    rewriting = [{"rewrite": seconds, "load": 0.01} for seconds in (0.03, 0.05, 0.04)]
    comparisons = [Comparison(TRIAL, outcome) for outcome in outcomes]
    return figures(census, comparisons, (turns, turns[:1], rewriting))


NO_NODES = dict.fromkeys(("nodes", "added", "targets", "broadcasting", "guards"), 0)
MODEL = figures_of(
    {"nodes": 9, "added": 5, "targets": 3, "broadcasting": 2, "guards": 3},
    [Outcome.IDENTICAL, Outcome.IDENTICAL, Outcome.ORIGINAL_FAILS],
    [1.0, 2.0, 4.0],
    [3.0, 3.0, 6.0],
)


def test_row_has_all_figures():
    assert MEASUREMENT.row("package/model", MODEL) == {
        "model": "package/model",
        "nodes": "9",
        "added": "5",
        "enforced": "3",
        "broadcasting": "2",
        "guards": "3",
        "identical": "2 of 2",
        "same options": "3.00 / 1.50",
        "defaults": "6.00 / 3.00",
        "not optimized": "3.00 / 3.00",
        "rewrite": "40 ms, 4.0x",
    }


def test_means_leave_out_no_model_and_then_those_without_enforced_nodes():
    unchanged = figures_of(NO_NODES, [], [6.0], [1.0])
    assert "\n".join(summary([MODEL, unchanged])) == (
        "Geometric means over 2 models: same options 0.71 / 0.50; defaults 1.41 / 1.00; "
        "not optimized 0.71 / 0.71.\n"
        "Geometric means over 1 models with an enforced node: same options 3.00 / 1.50; "
        "defaults 6.00 / 3.00; not optimized 3.00 / 3.00."
    )


NAN = np.frombuffer(b"\x00\x00\xc0\x7f", np.float32)
each_backend = pytest.mark.parametrize(
    "backend", ["python", pytest.param("native", marks=pytest.mark.thorough)]
)
OTHER_NAN = np.frombuffer(b"\x01\x00\xc0\x7f", np.float32)


@pytest.mark.parametrize(("expected", "actual", "found"), [
    (np.ones(2), np.ones(2), None),
    (np.ones(2), np.ones(2, np.float32), "dtype float64 against float32"),
    (np.ones(2), np.ones((1, 2)), "shape (2,) against (1, 2)"),
    (np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [9.0, 8.0]]),
     "2 of 4 elements; the first at [1, 0]: np.float64(3.0) against np.float64(9.0)"),
    (np.array(0.0), np.array(-0.0),
     "1 of 1 elements; the first at []: np.float64(0.0) against np.float64(-0.0)"),
    (NAN, NAN.copy(), None),
    (NAN, OTHER_NAN,
     "1 of 1 elements; the first at [0]: np.float32(nan) against np.float32(nan)"),
    ([np.ones(1)], [np.ones(1)], None),
    ([np.ones(1)], [], "items [0] against []"),
    ([np.ones(1)], [np.ones(2)], "item 0: shape (1,) against (2,)"),
    ({"a": 1.0}, {"a": 1.0}, None),
    ({"a": 1.0}, {"b": 1.0}, "items ['a'] against ['b']"),
    (np.array(["a"], object), np.array(["a"], object), None),
    (np.array(["a"], object), np.array(["b"], object), "item 0: 'a' against 'b'"),
    (1.0, 1, "float against int"),
])  # fmt: skip
def test_difference_is_found_bit_by_bit(expected, actual, found):
    assert difference(expected, actual) == found


def outcomes(comparisons: Sequence[Comparison]) -> list[Outcome]:
    return [comparison.outcome for comparison in comparisons]


@each_backend
def test_broadcasting_model_gives_the_same(saved, backend):
    path = saved(binary_model("Sub", "float", ["n", "m"], ["m"]))
    trials = [DryRun(2, (2,)), DryRun(1, (5,)), DryRun(3, (3,), Data.ZEROS)]
    assert outcomes(compare(path, trials, backend)) == [Outcome.IDENTICAL] * 3


@pytest.mark.thorough
def test_size_at_which_the_original_fails_is_no_comparison(saved):
    path = saved(binary_model("Div", "float", ["n", "m"], ["k", 3]))
    found = compare(path, [DryRun(1, (2,)), DryRun(1, (3,))], "python")
    assert outcomes(found) == [Outcome.ORIGINAL_FAILS, Outcome.IDENTICAL]


@each_backend
def test_enforced_rule_counts_as_failure_of_the_rewritten_model(saved, backend):
    # A size of 0 against a size of 1 violates Broadcast.E1, and gives an empty tensor in ONNX.
    path = saved(binary_model("Sub", "float", ["n", "m"], ["n", 1]))
    (found,) = compare(path, [DryRun(1, (0,))], backend)
    assert found.outcome is Outcome.REWRITTEN_FAILS
    assert "Broadcast 'the_node' breaks the SONNX profile" in found.detail


def smallest_by_minus_one() -> onnx.ModelProto:
    """Divides the smallest int32 by -1 wherever the input has more than one element."""
    constants = {"size_1": [1], "smallest": [-(2**31)], "minus_one": [-1], "zero": [0]}
    initializers = [
        helper.make_tensor(n, onnx.TensorProto.INT32, [1], v) for n, v in constants.items()
    ]
    nodes = [
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Cast", ["size"], ["size_32"], to=onnx.TensorProto.INT32),
        helper.make_node("Greater", ["size_32", "size_1"], ["many"]),
        helper.make_node("Where", ["many", "smallest", "zero"], ["dividend"]),
        helper.make_node("Div", ["dividend", "minus_one"], ["quotient"], name="divide"),
    ]
    return model(
        nodes,
        [tensor("x", "float", ["n"])],
        [tensor("quotient", "int32", [1])],
        initializers=initializers,
    )


def test_trials_go_on_after_one_that_ends_the_process(saved):
    trials = [DryRun(1, ()), DryRun(2, ()), DryRun(1, (), Data.ZEROS)]
    found = compare(saved(smallest_by_minus_one()), trials, "python")
    assert outcomes(found) == [Outcome.IDENTICAL, Outcome.ORIGINAL_FAILS, Outcome.IDENTICAL]
    assert found[1].detail == "the process is killed by SIGFPE"


def test_model_that_is_rejected_is_not_tried(saved):
    path = saved(binary_model("Sub", "float", [0], [1]))
    with pytest.raises(ModelNotTried, match=r"^ModelRejected: "):
        compare(path, [DryRun(1, ())], "python")
