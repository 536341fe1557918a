"""Nodes that differ from the one that keeps all rules, by what the guidelines of tests ask for.

They are the values of attributes, the ranks and sizes of operands that are not element-wise, the
neutral and the absorbing elements, the properties that several nodes show together, and sums that
an accumulator may not hold. The notation is that of `examples`. The guidelines are those of the
working group (tests-part1.md, tests-part2.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sonnx_ort.meaning.numbers import INTEGER_FORMATS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import Applied, Array, Class, special_values
from sonnx_ort.vectors.examples import varied

_BOTH_WAYS = (
    'direction="bidirectional", activations left out, W (2, 9, 4), R (2, 9, 3), B (2, 18), '
    "initial_h (2, 2, 3)"
)
"""A GRU in both directions."""

ATTRIBUTES: Mapping[str, Sequence[str]] = {
    "ArgMax": ("axis=0", "keepdims=0", "select_last_index=1", "X [[5, 5, 1], [2, 7, 7]]"),
    "BatchNormalization": ("epsilon=0.5", "epsilon=1e-12"),
    "Concat": ("X1 (2, 1), axis=1",),
    "Conv": (
        "strides=[2, 2]",
        "strides=[1, 2]",
        "pads=[1, 1, 1, 1]",
        "pads=[1, 0, 0, 2]",
        "dilations=[2, 2]",
        "W (6, 3, 2, 3), kernel_shape=[2, 3]",
        "W (3, 1, 3, 3), B (3,), group=3",
    ),
    "ConvInteger": (
        "strides=[2, 2]",
        "pads=[1, 0, 0, 2], x_zero_point 0",
        "dilations=[2, 2]",
        "W (3, 1, 3, 3), group=3",
    ),
    "ConvTranspose": (
        "strides=[2, 2]",
        "strides=[2, 1], output_padding=[1, 0]",
        "pads=[1, 1, 1, 1]",
        "pads=[1, 0, 0, 1]",
        "dilations=[2, 2]",
        "W (2, 3, 1, 3), kernel_shape=[1, 3]",
        "W (2, 1, 2, 2), B (2,), group=2",
        "B left out",
        'pads left out, auto_pad="SAME_UPPER", W (2, 3, 3, 3), kernel_shape=[3, 3], strides=[2, 2]',
        'pads left out, auto_pad="SAME_LOWER", W (2, 3, 3, 3), kernel_shape=[3, 3], strides=[2, 2]',
        'pads left out, auto_pad="VALID"',
        "pads left out, strides=[2, 2], output_shape=[5, 5]",
    ),
    "Expand": ("S [1]", "X (3,), S [2, 1]", "X (1, 1), S [0, 3]"),
    "Flatten": ("axis=0", "axis=2", "axis=-1", "axis=-2"),
    "GRU": (
        "linear_before_reset=1",
        'activations=["Relu", "Tanh"]',
        'direction="reverse"',
        _BOTH_WAYS,
        "clip=0.5",
        "layout=1, X (2, 5, 4), initial_h (2, 1, 3)",
        "B left out",
        "sequence_lens left out",
        "initial_h left out",
    ),
    "Gather": ("axis=1", "axis=-1", "I 1", "I [-1, 0]"),
    "LSTM": (
        'activations=["Relu", "Tanh", "Tanh"]',
        'direction="reverse"',
    ),
    "LeakyRelu": ("alpha=0.0", "alpha=1.0", "alpha=-2.0"),
    "MaxPool": (
        "strides=[2, 2]",
        "strides=[1, 2]",
        "pads=[1, 1, 1, 1]",
        "pads=[1, 0, 0, 1]",
        "dilations=[2, 2]",
        "kernel_shape=[2, 3]",
    ),
    "Pad": ('mode="edge"', 'mode="reflect", P [0, 1, 1, 2]', "P [0, 0, 0, 0]", "P [1, 1, 1, 1]"),
    "Range": ("S 9, L 1, D -3", "S 1, L 9, D 3", "S 5, L 5, D 1", "S 5, L 1, D 2"),
    "Reshape": (
        "S [-1]",
        "S [0, 3]",
        "S [0, -1]",
        "S [3, 1, 2]",
        "X (0, 3), S [3, 0], allowzero=1",
    ),
    "ReduceMean": (
        "keepdims=0",
        "A [0, 2]",
        "A [-1]",
        "A left out",
        "A [], noop_with_empty_axes=1",
    ),
    "ReduceSum": ("keepdims=0", "A [0, 2]", "A [-1]", "A left out", "A [], noop_with_empty_axes=1"),
    "Resize": (
        'nearest_mode="ceil", coordinate_transformation_mode="half_pixel"',
        'nearest_mode="round_prefer_floor", coordinate_transformation_mode="half_pixel"',
        'nearest_mode="round_prefer_ceil", coordinate_transformation_mode="asymmetric"',
        'nearest_mode="round_prefer_floor", coordinate_transformation_mode="asymmetric"',
        "scales [1.0, 1.0, 0.5, 0.5]",
        "scales left out, sizes [1, 2, 6, 2], sizes an initializer",
        (
            "scales left out, sizes [6, 2], sizes an initializer, "
            'axes=[2, 3], keep_aspect_ratio_policy="not_larger"'
        ),
        (
            "scales left out, sizes [6, 2], sizes an initializer, "
            'axes=[2, 3], keep_aspect_ratio_policy="not_smaller"'
        ),
        "scales [0.5, 2.0], axes=[-1, -2]",
        'mode="linear", coordinate_transformation_mode="half_pixel"',
        'mode="linear", coordinate_transformation_mode="asymmetric"',
        (
            'mode="linear", coordinate_transformation_mode="pytorch_half_pixel", '
            "scales left out, sizes [1, 2, 1, 9], sizes an initializer"
        ),
        (
            'mode="linear", coordinate_transformation_mode="align_corners", '
            "scales left out, sizes [1, 2, 5, 7], sizes an initializer"
        ),
        (
            'mode="linear", coordinate_transformation_mode="half_pixel_symmetric", '
            "scales [1.0, 1.0, 2.5, 0.75]"
        ),
        (
            'mode="linear", coordinate_transformation_mode="tf_crop_and_resize", scales left out, '
            "sizes [1, 2, 5, 3], sizes an initializer, extrapolation_value=7.5, "
            "roi [0.0, 0.0, 0.25, 0.5, 1.0, 1.0, 0.75, 1.5]"
        ),
        'mode="cubic", coordinate_transformation_mode="half_pixel"',
        'mode="cubic", coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.5',
        'mode="cubic", coordinate_transformation_mode="half_pixel", exclude_outside=1',
        (
            'mode="cubic", coordinate_transformation_mode="align_corners", '
            "scales left out, sizes [1, 2, 5, 7], sizes an initializer"
        ),
    ),
    "ScatterND": (
        "I [[1, 2], [3, 0], [0, 1]], U (3,)",
        "I [[-1], [1]]",
        "I [[[0, 0], [1, 1]], [[2, 2], [3, 0]]], U (2, 2)",
        'reduction="add", I [[2], [2]]',
        'reduction="mul", I [[2], [2]]',
        'reduction="max", I [[2], [2]]',
        'reduction="min", I [[2], [2]]',
    ),
    "Slice": (
        "starts [3, 4], ends [0, 0], steps [-1, -2]",
        "starts [0, 1], ends [4, 3], steps [1, 1]",
        "starts [0, 0], ends [4, 5], steps [3, 4]",
    ),
    "Softmax": ("axis=0",),
    "Split": ("X (2, 6), axis=1", "X (2, 6), axis=-1", "S [0, 6, 0]"),
    "Squeeze": ("A [2]", "A [0, 2]", "A [-1]"),
    "Transpose": ("perm=[0, 1, 2]", "perm=[2, 1, 0]", "perm left out"),
    "Unsqueeze": ("A [1]", "A [0, 2]", "A [-1]", "X (2, 3), A [1, 3]"),
}
"""Values of attributes, and of the operands that play their part, in the first type."""

STRUCTURES: Mapping[str, Sequence[str]] = {
    "ArgMax": ("X (3,), axis=0", "X (1, 1)", "X (2, 1, 3, 2), axis=2", "X (0, 3)"),
    "BatchNormalization": ("X (2, 3)", "X (2, 3, 2, 2)", "X (0, 3, 4)", "X (2, 3, 0)"),
    "Cast": ("X ()", "X (5,)", "X (2, 1, 3, 2)", "X (0, 3)"),
    "Clip": ("input ()", "input (5,)", "input (2, 1, 3, 2)", "input (0, 3)", "input (1, 1)"),
    "Concat": (
        "X0 (3,), X1 (2,)",
        "X0 (2, 1, 3, 2), X1 (1, 1, 3, 2)",
        "X0 (0, 3), X1 (2, 3)",
        "X0 (1, 1), X1 (1, 1)",
    ),
    "Conv": ("X (2, 3, 5, 5)", "X (1, 3, 3, 3)", "X (1, 3, 3, 7)", "X (0, 3, 5, 5)"),
    "ConvInteger": ("X (2, 3, 5, 5)", "X (1, 3, 3, 3)", "X (1, 3, 3, 7)"),
    "ConvTranspose": (
        "X (2, 2, 3, 3)",
        "X (1, 2, 1, 1)",
        "X (1, 2, 3, 7)",
        "X (0, 2, 3, 3)",
        (
            "X (1, 2, 4), W (2, 3, 2), dilations=[1], kernel_shape=[2], pads=[0, 0], strides=[1], "
            "output_padding=[0]"
        ),
    ),
    "DequantizeLinear": ("X (2, 1, 3, 2)", "X (0, 3)", "X (1, 1)"),
    "Erf": ("X ()", "X (5,)", "X (2, 1, 3, 2)", "X (0, 3)"),
    "Flatten": ("X (), axis=0", "X (5,), axis=0", "X (2, 1, 3, 2), axis=2", "X (0, 3)"),
    "GRU": (
        "X (1, 2, 4), sequence_lens [1, 1]",
        "X (5, 1, 4), sequence_lens [4], initial_h (1, 1, 3)",
    ),
    "Gemm": (
        "A (1, 3), B (3, 1), C (1, 1)",
        "A (2, 1), B (1, 4)",
        "A (0, 3), C (0, 4)",
        "A (2, 0), B (0, 4)",
    ),
    "GlobalAveragePool": ("X (2, 3, 4)", "X (2, 1, 1, 1)", "X (0, 3, 2, 2)"),
    "HardSwish": ("X ()", "X (5,)", "X (2, 1, 3, 2)", "X (0, 3)"),
    "Identity": ("X ()", "X (5,)", "X (2, 1, 3, 2)", "X (0, 3)"),
    "LSTM": ("X (1, 2, 4), sequence_lens [1, 1]",),
    "MatMul": (
        "A (1, 3), B (3, 1)",
        "A (3, 1), B (1, 2)",
        "A (1, 1), B (1, 1)",
        "A (0, 3)",
        "A (2, 0), B (0, 4)",
    ),
    "MaxPool": ("X (2, 1, 4, 4)", "X (1, 3, 2, 2)", "X (1, 3, 2, 7)", "X (0, 3, 4, 4)"),
    "Not": ("X ()", "X (5,)", "X (2, 1, 3, 2)", "X (0, 3)"),
    "QuantizeLinear": ("X (2, 1, 3, 2)", "X (0, 3)", "X (1, 1)"),
    "Reshape": ("X (), S [1, 1]", "X (1,), S []", "X (6,)", "X (2, 1, 3, 1)", "X (0, 3), S [0, 0]"),
    "Resize": ("X (4,), scales [2.0]", "X (2, 3), scales [2.0, 3.0]", "X (1, 2, 0, 4)"),
    "ScatterND": (
        "X (5,), I [[2], [0]], U (2,)",
        "X (2, 1, 3, 2), I [[1, 0], [0, 0]], U (2, 3, 2)",
        "I (0, 1), U (0, 3)",
        "X (0, 3), I (0, 1), U (0, 3)",
    ),
    "Shape": ("X ()", "X (5,)", "X (2, 1, 3, 2)", "X (0, 3)"),
    "Slice": (
        "X (5,), starts [1], ends [4], axes [0], steps [1]",
        "X (4, 5, 2), starts [0, 1, 0], ends [4, 5, 1], axes [0, 1, 2], steps [1, 2, 1]",
        "X (1, 1), starts [0, 0], ends [1, 1], steps [1, 1]",
    ),
    "Softmax": ("X (3,), axis=0", "X (1, 1)", "X (2, 1, 3, 2), axis=2", "X (0, 3)", "X (1, 300)"),
    "Softplus": ("X ()", "X (5,)", "X (2, 1, 3, 2)", "X (0, 3)"),
    "Squeeze": ("X (1,)", "X (1, 0, 1)", "X (1, 2, 1, 3)"),
    "Transpose": ("X (2, 1, 3, 2), perm=[3, 1, 0, 2]", "X (5,), perm=[0]", "X (2, 0), perm=[1, 0]"),
    "Unsqueeze": ("X ()", "X (0,)", "X (2, 1, 3)"),
}
"""Ranks and sizes: scalars, vectors, matrices, further ranks, lines, columns, no elements."""

_LEAST, _GREATEST, _ALL_BITS = "the least", "the greatest", "all bits"

NEUTRAL: Mapping[str, float | str | bool] = {
    "Add": 0,
    "Sub": 0,
    "Mul": 1,
    "Div": 1,
    "Pow": 1,
    "Max": _LEAST,
    "Min": _GREATEST,
    "And": True,
    "Or": False,
    "Xor": False,
    "BitwiseAnd": _ALL_BITS,
    "BitwiseOr": 0,
    "BitwiseXor": 0,
    "BitShift": 0,
    "PRelu": 1,
}
"""The second operand that leaves the first one as it is."""

ABSORBING: Mapping[str, float | str | bool] = {
    "Mul": 0,
    "Pow": 0,
    "Max": _GREATEST,
    "Min": _LEAST,
    "And": False,
    "Or": True,
    "BitwiseAnd": 0,
    "BitwiseOr": _ALL_BITS,
    "PRelu": 0,
}
"""The second operand that decides the result alone, of most or of all first operands."""

COMMUTATIVE = (
    *("Add", "Mul", "Max", "Min", "And", "Or", "Xor", "Equal"),
    *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
)
"""The operators whose two operands can be exchanged."""

_SHIFTED = "the first result is the sum of the second one and of the first X"

PROPERTIES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "Abs": {"an even function": ("X [[1.5, 2.5, 3.0]]", "X [[-1.5, -2.5, -3.0]]")},
    "Erf": {"an odd function": ("X [[0.25, 0.5, 1.5]]", "X [[-0.25, -0.5, -1.5]]")},
    "HardSwish": {_SHIFTED: ("X [[0.5, 1.5, 2.5]]", "X [[-0.5, -1.5, -2.5]]")},
    "Neg": {"an odd function": ("X [[1.5, 2.5, 3.0]]", "X [[-1.5, -2.5, -3.0]]")},
    "Conv": {
        "linear: the last result is the sum of the others": (
            "X (1, 3, 5, 5) of [1, 2, 3, 4], W (6, 3, 3, 3) of [1, -2, 3], B (6,) of [0]",
            "X (1, 3, 5, 5) of [5, -1, 2, 0], W (6, 3, 3, 3) of [1, -2, 3], B (6,) of [0]",
            "X (1, 3, 5, 5) of [6, 1, 5, 4], W (6, 3, 3, 3) of [1, -2, 3], B (6,) of [0]",
        )
    },
    "ConvTranspose": {
        "linear: the last result is the sum of the others": (
            "X (1, 2, 3, 3) of [1, 2, 3, 4], W (2, 3, 2, 2) of [1, -2, 3], B (3,) of [0]",
            "X (1, 2, 3, 3) of [5, -1, 2, 0], W (2, 3, 2, 2) of [1, -2, 3], B (3,) of [0]",
            "X (1, 2, 3, 3) of [6, 1, 5, 4], W (2, 3, 2, 2) of [1, -2, 3], B (3,) of [0]",
        )
    },
    "MatMul": {
        "linear: the last result is the sum of the others": (
            "A [[1, 2, 3], [4, 5, 6]], B (3, 4) of [1, 2, 3]",
            "A [[2, 0, 1], [1, 1, 7]], B (3, 4) of [1, 2, 3]",
            "A [[3, 2, 4], [5, 6, 13]], B (3, 4) of [1, 2, 3]",
        ),
        "a matrix of zeros but for ones on its diagonal is neutral": (
            "A [[1, 2, 3], [4, 5, 6]], B [[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
        ),
    },
    "MaxPool": {
        "indices do not change if a number is added to all elements": (
            "X (1, 3, 4, 4) of [1, 5, 2, 8, 3, 9, 4]",
            "X (1, 3, 4, 4) of [11, 15, 12, 18, 13, 19, 14]",
        )
    },
    "Softplus": {_SHIFTED: ("X [[20, 50, 100]]", "X [[-20, -50, -100]]")},
    "Softmax": {
        "results do not change if a number is added to all elements": (
            "X [[1, 2, 3], [4, 5, 6]]",
            "X [[11, 12, 13], [14, 15, 16]]",
        )
    },
}
"""Properties, each with nodes whose results show it together."""

ACCUMULATORS: Mapping[tuple[str, ElementType], Sequence[str]] = {
    ("ConvInteger", ElementType.UINT8): (
        "X (1, 1, 182, 183) of [255], W (1, 1, 182, 183) of [255], kernel_shape=[182, 183]",
    ),
    ("Conv", ElementType.FLOAT): (
        "X (1, 3, 5, 5) of [1e30, 1, -1e30], W (1, 3, 5, 5) of [1], B [0.5], kernel_shape=[5, 5]",
    ),
    ("Gemm", ElementType.FLOAT): ("A (1, 3000) of [1e8, 1, -1e8], B (3000, 1) of [1], C [[0.5]]",),
    ("MatMul", ElementType.FLOAT): (
        "A (1, 3000) of [1e8, 1, -1e8], B (3000, 1) of [1]",
        "A (1, 4) of [3e38], B (4, 1) of [1]",
    ),
    ("MatMul", ElementType.FLOAT16): ("A (1, 4096) of [1], B (4096, 1) of [1]",),
    ("MatMul", ElementType.INT32): (
        "A (1, 40000) of [2000000000, 7], B (40000, 1) of [2000000000, -3]",
    ),
    ("MatMul", ElementType.UINT32): ("A (1, 3) of [4000000000], B (3, 1) of [4000000000]",),
    ("Softmax", ElementType.FLOAT): ("X (1, 3000) of [0]", "X (1, 3) of [88, 88, 88]"),
}
"""Sums of many or of large products, which an accumulator of the type may not hold."""


_SECOND: Mapping[str, str] = {
    **dict.fromkeys(("Add", "Mul", "PRelu"), "3"),
    **dict.fromkeys(("Sub", "Pow", "BitShift"), "1"),
    **dict.fromkeys(("BitwiseOr", "Max"), "0"),
    **dict.fromkeys(("Min", "Mod"), "100"),
    "BitwiseAnd": "127",
    "BitwiseXor": "5",
    "Div": "1",
}
"""The second operand with which distinct elements give distinct results."""

_ALL_DISTINCT: Mapping[str, str] = {
    "ArgMax": "X [[1, 5, 2], [9, 3, 4]]",
    "Concat": "X0 [[1, 2, 3], [4, 5, 6]], X1 [[7, 8, 9]]",
    "Gather": "X (3, 4) of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], I [[2, 0]]",
    "Gemm": "A [[1, 2, 3], [4, 5, 6]], B [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]",
    "MatMul": "A [[1, 2, 3], [4, 5, 6]], B [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]",
    "Resize": "X (1, 1, 4, 4) of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], "
    "scales [1.0, 1.0, 0.5, 0.5]",
    "ScatterND": "X (4, 3) of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "
    "U (2, 3) of [21, 22, 23, 24, 25, 26]",
    "Softmax": "X [[1, 2, 3], [4, 6, 8]]",
}
"""What gives distinct results where distinct elements of the first operand may not."""

TRUE_OR_FALSE: Mapping[str, tuple[int, int, int]] = {
    **dict.fromkeys(("Equal", "And"), (1, 1, 0)),
    **dict.fromkeys(("Less", "LessOrEqual"), (1, 2, 0)),
    **dict.fromkeys(("Greater", "GreaterOrEqual"), (1, 0, 2)),
    **dict.fromkeys(("Or", "Xor"), (0, 1, 0)),
    "Not": (0, 0, 1),
}
"""Of operators with conditions as results a first operand, and the second one for true and false.

