"""MaxPool."""

import math
from collections.abc import Sequence
from types import MappingProxyType

from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import (
    AdmittedAttribute,
    GivenAttributes,
    HeldByRuntime,
)
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import OnShapes, of_rank
from sonnx_ort.profile.rule import Attributes, Illustration, Judgement, Rule, proved, violated
from sonnx_ort.profile.source import Standing
from sonnx_ort.profile.windows import SPATIAL, DraftRules, Window, kernel_of
from sonnx_ort.terms.elements import NumberSet, finite_numbers
from sonnx_ort.terms.language import All, Tensor, Term
from sonnx_ort.terms.operand import Operand

_RULES = DraftRules("MaxPool", 781)
_WINDOW = ("kernel_shape", "pads", "dilations")
_X = Tensor("X")
_TYPES = (
    ElementType.FLOAT16,
    ElementType.FLOAT,
    ElementType.DOUBLE,
    ElementType.INT8,
    ElementType.UINT8,
)


def _given(tag: str, offset: int, *names: str, since: int = 1) -> Rule:
    example = Illustration(
        ", ".join(f"{name} given" for name in names),
        f"{names[0]} left out",
        "write it into the model; rewrite with make_explicit=True does so if the schema has a "
        "default",
    )
    named = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
    sentence = f"The attribute{'s' * (len(names) > 1)} {named} stand{'s' * (len(names) == 1)}"
    remark = "The draft states it as R2: all attributes are set."
    requirement = GivenAttributes(names, example)
    return _RULES.rule(
        tag,
        offset,
        f"{sentence} in the file.",
        requirement,
        remark=remark,
        unenforced="assumes the defaults of ONNX.",
        since=since,
    )


