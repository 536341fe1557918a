"""Relu, Sigmoid, Tanh, Exp, Sin, LeakyRelu and Softmax."""

from dataclasses import replace

from sonnx_ort.profile.common_rules import CommonRules, own, working_group
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.attributes import AXIS_FROM_THE_FRONT, GivenAttributes
from sonnx_ort.profile.requirements.axes import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.shapes import OnShapes, has_axis, on_axis
from sonnx_ort.profile.rule import Attributes, Illustration, Requirement, Rule
from sonnx_ort.profile.source import Source, Words
from sonnx_ort.terms.language import SizesBehind, Tensor, Term

_FLOATS = (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)
_SIGNED_INTEGERS = (ElementType.INT8, ElementType.INT16, ElementType.INT32, ElementType.INT64)


def _common_rules(
    name: str, first_code: int, source: Source, *kinds: ElementType, type_at: str = ""
) -> CommonRules:
    """The rules of an operator of one operand, whose result has its shape by definition."""
    operand, result = ("A", "C") if name == "Sin" else ("X", "Y")
    return CommonRules(
        name,
        first_code,
        source,
        operands=operand,
        result=result,
        kinds=kinds or _FLOATS,
        one_shape=False,
        type_at=type_at,
    )


RELU = _common_rules(
    "Relu",
    1061,
    working_group(
        "Relu",
        "Its section on integers says that the result is NaN if the operand is NaN, which an "
        "integer cannot be.",
    ),
    *_FLOATS,
    *_SIGNED_INTEGERS,
    type_at="Relu ({family})",
).operator(
    Family.FLOAT,
    Family.INTEGER,
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


SIGMOID = _common_rules(
    "Sigmoid", 1071, working_group("Sigmoid"), type_at="Inputs, X, Constraints [C2]"
).operator(
    Family.FLOAT,
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


TANH = _common_rules(
    "Tanh", 1081, working_group("Tanh"), type_at="Inputs, X, Constraints [C2]"
).operator(
    Family.FLOAT,
    description="""
        `Tanh`: the hyperbolic tangent of each element of a tensor.

        Results: 1 for infinity, -1 for negative infinity, NaN for NaN.

        ONNX Runtime 1.32.0 gives these in float16, float and double, and -0 for -0. It has no
        kernel for bfloat16. The last bit of a double depends on the place of the element in the
        tensor.
    """,
    versions=(1, 6, 13),
    rounds_once=False,
    oldest_kernels=6,
)


EXP = _common_rules(
    "Exp",
    1091,
    working_group(
        "Exp",
        "The draft gives 11.09375 and 88.72283935546875 for the logarithms of the largest float16 "
        "and the largest float, beyond which results are infinite. The exponentials of both are "
        "rounded to infinity.",
    ),
    type_at="Inputs, X, Constraints [C2]",
).operator(
    Family.FLOAT,
    description="""
        `Exp`: e to the power of each element of a tensor.

        Results: the power, rounded; infinity beyond the largest number, 0 for negative infinity,
        NaN for NaN. There is no rule about elements.

        ONNX Runtime 1.32.0 gives these in float16, float and double; it has no kernel for bfloat16.
        The last bit of a double depends on the place of the element in the tensor.
    """,
    versions=(1, 6, 13),
    rounds_once=False,
    oldest_kernels=6,
)


SIN = _common_rules(
    "Sin",
    1101,
    working_group("Sin"),
    type_at="Inputs, A, Constraints [E_SIN_{}_CONSTR_A_0010]",
).operator(
    Family.FLOAT,
    description="""
        `Sin`: the sine of each element of a tensor.

        Results: the number nearest to the sine of the element; a zero gives itself; infinities and
        NaN give NaN, which is a result.

        ONNX Runtime 1.32.0 gives these special values in float16, float and double; it has no
        kernel for bfloat16. Other results are off by up to 6e-16 in double, and the last bits
        depend on whether the tensor has one element or more.
    """,
    versions=(7, 22),
    rounds_once=False,
)


_SLOPE = Rule(
    "LeakyRelu.R1",
    1120,
    "The attribute alpha is given.",
    working_group(
        "LeakyRelu",
        "Elsewhere the draft says that LeakyRelu has no attribute. Its first example of floats "
        "prints -0.95 for -9.5 and alpha 0.01, which is the number for alpha 0.1.",
        at="Restrictions [R1]",
    ),
    GivenAttributes(
        ("alpha",),
        Illustration("alpha=0.1", "no alpha", "write it into the model: ONNX assumes 0.01"),
    ),
    survived=True,
)

LEAKY_RELU = _common_rules(
    "LeakyRelu",
    1111,
    working_group("LeakyRelu", "The signature has one type for X and Y."),
    type_at="LeakyRelu ({family})",
).operator(
    Family.FLOAT,
    further={Family.FLOAT: (_SLOPE,)},
    description="""
        `LeakyRelu`: each element of a tensor, or its product with `alpha` if it is negative.

        Results: alpha * x below zero, and the element itself otherwise: -0 stays -0, and NaN stays
        NaN. Every alpha is allowed, infinities and NaN too.

        ONNX Runtime 1.32.0 silently takes 0.01 if alpha is left out. It has kernels for float16 and
        float, and for double from version 16 on. It gives +0 for a product that is -0 in float16
        and double.
    """,
    versions=(1, 6, 16),
    rounds_once=False,
    oldest_kernels=6,
)


_SOFTMAX_FIRST_CODE = 1121

_ASSUMED_AXES = ((1, 1), (13, -1))
"""The axis of a node without one, with the first version that assumes it."""


def _short_behind_axis(said: Attributes) -> Term:
    return on_axis(lambda axis: SizesBehind(Tensor("X"), axis, 1), said, _ASSUMED_AXES)


def _softmax(
    tag: str, offset: int, sentence: str, source: Source, requirement: Requirement
) -> Rule:
    code = _SOFTMAX_FIRST_CODE + offset
    return Rule(f"Softmax.{tag}", code, sentence, source, requirement, survived=True)


_SOFTMAX_FURTHER = (
    _softmax(
        "R3",
        3,
        "The attribute axis is given.",
        Source(
            "SONNX, general restrictions",
            "General restrictions",
            "GR4",
            words=Words.OURS,
            remark="The draft of Softmax applies them to it; ONNX assumes an axis.",
        ),
        GivenAttributes(
            ("axis",),
            Illustration(
                "axis=1", "no axis", "write it into the model: ONNX assumes the last axis"
            ),
        ),
    ),
    _softmax(
        "R4",
        4,
        "The attribute axis is not negative.",
        working_group("Softmax", "The draft repeats it as C1 of axis.", at="Restrictions [R1]"),
        AXIS_FROM_THE_FRONT,
    ),
    _softmax(
        "C2",
        5,
        "X has the axis.",
        working_group(
            "Softmax",
            "The draft repeats it as a constraint on X.",
            at="Attributes, axis, Constraints [C2]",
        ),
        has_axis(
            Illustration("X (2, 3), axis 1", "X (2, 3), axis 2", "name an axis that there is"),
            assumed=_ASSUMED_AXES,
        ),
    ),
    replace(
        _softmax(
            "C4",
            6,
            "Before version 13, no axis behind the axis is longer than 1.",
            own(
                "Softmax",
                "The draft is about version 13, which sums up along the axis alone. Versions 1 and "
                "11 sum up along the axis and all behind it.",
            ),
            OnShapes(
                ("X",),
                _short_behind_axis,
                Illustration(
                    "X (2, 3, 1), axis 1",
                    "X (2, 3, 4), axis 1",
                    "convert the model to version 13 of the standard operators, for example with "
                    "onnx.version_converter",
                ),
                ("axis",),
            ),
        ),
        until=12,
    ),
    _softmax(
        "float.C6",
        8,
        "No line of X along the axis is negative infinity throughout.",
        own(
            "Softmax",
            "The draft gives 0 for each element of such a line, as for negative infinity beside "
            "numbers. ONNX Runtime gives NaN.",
        ),
        LinesAboveNegativeInfinity(assumed=_ASSUMED_AXES),
    ),
)

SOFTMAX = _common_rules(
    "Softmax", _SOFTMAX_FIRST_CODE, working_group("Softmax"), type_at="Inputs, X, Constraints [C2]"
).operator(
    Family.FLOAT,
    further={Family.FLOAT: _SOFTMAX_FURTHER},
    description="""
        `Softmax`: the exponentials of a tensor, divided by their sums along an axis, which the
        attribute `axis` names.

        Results: e^(x - m) / sum of e^(x - m) along the axis, where m is the largest element there;
        NaN throughout where NaN or infinity lies on the line, and otherwise 0 for negative
        infinity. They have X's shape and type.

        ONNX Runtime 1.32.0 silently accepts a negative axis. If the axis is left out, it silently
        takes the last one, or axis 1 before version 13. It rejects an axis that X does not have,
        unless X is empty. It silently gives NaN for lines of nothing but negative infinity. It has
        kernels for float16, float and double; in version 1
        none for float16.
    """,
    versions=(1, 11, 13),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
)
