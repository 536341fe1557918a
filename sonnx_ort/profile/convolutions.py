"""Conv and ConvInteger."""

from collections.abc import Sequence
from types import MappingProxyType

from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operand import Bounds, Operand
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import AdmittedAttribute, HeldByRuntime
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import OwnRank
from sonnx_ort.profile.requirements.sizes import (
    ShapeFrom,
    SizeOf,
    SizesWithin,
    at_least,
    exactly,
)
from sonnx_ort.profile.rule import Illustration, Judgement, Rule, at_run_time, proved, violated
from sonnx_ort.profile.windows import (
    SPATIAL,
    Attributes,
    DraftRules,
    Window,
    kernel_of,
    known_size,
)

_UNKNOWN = "the sizes of X or W are known only in a run"


def _group(attributes: Attributes) -> int:
    group = attributes.get("group", 1)
    return group if isinstance(group, int) else 1


def _whole_or_each(attributes: Attributes) -> dict[int, Bounds]:
    group = _group(attributes)
    return {} if group <= 1 else {1: exactly(group)}


def _channels_fit(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    own, each, group = known_size(operands[0], 1), known_size(operands[1], 1), _group(attributes)
    if own is None or each is None:
        return at_run_time(_UNKNOWN)
    text = f"X has {own} channels, and W takes {each} in each of {group} groups"
    return proved(text) if own == each * group else violated(text)


def _outputs_fit(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    outputs, group = known_size(operands[0], 0), _group(attributes)
    if group == 1:
        return proved("there is one group")
    if outputs is None:
        return at_run_time("the outputs of W are known only in a run")
    text = f"W has {outputs} outputs for {group} groups"
    return violated(text) if group < 1 or outputs % group else proved(text)


def _kernel_is_as_said(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    if "kernel_shape" not in attributes:
        return proved("the attribute kernel_shape is left out")
    said = attributes["kernel_shape"]
    sizes = tuple(known_size(operands[0], axis) for axis in SPATIAL)
    text = f"kernel_shape is {list(said) if isinstance(said, tuple) else said}"
    if kernel_of(attributes) is None:
        return violated(text)
    if None in sizes:
        return at_run_time("the sizes of W are known only in a run")
    text += f", and the kernel of W is {list(sizes)}"
    return proved(text) if said == sizes else violated(text)


def _kernel_fits(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    x, w = operands
    window = Window.of(attributes)
    unknown = False
    for place, axis in enumerate(SPATIAL):
        size, kernel = known_size(x, axis), known_size(w, axis)
        if size is None or kernel is None:
            unknown = True
        elif size < window.smallest(place, kernel):
            smallest = window.smallest(place, kernel)
            return violated(f"axis {axis} of X is {size}, and the kernel needs {smallest}")
    return at_run_time(_UNKNOWN) if unknown else proved("the kernel fits into the padded X")


def _window_rules(rules: DraftRules) -> tuple[Rule, ...]:
    """The rules of both, about attributes and sizes."""
    return (
        rules.rule(
            "R1",
            3,
            "X and W have two spatial axes.",
            OwnRank(
                4,
                Illustration(
                    "X (1, 3, 8, 8), W (6, 3, 3, 3)",
                    "X (1, 3, 8), W (6, 3, 3)",
                    "insert an axis of size 1 with Unsqueeze",
                ),
            ),
            "X",
            "W",
            remark="The draft states it as R1.",
            later="X_0010",
            survived=False,
        ),
        rules.not_set("R2", 4, "AUTOPAD_0020", given=True),
        rules.rule(
            "group",
            5,
            "The attribute group is positive.",
            AdmittedAttribute(
                ("group",),
                1,
                lambda group: isinstance(group, int) and group > 0,
                Illustration("group=1", "group=0", "give the number of groups"),
            ),
            later="GROUP_0010",
        ),
        rules.rule(
            "R3",
            6,
            "There is one group, or one for each channel of X.",
            SizesWithin(
                ("group",),
                _whole_or_each,
                Illustration(
                    "X (1, 4, 8, 8), group=4",
                    "X (1, 4, 8, 8), group=2",
                    "split X and W with Split, and convolve each part by itself",
                ),
            ),
            "X",
            remark="The draft states it as R3.",
            later="GROUP_0030",
        ),
        rules.numbers(
            "strides",
            7,
            2,
            1,
            remark="The draft does not say how many there are.",
            later="STRIDES_0010",
        ),
        rules.numbers(
            "dilations",
            8,
            2,
            1,
            remark="The draft states their number as DILATIONS_0020.",
            later="DILATIONS_0010",
            survived=True,
        ),
        rules.numbers(
            "pads",
            9,
            4,
            0,
            remark="The draft states their number as PADS_0020.",
            later="PADS_0010",
        ),
        rules.rule(
            "kernel",
            10,
            "The kernel of W is not empty.",
            SizesWithin(
                (),
                lambda _: dict.fromkeys(SPATIAL, at_least(1)),
                Illustration("W (6, 3, 3, 3)", "W (6, 3, 0, 3)", "give a kernel"),
            ),
            "W",
            remark="The draft states it of kernel_shape, which is the shape of W.",
            later="KERNELSHAPE_0010",
            survived=False,
        ),
        rules.rule(
            "kernel_shape",
            11,
            "The attribute kernel_shape is the shape of the kernel of W.",
            HeldByRuntime(
                ("kernel_shape",),
                _kernel_is_as_said,
                Illustration(
                    "W (6, 3, 3, 5), kernel_shape=[3, 5]",
                    "W (6, 3, 3, 5), kernel_shape=[5, 3]",
                    "correct kernel_shape",
                ),
            ),
            "W",
            remark="The draft's rationale exchanges the two sizes; ONNX's order is taken.",
            later="KERNELSHAPE_0020",
        ),
        rules.rule(
            "channels",
            12,
            "W takes as many channels as each group of X has.",
            HeldByRuntime(
                ("group",),
                _channels_fit,
                Illustration(
                    "X (1, 4, 8, 8), W (6, 4, 3, 3)",
                    "X (1, 4, 8, 8), W (6, 3, 3, 3)",
                    "correct the shape of W, or group",
                ),
            ),
            "X",
            "W",
            later="X_0020",
        ),
        rules.rule(
            "outputs",
            13,
            "The outputs of W are divided evenly among the groups.",
            HeldByRuntime(
                ("group",),
                _outputs_fit,
                Illustration(
                    "W (8, 1, 3, 3), group=4", "W (6, 1, 3, 3), group=4", "correct the shape of W"
                ),
            ),
            "W",
            later="W_0050",
        ),
        rules.rule(
            "fits",
            14,
            "The dilated kernel fits into the padded X.",
            HeldByRuntime(
                ("pads", "dilations"),
                _kernel_fits,
                Illustration(
                    "X (1, 3, 4, 4), W (6, 3, 3, 3)",
                    "X (1, 3, 2, 4), W (6, 3, 3, 3)",
                    "pad X, or take a smaller kernel",
                ),
            ),
            "X",
            "W",
            remark="The draft gives a formula for the sizes of Y, in which the size of the dilated "
            "kernel is wrong: dilations * dW instead of dilations * (dW - 1) + 1, of ONNX. Y has "
            "these sizes wherever the kernel fits.",
            later="STRIDES_0020",
        ),
    )


_CONV = DraftRules("Conv", 741, "E_CONV_REAL_CONSTR_")
_FLOATS = (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)
_CONV_OPERANDS = ("X", "W", "B")

_CONV_RULES = (
    DraftRules("Conv", 741, "E_CONV_FLOAT_CONSTR_").rule(
        "types",
        0,
        "Tensors X, W, B and Y have the same type: float16, float or double.",
        SameNumericType(None, _FLOATS),
        later="X_0020",
        survived=False,
    ),
    _CONV.dense(1),
    *_window_rules(_CONV),
    _CONV.rule(
        "B",
        15,
        "B is a vector of as many elements as W has outputs.",
        ShapeFrom(
            ("W", "B"),
            (),
            lambda _: (SizeOf(0, 0),),
            Illustration("W (6, 3, 3, 3), B (6,)", "W (6, 3, 3, 3), B (1,)", "repeat the element"),
        ),
        "W",
        "B",
        later="B_0010",
        survived=False,
    ),
)

CONV = Operator(
    name="Conv",
    description="""
        `Conv`: the convolution of a tensor of two spatial axes with a kernel, and a bias.

        Results: the sums of products in the operands' type, plus the bias; what is padded counts
        as 0. In which order they are summed up, and with how many roundings, depends on the
        implementation. Axis denotations, which the draft names where they are in effect, are not
        looked at: ONNX Runtime knows none.

        ONNX Runtime 1.32.0 convolves along one and three axes as well, and in any number of groups,
        without a word. It takes too many pads, and negative ones, where shapes are not declared:
        they end the process (SIGSEGV) if W is constant and all optimizations are on. It never
        returns from an empty kernel. Version 1.23 also takes dilations of 0, reads a bias of
        another size beyond its elements, and ends the process at strides of 0 and ranks below 2.
        What is held by ONNX Runtime it refuses with an error. It has kernels for float16 and float.
    """,
    operands=_CONV_OPERANDS,
    versions=(1, 11, 22),
    contracts=dict.fromkeys(Edition, MappingProxyType({Family.FLOAT: _CONV_RULES})),
    result="Y",
    rounds_once=False,
    oldest_kernels=1,
    optional=("B",),
    elementwise=False,
    by_shape=_CONV_OPERANDS,
)


_INTEGER = DraftRules("ConvInteger", 761, "E_CONVINTEGER_INT_CONSTR_")
_BYTES = (ElementType.INT8, ElementType.UINT8)
_INTEGER_OPERANDS = ("X", "W", "x_zero_point", "w_zero_point")

_INTEGER_RULES = (
    _INTEGER.rule(
        "X",
        0,
        "Tensors X and x_zero_point have the same type, int8 or uint8, and Y is int32.",
        SameNumericType("int32", _BYTES),
        "X",
        "x_zero_point",
        later="X_0040",
        survived=False,
    ),
    _INTEGER.rule(
        "W",
        1,
        "Tensors W and w_zero_point have the same type, int8 or uint8.",
        SameNumericType("int32", _BYTES),
        "W",
        "w_zero_point",
        later="W_0050",
        survived=False,
    ),
    _INTEGER.dense(2),
    *_window_rules(_INTEGER),
    _INTEGER.rule(
        "x_zero_point",
        15,
        "The operand x_zero_point is a scalar.",
        OwnRank(
            0,
            Illustration(
                "X (1, 3, 8, 8), x_zero_point ()",
                "X (1, 3, 8, 8), x_zero_point (1,)",
                "reshape it to a scalar, with Squeeze",
            ),
        ),
        "x_zero_point",
        later="XZEROPOINT_0010",
    ),
    _INTEGER.rule(
        "w_zero_point",
        16,
        "The operand w_zero_point is a scalar, or has one element for each output.",
        ShapeFrom(
            ("W", "w_zero_point"),
            (),
            lambda _: (SizeOf(0, 0),),
            Illustration(
                "W (6, 3, 3, 3), w_zero_point ()",
                "W (6, 3, 3, 3), w_zero_point (1,)",
                "reshape it to a scalar, with Squeeze",
            ),
            or_scalar=True,
        ),
        "W",
        "w_zero_point",
        remark="ONNX Runtime refuses one for each output, if there are more than one.",
        later="WZEROPOINT_0010",
    ),
)

CONV_INTEGER = Operator(
    name="ConvInteger",
    description="""
        `ConvInteger`: the convolution of a tensor of bytes with a kernel of bytes.

        Results: the sums of products of the elements less their zero points, in int32, modulo 2^32.
        What is padded contributes nothing, as in ONNX; by the draft, which pads with 0 and
        subtracts the zero point from it, it would.

        ONNX Runtime 1.32.0 does with attributes and ranks as in Conv, but gives 0 for an empty
        kernel. It takes zero points of one element and one axis for scalars, and refuses those of
        other shapes, also one for each output. Version 1.23 has a kernel for uint8 alone.
    """,
    operands=_INTEGER_OPERANDS,
    versions=(10,),
    contracts=dict.fromkeys(Edition, MappingProxyType({Family.INTEGER: _INTEGER_RULES})),
    result="Y",
    result_type="int32",
    rounds_once=False,
    oldest_kernels=10,
    optional=("x_zero_point", "w_zero_point"),
    elementwise=False,
    by_shape=_INTEGER_OPERANDS,
)
