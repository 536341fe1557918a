"""The table of operators: what is known of the results of each, in one row.

A row has the verified versions and attributes of an operator, and its rules. Of the results of all
other operators nothing is known. What follows from a row is no column of it: where results have
elements of operands alone (`moves`), their bounds and intervals follow, unless a rule says more.

Each rule is tested against the kernels of ONNX Runtime, and a new row is tried unasked:
`tests/soundness/test_shape_rules.py`, `test_bounds_rules.py`, `test_interval_rules.py` and
`test_moved_elements.py`, and rules that read numbers for all small ones by `test_size_cubes.py`.
Arithmetic is tried on all numbers of the smallest types (`tests/facts/test_smallest_floats.py` and
`test_smallest_integers.py`).
"""

import math
from collections.abc import Container, Mapping
from dataclasses import replace

import numpy as np

from . import bounds, elements, layout, moving, products, reductions, shaping
from . import interval_functions as functions
from . import interval_layout as parts
from . import interval_sums as sums
from .interval_functions import between, exact, monotonic
from .interval_recurrent import gated_unit, long_short_term_memory
from .node import ANY, EVERY, FLAG, NOT_NEGATIVE, POSITIVE, Node, Rules, Shapes
from .sizes import common_shape


def like_first(node: Node) -> Shapes:
    """The first result has the shape of the first operand."""
    return (node.shape(),)


def _dropped_out(node: Node) -> Shapes:
    moving.require_known_ratio(node)
    return (node.shape(), node.shape())


def _common(node: Node) -> Shapes:
    return (common_shape(node.operand_shapes()),)


Attributes = Mapping[str, Container[object]]

_ALPHA: Attributes = {"alpha": ANY}
_AXES: Attributes = {"axes": ANY}
_AXIS: Attributes = {"axis": ANY}
_BLOCK: Attributes = {"blocksize": POSITIVE}
_NORMALIZING: Attributes = {"axis": ANY, "epsilon": ANY, "stash_type": ANY}
_PADDING: Attributes = {"mode": ("constant", "reflect", "edge", "wrap"), "pads": ANY, "value": ANY}
_PRODUCT: Attributes = {"alpha": ANY, "beta": ANY, "transA": FLAG, "transB": FLAG}
_RECURRENT: Attributes = {
    "activation_alpha": ANY,
    "activation_beta": ANY,
    "activations": ANY,
    "clip": ANY,
    "direction": ("forward", "reverse", "bidirectional"),
    "hidden_size": POSITIVE,
    "layout": FLAG,
}
_REDUCED: Attributes = {"axes": ANY, "keepdims": FLAG, "noop_with_empty_axes": FLAG}
_REDUCTION: Attributes = {"reduction": ("none", "add", "mul", "min", "max")}
_RESIZING: Attributes = {
    "antialias": FLAG,
    "axes": ANY,
    "coordinate_transformation_mode": ANY,
    "cubic_coeff_a": ANY,
    "exclude_outside": FLAG,
    "extrapolation_value": ANY,
    "keep_aspect_ratio_policy": ANY,
    "mode": ANY,
    "nearest_mode": ANY,
}
_SCALES: Attributes = {
    "output_dtype": (0,),
    "precision": (0,),
    "axis": ANY,
    "block_size": (0,),
    "saturate": FLAG,
}
_SEARCHED: Attributes = {"axis": ANY, "keepdims": FLAG, "select_last_index": FLAG}
_VALUES: Attributes = dict.fromkeys(
    ("value", "value_int", "value_ints", "value_float", "value_floats", "value_string"), ANY
)
_WINDOW: Attributes = {
    "auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "dilations": POSITIVE,
    "kernel_shape": POSITIVE,
    "pads": NOT_NEGATIVE,
    "strides": POSITIVE,
}
_POOLING: Attributes = {**_WINDOW, "ceil_mode": FLAG}
_CONVOLUTION: Attributes = {**_WINDOW, "group": POSITIVE}


