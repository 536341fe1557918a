"""The table of the real models: what is counted, and how it is written."""

import onnx
from onnx import helper
from real_models.census import Census, refusals, take_census
from real_models.comparison import Comparison, Outcome
from real_models.feeds import DryRun
from real_models.measurement import ModelFigures, means

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
    assert take_census(saved(with_a_body()), "python") == Census(
        nodes=5, added=15, targets=3, broadcasting=1, guards=4
    )


def test_native_model_has_guards_only_where_something_is_left_to_the_run(saved):
    proved = take_census(saved(binary_model("Div", "float", [3], [3])), "native")
    open_ = take_census(saved(binary_model("Div", "float", ["n"], ["m"])), "native")
    assert (proved.guards, open_.guards > 0) == (0, True)


def test_refusals_name_rule_and_node(saved):
    assert refusals(saved(with_a_body())) == [("Div.float.R1", "divide_by_s")]


def test_accepted_model_has_no_refusals(saved):
    assert refusals(saved(binary_model("Div", "float", [3], [3]))) == []


def figures(name, census, outcomes, original, rewritten):
    turns = [
        {"original": a, "defaults": a / 2, "rewritten": b}
        for a, b in zip(original, rewritten, strict=True)
    ]
    rewriting = [{"rewrite": seconds, "load": 0.01} for seconds in (0.03, 0.05, 0.04)]
    comparisons = [Comparison(TRIAL, outcome) for outcome in outcomes]
    return ModelFigures(name, census, comparisons, turns, turns[:1], rewriting)


MODEL = figures(
    "package/model",
    Census(9, 5, 3, 2, 3),
    [Outcome.IDENTICAL, Outcome.IDENTICAL, Outcome.ORIGINAL_FAILS],
    [1.0, 2.0, 4.0],
    [3.0, 3.0, 6.0],
)


def test_row_has_all_figures():
    assert MODEL.row() == {
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
    unchanged = figures("package/other", Census(1, 0, 0, 0, 0), [], [6.0], [1.0])
    assert means([MODEL, unchanged]) == (
        "Geometric means over 2 models: same options 0.71 / 0.50; defaults 1.41 / 1.00; "
        "not optimized 0.71 / 0.71.\n"
        "Geometric means over 1 models with an enforced node: same options 3.00 / 1.50; "
        "defaults 6.00 / 3.00; not optimized 3.00 / 3.00."
    )
