"""Operators of ai.onnx.ml that compute with numbers, written by operators of the set.

Their results are of float, whatever the type of their operand is. Text has no operator in the set.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.bounds import SAME_NUMBERS, SUMS, Bound
from sonnx_ort.conforming.change import NoChangeError
from sonnx_ort.conforming.operators import WITH_LAST_INDEX, Operators, Template

_FLOAT, _INT64 = ir.DataType.FLOAT, ir.DataType.INT64
_NUMBERS = frozenset({"float", "double", "int32", "int64"})
FLOAT_ALONE = frozenset({"float"})

LABELS = replace(SUMS, remark="the label may be that of another score within it")
"""Of classifiers."""

OF_TEXT = "its labels are text; give it numbers, for example by a LabelEncoder"
"""Why a classifier is not written."""


def _floats(op: Operators, x: ir.Value) -> tuple[Operators, ir.Value]:
    """What adds operators on float, and the operand as float."""
    wide = replace(op, dtype=_FLOAT)
    return wide, x if op.dtype is _FLOAT else op.cast(x, _FLOAT)


def floats_of(op: Operators, name: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """An attribute that is a list of floats; empty if it is left out."""
    return np.asarray(op.attribute(name) or (), np.float32)


def text_of(op: Operators, name: str) -> str:
    """An attribute that is a text."""
    return str(op.attribute(name))


Labelled = tuple[ir.Value, ir.Value]
"""The label of each row, and the scores of all labels."""


def scaler(op: Operators, x: ir.Value) -> ir.Value:
    """Scaler: (X - offset) * scale, for all features or for each."""
    _require_features(op, x, len(floats_of(op, "offset")), len(floats_of(op, "scale")))
    op, x = _floats(op, x)
    return op.Mul(op.Sub(x, floats_of(op, "offset")), floats_of(op, "scale"))


def _require_features(op: Operators, x: ir.Value, *counts: int) -> None:
    """Refuse lists that have neither one number for all features nor one for each."""
    shape = op.edit.shape(x)
    if not 1 <= len(shape) <= 2:
        raise NoChangeError(f"'{x.name}' is no matrix")
    if len(set(counts)) != 1 or not {1, shape[-1]} >= set(counts):
        raise NoChangeError(f"its attributes do not fit the features of '{x.name}'")


def binarizer(op: Operators, x: ir.Value) -> ir.Value:
    """Binarizer: 1 above the threshold, otherwise 0, in the type of X."""
    above = op.cast(op.Less(op.number(op.attribute("threshold")), x), _INT64)
    number = op.cast(op.Equal(x, x), _INT64)
    # The kernel refuses NaN.
    return op.cast(op.unless(op.Less(number, op.number(1, _INT64)), above), op.dtype)


def imputer(op: Operators, x: ir.Value) -> ir.Value:
    """Imputer: other numbers in place of NaN or of one number."""
    whole = op.dtype is _INT64
    kind = "int64" if whole else "float"
    replaced = op.attribute(f"replaced_value_{kind}")
    imputed = np.asarray(op.attribute(f"imputed_value_{kind}s"), op.dtype.numpy())
    if op.attribute(f"imputed_value_{'float' if whole else 'int64'}s"):
        raise NoChangeError("it has values of two types to impute")
    _require_features(op, x, imputed.size)
    if replaced != replaced:  # noqa: PLR0124 - NaN alone is so
        return op.Where(op.Equal(x, x), x, imputed)
    return op.Where(op.Equal(x, op.number(replaced)), imputed, x)


def normalizer(op: Operators, x: ir.Value) -> ir.Value:
    """Normalizer: each row by its size, but for rows of size 0.

    The kernel squares shares only after it has divided, as this does: infinity by infinity is NaN.
    """
    _require_matrix(op, x)
    op, x = _floats(op, x)
    axes, last = [op.rank(x) - 1], {"keepdims": 1}
    match text_of(op, "norm"):
        case "L1":
            size = op.ReduceSum(op.Abs(x), axes=axes, **last)
            return op.Div(x, op.Where(op.Equal(size, 0.0), op.number(1.0), size))
        case "L2":
            squares = op.Mul(x, x)
            size = op.ReduceSum(squares, axes=axes, **last)
        case _:
            raise NoChangeError("the largest element of a row may be 0")
    share = op.Sqrt(op.Div(squares, size))
    signed = op.Where(op.Less(x, 0.0), op.Neg(share), share)
    # Of a size of 0 the shares are NaN, and of NaN as well.
    return op.Where(op.Equal(size, 0.0), x, signed)


def linear_regressor(op: Operators, x: ir.Value) -> ir.Value:
    """LinearRegressor: X times the coefficients, plus the intercepts."""
    if text_of(op, "post_transform") != "NONE":
        raise NoChangeError("it transforms its results")
    _require_matrix(op, x)
    op, x = _floats(op, x)
    return _scores(op, x, op.attribute("targets"))


def _require_matrix(op: Operators, x: ir.Value) -> None:
    if op.rank(x) != 2:
        raise NoChangeError(f"'{x.name}' is no matrix")


def _scores(op: Operators, x: ir.Value, results: int) -> ir.Value:
    coefficients = floats_of(op, "coefficients").reshape(results, -1).T
    intercepts = floats_of(op, "intercepts")
    if intercepts.size not in (0, results) or op.edit.shape(x)[-1:] != coefficients.shape[:1]:
        raise NoChangeError(f"its coefficients do not fit the features of '{x.name}'")
    product = op.MatMul(x, np.ascontiguousarray(coefficients))
    return op.Add(product, intercepts) if intercepts.size else product


def linear_classifier(op: Operators, x: ir.Value) -> Labelled:
    """LinearClassifier: the label of the largest score, and all scores."""
    labels = op.attribute("classlabels_ints")
    if not labels:
        raise NoChangeError(OF_TEXT)
    intercepts = op.attribute("intercepts") or ()
    if len(labels) < 2 or len(intercepts) != len(labels):
        raise NoChangeError("it has one score for two labels")
    _require_matrix(op, x)
    op, x = _floats(op, x)
    return of_largest(op, labels, _scores(op, x, len(labels)))


def of_largest(op: Operators, labels: Sequence[int], scores: ir.Value) -> Labelled:
    """The label of the largest score of each row, and the scores as the node transforms them."""
    label = label_of_largest(op, labels, scores)
    match text_of(op, "post_transform"):
        case "NONE":
            return label, scores
        case "LOGISTIC":
            return label, op.Sigmoid(scores)
        case "SOFTMAX":
            return label, op.Softmax(scores, axis=1)
        case other:
            raise NoChangeError(f"no replacement is known for its transform {other}")


def label_of_largest(op: Operators, labels: Sequence[int], scores: ir.Value) -> ir.Value:
    """The label of the first of the largest scores of each row."""
    last = 0 if op.edit.opset >= WITH_LAST_INDEX else None
    places = op.ArgMax(scores, axis=1, keepdims=0, select_last_index=last)
    return op.Gather(list(labels), places, axis=0)


def extract_features(op: Operators, x: ir.Value, places: ir.Value) -> ir.Value:
    """ArrayFeatureExtractor: the elements at places of the last axis."""
    op.require_elements(places, range(op.rank(places)))
    if not op.rank(x):
        raise NoChangeError(f"'{x.name}' has no axis")
    flat = op.Reshape(places, [-1])
    if not op.is_within(places, 0):
        # Gather counts a negative index from the end.
        flat = op.unless(op.Less(flat, op.number(0, _INT64)), flat)
    found = op.Gather(x, flat, axis=op.rank(x) - 1)
    return op.Unsqueeze(found, axes=[0]) if op.rank(x) == 1 else found


def join_features(op: Operators, *inputs: ir.Value) -> ir.Value:
    """FeatureVectorizer: the features side by side."""
    for each in inputs:
        _require_matrix(op, each)
    columns = tuple(op.edit.shape(each)[1] for each in inputs)
    if columns != tuple(op.attribute("inputdimensions") or ()):
        raise NoChangeError("its attribute inputdimensions does not have the sizes of its operands")
    return op.Concat(*(op.cast(each, _FLOAT) for each in inputs), axis=1)


def one_hot_encoder(op: Operators, x: ir.Value) -> ir.Value:
    """OneHotEncoder: an axis that tells which of the categories an element is."""
    categories: Sequence[int] = op.attribute("cats_int64s") or ()
    if not categories or not op.attribute("zeros"):
        raise NoChangeError("its categories are text, or an element has to be one of them")
    if len(set(categories)) < len(categories):
        raise NoChangeError("it names a category twice")
    elements = op.Unsqueeze(op.cast(x, _INT64), axes=[op.rank(x)])
    return op.cast(op.Equal(elements, list(categories)), _FLOAT)


_NARROW = replace(SUMS, computed_in="float", remark="numbers are rounded to float")

TEMPLATES = (
    Template("ai.onnx.ml::Scaler", scaler, FLOAT_ALONE, _NUMBERS, _NARROW),
    Template("ai.onnx.ml::Binarizer", binarizer, FLOAT_ALONE),
    Template("ai.onnx.ml::Imputer", imputer, frozenset({"int64"}), FLOAT_ALONE, SAME_NUMBERS),
    Template("ai.onnx.ml::Normalizer", normalizer, near=_NUMBERS, bound=Bound(1, each="term")),
    Template("ai.onnx.ml::LinearRegressor", linear_regressor, near=FLOAT_ALONE, bound=SUMS),
    Template("ai.onnx.ml::LinearClassifier", linear_classifier, near=_NUMBERS, bound=LABELS),
    Template("ai.onnx.ml::ArrayFeatureExtractor", extract_features, _NUMBERS),
    Template(
        "ai.onnx.ml::FeatureVectorizer",
        join_features,
        FLOAT_ALONE,
        _NUMBERS - FLOAT_ALONE,
        _NARROW,
    ),
    Template("ai.onnx.ml::OneHotEncoder", one_hot_encoder, frozenset({"int64", "int32"})),
)
"""The templates of operators of ai.onnx.ml."""