ELEMENTWISE: Mapping[str, Rules] = {
    "Abs": Rules((6, 13), like_first, bounds=bounds.magnitude, interval=functions.magnitude),
    "Acos": Rules((7, 22), like_first),
    "Acosh": Rules((9, 22), like_first),
    "Add": Rules(
        (7, 14), _common, elements=elements.added, bounds=bounds.added, interval=sums.added
    ),
    "And": Rules((7, 7), _common, bounds=bounds.combined),
    "Asin": Rules((7, 22), like_first, interval=monotonic(np.arcsin, domain=(-1, 1))),
    "Asinh": Rules((9, 22), like_first, interval=monotonic(np.arcsinh)),
    "Atan": Rules((7, 22), like_first, interval=monotonic(np.arctan)),
    "Atanh": Rules((9, 22), like_first),
    "BatchNormalization": Rules(
        (7, 15),
        like_first,
        {"epsilon": ANY, "momentum": ANY, "spatial": (1,), "training_mode": (0,)},
        interval=parts.normalized_by_constants,
    ),
    "BitShift": Rules((11, 28), _common, {"direction": ("LEFT", "RIGHT")}, bounds=bounds.shifted),
    "BitwiseAnd": Rules((18, 18), _common, bounds=bounds.common_bits),
    "BitwiseNot": Rules((18, 18), like_first),
    "BitwiseOr": Rules((18, 18), _common),
    "BitwiseXor": Rules((18, 18), _common),
    "Cast": Rules(
        (6, 28),
        like_first,
        {"to": ANY, "saturate": FLAG, "round_mode": ("up",)},
        elements=elements.converted,
        bounds=bounds.converted,
        interval=functions.converted,
    ),
    "Ceil": Rules((6, 13), like_first, interval=exact(np.ceil)),
    "Celu": Rules((12, 12), like_first, _ALPHA, interval=functions.exponential),
    "Clip": Rules(
        (6, 13),
        like_first,
        {"min": ANY, "max": ANY},
        bounds=bounds.clipped,
        interval=functions.clipped,
    ),
    "Cos": Rules((7, 22), like_first, interval=between(-1, 1)),
    "Cosh": Rules((9, 22), like_first),
    "CumSum": Rules((11, 14), like_first, {"exclusive": FLAG, "reverse": FLAG}),
    "DequantizeLinear": Rules((10, 25), like_first, _SCALES, interval=functions.dequantized),
    "Div": Rules(
        (7, 14),
        _common,
        elements=elements.divided,
        bounds=bounds.divided,
        interval=functions.quotient,
    ),
    "Dropout": Rules((7, 22), _dropped_out, {"ratio": ANY, "seed": ANY}, moves=moving.kept),
    "DynamicQuantizeLinear": Rules(
        (11, 11), lambda node: (node.shape(), (), ()), interval=functions.scale_of_elements
    ),
    "Elu": Rules((6, 22), like_first, _ALPHA, interval=functions.exponential),
    "Equal": Rules((7, 19), _common, bounds=bounds.compared),
    "Erf": Rules((9, 13), like_first, interval=monotonic(functions.error_function)),
    "Exp": Rules((6, 13), like_first, interval=monotonic(np.exp)),
    "Floor": Rules((6, 13), like_first, interval=exact(np.floor)),
    "Gelu": Rules(
        (20, 20), like_first, {"approximate": ("none", "tanh")}, interval=functions.gated
    ),
    "Greater": Rules((7, 13), _common, bounds=bounds.compared),
    "GreaterOrEqual": Rules((12, 16), _common, bounds=bounds.compared),
    "HardSigmoid": Rules(
        (6, 22), like_first, {"alpha": ANY, "beta": ANY}, interval=functions.linear_between
    ),
    "HardSwish": Rules((14, 22), like_first, interval=functions.gated),
    "Hardmax": Rules((1, 13), like_first, _AXIS),
    "Identity": Rules(
        (1, 25), like_first, moves=moving.first, elements=elements.same, interval=parts.same
    ),
    "InstanceNormalization": Rules((6, 22), like_first, {"epsilon": ANY}),
    "IsInf": Rules(
        (10, 20),
        like_first,
        {"detect_negative": FLAG, "detect_positive": FLAG},
        bounds=bounds.compared,
    ),
    "IsNaN": Rules((9, 20), like_first, bounds=bounds.compared),
    "LRN": Rules((1, 13), like_first, {"alpha": ANY, "beta": ANY, "bias": ANY, "size": ANY}),
    "LayerNormalization": Rules((17, 17), like_first, _NORMALIZING),
    "LeakyRelu": Rules((6, 16), like_first, _ALPHA, interval=functions.leaky),
    "Less": Rules((7, 13), _common, bounds=bounds.compared),
    "LessOrEqual": Rules((12, 16), _common, bounds=bounds.compared),
    "Log": Rules((6, 13), like_first, interval=monotonic(np.log, domain=(0, math.inf))),
    "LogSoftmax": Rules((1, 13), like_first, _AXIS, interval=parts.logarithms_of_shares),
    "LpNormalization": Rules((1, 22), like_first, {"axis": ANY, "p": (1, 2)}),
    "Max": Rules(
        (8, 13),
        _common,
        elements=elements.largest,
        bounds=bounds.largest,
        interval=functions.extreme(np.maximum),
    ),
    "Mean": Rules((8, 13), _common, interval=sums.added),
    "MeanVarianceNormalization": Rules((9, 13), like_first, _AXES),
    "Min": Rules(
        (8, 13),
        _common,
        elements=elements.smallest,
        bounds=bounds.smallest,
        interval=functions.extreme(np.minimum),
    ),
    "Mish": Rules((18, 22), like_first, interval=functions.gated),
    "Mod": Rules(
        (10, 28), _common, {"fmod": FLAG}, elements=elements.remainder, bounds=bounds.remainder
    ),
    "Mul": Rules(
        (7, 14),
        _common,
        elements=elements.multiplied,
        bounds=bounds.multiplied,
        interval=functions.product,
    ),
    "Neg": Rules((6, 13), like_first, bounds=bounds.negated, interval=functions.negated),
    "Not": Rules((1, 1), like_first, bounds=bounds.combined),
    "Or": Rules((7, 7), _common, bounds=bounds.combined),
    "PRelu": Rules((7, 16), _common, interval=functions.sloped),
    "Pow": Rules((7, 15), _common, interval=functions.power),
    "QuantizeLinear": Rules((10, 25), like_first, _SCALES),
    "RMSNormalization": Rules((23, 23), like_first, _NORMALIZING),
    "Reciprocal": Rules((6, 13), like_first, interval=functions.reciprocal),
    "Relu": Rules((6, 14), like_first, bounds=bounds.rectified, interval=functions.rectified),
    # It does not move: kernels up to 1.27 set no element of a sequence of length 0.
    "ReverseSequence": Rules((10, 10), like_first, {"batch_axis": ANY, "time_axis": ANY}),
    "Round": Rules((11, 22), like_first, interval=exact(np.round)),
    "ScatterElements": Rules((11, 18), like_first, {**_AXIS, **_REDUCTION}, moves=moving.scattered),
    "ScatterND": Rules((11, 18), like_first, _REDUCTION, moves=moving.scattered),
    "Selu": Rules(
        (6, 22), like_first, {"alpha": ANY, "gamma": ANY}, interval=functions.exponential
    ),
    "Shrink": Rules((9, 9), like_first, {"bias": ANY, "lambd": ANY}),
    "Sigmoid": Rules((6, 13), like_first, interval=monotonic(functions.logistic)),
    "Sign": Rules((9, 13), like_first, bounds=bounds.sign, interval=exact(np.sign)),
    "Sin": Rules((7, 22), like_first, interval=between(-1, 1)),
    "Sinh": Rules((9, 22), like_first),
    "Softmax": Rules((1, 13), like_first, _AXIS, interval=parts.shares),
    "Softplus": Rules((1, 22), like_first, interval=functions.softplus),
    "Softsign": Rules((1, 22), like_first),
    "Sqrt": Rules((6, 13), like_first, interval=monotonic(np.sqrt, domain=(0, math.inf))),
    "Sub": Rules(
        (7, 14),
        _common,
        elements=elements.subtracted,
        bounds=bounds.subtracted,
        interval=functions.difference,
    ),
    "Sum": Rules((8, 13), _common, interval=sums.added),
    "Tan": Rules((7, 22), like_first),
    "Tanh": Rules((6, 13), like_first, interval=monotonic(np.tanh)),
    "ThresholdedRelu": Rules((10, 22), like_first, _ALPHA),
    "Trilu": Rules((14, 14), like_first, {"upper": FLAG}, moves=moving.cut),
    "Where": Rules(
        (9, 16), _common, moves=moving.chosen, elements=elements.chosen, interval=functions.chosen
    ),
    "Xor": Rules((7, 7), _common, bounds=bounds.combined),
}
"""The element-wise operators, normalizations and shares: all elements of all operands are read."""

