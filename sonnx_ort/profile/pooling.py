"""MaxPool and ArgMax, which find the largest elements."""

import math
from collections.abc import Sequence

from sonnx_ort.kernel.sizes import reach
from sonnx_ort.profile.common_rules import RulesOf, of_one_operand
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.attributes import (
    GivenAttributes,
    SameNumericType,
    attribute_is,
    axis_from_the_front,
    flag,
    held,
)
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.shapes import axis_not_empty, of_rank, on_shapes
from sonnx_ort.profile.rule import Attributes, Illustration, Judgement, Rule, proved, violated
from sonnx_ort.profile.windows import (
    SPATIAL,
    Window,
    attribute_has_numbers,
    auto_pad_is_not_set,
    kernel_of,
)
from sonnx_ort.terms.elements import NumberSet, finite_numbers
from sonnx_ort.terms.language import All, Tensor, Term
from sonnx_ort.terms.operand import Operand

_max_pool = RulesOf("MaxPool", 781, survived=True)
_WINDOW = ("kernel_shape", "pads", "dilations")
_X = Tensor("X")
_TYPES = (
    *(ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE),
    *(ElementType.INT8, ElementType.UINT8),
)
_COUNTED = "C2 of it has their number."
_NONE_OF_THEM = "silently accepts none of them if shapes are not declared, and rejects other"


def _given(tag: str, offset: int, *names: str, since: int = 1) -> Rule:
    example = Illustration(
        ", ".join(f"{name} given" for name in names),
        f"{names[0]} left out",
        "write it into the model; rewrite with make_explicit=True does so if the schema has a "
        "default",
    )
    named = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
    sentence = f"The attribute{'s' * (len(names) > 1)} {named} stand{'s' * (len(names) == 1)}"
    return _max_pool(tag, offset, "Restrictions [R2]").states(
        f"{sentence} in the file.",
        GivenAttributes(names, example),
        remark="The draft says it of all attributes.",
        unenforced="assumes the defaults of ONNX.",
        since=since,
    )


def _window_fits(attributes: Attributes) -> Term:
    """The window fits into X with its padding."""
    kernel, window = kernel_of(attributes), Window.of(attributes)
    sizes = [window.smallest(place, size) for place, size in enumerate(kernel or ())]
    return All(tuple(_X.size(a) >= s for a, s in zip(SPATIAL, sizes, strict=False) if s > 0))


def _no_window_steps_over(attributes: Attributes) -> Term:
    """Where X is padded, an axis is as long as the dilation, so that no window steps over X."""
    window = Window.of(attributes)
    dilated = (place for place in (0, 1) if window.pads(place) and window.dilations[place] > 1)
    return All(tuple(_X.size(SPATIAL[place]) >= window.dilations[place] for place in dilated))


