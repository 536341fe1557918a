"""What the changes of each operator were verified for: one entry for each operator.

`python3 scripts/campaigns.py changes` tries each entry: with every version, type, and value of an
attribute, also with those that are not declared, against ONNX Runtime without optimizations.
"""

from collections.abc import Mapping
from dataclasses import replace

from sonnx_ort.conforming.verified import (
    ANY,
    AXES,
    AXIS,
    COMMON_TYPES,
    FINITE,
    FLAG,
    INDICES,
    NEWEST,
    Values,
    Verified,
    at_least,
    one_of,
)
from sonnx_ort.facts.node import IEEE_FLOATS

_OPERATORS, _LEARNED = NEWEST[""], NEWEST["ai.onnx.ml"]
_NUMBERS = IEEE_FLOATS | INDICES
_BYTES = frozenset({"int8", "uint8"})
_SCALE = frozenset({"float"})


def _since(
    first: int, others: Mapping[str, frozenset[str]] | None = None, /, **attributes: Values
) -> Verified:
    """All versions from one on that changes were tried with."""
    return Verified(first, _OPERATORS, attributes, others or {})


def _learned(
    first: int, others: Mapping[str, frozenset[str]] | None = None, /, **attributes: Values
) -> Verified:
    """The same of an operator of ai.onnx.ml."""
    return Verified(first, _LEARNED, attributes, others or {})


def _named(*names: str) -> Mapping[str, Values]:
    """Attributes of which the change reads all values, and refuses those it does not know."""
    return dict.fromkeys(names, ANY)


_OF_CONSTANTS = (
    *("value", "value_float", "value_floats", "value_int", "value_ints"),
    *("value_string", "value_strings"),
)
_SINGLE = frozenset({"float", "float16"})
_PADDING = one_of("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
_WINDOW = {
    "auto_pad": _PADDING,
    "kernel_shape": at_least(1),
    "strides": at_least(1),
    "dilations": at_least(1),
    "pads": at_least(0),
}
_CONVOLUTION = {**_WINDOW, "group": at_least(1)}
_REDUCTION = {"axes": AXES, "keepdims": FLAG, "noop_with_empty_axes": FLAG}
_ONE_AXIS = {"axis": AXIS}
_INDEXED = {"indices": INDICES}
_LAYER = {
    "activations": ANY,
    "activation_alpha": FINITE,
    "activation_beta": FINITE,
    "clip": FINITE,
    "direction": one_of("forward", "reverse", "bidirectional"),
    "hidden_size": at_least(1),
    "layout": FLAG,
}
_LOSS = {"ignore_index": ANY, "reduction": one_of("none", "mean", "sum")}
_WHOLE_AND_FLOAT_TYPES = one_of(1, 6, 7, 10, 11)
"""float, int32, int64, float16 and double, by their numbers in ONNX."""

_BY_ELEMENT: Mapping[str, Verified] = {
    **dict.fromkeys(("And", "Or", "Xor", "Greater", "Less", "Equal"), _since(7)),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _since(7)),
    **dict.fromkeys(("GreaterOrEqual", "LessOrEqual"), _since(12)),
    **dict.fromkeys(("Reciprocal", "Floor", "Ceil"), _since(6)),
    **dict.fromkeys(("Sum", "Mean", "Max", "Min"), _since(8)),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), _since(18)),
    **dict.fromkeys(("Cos", "Tan", "PRelu"), _since(7)),
    **dict.fromkeys(("Sinh", "Cosh", "Sign"), _since(9)),
    "Pow": _since(7, {"Y": _NUMBERS}),
    "Where": _since(9, dict.fromkeys("XY", COMMON_TYPES)),
    "Mod": _since(10, fmod=FLAG),
    "BitShift": _since(11, direction=one_of("LEFT", "RIGHT")),
    "HardSigmoid": _since(6, alpha=FINITE, beta=FINITE),
    "Round": _since(11),
    "Elu": _since(6, alpha=FINITE),
    "Selu": _since(6, alpha=FINITE, gamma=FINITE),
    "Celu": _since(12, alpha=FINITE),
    "ThresholdedRelu": _since(10, alpha=FINITE),
    "Softsign": _since(1),
    "Gelu": _since(20, approximate=one_of("none", "tanh")),
    "Clip": _since(11),
}