LAYOUT: Mapping[str, Rules] = {
    "Concat": Rules(
        (4, 13),
        layout.concatenated,
        _AXIS,
        moves=moving.joined,
        elements=elements.joined,
        interval=parts.joined,
    ),
    "DepthToSpace": Rules(
        (1, 13), layout.depth_to_space, {**_BLOCK, "mode": ("DCR", "CRD")}, moves=moving.first
    ),
    "Flatten": Rules((1, 25), layout.flattened, _AXIS, moves=moving.first),
    "Gather": Rules((1, 13), layout.gathered, _AXIS, moves=moving.first, elements=elements.picked),
    "GatherElements": Rules((11, 13), layout.like_second, _AXIS, moves=moving.first),
    # It does not move: kernels up to 1.25 read beyond an empty axis where an index is 0.
    "GatherND": Rules((11, 13), layout.gathered_tuples, {"batch_dims": ANY}),
    "Pad": Rules((2, 25), layout.padded, _PADDING, moves=moving.padded, interval=parts.padded),
    "Slice": Rules(
        (1, 13),
        layout.sliced,
        {"axes": ANY, "starts": EVERY, "ends": EVERY},
        moves=moving.first,
        elements=elements.part,
        interval=parts.sliced,
    ),
    "SpaceToDepth": Rules((1, 13), layout.space_to_depth, _BLOCK, moves=moving.first),
    "Split": Rules(
        (2, 18),
        layout.split,
        {"axis": ANY, "split": ANY, "num_outputs": POSITIVE},
        moves=moving.first,
        interval=parts.taken,
    ),
    "Squeeze": Rules((1, 25), layout.squeezed, _AXES, moves=moving.first, elements=elements.same),
    "TopK": Rules(
        (1, 24),
        layout.best,
        {"axis": ANY, "k": ANY, "largest": FLAG, "sorted": FLAG},
        moves=moving.found,
        bounds=bounds.found,
    ),
    "Transpose": Rules(
        (1, 25), layout.transposed, {"perm": ANY}, moves=moving.first, interval=parts.transposed
    ),
    "Unsqueeze": Rules(
        (1, 25), layout.unsqueezed, _AXES, moves=moving.first, elements=elements.same
    ),
}
"""The operators that reorder or select elements."""

