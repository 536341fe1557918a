"""Relu, Sigmoid, Tanh, Exp, Sin, LeakyRelu, Softmax and BatchNormalization."""

import math

from sonnx_ort.profile.common_rules import ADDED, RulesOf, of_one_operand
from sonnx_ort.profile.element_type import FLOAT_TYPES, IEEE_TYPES, ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.attributes import (
    SameNumericType,
    admitted,
    attribute_is,
    axis_from_the_front,
    given_attributes,
)
from sonnx_ort.profile.requirements.axes import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.shapes import has_axis, on_axis, on_shapes
from sonnx_ort.profile.rule import Attributes, Rule
from sonnx_ort.profile.source import Source, Words
from sonnx_ort.terms.language import All, Either, NumberSet, SizesBehind, Tensor, Term

_SIGNED_INTEGERS = (ElementType.INT8, ElementType.INT16, ElementType.INT32, ElementType.INT64)
_SECOND = "Inputs, X, Constraints [C2]"

RELU = of_one_operand(
    "Relu",
    1061,
    remark="Its section on integers says that the result is NaN if the operand is NaN, which an "
    "integer cannot be.",
    kinds=(*IEEE_TYPES, *_SIGNED_INTEGERS),
    type_at="Relu ({family})",
).operator(
    description="""
        `Relu`: each element of a tensor, or 0 if it is negative.

        Results: 0 below zero, and the element itself otherwise: -0 stays -0, and NaN stays NaN.

        ONNX Runtime 1.32.0 gives that in float16, float, double, int8 and int32. It has no kernels
        for bfloat16, int16 and int64.
    """,
    versions=(1, 6, 13, 14),
    rounds_once=False,
    oldest_kernels=6,
)


SIGMOID = of_one_operand("Sigmoid", 1071, kinds=IEEE_TYPES, type_at=_SECOND).operator(
    description="""
        `Sigmoid`: the logistic function of each element of a tensor.

        Results: 1 / (1 + e^-x), computed with exponentials of negative numbers only; 1 for
        infinity, 0 for negative infinity, NaN for NaN.

        ONNX Runtime 1.32.0 computes an approximation in float and double. Its error is small
        compared with 1, but not compared with small results: for -20 in float it gives 0 instead of
        2.06e-9. It has a kernel for float16, and none for bfloat16.
    """,
    versions=(1, 6, 13),
    rounds_once=False,
    oldest_kernels=6,
)


TANH = of_one_operand("Tanh", 1081, kinds=IEEE_TYPES, type_at=_SECOND).operator(
    description="""
        `Tanh`: the hyperbolic tangent of each element of a tensor.

        Results: 1 for infinity, -1 for negative infinity, NaN for NaN.

        ONNX Runtime 1.32.0 gives these in float16, float and double, and -0 for -0. It has no
        kernel for bfloat16. The last bits of a double depend on the index of the element and on the
        length of the tensor. REQ-OP-010 demands a function, with one result.
    """,
    versions=(1, 6, 13),
    rounds_once=False,
    oldest_kernels=6,
)


EXP = of_one_operand(
    "Exp",
    1091,
    remark="The draft gives 11.09375 and 88.72283935546875 for the logarithms of the largest "
    "float16 and the largest float, beyond which results are infinite. The exponentials of both "
    "are rounded to infinity.",
    kinds=IEEE_TYPES,
    type_at=_SECOND,
).operator(
    description="""
        `Exp`: e to the power of each element of a tensor.

        Results: the power, rounded; infinity beyond the largest number, 0 for negative infinity,
        NaN for NaN. There is no rule about elements.

        ONNX Runtime 1.32.0 gives these in float16, float and double; it has no kernel for bfloat16.
        The last bit of a double depends on the index of the element and on the length of the
        tensor. REQ-OP-010 demands a function, with one result.
    """,
    versions=(1, 6, 13),
    rounds_once=False,
    oldest_kernels=6,
)


SIN = of_one_operand(
    "Sin",
    1101,
    operands="A",
    result="C",
    kinds=IEEE_TYPES,
    type_at="Inputs, A, Constraints [E_SIN_{}_CONSTR_A_0010]",
).operator(
    description="""
        `Sin`: the sine of each element of a tensor.

        Results: the number nearest to the sine of the element; a zero gives itself; infinities and
        NaN give NaN, which is a result.

        ONNX Runtime 1.32.0 gives these special values in float16, float and double; it has no
        kernel for bfloat16. Other results are off by up to 6e-16 in double. Their last bits depend
        on the index of the element and on the length of the tensor. REQ-OP-010 demands a function,
        with one result.
    """,
    versions=(7, 22),
    rounds_once=False,
)