def _zero(  # noqa: PLR0913 - a row of a table, by name
    tag: str, offset: int, name: str, *, mended: str, since: int, unenforced: str
) -> Rule:
    requirement = AdmittedAttribute(
        (name,), 0, lambda value: value == 0, Illustration(f"{name}=0", f"{name}=1", mended)
    )
    remark = f"The draft states it as {tag}."
    sentence = f"The attribute {name} is 0."
    return _RULES.rule(
        tag, offset, sentence, requirement, remark=remark, unenforced=unenforced, since=since
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
        if pads >= size:
            axis = SPATIAL[place]
            return violated(f"axis {axis} is padded by {pads}, and the kernel has size {size}")
    return proved("no padding is as long as the kernel")


_OF_ALL_TYPES = (
    _RULES.rule(
        "types",
        0,
        "Tensors X and Y have the same type: float16, float, double, int8 or uint8.",
        SameNumericType(None, _TYPES),
        remark="The draft has a section for floats, and one for integers of 8 bits.",
        survived=False,
    ),
    _RULES.dense(1),
    _RULES.rule(
        "R1",
        2,
        "X has two spatial axes.",
        of_rank(
            4,
            Illustration(
                "X (1, 3, 8, 8)", "X (1, 3, 8)", "insert an axis of size 1 with Unsqueeze"
            ),
        ),
        remark="The draft states it as R1; that of October 2026 takes any rank above 2.",
        unenforced="silently pools along one and three axes too. Versions up to 1.28 "
        "end the process (SIGABRT) where kernel_shape has more numbers than X has such axes.",
        survived=False,
    ),
    _given("R2", 3, "auto_pad", "kernel_shape", "pads", "strides"),
    _given("R2.storage_order", 4, "storage_order", since=8),
    _given("R2.dilations", 5, "ceil_mode", "dilations", since=10),
    _RULES.not_set("R3", 6, given=False),
    _zero(
        "R4",
        7,
        "ceil_mode",
        mended="pad X, so that every window is whole",
        since=10,
        unenforced="silently adds incomplete windows; it takes 2 for 0.",
    ),
    _zero(
        "R5",
        8,
        "storage_order",
        mended="transpose the tensor of indices",
        since=8,
        unenforced="counts indices by columns if it is 1, and rejects other numbers.",
    ),
    _RULES.numbers(
        "kernel_shape",
        9,
        2,
        1,
        remark="The draft says nothing of it; that of October 2026 does.",
        unenforced="rejects others with an error. Versions up to 1.28 end the process at three of "
        "them (SIGABRT).",
    ),
    _RULES.numbers(
        "strides",
        10,
        2,
        1,
        remark="The draft states it as C1 of strides.",
        unenforced="silently accepts none of them if shapes are not declared, and rejects other "
        "numbers. Versions up to 1.25 end the process at a 0 (SIGFPE).",
    ),
    _RULES.numbers(
        "dilations",
        11,
        2,
        1,
        remark="The draft states it as C1 and C2 of dilations.",
        unenforced="silently accepts none of them if shapes are not declared, and rejects other "
        "numbers. Versions up to 1.25 take 0 and negative numbers too.",
        survived=True,
        since=10,
    ),
    _RULES.numbers(
        "pads",
        12,
        4,
        0,
        remark="The draft states it as C1 and C2 of pads.",
        unenforced="silently accepts none of them if shapes are not declared, and rejects other "
        "numbers. Versions up to 1.29 take negative numbers too.",
        survived=True,
    ),
    _RULES.rule(
        "padding",
        13,
        "No padding is as long as the kernel.",
        HeldByRuntime(
            ("kernel_shape", "pads"),
            _padding_is_narrow,
            Illustration(
                "kernel_shape=[2, 2], pads=[1, 1, 1, 1]",
                "kernel_shape=[2, 2], pads=[2, 2, 2, 2]",
                "pad less, or in front of the node with Pad",
            ),
        ),
        remark="The draft of October 2026 admits as much as the kernel (R4), with which a window "
        "may hold padding alone, contrary to its reason for R4; ONNX Runtime does not.",
    ),
    _RULES.rule(
        "fits",
        14,
        "The dilated kernel fits into the padded X.",
        OnShapes(
            ("X",),
            _window_fits,
            Illustration(
                "X (1, 3, 4, 4), kernel_shape=[2, 2]",
                "X (1, 3, 1, 4), kernel_shape=[2, 2]",
                "pad X, or take a smaller kernel",
            ),
            _WINDOW,
        ),
        remark="The draft's formula for the sizes of Y (C1 of Y) divides by the stride plus 1, and "
        "contradicts its examples; that of October 2026 divides by the stride and adds 1. By that "
        "one, what does not fit gives nothing.",
        unenforced="silently gives a result for a window of which less than a stride is missing, "
        "from the rest of it.",
    ),
    _RULES.rule(
        "C1",
        15,
        "Where X is padded, no axis is shorter than its dilation.",
        OnShapes(
            ("X",),
            _no_window_steps_over,
            Illustration(
                "X (1, 3, 2, 2), dilations=[2, 2], pads=[1, 1, 1, 1]",
                "X (1, 3, 1, 1), dilations=[2, 2], pads=[1, 1, 1, 1]",
                "do not dilate the window, or pad less",
            ),
            ("pads", "dilations"),
        ),
        remark="A window could hold padding alone. The draft gives -inf for it.",
        unenforced="silently gives the lowest finite number for a window of padding.",
        standing=Standing.OWN,
    ),
)

_NUMBERS = _RULES.rule(
    "float.C2",
    16,
    "No element of X is NaN or -inf.",
    on_elements(
        "X",
        NumberSet(
            "NaN or -inf", lambda dtype: (finite_numbers(dtype)[0], math.inf), admits_nan=False
        ),
        Illustration(
            "X [[0.5, inf]], float",
            "X [[0.5, NaN]], float",
            "replace NaN and -inf by numbers, for example with IsNaN, IsInf and Where",
        ),
    ),
    remark="The draft takes a NaN for -inf; that of October 2026 gives NaN for it.",
    unenforced="silently gives NaN or a number for a window with a NaN, depending on its place "
    "and the type, and the lowest finite number for a window of -inf.",
    standing=Standing.OWN,
)

MAX_POOL = Operator(
    name="MaxPool",
    description="""
        `MaxPool`: the largest element in each place of a window that moves over two spatial axes.

        Results: elements of X, in its type; padding is never the largest. The second output has the
        places of these elements in X, counted from its first one; of equal ones it is the first.

        ONNX Runtime 1.32.0 has kernels for float16, float, double, int8 and uint8, and rejects
        empty tensors, except an empty batch. Versions up to 1.28 give wrong places of elements that
        are the smallest number of their type. Each rule says what it does with a violation.
    """,
    operands=("X",),
    versions=(1, 8, 10, 11, 12, 22),
    contracts=dict.fromkeys(
        Edition,
        MappingProxyType({Family.FLOAT: (*_OF_ALL_TYPES, _NUMBERS), Family.INTEGER: _OF_ALL_TYPES}),
    ),
    result="Y",
    further_results=("Indices",),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
)