PRODUCTS: Mapping[str, Rules] = {
    "AveragePool": Rules(
        (7, 22), products.pooled, {**_POOLING, "count_include_pad": FLAG}, interval=sums.averaged
    ),
    "Conv": Rules((1, 22), products.convolved, _CONVOLUTION, interval=sums.convolved),
    "ConvInteger": Rules((10, 10), products.convolved, _CONVOLUTION),
    "ConvTranspose": Rules(
        (1, 22),
        products.convolved_back,
        {**_CONVOLUTION, "output_padding": NOT_NEGATIVE, "output_shape": ANY},
        interval=sums.convolved_back,
    ),
    "Einsum": Rules((12, 12), products.summed, {"equation": ANY}),
    "GRU": Rules(
        (7, 22),
        products.recurrent,
        {**_RECURRENT, "linear_before_reset": FLAG},
        interval=gated_unit,
    ),
    "Gemm": Rules((7, 13), products.general_product, _PRODUCT, interval=sums.general_product),
    "GlobalAveragePool": Rules((1, 22), products.pooled_to_one, interval=sums.averaged),
    "GlobalLpPool": Rules((2, 2), products.pooled_to_one, {"p": ANY}),
    "GlobalMaxPool": Rules((1, 22), products.pooled_to_one, interval=sums.pooled),
    "LSTM": Rules(
        (7, 22),
        products.recurrent,
        {**_RECURRENT, "input_forget": FLAG},
        interval=long_short_term_memory,
    ),
    "LpPool": Rules((2, 22), products.pooled, {**_POOLING, "p": ANY}),
    "MatMul": Rules((1, 13), products.matrix_product, interval=sums.matrix_product),
    "MatMulInteger": Rules((10, 10), products.matrix_product),
    "MaxPool": Rules(
        (1, 22), products.pooled, {**_POOLING, "storage_order": FLAG}, interval=sums.pooled
    ),
    "QLinearMatMul": Rules((10, 21), products.quantized_matrix_product),
    "RNN": Rules((7, 22), products.recurrent, _RECURRENT),
}
"""The products, convolutions, pooling and recurrent layers."""