_leaky_relu = of_one_operand(
    "LeakyRelu",
    1111,
    remark="The signature has one type for X and Y.",
    kinds=IEEE_TYPES,
    type_at="LeakyRelu ({family})",
)

LEAKY_RELU = _leaky_relu.operator(
    rules=[
        _leaky_relu("R1", 9, "Restrictions [R1]").states(
            "The attribute alpha is given.",
            given_attributes(
                ("alpha",), "alpha=0.1", "no alpha", "write it into the model: ONNX assumes 0.01"
            ),
            remark="Elsewhere the draft says that LeakyRelu has no attribute. Its first example of "
            "floats prints -0.95 for -9.5 and alpha 0.01, which is the number for alpha 0.1.",
            survived=True,
        )
    ],
    description="""
        `LeakyRelu`: each element of a tensor, or its product with `alpha` if it is negative.

        Results: alpha * x below zero, and the element itself otherwise: -0 stays -0, and NaN stays
        NaN. Every alpha is allowed, infinities and NaN too.

        ONNX Runtime 1.32.0 silently takes 0.01 if alpha is not given. It has kernels for float16
        and float, and for double from version 16 on. It gives +0 for a product that is -0 in
        float16 and double.
    """,
    versions=(1, 6, 16),
    rounds_once=False,
    oldest_kernels=6,
)


_softmax = of_one_operand("Softmax", 1121, kinds=IEEE_TYPES, type_at=_SECOND, survived=True)

_ASSUMED_AXES = ((1, 1), (13, -1))
"""The axis of a node without one, with the first version that assumes it."""


def _short_after_axis(attributes: Attributes) -> Term:
    return on_axis(lambda axis: SizesBehind(Tensor("X"), axis, 1), attributes, _ASSUMED_AXES)


SOFTMAX = _softmax.operator(
    rules=[
        _softmax("R3", 3).states(
            "The attribute axis is given.",
            given_attributes(
                ("axis",),
                "axis=1",
                "no axis",
                "write it into the model: ONNX assumes the last axis",
            ),
            source=Source(
                "SONNX, general restrictions",
                "General restrictions",
                "GR4",
                words=Words.OURS,
                remark="The draft of Softmax applies them to it; ONNX assumes an axis.",
            ),
        ),
        _softmax("R4", 4, "Restrictions [R1]").states(
            "The attribute axis is not negative.",
            axis_from_the_front(),
            remark="The draft repeats it as C1 of axis.",
        ),
        _softmax("C2", 5, "Attributes, axis, Constraints [C2]").states(
            "X has the axis.",
            has_axis(
                *("X (2, 3), axis 1", "X (2, 3), axis 2", "name an axis that there is"),
                assumed=_ASSUMED_AXES,
            ),
            remark="The draft repeats it as a constraint on X.",
        ),
        _softmax("C4", 6).states(
            "Before version 13, no axis after the axis is longer than 1.",
            on_shapes(
                ("X",),
                _short_after_axis,
                "X (2, 3, 1), axis 1",
                "X (2, 3, 4), axis 1",
                "convert the model to version 13 of the standard operators, for example with "
                "onnx.version_converter",
                attributes=("axis",),
            ),
            remark="The draft is about version 13, which sums up along the axis alone. Versions 1 "
            "and 11 sum up along the axis and all after it.",
            until=12,
        ),
        _softmax("float.C6", 8).states(
            "No line of X along the axis is negative infinity throughout.",
            LinesAboveNegativeInfinity(assumed=_ASSUMED_AXES),
            remark="The draft gives 0 for each element of such a line, as for negative infinity "
            "beside numbers. ONNX Runtime gives NaN.",
        ),
    ],
    description="""
        `Softmax`: the exponentials of a tensor, divided by their sums along an axis, which the
        attribute `axis` names.

        Results: e^(x - m) / sum of e^(x - m) along the axis, where m is the largest element there;
        NaN throughout where NaN or infinity lies on the line, and otherwise 0 for negative
        infinity. They have X's shape and type.

        ONNX Runtime 1.32.0 silently accepts a negative axis. If the axis is not given, it silently
        takes the last one, or axis 1 before version 13. It rejects an axis that X does not have,
        unless X is empty. It silently gives NaN for lines of nothing but negative infinity. It has
        kernels for float16, float and double; in version 1 none for float16.
    """,
    versions=(1, 11, 13),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
)