_MOVING: Mapping[str, Verified] = {
    "Size": _since(1),
    "Tile": _since(6, {"repeats": frozenset({"int64"})}),
    "OneHot": _since(9, {"depth": INDICES | {"float"}, "values": _NUMBERS | {"string"}}, axis=ANY),
    "GatherElements": _since(11, _INDEXED, **_ONE_AXIS),
    "ScatterElements": _since(11, _INDEXED, reduction=ANY, **_ONE_AXIS),
    "DepthToSpace": _since(1, blocksize=at_least(1), mode=one_of("DCR", "CRD")),
    "SpaceToDepth": _since(1, blocksize=at_least(1), mode=one_of("DCR", "CRD")),
    "ReverseSequence": _since(10, batch_axis=one_of(0, 1), time_axis=one_of(0, 1)),
    "Trilu": _since(14, upper=FLAG),
    "CumSum": _since(11, {"axis": INDICES}, exclusive=FLAG, reverse=FLAG),
    "Slice": _since(
        1,
        dict.fromkeys(("starts", "ends", "axes", "steps"), INDICES),
        **_named("axes", "starts", "ends"),
    ),
    "Concat": _since(4, **_ONE_AXIS),
    "Squeeze": _since(1, axes=AXES),
    "Expand": _since(8),
    "Reshape": _since(5, allowzero=FLAG),
    "Pad": _since(11, {"axes": INDICES}, mode=one_of("constant", "reflect", "edge", "wrap")),
    "ConstantOfShape": _since(9, value=ANY),
    "Constant": _since(1, **_named(*_OF_CONSTANTS)),
    "Range": _since(11, stash_type=one_of(1)),
    "Split": _since(2, axis=AXIS, split=at_least(0), num_outputs=at_least(1)),
    "Shape": _since(1, start=ANY, end=ANY),
    "Dropout": _since(
        1,
        {"ratio": IEEE_FLOATS, "training_mode": frozenset({"bool"})},
        is_test=FLAG,
        ratio=FINITE,
        seed=ANY,
    ),
}

