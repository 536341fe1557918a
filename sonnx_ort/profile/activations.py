"""Relu, Sigmoid, Tanh, Exp, Sin, LeakyRelu, Softmax and BatchNormalization."""

import math

from sonnx_ort.profile.common_rules import RulesOf, of_one_operand
from sonnx_ort.profile.element_type import FLOAT_TYPES, IEEE_TYPES, ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.attributes import (
    admitted,
    attribute_is,
    axis_from_the_front,
    given_attributes,
)
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import has_axis, on_axis, on_shapes
from sonnx_ort.profile.rule import Attributes, Rule
from sonnx_ort.terms.language import All, Either, SizesBehind, Tensor, Term
from sonnx_ort.terms.numbers import NumberSet

_SIGNED_INTEGERS = (ElementType.INT8, ElementType.INT16, ElementType.INT32, ElementType.INT64)

RELU = of_one_operand("Relu", 1061, kinds=(*IEEE_TYPES, *_SIGNED_INTEGERS)).operator(
    versions=(1, 6, 13, 14), rounds_once=False, oldest_kernels=6
)


SIGMOID = of_one_operand("Sigmoid", 1071, kinds=IEEE_TYPES).operator(
    versions=(1, 6, 13), rounds_once=False, oldest_kernels=6
)


TANH = of_one_operand("Tanh", 1081, kinds=IEEE_TYPES).operator(
    versions=(1, 6, 13), rounds_once=False, oldest_kernels=6
)


EXP = of_one_operand("Exp", 1091, kinds=IEEE_TYPES).operator(
    versions=(1, 6, 13), rounds_once=False, oldest_kernels=6
)


SIN = of_one_operand("Sin", 1101, operands="A", result="C", kinds=IEEE_TYPES).operator(
    versions=(7, 22), rounds_once=False
)


_leaky_relu = of_one_operand("LeakyRelu", 1111, kinds=IEEE_TYPES)

LEAKY_RELU = _leaky_relu.operator(
    rules=[_leaky_relu("R1", 9).states(given_attributes(("alpha",)), survived=True)],
    versions=(1, 6, 16),
    rounds_once=False,
    oldest_kernels=6,
)


_softmax = of_one_operand("Softmax", 1121, kinds=IEEE_TYPES, survived=True)

_ASSUMED_AXES = ((1, 1), (13, -1))
"""The axis of a node without one, with the first version that assumes it."""


def _short_after_axis(attributes: Attributes) -> Term:
    return on_axis(lambda axis: SizesBehind(Tensor("X"), axis, 1), attributes, _ASSUMED_AXES)


SOFTMAX = _softmax.operator(
    rules=[
        _softmax("R3", 3).states(given_attributes(("axis",))),
        _softmax("R4", 4).states(axis_from_the_front()),
        _softmax("C2", 5).states(has_axis(assumed=_ASSUMED_AXES)),
        _softmax("C4", 6).states(
            on_shapes(("X",), _short_after_axis, attributes=("axis",)), until=12
        ),
        _softmax("float.C6", 8).states(LinesAboveNegativeInfinity(assumed=_ASSUMED_AXES)),
    ],
    versions=(1, 11, 13),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
)


_batch_normalization = RulesOf("BatchNormalization", 661)
_OPERANDS = ("X", "scale", "B", "input_mean", "input_var")
_X, *_PARAMETERS = map(Tensor, _OPERANDS)


def _one_type(tag: str, offset: int, *operands: str, result: str | None = OF_THE_NODE) -> Rule:
    return _batch_normalization(tag, offset).states(
        SameNumericType(result, FLOAT_TYPES, added=(ElementType.BFLOAT16,)), *operands
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
        _batch_normalization("R1", 4).states(attribute_is("training_mode", 0)),
        _batch_normalization("C1", 5).states(
            admitted("epsilon", 1e-5, lambda epsilon: epsilon > 0)
        ),
        _batch_normalization("C3", 9).states(
            on_elements(
                "input_var",
                NumberSet("negative or NaN", lambda _: (0.0, math.inf), admits_nan=False),
            ),
            survived=True,
        ),
        _batch_normalization("X.C3", 10).states(
            on_shapes(("X",), lambda _: _X.rank >= 1, held=True)
        ),
        _batch_normalization("scale.C1", 11).states(on_shapes(_OPERANDS, _of_channels, held=True)),
    ],
    operands=_OPERANDS,
    versions=(1, 6, 7, 9, 14, 15),
    oldest_kernels=7,
)