That of Not is alone, for true and false.
"""

WITHOUT_DISTINCT = (
    *("Acos", "Broadcast", "Cast", "Clip", "Constant", "GRU", "LSTM", "Range"),
    *("DequantizeLinear", "QuantizeLinear", "Shape"),
)
"""The operators with no case made for distinct elements: other cases have these."""

ONE_ELEMENT = ("ConstantOfShape",)
"""The operators whose results have one element again and again."""


@dataclass(frozen=True)
class Variant:
    """A node for what the guidelines of tests ask for.

    Attributes:
        name: The name of its model, but for operator and type.
        note: What it shows, where its class does not say it.
    """

    name: str
    applied: Applied
    of_class: Class
    note: str = ""


def variants(
    operator: Operator,
    kinds: Sequence[ElementType],
    generator: np.random.Generator,
    edition: Edition,
) -> Iterator[Variant]:
    """The variants of an operator.

    `kinds` are the types that the profile and ONNX have, the preferred one first.
    """
    name = operator.name

    def made(text: str, kind: ElementType = kinds[0]) -> Applied:
        return varied(operator, kind, text, generator, edition)

    for text in ATTRIBUTES.get(name, ()):
        yield Variant("attribute", made(text), Class.ATTRIBUTE)
    for text in STRUCTURES.get(name, ()):
        yield Variant("structure", made(text), Class.RANK)
    for number, (told, nodes) in enumerate(PROPERTIES.get(name, {}).items()):
        for text in nodes:
            yield Variant(f"property_{number}", made(text), Class.PROPERTY, told)
    for (of_operator, kind), nodes in ACCUMULATORS.items():
        for text in nodes if of_operator == name else ():
            yield Variant(f"{kind}_accumulator", made(text, kind), Class.ACCUMULATOR)
    for kind in kinds:
        yield from _of_special_values(made("", kind), kind)
        yield from _of_indexes(made(_ALL_DISTINCT.get(name, ""), kind), kind)


def _of_indexes(base: Applied, kind: ElementType) -> Iterator[Variant]:
    """Nodes whose results tell the elements apart."""
    name = base.operator
    if name in TRUE_OR_FALSE:
        yield from _told_apart(base, kind)
    elif name not in (*WITHOUT_DISTINCT, *ONE_ELEMENT) and kind is not ElementType.BOOL:
        applied = base if name in _ALL_DISTINCT else distinct(base, kind)
        yield Variant(f"{kind}_distinct", applied, Class.INDEX)


def _told_apart(base: Applied, kind: ElementType) -> Iterator[Variant]:
    """Nodes whose results, conditions, differ together for each element: the digits of its place.

    There are more elements than conditions have values.
    """
    first, *others = base.given.values()
    shape = first.shape
    places = np.arange(1, first.size + 1).reshape(shape)
    one, true, false = TRUE_OR_FALSE[base.operator]
    for digit in range(int(places.max()).bit_length()):
        second = np.where(places >> digit & 1, true, false).astype(kind.dtype)
        operands = [np.full(shape, one, kind.dtype), second] if others else [second]
        told = "the results of all data sets together tell the elements apart"
        yield Variant(f"{kind}_distinct", replace(base, operands=operands), Class.INDEX, told)


def _of_special_values(base: Applied, kind: ElementType) -> Iterator[Variant]:
    """A neutral and an absorbing element, and operands that are exchanged."""
    name = base.operator
    tables = ((Class.NEUTRAL, NEUTRAL), (Class.ABSORBING, ABSORBING))
    for of_class, table in tables:
        if name in table:
            first, second = _special_values(kind), _number(table[name], kind)
            if name == "Pow":
                # Further integers break the rule on powers.
                first = first[np.abs(first.astype(np.float64)) <= _MOST_EXACT]
            both = [first, np.full(first.shape, second, kind.dtype)]
            word = of_class.name.lower()
            yield Variant(f"{kind}_{word}", replace(base, operands=both), of_class)
    if name in COMMUTATIVE:
        values = _special_values(kind)
        columns = [each.ravel() for each in np.meshgrid(values, values, indexing="ij")]
        for operands in (columns, columns[::-1]):
            told = "commutative: both data sets have the same results"
            applied = replace(base, operands=operands)
            yield Variant(f"{kind}_commutative", applied, Class.PROPERTY, told)


_MOST_EXACT = 2.0**53
"""The largest integer up to which double has all integers."""


def _special_values(kind: ElementType) -> Array:
    """The values at the edges of a type that are numbers."""
    values = special_values(kind)
    return values if kind.family is not Family.FLOAT else values[~np.isnan(values)]


def _number(said: float | str | bool, kind: ElementType) -> Any:
    """A number as it is stated, or by its name for a type."""
    integers = INTEGER_FORMATS.get(kind)
    match said:
        case "the least":
            return -np.inf if integers is None else integers.smallest
        case "the greatest":
            return np.inf if integers is None else integers.largest
        case "all bits":
            return -1 if integers is None or integers.signed else integers.largest
    return said


def distinct(base: Applied, kind: ElementType) -> Applied:
    """The node with a first operand of which all elements are distinct."""
    first, *others = base.operands
    if first is None:
        return base
    numbers = np.arange(1, first.size + 1).reshape(first.shape)
    elements = (numbers / 4 if kind.family is Family.FLOAT else numbers).astype(first.dtype)
    if base.operator in _SECOND:
        others = [np.full(first.shape, int(_SECOND[base.operator])).astype(first.dtype)]
    elif base.operator == "Where":
        elements, others = first, [numbers.astype(kind.dtype), (numbers + 50).astype(kind.dtype)]
    return replace(base, operands=[elements, *others])