REDUCTIONS: Mapping[str, Rules] = {
    "ArgMax": Rules((1, 13), reductions.searched, _SEARCHED, bounds=bounds.counts),
    "ArgMin": Rules((1, 13), reductions.searched, _SEARCHED, bounds=bounds.counts),
    "ReduceL1": Rules((1, 18), reductions.reduced, _REDUCED, interval=sums.reduced),
    "ReduceL2": Rules((1, 18), reductions.reduced, _REDUCED, interval=sums.reduced),
    "ReduceLogSum": Rules((1, 18), reductions.reduced, _REDUCED),
    "ReduceLogSumExp": Rules((1, 18), reductions.reduced, _REDUCED),
    "ReduceMax": Rules(
        (1, 20), reductions.reduced, _REDUCED, moves=moving.extreme, interval=sums.extreme
    ),
    "ReduceMean": Rules((1, 18), reductions.reduced, _REDUCED, interval=sums.reduced),
    "ReduceMin": Rules(
        (1, 20), reductions.reduced, _REDUCED, moves=moving.extreme, interval=sums.extreme
    ),
    "ReduceProd": Rules((1, 18), reductions.reduced, _REDUCED, elements=elements.product),
    "ReduceSum": Rules((1, 13), reductions.reduced, _REDUCED, interval=sums.reduced),
    "ReduceSumSquare": Rules((1, 18), reductions.reduced, _REDUCED, interval=sums.reduced),
}
"""The reductions, and ArgMax and ArgMin."""

SHAPING: Mapping[str, Rules] = {
    "Constant": Rules((1, 25), shaping.constant, _VALUES, bounds=bounds.constant),
    "ConstantOfShape": Rules(
        (9, 25),
        shaping.filled,
        {"value": ANY},
        elements=elements.repeated,
        bounds=bounds.filled,
        interval=parts.filled,
    ),
    "DFT": Rules(
        (17, 20), shaping.like_first_rank, {"axis": ANY, "inverse": FLAG, "onesided": FLAG}
    ),
    "Expand": Rules((8, 13), shaping.expanded, moves=moving.first, elements=elements.expanded),
    "NonZero": Rules((9, 13), shaping.positions, bounds=bounds.counts),
    "OneHot": Rules((9, 11), shaping.one_hot, _AXIS, moves=moving.third),
    "Range": Rules((11, 11), shaping.ranged, bounds=bounds.counted, interval=parts.counted),
    "Reshape": Rules(
        (5, 25),
        shaping.reshaped,
        {"allowzero": FLAG},
        moves=moving.first,
        elements=elements.reshaped,
    ),
    "Resize": Rules((10, 19), shaping.resized, _RESIZING, interval=parts.resized),
    "STFT": Rules((17, 17), shaping.spectrum, {"onesided": FLAG}, interval=sums.spectrum),
    "Shape": Rules(
        (1, 25),
        shaping.shape_of,
        {"start": ANY, "end": ANY},
        elements=elements.shape_of,
        bounds=bounds.counts,
    ),
    "Size": Rules((1, 25), lambda _: ((),), elements=elements.count, bounds=bounds.counts),
    "Tile": Rules((6, 13), shaping.tiled, moves=moving.first),
    "Upsample": Rules((7, 9), shaping.like_first_rank, {"mode": ANY, "scales": ANY}),
}
"""The operators whose results have shapes that other tensors give, and those of sizes."""

_OF_OPEN_RANK: Mapping[str, Rules] = {
    "Compress": Rules((9, 11), attributes=_AXIS, moves=moving.selected),
    "Unique": Rules(
        (11, 11), attributes={"axis": ANY, "sorted": FLAG}, moves=moving.found, bounds=bounds.found
    ),
}
"""Operators whose results have no known rank, and so no rule of shapes."""


def _with_what_follows(rules: Rules) -> Rules:
    """A row with the rules that follow from whose elements results have."""
    if rules.moves is None:
        return rules
    return replace(
        rules,
        bounds=rules.bounds or moving.bounds_rule(rules.moves),
        interval=rules.interval or moving.interval_rule(rules.moves),
    )


RULES: Mapping[str, Rules] = {
    name: _with_what_follows(rules)
    for group in (ELEMENTWISE, LAYOUT, PRODUCTS, REDUCTIONS, SHAPING, _OF_OPEN_RANK)
    for name, rules in group.items()
}
"""The rules of all standard operators that have any."""