_batch_normalization = RulesOf("BatchNormalization", 661)
_OPERANDS = ("X", "scale", "B", "input_mean", "input_var")
_X, *_PARAMETERS = map(Tensor, _OPERANDS)


def _one_type(tag: str, offset: int, *operands: str, result: str | None = OF_THE_NODE) -> Rule:
    named = " and ".join(operands if result else (*operands, "Y"))
    return _batch_normalization(tag, offset, f"Inputs, {operands[0]}, Constraints [C2]").states(
        f"Tensors {named} have the same type, one of floats.",
        SameNumericType(result, FLOAT_TYPES, added=(ElementType.BFLOAT16,)),
        *operands,
        remark=f"The draft names float16, float and double. {ADDED}",
    )


def _of_channels(_: Attributes) -> Term:
    scale, *others = _PARAMETERS
    of_one_size = (All((o.rank == 1, o.size(0) == scale.size(0))) for o in others)
    one_channel = All((_X.rank == 1, scale.size(0) == 1))
    fits = Either((scale.size(0) == _X.size(1), one_channel))
    return All((scale.rank == 1, *of_one_size, fits))


BATCH_NORMALIZATION = _batch_normalization.operator(
    Family.FLOAT,
    rules=[
        _one_type("R2", 0, "X", result=None),
        _one_type("R3", 1, "scale", "B"),
        _one_type("R4", 2, "input_mean", "input_var"),
        _batch_normalization.dense(3),
        _batch_normalization("R1", 4, "Restrictions [R1]").states(
            "The mode is that of inference: training_mode is 0.",
            attribute_is("training_mode", 0, "export the model for inference"),
            remark="The draft states it of training_mode too, as C1.",
        ),
        _batch_normalization("C1", 5, "Attributes, epsilon, Constraints [C1]").states(
            "The attribute epsilon is positive.",
            admitted(
                "epsilon",
                1e-5,
                lambda epsilon: epsilon > 0,
                *("epsilon=1e-5", "epsilon=0.0", "give a small positive number"),
            ),
            remark="The draft adds the formula.",
        ),
        _batch_normalization("C3", 9, "Inputs, input_var, Constraints [C3]").states(
            "No element of input_var is negative or NaN.",
            on_elements(
                "input_var",
                NumberSet("negative or NaN", lambda _: (0.0, math.inf), admits_nan=False),
                "input_var [1.0, 0.0], float",
                "input_var [1.0, -0.5], float",
                "correct the variance, which is a mean of squares",
            ),
            remark="The draft gives a formula, which no NaN keeps.",
            survived=True,
        ),
        _batch_normalization("X.C3", 10, "Inputs, X, Constraints [C3]").states(
            "X is of rank 1 at least.",
            on_shapes(
                ("X",),
                lambda _: _X.rank >= 1,
                *("X (2, 3)", "X ()", "insert the axis of the batch"),
                held=True,
            ),
            remark="The draft gives a formula.",
        ),
        _batch_normalization("scale.C1", 11, "Inputs, scale, Constraints [C1]").states(
            "Tensors scale, B, input_mean and input_var are vectors of one element per channel.",
            on_shapes(
                _OPERANDS,
                _of_channels,
                "X (2, 3, 4), scale (3,), B (3,), input_mean (3,), input_var (3,)",
                "X (2, 3, 4), scale (2,), B (3,), input_mean (3,), input_var (3,)",
                "correct the shapes",
                held=True,
            ),
            remark="The draft refers to it from the others. An X of rank 1 has one channel.",
        ),
    ],
    description="""
        `BatchNormalization`: each channel of a tensor, normalized by a given mean and variance.

        Results: scale * (X - input_mean) / sqrt(input_var + epsilon) + B, channel by channel, in
        X's type.

        ONNX Runtime 1.32.0 silently gives NaN if input_var + epsilon is negative, in float16, float
        and double. It has no kernel for bfloat16. It checks that scale, B, mean and variance are
        vectors with an element for each channel.
    """,
    operands=_OPERANDS,
    versions=(1, 6, 7, 9, 14, 15),
    oldest_kernels=7,
)
