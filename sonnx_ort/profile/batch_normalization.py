"""`BatchNormalization`: each channel of a tensor, normalized by a given mean and variance."""

import math

from sonnx_ort.profile.common_rules import RESTRICTED, of_families, working_group
from sonnx_ort.profile.element_type import FLOAT_TYPES, Family
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.requirements.attributes import AdmittedAttribute, Dense, SameNumericType
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import Attributes, Illustration, Rule
from sonnx_ort.profile.source import Source
from sonnx_ort.terms.elements import NumberSet
from sonnx_ort.terms.language import All, Either, Tensor, Term

_FIRST_CODE = 661
_OPERANDS = ("X", "scale", "B", "input_mean", "input_var")


def _of(at: str, remark: str) -> Source:
    return working_group("BatchNormalization", remark, at=at)


def _one_type(tag: str, offset: int, sentence: str, *operands: str, result: str | None) -> Rule:
    return Rule(
        f"BatchNormalization.{tag}",
        _FIRST_CODE + offset,
        sentence,
        _of(
            f"Inputs, {operands[0]}, Constraints [C2]", "The draft names float16, float and double."
        ),
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
    _of("Restrictions", RESTRICTED),
    Dense(),
)

_INFERENCE = Rule(
    "BatchNormalization.R1",
    _FIRST_CODE + 4,
    "The mode is that of inference: training_mode is 0.",
    _of("Restrictions [R1]", "The draft states it of training_mode too, as C1."),
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
    _of("Attributes, epsilon, Constraints [C1]", "The draft adds the formula."),
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
    _of("Inputs, input_var, Constraints [C3]", "The draft gives a formula, which no NaN keeps."),
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

_X, *_PARAMETERS = map(Tensor, _OPERANDS)

_RANK = Rule(
    "BatchNormalization.X.C3",
    _FIRST_CODE + 10,
    "X is of rank 1 at least.",
    _of("Inputs, X, Constraints [C3]", "The draft gives a formula."),
    OnShapes(
        ("X",),
        lambda _: _X.rank >= 1,
        Illustration("X (2, 3)", "X ()", "insert the axis of the batch"),
        held=True,
    ),
    ("X",),
)


def _of_channels(_: Attributes) -> Term:
    scale, *others = _PARAMETERS
    alike = (All((o.rank == 1, o.size(0) == scale.size(0))) for o in others)
    one_channel = All((_X.rank == 1, scale.size(0) == 1))
    fits = Either((scale.size(0) == _X.size(1), one_channel))
    return All((scale.rank == 1, *alike, fits))


_SIZES = Rule(
    "BatchNormalization.scale.C1",
    _FIRST_CODE + 11,
    "Tensors scale, B, input_mean and input_var are vectors of one element per channel.",
    _of(
        "Inputs, scale, Constraints [C1]",
        "The draft refers to it from the others. An X of rank 1 has one channel.",
    ),
    OnShapes(
        _OPERANDS,
        _of_channels,
        Illustration(
            "X (2, 3, 4), scale (3,), B (3,), input_mean (3,), input_var (3,)",
            "X (2, 3, 4), scale (2,), B (3,), input_mean (3,), input_var (3,)",
            "correct the shapes",
        ),
        held=True,
    ),
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
    contracts=of_families(
        {Family.FLOAT: (*_TYPES, _DENSE, _INFERENCE, _POSITIVE, _VARIANCE, _RANK, _SIZES)}
    ),
    result="Y",
    rounds_once=False,
    oldest_kernels=7,
    elementwise=False,
    by_shape=("X",),
)
