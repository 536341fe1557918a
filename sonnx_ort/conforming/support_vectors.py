"""Support vector machines of ai.onnx.ml, written by operators of the set.

A kernel tells how near a row is to each support vector. A regressor weighs these numbers. A
classifier has a sum for each pair of its labels, which is a vote for one of them, and its label is
the first one with the most votes. Source: ai.onnx.ml SVMRegressor and SVMClassifier, version 1, and
LIBSVM for the order of pairs and coefficients.
"""

import itertools

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.ai_onnx_ml import (
    FLOAT_ALONE,
    LABELS,
    OF_TEXT,
    Labelled,
    floats_of,
    label_of_largest,
    text_of,
)
from sonnx_ort.conforming.bounds import SUMS
from sonnx_ort.conforming.change import NoChangeError
from sonnx_ort.conforming.operators import Operators, Template


def _nearness(op: Operators, x: ir.Value, count: int) -> ir.Value:
    """The kernel of each row with each support vector, of (rows, vectors)."""
    if text_of(op, "post_transform") != "NONE" or not count:
        raise NoChangeError("it has no support vectors, or transforms its results")
    vectors = floats_of(op, "support_vectors").reshape(count, -1)
    if op.edit.shape(x)[1:] != vectors.shape[1:]:
        raise NoChangeError(f"its support vectors do not fit the features of '{x.name}'")
    match text_of(op, "kernel_type"):
        case "LINEAR":
            return op.MatMul(x, np.ascontiguousarray(vectors.T))
        case "RBF":
            apart = op.Sub(op.Unsqueeze(x, axes=[1]), vectors[None])
            squares = op.ReduceSum(op.Mul(apart, apart), axes=[2], keepdims=0)
            return op.Exp(op.Mul(squares, -float(floats_of(op, "kernel_params")[0])))
        case other:
            raise NoChangeError(f"no replacement is known for its kernel {other}")


def regressor(op: Operators, x: ir.Value) -> ir.Value:
    """SVMRegressor: the weighed sum of what the kernel gives, plus rho."""
    if op.attribute("one_class"):
        raise NoChangeError("it tells whether a row is of its one class")
    near = _nearness(op, x, op.attribute("n_supports"))
    return op.Add(op.MatMul(near, floats_of(op, "coefficients")[:, None]), floats_of(op, "rho"))


def classifier(op: Operators, x: ir.Value) -> Labelled:
    """SVMClassifier: the label with the most votes of pairs, and their sums."""
    labels, sizes = op.attribute("classlabels_ints"), op.attribute("vectors_per_class") or ()
    if not labels:
        raise NoChangeError(OF_TEXT)
    if op.attribute("prob_a") or not len(sizes) == len(labels) > 1:
        raise NoChangeError("it gives probabilities, or has no vectors of each label")
    coefficients = floats_of(op, "coefficients").reshape(len(labels) - 1, -1)
    owner = np.repeat(np.arange(len(labels)), sizes)
    pairs = list(itertools.combinations(range(len(labels)), 2))
    weights = np.zeros((len(owner), len(pairs)), np.float32)
    ballots = np.zeros((len(pairs), len(labels)), np.float32)
    for index, (one, other) in enumerate(pairs):
        weights[owner == one, index] = coefficients[other - 1, owner == one]
        weights[owner == other, index] = coefficients[one, owner == other]
        ballots[index, one], ballots[index, other] = 1, -1
    sums = op.Add(op.MatMul(_nearness(op, x, len(owner)), weights), floats_of(op, "rho"))
    votes = op.MatMul(op.cast(op.Less(0.0, sums), ir.DataType.FLOAT), ballots)
    votes = op.Sub(votes, ballots.clip(max=0).sum(axis=0))
    label = label_of_largest(op, labels, votes)
    return label, op.Concat(op.Neg(sums), sums, axis=1) if len(pairs) == 1 else sums


TEMPLATES = (
    Template("ai.onnx.ml::SVMRegressor", regressor, near=FLOAT_ALONE, bound=SUMS),
    Template("ai.onnx.ml::SVMClassifier", classifier, near=FLOAT_ALONE, bound=LABELS),
)
"""The templates of support vector machines."""
