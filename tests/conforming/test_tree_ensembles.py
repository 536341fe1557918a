"""Ensembles of trees, written by operators of the set: NaN, and what is not written."""

import numpy as np
import pytest

from support.conformed import conformed, reasons
from support.decomposed import Case, bits, outputs
from support.learned_cases import (
    FIVE,
    ONE_TARGET,
    SIGNED,
    TREES,
    ensemble,
    leaves,
    trees,
)


def test_trees_send_nan_and_infinities_where_the_kernel_does() -> None:
    model = TREES[0].model("float", 17)
    made = conformed(model, rounding=True, measure=False)
    numbers = np.float32([np.nan, np.inf, -np.inf, 0.5, -0.25, -0.0])
    x = np.stack(np.meshgrid(numbers, numbers, numbers), axis=-1).reshape(-1, 3)
    assert bits(outputs(made, [{"X": x}])) == bits(outputs(model, [{"X": x}]))


LABELLED = {"classlabels_int64s": [4, 7, 9]} | leaves("class", [0, 1, 2], SIGNED)
UNWRITTEN: dict[str, dict[str, object]] = {
    "NaN takes the true branch of a node":
        ONE_TARGET | {"nodes_missing_value_tracks_true": [1] * 8},
    "no replacement is known for its aggregate MAX": ONE_TARGET | {"aggregate_function": '"MAX"'},
    "it transforms its results": ONE_TARGET | {"post_transform": '"LOGISTIC"'},
    "its nodes compare by BRANCH_NEQ": ONE_TARGET | {"mode": "BRANCH_NEQ"},
    "its nodes are no trees": ONE_TARGET | {"nodes_truenodeids": [2, 0, 0, 0, 0, 1, 0, 0]},
    "a weight is of no leaf": ONE_TARGET | {"target_nodeids": [9] * 5},
    "no replacement is known for its transform PROBIT": LABELLED | {"post_transform": '"PROBIT"'},
    "its labels are text; give it numbers, for example by a LabelEncoder":
        LABELLED | {"classlabels_int64s": None, "classlabels_strings": '["a", "b", "c"]'},
    "a label has no score": LABELLED | {"class_ids": [0] * 15},
    "a row may reach no weight of a result, and the kernel omits such results":
        LABELLED | {"class_ids": [0, 1, 2, 0, 1] * 3},
    "it has two scores for two labels, which the kernel does not compare":
        LABELLED | {"classlabels_int64s": [4, 7], "class_ids": [0, 1, 0] * 5},
    "its one score for two labels is no share, or is transformed":
        LABELLED | {"classlabels_int64s": [4, 7], "class_ids": [0] * 15},
}  # fmt: skip


@pytest.mark.parametrize("reason", UNWRITTEN)
def test_trees_that_are_not_written_give_the_reason(reason: str) -> None:
    given = UNWRITTEN[reason]
    results, kind, further = "A", "Regressor", ""
    if "class_ids" in given:
        results, kind, further = "A, B", "Classifier", "float[n,k]"
    node = f"{results} = ai.onnx.ml.TreeEnsemble{kind} <{trees(**given)}>(X)"
    case = Case(node, ("n,3",), ("float",), "T[a,b]", further=further)
    assert (
        reasons(case.model("float", 17), rounding=True, measure=False)["Graph.operator_set"]
        == reason
    )


NUMBERED: dict[str, dict[str, object]] = {
    "its nodes compare in the modes 0, 1": {"nodes_modes": "uint8[3] {0, 1, 0}"},
    "its nodes compare in the modes 6": {"nodes_modes": "uint8[3] {6, 6, 6}"},
    "NaN takes the true branch of a node": {"nodes_missing_value_tracks_true": [1, 0, 0]},
    "its nodes are no trees": {"nodes_truenodeids": [-1, 1, 3]},
    "its trees have no roots": {"tree_roots": [0, 3]},
    "a tree has more than 64 levels": {"nodes_falsenodeids": [0, 2, 4]},
    "it transforms its results": {"post_transform": 1},
    "no replacement is known for its aggregate 2": {"aggregate_function": 2},
}


@pytest.mark.parametrize("reason", NUMBERED)
def test_trees_with_leaves_apart_that_are_not_written_give_the_reason(reason: str) -> None:
    model = ensemble("float", **NUMBERED[reason]).model("float", 17)
    assert reasons(model, rounding=True, measure=False)["Graph.operator_set"] == reason


def test_trees_with_leaves_apart_send_nan_and_infinities_where_the_kernel_does() -> None:
    for case in FIVE:
        model = case.model(case.dtypes[0], 17)
        made = conformed(model, rounding=True, measure=False)
        numbers = np.array(
            [np.nan, np.inf, -np.inf, 0.5, -0.25, -0.0],
            case.dtypes[0] + ("32" if case.dtypes[0] == "float" else ""),
        )
        x = np.stack(np.meshgrid(numbers, numbers, numbers), axis=-1).reshape(-1, 3)
        assert bits(outputs(made, [{"X": x}])) == bits(outputs(model, [{"X": x}]))
