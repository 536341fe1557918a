"""The operators that have rules, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from sonnx_ort.profile.activations import (
    BATCH_NORMALIZATION,
    EXP,
    LEAKY_RELU,
    RELU,
    SIGMOID,
    SIN,
    SOFTMAX,
    TANH,
)
from sonnx_ort.profile.arithmetic import ADD, MAX, MIN, MOD, MUL, P_RELU
from sonnx_ort.profile.conversions import CAST, DEQUANTIZE_LINEAR, QUANTIZE_LINEAR
from sonnx_ort.profile.convolutions import CONV, CONV_INTEGER
from sonnx_ort.profile.div_and_sub import DIV, SUB
from sonnx_ort.profile.functions import ABS, ACOS, CLIP, LOG, NEG, POW, RECIPROCAL, SQRT
from sonnx_ort.profile.layout import BROADCAST, CONCAT, CONSTANT, FLATTEN, RANGE, RESHAPE, SHAPE
from sonnx_ort.profile.logic import (
    AND,
    ARG_MAX,
    BIT_SHIFT,
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    EQUAL,
    GREATER,
    GREATER_OR_EQUAL,
    LESS,
    LESS_OR_EQUAL,
    OR,
    WHERE,
    XOR,
)
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.products import GEMM, LSTM, MAT_MUL
from sonnx_ort.profile.slicing import SLICE, SQUEEZE, UNSQUEEZE
from sonnx_ort.profile.windows import MAX_POOL

_OPERATORS = (
    DIV,
    SUB,
    *(ADD, MUL, MAX, MIN, P_RELU, AND, OR, XOR, BITWISE_AND, BITWISE_OR, BITWISE_XOR, EQUAL, LESS),
    *(LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL, WHERE, MOD, POW, BIT_SHIFT, ABS, NEG, RECIPROCAL),
    *(SQRT, LOG, ACOS, RELU, SIGMOID, TANH, EXP, SIN, LEAKY_RELU, CAST, MAT_MUL),
    *(BATCH_NORMALIZATION, CLIP, SLICE, ARG_MAX, SOFTMAX, QUANTIZE_LINEAR, DEQUANTIZE_LINEAR),
    *(CONCAT, RESHAPE, FLATTEN, SQUEEZE, UNSQUEEZE, CONSTANT, SHAPE, RANGE, CONV, CONV_INTEGER),
    *(MAX_POOL, GEMM, LSTM, BROADCAST),
)

OPERATORS: Mapping[str, Operator] = MappingProxyType({o.name: o for o in _OPERATORS})
"""The operators by name. A new operator needs one more line above."""