def _padding_is_narrow(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    del operands
    kernel, window = kernel_of(attributes) or (1, 1), Window.of(attributes)
    for place, size in enumerate(kernel):
        pads = max(window.before[place], window.behind[place])
        dilated = reach(size, window.dilations[place])
        if pads >= dilated:
            padded = f"axis {SPATIAL[place]} is padded by {pads}"
            return violated(f"{padded}, and the dilated kernel has size {dilated}")
    return proved("no padding is as long as the dilated kernel")


MAX_POOL = _max_pool.operator(
    Family.FLOAT,
    Family.INTEGER,
    rules=[
        _max_pool("types", 0, "MaxPool (float)").states(
            "Tensors X and Y have the same type: float16, float, double, int8 or uint8.",
            SameNumericType(None, _TYPES),
            remark="The draft has another section for integers of 8 bits.",
            survived=False,
        ),
        _max_pool.dense(1),
        _max_pool("R1", 2, "Restrictions [R1]").states(
            "X has two spatial axes.",
            of_rank(4, "X (1, 3, 8, 8)", "X (1, 3, 8)", "insert an axis of size 1 with Unsqueeze"),
            unenforced="silently pools along one and three axes too. Versions up to 1.28 end the "
            "process (SIGABRT) where kernel_shape has more numbers than X has such axes.",
            survived=False,
        ),
        _given("R2", 3, "auto_pad", "kernel_shape", "pads", "strides"),
        _given("R2.storage_order", 4, "storage_order", since=8),
        _given("R2.dilations", 5, "ceil_mode", "dilations", since=10),
        auto_pad_is_not_set(_max_pool, "R3", 6, "Restrictions [R3]", given=False),
        _max_pool("R4", 7, "Restrictions [R4]").states(
            "The attribute ceil_mode is 0.",
            attribute_is("ceil_mode", 0, "pad X, so that every window is whole"),
            unenforced="silently adds incomplete windows; it takes 2 for 0.",
            since=10,
        ),
        _max_pool("R5", 8, "Restrictions [R5]").states(
            "The attribute storage_order is 0.",
            attribute_is("storage_order", 0, "transpose the tensor of indices"),
            unenforced="counts indices by columns if it is 1, and rejects other numbers.",
            since=8,
        ),
        attribute_has_numbers(
            *(_max_pool, 9, "kernel_shape", 2, 1, "C1"),
            remark=_COUNTED,
            unenforced="rejects others with an error. Versions up to 1.28 end the process at three "
            "of them (SIGABRT).",
        ),
        attribute_has_numbers(
            *(_max_pool, 10, "strides", 2, 1, "C1"),
            remark=_COUNTED,
            unenforced=f"{_NONE_OF_THEM} numbers. Versions up to 1.25 end the process at a 0 "
            "(SIGFPE).",
        ),
        attribute_has_numbers(
            *(_max_pool, 11, "dilations", 2, 1, "C1"),
            remark=_COUNTED,
            unenforced=f"{_NONE_OF_THEM} numbers. Versions up to 1.25 take 0 and negative numbers "
            "too.",
            survived=True,
            since=10,
        ),
        attribute_has_numbers(
            *(_max_pool, 12, "pads", 4, 0, "C1"),
            remark="It has their number. A padding is a number of elements, 'possibly zero'.",
            unenforced=f"{_NONE_OF_THEM} numbers. Versions up to 1.29 take negative numbers too.",
            survived=True,
        ),
        _max_pool("padding", 13, "Attributes, pads, Constraints [C2]").states(
            "No padding is as long as the dilated kernel.",
            held(
                _padding_is_narrow,
                "kernel_shape=[2, 2], pads=[1, 1, 1, 1]",
                "kernel_shape=[2, 2], pads=[2, 2, 2, 2]",
                "pad less, or in front of the node with Pad",
                attributes=_WINDOW,
            ),
            remark="ONNX Runtime demands it of the kernel without dilation, and rejects more.",
        ),
        _max_pool("fits", 14, "Outputs, Y [C1]").states(
            "The dilated kernel fits into the padded X.",
            on_shapes(
                ("X",),
                _window_fits,
                "X (1, 3, 4, 4), kernel_shape=[2, 2]",
                "X (1, 3, 1, 4), kernel_shape=[2, 2]",
                "pad X, or take a smaller kernel",
                attributes=_WINDOW,
            ),
            remark="The draft has a formula for the sizes of Y. What does not fit has none.",
            unenforced="silently gives a result for a window of which less than a stride is "
            "missing, from the rest of it.",
        ),
        _max_pool("C1", 15).states(
            "Where X is padded, no axis is shorter than its dilation.",
            on_shapes(
                ("X",),
                _no_window_steps_over,
                "X (1, 3, 2, 2), dilations=[2, 2], pads=[1, 1, 1, 1]",
                "X (1, 3, 1, 1), dilations=[2, 2], pads=[1, 1, 1, 1]",
                "do not dilate the window, or pad less",
                attributes=("pads", "dilations"),
            ),
            remark="The draft demands a padding that is shorter than the dilated kernel, so that "
            "each window has an element of X. A window steps over a shorter axis nevertheless.",
            unenforced="silently gives the lowest finite number for a window of padding.",
        ),
        _max_pool("float.C2", 16).states(
            "No element of X is NaN or -inf.",
            on_elements(
                "X",
                NumberSet(
                    "NaN or -inf",
                    lambda dtype: (finite_numbers(dtype)[0], math.inf),
                    admits_nan=False,
                ),
                "X [[0.5, inf]], float",
                "X [[0.5, NaN]], float",
                "replace NaN and -inf by numbers, for example with IsNaN, IsInf and Where",
            ),
            remark="The draft has examples with -inf, and does not say what its Max_F makes of "
            "NaN. That of October 2026 gives NaN.",
            unenforced="silently gives NaN or a number for a window with a NaN, depending on its "
            "place and the type, and in float the lowest finite number for many windows of -inf.",
        ),
    ],
    description="""
        `MaxPool`: the largest element in each place of a window that moves over two spatial axes.

        Results: elements of X, in its type; padding is never the largest. The second output has the
        places of these elements in X, counted from its first one; of equal ones it is the first.

        The draft of 2026-10-03 in ericjenn/sonnx, which is not followed, takes any rank from 3 on,
        does not support the second output, and makes a window with a NaN a NaN.

        ONNX Runtime 1.32.0 has kernels for float16, float, double, int8 and uint8, and rejects
        empty tensors, except an empty batch. Versions up to 1.28 give wrong places of elements that
        are the smallest number of their type. Each rule says what it does with a violation.
    """,
    operands=("X",),
    versions=(1, 8, 10, 11, 12, 22),
    further_results=("Indices",),
    oldest_kernels=1,
)


_arg_max = of_one_operand(
    "ArgMax",
    701,
    remark="The draft states the type of Y, and lists those of X.",
    result_type="int64",
    type_at="Outputs, Y, Constraints [C1]",
)


def _flag(offset: int, name: str, assumed: int, since: int) -> Rule:
    return _arg_max(f"{name}.C1", offset, f"Attributes, {name}, Constraints [C1]").states(
        f"The attribute {name} is 0 or 1.",
        flag(name, assumed),
        remark="Its value domain.",
        survived=True,
        since=since,
    )


ARG_MAX = _arg_max.operator(
    rules=[
        _arg_max("R4", 8, "Restrictions [R4]").states(
            "The attribute axis is not negative.",
            axis_from_the_front(0),
            remark="The draft calls it transient.",
        ),
        _arg_max("R5", 9, "Restrictions [R5]").states(
            "X has the axis, and the axis is not empty.",
            axis_not_empty(
                *("X", "X (2, 3), axis 1", "X (2, 0), axis 1", "keep empty tensors out")
            ),
            remark="The draft states it of X too, as C2, and that there is such an axis, as C1.",
            survived=True,
        ),
        _flag(11, "keepdims", 1, 1),
        _flag(12, "select_last_index", 0, 12),
        _arg_max("float.C1", 10).states(
            "No element of X is NaN.",
            on_elements(
                "X",
                NumberSet("NaN", admits_nan=False),
                "X [1.0, inf, 3.0], float",
                "X [1.0, NaN, 3.0], float",
                "replace NaN by a number, for example with IsNaN and Where",
            ),
            remark="The draft gives the place of the first NaN, or of the last one with "
            "select_last_index. ONNX Runtime gives another place: 2 of [1, NaN, 3].",
            survived=True,
        ),
    ],
    description="""
        `ArgMax`: the places of the largest elements along an axis, which the attribute `axis`
        names.

        Results: int64; of several largest ones the place of the first, or of the last where
        `select_last_index` is 1.

        ONNX Runtime 1.32.0 rejects an empty axis with an error of its own. It skips a NaN, except
        in the first place, so its result differs from that of the draft, the place of the first
        NaN; versions up to 1.31.1 do so only for matrices. It has kernels for float16, float,
        double, int8, int32, int64 and uint8.
    """,
    versions=(1, 11, 12, 13),
    oldest_kernels=1,
    elementwise=False,
)
