"""Ensembles of trees of ai.onnx.ml, written by operators of the set.

All trees are walked at once, one level in each step. A row of X has a place in each tree:

    place -> feature, limit -> X[row, feature] <= limit ? true branch : false branch -> place

A leaf is its own branch, so that every tree takes as many steps as the deepest. The leaves' weights
are added up at the end. Source: ai.onnx.ml TreeEnsembleRegressor and TreeEnsembleClassifier,
versions 1 and 3, and TreeEnsemble, version 5, whose leaves are numbered apart from the nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.ai_onnx_ml import (
    FLOAT_ALONE,
    LABELS,
    OF_TEXT,
    Labelled,
    of_largest,
    text_of,
)
from sonnx_ort.conforming.bounds import SUMS
from sonnx_ort.conforming.change import MOST_ELEMENTS, NoChangeError
from sonnx_ort.conforming.indexing import gather_along
from sonnx_ort.conforming.operators import Operators, Template

_INT64 = ir.DataType.INT64
_MOST_LEVELS = 64
_COMPARISONS_BY_NUMBER = ("LessOrEqual", "Less", "GreaterOrEqual", "Greater", "Equal")
_COMPARISONS = {"BRANCH_LEQ": "LessOrEqual", "BRANCH_LT": "Less", "BRANCH_GT": "Greater",
                "BRANCH_GTE": "GreaterOrEqual", "BRANCH_EQ": "Equal"}  # fmt: skip

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Forest:
    """The nodes of all trees, each by its place.

    Attributes:
        comparison: The operator that compares a feature with the limit of a node.
        features: The feature that a node reads.
        limits: What it is compared with.
        branches: The places of the nodes that follow if the comparison is true, and if it is false.
        roots: The places of the roots, one of each tree.
        levels: How many comparisons there are on the longest way.
        places: The place of a node, by the numbers of its tree and of the node.
        leaves: The places of the leaves of each tree.
    """

    comparison: str
    features: Integers
    limits: npt.NDArray[np.floating[Any]]
    branches: tuple[Integers, Integers]
    roots: Integers
    levels: int
    places: dict[tuple[int, int], int] = field(default_factory=dict)
    leaves: Sequence[Integers] = ()


def _forest(op: Operators) -> Forest:
    """Read the nodes.

    Raises:
        NoChangeError: They are no trees, or compare in several ways.
    """
    trees, numbers = _list(op, "nodes_treeids"), _list(op, "nodes_nodeids")
    places = {key: place for place, key in enumerate(zip(trees, numbers, strict=True))}
    modes = _list(op, "nodes_modes")
    comparisons = {_COMPARISONS.get(mode, mode) for mode in modes if mode != "LEAF"} or {"Less"}
    if len(comparisons) > 1 or not comparisons <= {*_COMPARISONS.values()}:
        raise NoChangeError(f"its nodes compare by {', '.join(sorted(comparisons))}")
    if any(_list(op, "nodes_missing_value_tracks_true")):
        raise NoChangeError("NaN takes the true branch of a node")
    own, leaf = np.arange(len(places)), np.array([mode == "LEAF" for mode in modes])
    follow = [
        np.array([places.get(key, -1) for key in zip(trees, _list(op, name), strict=True)])
        for name in ("nodes_truenodeids", "nodes_falsenodeids")
    ]
    branches = tuple(np.where(leaf, own, each) for each in follow)
    followed = {int(place) for each in branches for place in each[~leaf]}
    roots = np.array([place for place in own.tolist() if place not in followed])
    sound = len(places) == len(trees) and all((each >= 0).all() for each in branches)
    if not sound or len(roots) != len(set(trees)):
        raise NoChangeError("its nodes are no trees")
    limits = np.array(_list(op, "nodes_values"), np.float32)
    features = np.array(_list(op, "nodes_featureids"), np.int64) * ~leaf
    one, other = branches
    leaves = [own[leaf & (np.array(trees) == tree)] for tree in dict.fromkeys(trees)]
    levels = _levels(roots, one, other)
    (comparison,) = comparisons
    return Forest(comparison, features, limits, (one, other), roots, levels, places, leaves)


def _levels(roots: Integers, one: Integers, other: Integers) -> int:
    """How many comparisons lead to the farthest leaf."""
    reached, levels = np.unique(roots), 0
    while True:
        found = np.unique([one[reached], other[reached]])
        # A leaf leads to itself.
        if np.isin(found, reached).all() and (one[found] == found).all():
            return levels + (not np.array_equal(found, reached))
        reached, levels = found, levels + 1
        if levels > _MOST_LEVELS:
            raise NoChangeError(f"a tree has more than {_MOST_LEVELS} levels")


def _list(op: Operators, name: str) -> Sequence[Any]:
    return op.attribute(name) or ()


def _leaves(op: Operators, x: ir.Value, forest: Forest) -> ir.Value:
    """The places of the leaves that rows reach, of (rows, trees)."""
    shape = op.edit.shape(x)
    columns = shape[1] if len(shape) == 2 else None
    read = forest.features
    if not isinstance(columns, int) or not 0 <= read.min() <= read.max() < columns:
        raise NoChangeError("X is no matrix of as many columns as there are features")
    sizes = op.Concat(op.sizes(x, [0]), [len(forest.roots)], axis=0)
    places = op.Expand(forest.roots[None], sizes)
    for _ in range(forest.levels):
        features, limits = op.Gather(forest.features, places), op.Gather(forest.limits, places)
        numbers = gather_along(op, x, features, 1, 2)
        holds = op.add(forest.comparison, [numbers, limits], {})
        one, other = (op.Gather(branch, places) for branch in forest.branches)
        places = op.Where(holds, one, other)
    return places


def _sums(op: Operators, x: ir.Value, kind: str, results: int) -> ir.Value:
    """The sums of the weights of the leaves, of (rows, results)."""
    forest = _forest(op)
    if len(forest.places) * results > MOST_ELEMENTS:
        raise NoChangeError(f"its trees have {len(forest.places):,} nodes")
    weights = np.zeros((len(forest.places), results), np.float32)
    scored = np.zeros(weights.shape, np.bool_)
    entries = (f"{kind}_{name}" for name in ("treeids", "nodeids", "ids", "weights"))
    for tree, node, index, weight in zip(*(_list(op, each) for each in entries), strict=True):
        if (tree, node) not in forest.places or not 0 <= index < results:
            raise NoChangeError("a weight is of no leaf")
        weights[forest.places[tree, node], index] += weight
        scored[forest.places[tree, node], index] = True
    wanted = set(_list(op, f"{kind}_ids")) if kind == "class" else range(results)
    if not all(any(scored[tree, index].all() for tree in forest.leaves) for index in wanted):
        raise NoChangeError(
            "a row may reach no weight of a result, and the kernel omits such results"
        )
    total = _added(op, x, forest, weights)
    # A classifier has no aggregate: it adds.
    match text_of(op, "aggregate_function") if kind == "target" else "SUM":
        case "SUM":
            return total
        case "AVERAGE":
            return op.Div(total, float(len(forest.roots)))
        case other:
            raise NoChangeError(f"no replacement is known for its aggregate {other}")


def _added(
    op: Operators, x: ir.Value, forest: Forest, weights: npt.NDArray[np.floating[Any]]
) -> ir.Value:
    """The sums of the weights, of (places, results), at the leaves that rows reach."""
    found = op.Gather(weights, _leaves(op, x, forest), axis=0)
    return op.ReduceSum(found, axes=[1], keepdims=0)


def _with_base_values(op: Operators, sums: ir.Value) -> ir.Value:
    base = np.array(_list(op, "base_values"), np.float32)
    return op.Add(sums, base) if base.size else sums


def regressor(op: Operators, x: ir.Value) -> ir.Value:
    """TreeEnsembleRegressor: the sum of the weights of the leaves that a row reaches."""
    if text_of(op, "post_transform") != "NONE":
        raise NoChangeError("it transforms its results")
    return _with_base_values(op, _sums(op, x, "target", op.attribute("n_targets")))


def classifier(op: Operators, x: ir.Value) -> Labelled:
    """TreeEnsembleClassifier: the label of the largest sum, and all sums."""
    labels = list(_list(op, "classlabels_int64s"))
    if not labels:
        raise NoChangeError(OF_TEXT)
    scored = sorted(set(_list(op, "class_ids")))
    if len(labels) == 2 and len(scored) == 1:
        return _binary(op, x, labels)
    if len(labels) < 3:
        raise NoChangeError("it has two scores for two labels, which the kernel does not compare")
    if len(scored) < len(labels):
        raise NoChangeError("a label has no score")
    sums = _with_base_values(op, _sums(op, x, "class", len(labels)))
    return of_largest(op, labels, sums)


def _binary(op: Operators, x: ir.Value, labels: Sequence[int]) -> Labelled:
    """One score for two labels: a share where no weight is negative, otherwise its sign decides."""
    transform = text_of(op, "post_transform")
    base, index = _list(op, "base_values"), _list(op, "class_ids")[0]
    if len(base) > (index == 0) or transform not in ("NONE", "LOGISTIC"):
        raise NoChangeError("its one score for two labels is transformed")
    shares = all(weight >= 0 for weight in _list(op, "class_weights"))
    sums = _sums(op, x, "class", 2)
    score = op.slice(sums, 1, index, index + 1)
    if base:
        score = op.Add(score, base[0])
    positive = op.Less(op.number(0.5 if shares else 0.0), op.Squeeze(score, axes=[1]))
    label = op.Gather(labels, op.cast(positive, _INT64), axis=0)
    if index == 1:
        # The kernel gives the scores as they are, and 0 for the first label.
        return label, op.Sigmoid(sums) if transform == "LOGISTIC" else sums
    if shares == (transform == "LOGISTIC"):
        raise NoChangeError("its one score for two labels is no share, or is transformed")
    share = score if shares else op.Sigmoid(score)
    return label, op.Concat(op.Sub(1.0, share), share, axis=1)


def ensemble(op: Operators, x: ir.Value) -> ir.Value:
    """TreeEnsemble: the sum or the mean of the weights of the leaves that a row reaches."""
    if op.attribute("post_transform"):
        raise NoChangeError("it transforms its results")
    dtype, count = op.dtype.numpy(), len(_list(op, "nodes_featureids"))
    leaves, results = _list(op, "leaf_targetids"), op.attribute("n_targets")
    if (count + len(leaves)) * results > MOST_ELEMENTS:
        raise NoChangeError(f"its trees have {count:,} nodes")
    weights = np.zeros((count + len(leaves), results), dtype)
    weights[count + np.arange(len(leaves)), leaves] = op.attribute("leaf_weights").numpy()
    total = _added(op, x, _forest_of_nodes_and_leaves(op, count), weights)
    match op.attribute("aggregate_function"):
        case 1:
            return total
        case 0:
            return op.Div(total, float(len(_list(op, "tree_roots"))))
        case other:
            raise NoChangeError(f"no replacement is known for its aggregate {other}")


def _forest_of_nodes_and_leaves(op: Operators, count: int) -> Forest:
    """Read the nodes, after which the leaves have their places."""
    modes = set(op.attribute("nodes_modes").numpy().tolist())
    if len(modes) > 1 or max(modes) >= len(_COMPARISONS_BY_NUMBER):
        raise NoChangeError(f"its nodes compare in the modes {', '.join(map(str, sorted(modes)))}")
    if any(_list(op, "nodes_missing_value_tracks_true")):
        raise NoChangeError("NaN takes the true branch of a node")
    more = len(_list(op, "leaf_targetids"))
    branches = []
    for way in ("true", "false"):
        numbers, is_leaf = (
            np.array(_list(op, f"nodes_{way}{each}")) for each in ("nodeids", "leafs")
        )
        if (numbers < 0).any() or (numbers >= np.where(is_leaf, more, count)).any():
            raise NoChangeError("its nodes are no trees")
        branches.append(
            np.array([*(numbers + count * is_leaf), *range(count, count + more)], np.int64)
        )
    one, other = branches
    features = np.array([*_list(op, "nodes_featureids"), *[0] * more], np.int64)
    limits = np.concatenate(
        [op.attribute("nodes_splits").numpy(), np.zeros(more, op.dtype.numpy())]
    )
    roots = np.array(_list(op, "tree_roots"), np.int64)
    if (roots < 0).any() or (roots >= count).any():
        raise NoChangeError("its trees have no roots")
    levels = _levels(roots, one, other)
    return Forest(
        _COMPARISONS_BY_NUMBER[modes.pop()], features, limits, (one, other), roots, levels
    )


TEMPLATES = (
    Template("ai.onnx.ml::TreeEnsemble", ensemble, near=frozenset({"float", "double"}), bound=SUMS),
    Template("ai.onnx.ml::TreeEnsembleRegressor", regressor, near=FLOAT_ALONE, bound=SUMS),
    Template("ai.onnx.ml::TreeEnsembleClassifier", classifier, near=FLOAT_ALONE, bound=LABELS),
)
"""The templates of ensembles of trees."""
