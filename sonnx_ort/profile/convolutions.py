"""Conv and ConvInteger.

Source: SONNX Conv and ConvInteger, drafts of the working group, restrictions and constraints.
"""

from collections.abc import Sequence

from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import IEEE_TYPES, ElementType, Family
from sonnx_ort.profile.requirements.attributes import NotBoth, SameNumericType, admitted, held
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.shapes import of_rank, on_shapes
from sonnx_ort.profile.rule import (
    Attributes,
    Illustration,
    Judgement,
    Rule,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.profile.windows import (
    SPATIAL,
    Window,
    attribute_has_numbers,
    auto_pad_is_not_set,
    bounds_of_size,
    kernel_of,
    known_size,
)
from sonnx_ort.terms.language import (
    All,
    Decided,
    Either,
    IfGiven,
    IsMultiple,
    NumberSet,
    Tensor,
    Term,
)
from sonnx_ort.terms.operand import Operand

_conv = RulesOf("Conv", 741, survived=True)
_conv_integer = RulesOf("ConvInteger", 761, survived=True)

_X, _W, _B, _ZERO = map(Tensor, ("X", "W", "B", "w_zero_point"))


def _group(attributes: Attributes) -> int:
    group = attributes.get("group", 1)
    return group if isinstance(group, int) else 1


def _whole_or_each(attributes: Attributes) -> Term:
    group = _group(attributes)
    return Decided(True, "there is one group") if group <= 1 else _X.size(1) == group


def _outputs_fit(attributes: Attributes) -> Term:
    group = _group(attributes)
    if group <= 1:
        return Decided(group == 1, f"the number of groups is {group}")
    return IsMultiple(_W.size(0), group)


def _kernel_is_kernel_shape(attributes: Attributes) -> Term:
    if "kernel_shape" not in attributes:
        return Decided(True, "the attribute kernel_shape is left out")
    kernel = kernel_of(attributes)
    if kernel is None:
        return Decided(False, "kernel_shape is no list of two numbers")
    return All(tuple(_W.size(a) == size for a, size in zip(SPATIAL, kernel, strict=True)))


def _kernel_fits(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    x, w = operands
    window = Window.of(attributes)
    judgement = proved("the kernel fits into the padded X")
    for place, axis in enumerate(SPATIAL):
        size, kernel = bounds_of_size(x, axis), known_size(w, axis)
        smallest = 0 if kernel is None else window.smallest(place, kernel)
        if size is not None and kernel is not None and size.upper < smallest:
            return violated(f"axis {axis} of X is {size}, and the kernel needs {smallest}")
        if size is None or kernel is None or size.lower < smallest:
            judgement = at_run_time("the sizes of X or W depend on the inputs")
    return judgement


_MORE_OR_NONE = "silently accepts more of them, or none, if shapes are not declared."


def _rules_of_both(  # noqa: PLR0913 - what differs
    rules: RulesOf, prefix: str, *, negative_pads: str, empty: str, outputs: str, channels: str
) -> tuple[Rule, ...]:
    """The rules of both, about attributes and sizes.

    What ONNX Runtime does with negative pads, an empty kernel and other channels differs, and the
    tags of the drafts do: their beginning, and the end of that of the rule about outputs.
    """
    on_x, on_w = (f"Inputs, {name}, Constraints [{prefix}" for name in ("X", "W"))

    def on(attribute: str, tag: str) -> str:
        return f"Attributes, {attribute}, Constraints [{prefix}{tag}]"

    return (
        rules("R1", 3, f"{on_x}X_0010]").states(
            "X and W have two spatial axes.",
            of_rank(
                4,
                "X (1, 3, 8, 8), W (6, 3, 3, 3)",
                "X (1, 3, 8), W (6, 3, 3)",
                "insert an axis of size 1 with Unsqueeze",
            ),
            *("X", "W"),
            remark="The draft gives W four sizes too.",
            unenforced="silently convolves along one and three axes too. Versions up to 1.31.1 "
            "also accept a rank of 2, and end the process at lower ranks (SIGABRT).",
            survived=False,
        ),
        auto_pad_is_not_set(rules, "R2", 4, on("auto_pad", "AUTOPAD_0020"), given=True),
        rules("group", 5, on("group", "GROUP_0010")).states(
            "The attribute group is positive.",
            admitted(
                "group",
                1,
                lambda group: isinstance(group, int) and group > 0,
                *("group=1", "group=0", "give the number of groups"),
            ),
            unenforced="rejects other numbers with an error.",
        ),
        rules("R3", 6, on("group", "GROUP_0030")).states(
            "There is one group, or one for each channel of X.",
            on_shapes(
                ("X",),
                _whole_or_each,
                "X (1, 4, 8, 8), group=4",
                "X (1, 4, 8, 8), group=2",
                "split X and W with Split, and convolve each part separately",
                attributes=("group",),
            ),
            unenforced="silently convolves in any number of groups.",
        ),
        attribute_has_numbers(
            *(rules, 7, "strides", 2, 1, f"{prefix}STRIDES_0010"),
            remark="The draft does not say how many there are; there are two spatial axes.",
            unenforced=f"{_MORE_OR_NONE} If shapes are declared, versions up to 1.27 end the "
            "process at a 0 (SIGFPE).",
        ),
        attribute_has_numbers(
            *(rules, 8, "dilations", 2, 1, f"{prefix}DILATIONS_0010"),
            remark="The draft states their number as DILATIONS_0020.",
            unenforced=f"{_MORE_OR_NONE} Versions up to 1.25 take 0 and negative numbers too.",
            survived=True,
        ),
        attribute_has_numbers(
            *(rules, 9, "pads", 4, 0, f"{prefix}PADS_0010"),
            remark="The draft states their number as PADS_0020.",
            unenforced=f"{_MORE_OR_NONE} {negative_pads}",
        ),
        rules("kernel", 10, on("kernel_shape", "KERNELSHAPE_0010")).states(
            "The kernel of W is not empty.",
            on_shapes(
                ("W",),
                lambda _: All(tuple(_W.size(axis) >= 1 for axis in SPATIAL)),
                *("W (6, 3, 3, 3)", "W (6, 3, 0, 3)", "give a kernel"),
            ),
            remark="The draft states it of kernel_shape, which is the shape of W.",
            unenforced=empty,
            survived=False,
        ),
        rules("kernel_shape", 11, on("kernel_shape", "KERNELSHAPE_0020")).states(
            "The attribute kernel_shape is the shape of the kernel of W.",
            on_shapes(
                ("W",),
                _kernel_is_kernel_shape,
                "W (6, 3, 3, 5), kernel_shape=[3, 5]",
                "W (6, 3, 3, 5), kernel_shape=[5, 3]",
                "correct kernel_shape",
                attributes=("kernel_shape",),
                held=True,
            ),
            remark="The rationale in the draft of Conv exchanges the two sizes; ONNX's order is "
            "taken.",
        ),
        rules("channels", 12, f"{on_x}X_0020]").states(
            "W takes as many channels as each group of X has.",
            on_shapes(
                ("X", "W"),
                lambda attributes: max(1, _group(attributes)) * _W.size(1) == _X.size(1),
                "X (1, 4, 8, 8), W (6, 4, 3, 3)",
                "X (1, 4, 8, 8), W (6, 3, 3, 3)",
                "correct the shape of W, or group",
                attributes=("group",),
            ),
            unenforced=channels,
            survived=False,
        ),
        rules("outputs", 13, f"{on_w}{outputs}]").states(
            "The outputs of W are divided evenly among the groups.",
            on_shapes(
                ("W",),
                _outputs_fit,
                "W (8, 1, 3, 3), group=4",
                "W (6, 1, 3, 3), group=4",
                "correct the shape of W",
                attributes=("group",),
                held=True,
            ),
        ),
        rules("fits", 14, on("strides", "STRIDES_0020")).states(
            "The dilated kernel fits into the padded X.",
            held(
                _kernel_fits,
                "X (1, 3, 4, 4), W (6, 3, 3, 3)",
                "X (1, 3, 2, 4), W (6, 3, 3, 3)",
                "pad X, or take a smaller kernel",
                attributes=("pads", "dilations"),
            ),
            *("X", "W"),
            remark="The size of the dilated kernel is wrong in the draft's formula for Y: "
            "dilations * dW instead of dilations * (dW - 1) + 1, as in ONNX. Y has ONNX's "
            "sizes wherever the kernel fits.",
        ),
    )


CONV = _conv.operator(
    Family.FLOAT,
    rules=[
        *_conv.general(
            IEEE_TYPES,
            at="Inputs, X, Constraints [E_CONV_FLOAT_CONSTR_X_0020]",
            sentence="Tensors X, W, B and Y have the same type: float16, float or double.",
        ),
        *_rules_of_both(
            _conv,
            "E_CONV_REAL_CONSTR_",
            negative_pads="Negative pads end the process (SIGSEGV) if W is constant and all "
            "optimizations are on; otherwise they crop X.",
            empty="never returns from a run with an empty kernel whose sizes are not declared.",
            outputs="W_0050",
            channels="silently takes channels that X lacks for 0 if W is constant and the "
            "optimizations are on; otherwise it rejects them.",
        ),
        _conv("B", 15, "Inputs, B, Constraints [E_CONV_REAL_CONSTR_B_0010]").states(
            "B is a vector of as many elements as W has outputs.",
            on_shapes(
                ("W", "B"),
                lambda _: IfGiven(_B, _B.is_of_shape(_W.size(0))),
                *("W (6, 3, 3, 3), B (6,)", "W (6, 3, 3, 3), B (1,)", "repeat the element"),
            ),
            unenforced="rejects a bias of another shape. Versions up to 1.29 accept any shape, and "
            "read beyond its elements.",
            survived=False,
        ),
    ],
    description="""
        `Conv`: the convolution of a tensor of two spatial axes with a kernel, and a bias.

        Results: the sums of products in the operands' type, plus the bias. The padding counts as 0.
        The order of the sums and the number of roundings depend on the implementation. Axis
        denotations, which the draft mentions, are ignored: ONNX Runtime does not support them.

        ONNX Runtime 1.32.0 has kernels for float16 and float. Each rule says what it does with a
        violation.
    """,
    operands=("X", "W", "B"),
    versions=(1, 11, 22),
    oldest_kernels=1,
    optional=("B",),
)


_ONLY_ZERO = NumberSet("not 0", lambda _: (0, 0))
_OTHER_ZERO_POINTS = "accepts one element with one axis as a scalar, and rejects other shapes."


def _zero_where_padded(attributes: Attributes) -> NumberSet | Decided:
    window = Window.of(attributes)
    if not any((*window.before, *window.after)):
        return Decided(True, "X is not padded")
    return _ONLY_ZERO


def _bytes(name: str, offset: int, results: str, tag: str) -> Rule:
    zero_point = f"{name.lower()}_zero_point"
    return _conv_integer(
        name, offset, f"Inputs, {name}, Constraints [E_CONVINTEGER_INT_CONSTR_{tag}]"
    ).states(
        f"Tensors {name} and {zero_point} have the same type, int8 or uint8{results}.",
        SameNumericType("int32", (ElementType.INT8, ElementType.UINT8)),
        *(name, zero_point),
        survived=False,
    )


CONV_INTEGER = _conv_integer.operator(
    Family.INTEGER,
    rules=[
        _bytes("X", 0, ", and Y is int32", "X_0040"),
        _bytes("W", 1, "", "W_0050"),
        _conv_integer("signs", 18).states(
            "X is not int8 while W is uint8.",
            NotBoth(
                (ElementType.INT8, ElementType.UINT8),
                Illustration(
                    "X int8, W int8", "X int8, W uint8", "store W as int8, and its zero point"
                ),
            ),
            *("X", "W"),
            remark="The draft and ONNX admit it.",
            unenforced="silently cuts the sum of two products to 16 bits on processors with AVX2 "
            "and without VNNI. Version 1.23 has no kernel for it.",
        ),
        _conv_integer.dense(2),
        *_rules_of_both(
            _conv_integer,
            "E_CONVINTEGER_INT_CONSTR_",
            negative_pads="Negative pads crop X.",
            empty="silently gives 0 for an empty kernel whose sizes are not declared.",
            outputs="W_0040",
            channels="rejects others with an error.",
        ),
        _conv_integer(
            "x_zero_point",
            15,
            "Inputs, x_zero_point, Constraints [E_CONVINTEGER_INT_CONSTR_XZEROPOINT_0010]",
        ).states(
            "The operand x_zero_point is a scalar.",
            of_rank(
                0,
                "X (1, 3, 8, 8), x_zero_point ()",
                "X (1, 3, 8, 8), x_zero_point (1,)",
                "reshape it to a scalar, with Squeeze",
            ),
            "x_zero_point",
            unenforced=_OTHER_ZERO_POINTS,
        ),
        _conv_integer(
            "w_zero_point",
            16,
            "Inputs, w_zero_point, Constraints [E_CONVINTEGER_INT_CONSTR_WZEROPOINT_0010]",
        ).states(
            "The operand w_zero_point is a scalar, or has one element for each output.",
            on_shapes(
                ("W", "w_zero_point"),
                lambda _: IfGiven(_ZERO, Either((_ZERO.rank == 0, _ZERO.is_of_shape(_W.size(0))))),
                "W (6, 3, 3, 3), w_zero_point ()",
                "W (6, 3, 3, 3), w_zero_point (1,)",
                "reshape it to a scalar, with Squeeze",
            ),
            remark="ONNX Runtime rejects one for each output if there are several outputs.",
            unenforced=_OTHER_ZERO_POINTS,
        ),
        _conv_integer("C1", 17).states(
            "Where X is padded, its zero point is 0.",
            OnElements(
                ("x_zero_point",),
                "x_zero_point",
                _zero_where_padded,
                Illustration(
                    "x_zero_point 0, pads=[1, 1, 1, 1]",
                    "x_zero_point 128, pads=[1, 1, 1, 1]",
                    "pad X before the node, with Pad",
                ),
                ("pads",),
            ),
            remark="The draft pads with 0 and subtracts the zero point from it. ONNX does not say "
            "it.",
            unenforced="pads with the zero point, which contributes nothing to the result.",
        ),
    ],
    description="""
        `ConvInteger`: the convolution of a tensor of bytes with a kernel of bytes.

        Results: the sums of products of the elements minus their zero points, in int32, modulo
        2^32.

        ONNX Runtime 1.32.0 has kernels for each pair of types; version 1.23 for uint8 alone. It
        rejects one zero point for each of several outputs, which the draft allows.
    """,
    operands=("X", "W", "x_zero_point", "w_zero_point"),
    versions=(10,),
    result_type="int32",
    oldest_kernels=10,
    optional=("x_zero_point", "w_zero_point"),
)