_SUMMING: Mapping[str, Verified] = {
    **dict.fromkeys(
        (
            *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"),
            *("ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        ),
        _since(1, **_REDUCTION),
    ),
    **dict.fromkeys(
        ("ArgMin", "ArgMax"), _since(1, axis=AXIS, keepdims=FLAG, select_last_index=FLAG)
    ),
    "TopK": _since(1, axis=AXIS, k=at_least(1), largest=FLAG, sorted=FLAG),
    "GlobalMaxPool": _since(1),
    "AveragePool": _since(7, ceil_mode=FLAG, count_include_pad=FLAG, **_WINDOW),
    "MaxPool": _since(8, ceil_mode=FLAG, storage_order=FLAG, **_WINDOW),
    "Conv": _since(1, **_CONVOLUTION),
    "ConvTranspose": _since(
        1, output_padding=at_least(0), output_shape=at_least(0), **_CONVOLUTION
    ),
    "ConvInteger": _since(10, {"w": _BYTES, "w_zero_point": _BYTES}, **_CONVOLUTION),
    "MatMul": _since(1),
    "Gemm": _since(7, alpha=FINITE, beta=FINITE, transA=FLAG, transB=FLAG),
    "STFT": _since(17, {"frame_step": INDICES, "frame_length": INDICES}, onesided=FLAG),
    "DFT": _since(17, {"dft_length": INDICES}, axis=AXIS, inverse=FLAG, onesided=FLAG),
    "Einsum": _since(12, equation=ANY),
    "Softmax": _since(1, **_ONE_AXIS),
    "LogSoftmax": _since(1, **_ONE_AXIS),
    "RotaryEmbedding": _since(
        23,
        {"position_ids": frozenset({"int64"})},
        interleaved=FLAG,
        num_heads=at_least(0),
        rotary_embedding_dim=at_least(0),
    ),
    "LayerNormalization": _since(17, axis=AXIS, epsilon=FINITE, stash_type=one_of(1)),
    "InstanceNormalization": _since(6, epsilon=FINITE),
    "LpNormalization": _since(1, axis=AXIS, p=one_of(1, 2)),
    "LSTM": _since(7, {"sequence_lens": frozenset({"int32"})}, input_forget=FLAG, **_LAYER),
    "GRU": _since(7, {"sequence_lens": frozenset({"int32"})}, linear_before_reset=FLAG, **_LAYER),
    "Resize": _since(
        10,
        {"roi": IEEE_FLOATS},
        antialias=FLAG,
        axes=AXES,
        coordinate_transformation_mode=ANY,
        cubic_coeff_a=FINITE,
        exclude_outside=FLAG,
        extrapolation_value=FINITE,
        keep_aspect_ratio_policy=ANY,
        mode=one_of("nearest", "linear", "cubic"),
        nearest_mode=ANY,
    ),
}

_QUANTIZED: Mapping[str, Verified] = {
    "MatMulInteger": _since(10, {"B": _BYTES, "b_zero_point": _BYTES}),
    "QLinearMatMul": _since(
        10,
        {
            **dict.fromkeys(("a_scale", "b_scale", "y_scale"), _SCALE),
            **dict.fromkeys(("b", "b_zero_point", "y_zero_point"), _BYTES),
        },
    ),
    "QLinearConv": _since(
        10,
        {**dict.fromkeys(("w", "w_zero_point", "y_zero_point"), _BYTES), "B": INDICES},
        **_CONVOLUTION,
    ),
    "DynamicQuantizeLinear": _since(11),
    "QuantizeLinear": _since(
        10,
        {"y_scale": IEEE_FLOATS, "y_zero_point": _BYTES | {"int16", "uint16"}},
        axis=ANY,
        block_size=ANY,
        output_dtype=ANY,
        precision=one_of(0, 1),
        saturate=FLAG,
    ),
    "DequantizeLinear": _since(
        10, {"x_scale": IEEE_FLOATS}, axis=ANY, block_size=ANY, output_dtype=one_of(0, 1)
    ),
}

_BRANCHING: Mapping[str, Verified] = {
    "If": _since(1, then_branch=ANY, else_branch=ANY),
    "Loop": _since(1, {"cond": frozenset({"bool"}), "v_initial": COMMON_TYPES}, body=ANY),
    "Scan": _since(
        9,
        body=ANY,
        num_scan_inputs=at_least(0),
        scan_input_axes=ANY,
        scan_input_directions=FLAG,
        scan_output_axes=ANY,
        scan_output_directions=FLAG,
    ),
}

_DEFINED: Mapping[str, Verified] = {
    "AffineGrid": _since(20, align_corners=FLAG),
    "Attention": _since(
        23,
        {"V": IEEE_FLOATS, "attn_mask": IEEE_FLOATS | {"bool"}, "past_value": IEEE_FLOATS},
        is_causal=FLAG,
        left_window_size=one_of(-1),
        right_window_size=one_of(-1),
        kv_num_heads=at_least(1),
        q_num_heads=at_least(1),
        qk_matmul_output_mode=one_of(0, 1, 2, 3),
        scale=FINITE,
        softcap=FINITE,
        softmax_precision=_WHOLE_AND_FLOAT_TYPES,
    ),
    **dict.fromkeys(
        ("BlackmanWindow", "HammingWindow", "HannWindow"),
        _since(17, periodic=FLAG, output_datatype=_WHOLE_AND_FLOAT_TYPES),
    ),
    "CastLike": _since(15, {"target_type": COMMON_TYPES}, saturate=FLAG),
    "CenterCropPad": _since(18, {"shape": INDICES}, axes=AXES),
    "GroupNormalization": _since(18, num_groups=at_least(1), epsilon=FINITE, stash_type=one_of(1)),
    "HardSwish": _since(14),
    "Mish": _since(18),
    "Softplus": _since(1),
    "Shrink": _since(9, bias=FINITE, lambd=FINITE),
    "Swish": _since(24, alpha=FINITE),
    "MeanVarianceNormalization": _since(9, axes=AXES),
    "NegativeLogLikelihoodLoss": _since(12, {"target": INDICES}, **_LOSS),
    "SoftmaxCrossEntropyLoss": _since(12, {"labels": INDICES}, **_LOSS),
    "RMSNormalization": _since(
        23, {"scale": IEEE_FLOATS}, axis=AXIS, epsilon=FINITE, stash_type=one_of(1)
    ),
}

_TREES = _named(
    *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values"),
    *("nodes_truenodeids", "nodes_falsenodeids", "nodes_modes", "nodes_hitrates"),
    *("nodes_missing_value_tracks_true", "base_values", "post_transform"),
)


_LEARNED_OPERATORS: Mapping[str, Verified] = {
    "ArrayFeatureExtractor": _learned(1),
    "Binarizer": _learned(1, threshold=FINITE),
    "FeatureVectorizer": _learned(1, inputdimensions=at_least(1)),
    "Imputer": _learned(
        1,
        **_named(
            *("imputed_value_floats", "imputed_value_int64s"),
            *("replaced_value_float", "replaced_value_int64"),
        ),
    ),
    "LinearClassifier": _learned(
        1,
        multi_class=FLAG,
        **_named(
            *("classlabels_ints", "classlabels_strings", "coefficients", "intercepts"),
            "post_transform",
        ),
    ),
    "LinearRegressor": _learned(
        1, targets=at_least(1), **_named("coefficients", "intercepts", "post_transform")
    ),
    "Normalizer": _learned(1, norm=one_of("MAX", "L1", "L2")),
    "OneHotEncoder": _learned(1, zeros=FLAG, **_named("cats_int64s", "cats_strings")),
    "Scaler": _learned(1, offset=FINITE, scale=FINITE),
    "SVMRegressor": _learned(
        1,
        n_supports=at_least(0),
        one_class=FLAG,
        **_named(
            *("coefficients", "kernel_params", "kernel_type", "post_transform", "rho"),
            "support_vectors",
        ),
    ),
    "SVMClassifier": _learned(
        1,
        **_named(
            *("classlabels_ints", "classlabels_strings", "coefficients", "kernel_params"),
            *("kernel_type", "post_transform", "prob_a", "prob_b", "rho", "support_vectors"),
            "vectors_per_class",
        ),
    ),
    "TreeEnsembleRegressor": _learned(
        1,
        aggregate_function=ANY,
        n_targets=at_least(1),
        **_TREES,
        **_named("target_treeids", "target_nodeids", "target_ids", "target_weights"),
    ),
    "TreeEnsembleClassifier": _learned(
        1,
        **_TREES,
        **_named(
            *("class_treeids", "class_nodeids", "class_ids", "class_weights"),
            *("classlabels_int64s", "classlabels_strings"),
        ),
    ),
    "TreeEnsemble": _learned(
        5,
        n_targets=at_least(1),
        **_named(
            *("aggregate_function", "leaf_targetids", "leaf_weights", "nodes_falseleafs"),
            *("nodes_falsenodeids", "nodes_featureids", "nodes_hitrates", "nodes_modes"),
            *("nodes_missing_value_tracks_true", "nodes_splits", "nodes_trueleafs"),
            *("nodes_truenodeids", "post_transform", "tree_roots"),
        ),
    ),
}

_TYPES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            *("AveragePool", "Cosh", "Elu", "GlobalMaxPool", "HardSigmoid", "HardSwish"),
            *("InstanceNormalization", "Mean", "MeanVarianceNormalization", "PRelu", "Selu"),
            *("Sinh", "Softplus", "Softsign", "Tan", "ThresholdedRelu"),
        ),
        _SINGLE,
    ),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), IEEE_FLOATS | _BYTES),
    "CumSum": _NUMBERS,
    "OneHot": INDICES,
    "Shrink": _NUMBERS,
    "Trilu": _NUMBERS | {"bool"},
    "ai.onnx.ml::OneHotEncoder": frozenset({"int64"}),
}
"""The types of the first input for which ONNX Runtime has kernels, where the document has more."""

_DECLARED: Mapping[str, Verified] = {
    **_BY_ELEMENT,
    **_MOVING,
    **_SUMMING,
    **_QUANTIZED,
    **_BRANCHING,
    **_DEFINED,
    **{f"ai.onnx.ml::{name}": each for name, each in _LEARNED_OPERATORS.items()},
}

VERIFIED: Mapping[str, Verified] = {
    name: replace(each, types=_TYPES.get(name, each.types)) for name, each in _DECLARED.items()
}
"""By operator, with its domain if that is not the standard one."""


def verified_of(*operators: str) -> Mapping[str, Verified]:
    """What changes of these operators were verified for."""
    return {operator: VERIFIED[operator] for operator in operators}
