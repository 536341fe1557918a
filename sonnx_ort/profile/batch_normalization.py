"""`BatchNormalization`: each channel of a tensor, normalized by a given mean and variance."""

import math
from types import MappingProxyType

from sonnx_ort.profile.common_rules import working_group
from sonnx_ort.profile.element_type import FLOAT_TYPES, Family
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import AdmittedAttribute, Dense
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Illustration, Rule
from sonnx_ort.profile.source import Source
from sonnx_ort.terms.elements import NumberSet

_FIRST_CODE = 661
_OPERANDS = ("X", "scale", "B", "input_mean", "input_var")


def _of(place: str) -> Source:
    return working_group("BatchNormalization", f"The draft states it as {place}.")


def _one_type(tag: str, offset: int, sentence: str, *operands: str, result: str | None) -> Rule:
    return Rule(
        f"BatchNormalization.{tag}",
        _FIRST_CODE + offset,
        sentence,
        _of(f"C2 of {operands[0]}"),
        SameNumericType(result, FLOAT_TYPES),
        operands,
    )


_TYPES = (
    _one_type("R2", 0, "Tensors X and Y have the same type, one of floats.", "X", result=None),
    _one_type(
        "R3",
        1,
        "Tensors scale and B have the same type, one of floats.",
        "scale",
        "B",
        result=OF_THE_NODE,
    ),
    _one_type(
        "R4",
        2,
        "Tensors input_mean and input_var have the same type, one of floats.",
        "input_mean",
        "input_var",
        result=OF_THE_NODE,
    ),
)

_DENSE = Rule(
    "BatchNormalization.RG1",
    _FIRST_CODE + 3,
    "Sparse tensors are not supported.",
    working_group("BatchNormalization"),
    Dense(),
)

_INFERENCE = Rule(
    "BatchNormalization.R1",
    _FIRST_CODE + 4,
    "The mode is that of inference: training_mode is 0.",
    _of("R1"),
    AdmittedAttribute(
        ("training_mode",),
        0,
        lambda mode: mode == 0,
        Illustration("training_mode=0", "training_mode=1", "export the model for inference"),
    ),
)

_POSITIVE = Rule(
    "BatchNormalization.C1",
    _FIRST_CODE + 5,
    "The attribute epsilon is positive.",
    _of("C1 of epsilon"),
    AdmittedAttribute(
        ("epsilon",),
        1e-5,
        lambda epsilon: epsilon > 0,
        Illustration("epsilon=1e-5", "epsilon=0.0", "give a small positive number"),
    ),
)

_VARIANCE = Rule(
    "BatchNormalization.C3",
    _FIRST_CODE + 9,
    "No element of input_var is negative or NaN.",
    _of("C3 of input_var"),
    on_elements(
        "input_var",
        NumberSet("negative or NaN", lambda _: (0.0, math.inf), admits_nan=False),
        Illustration(
            "input_var [1.0, 0.0], float",
            "input_var [1.0, -0.5], float",
            "correct the variance, which is a mean of squares",
        ),
    ),
    ("input_var",),
    survived=True,
)

BATCH_NORMALIZATION = Operator(
    name="BatchNormalization",
    description="""
        `BatchNormalization`: each channel of a tensor, normalized by a given mean and variance.

        Results: scale * (X - input_mean) / sqrt(input_var + epsilon) + B, channel by channel, in
        X's type.

        ONNX Runtime 1.32.0 silently gives NaN if input_var + epsilon is negative, because of a
        negative variance or a negative epsilon, in float16, float and double; it has no kernel for
        bfloat16. It checks that scale, B, mean and variance are vectors with an element for each
        channel.
    """,
    operands=_OPERANDS,
    versions=(1, 6, 7, 9, 14, 15),
    contracts=dict.fromkeys(
        Edition,
        MappingProxyType({Family.FLOAT: (*_TYPES, _DENSE, _INFERENCE, _POSITIVE, _VARIANCE)}),
    ),
    result="Y",
    rounds_once=False,
    oldest_kernels=7,
    elementwise=False,
    by_shape=("X",),
)
