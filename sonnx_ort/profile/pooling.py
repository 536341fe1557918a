"""MaxPool."""

import math
from collections.abc import Sequence

from sonnx_ort.kernel.sizes import reach
from sonnx_ort.profile.common_rules import of_families
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attributes import (
    AdmittedAttribute,
    GivenAttributes,
    HeldByRuntime,
    SameNumericType,
)
from sonnx_ort.profile.requirements.elements import on_elements
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
    requirement = GivenAttributes(names, example)
    return _RULES.rule(
        tag,
        offset,
        f"{sentence} in the file.",
        requirement,
        at="Restrictions [R2]",
        remark="The draft says it of all attributes.",
        unenforced="assumes the defaults of ONNX.",
        since=since,
    )


def _zero(  # noqa: PLR0913 - a row of a table, by name
    tag: str, offset: int, name: str, *, mended: str, since: int, unenforced: str
) -> Rule:
    requirement = AdmittedAttribute(
        (name,), 0, lambda value: value == 0, Illustration(f"{name}=0", f"{name}=1", mended)
    )
    sentence = f"The attribute {name} is 0."
    at = f"Restrictions [{tag}]"
    return _RULES.rule(
        tag, offset, sentence, requirement, at=at, unenforced=unenforced, since=since
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


_OF_ALL_TYPES = (
    _RULES.rule(
        "types",
        0,
        "Tensors X and Y have the same type: float16, float, double, int8 or uint8.",
        SameNumericType(None, _TYPES),
        at="MaxPool (float)",
        remark="The draft has another section for integers of 8 bits.",
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
        at="Restrictions [R1]",
        unenforced="silently pools along one and three axes too. Versions up to 1.28 "
        "end the process (SIGABRT) where kernel_shape has more numbers than X has such axes.",
        survived=False,
    ),
    _given("R2", 3, "auto_pad", "kernel_shape", "pads", "strides"),
    _given("R2.storage_order", 4, "storage_order", since=8),
    _given("R2.dilations", 5, "ceil_mode", "dilations", since=10),
    _RULES.not_set("R3", 6, "Restrictions [R3]", given=False),
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
        "C1",
        remark="C2 of it has their number.",
        unenforced="rejects others with an error. Versions up to 1.28 end the process at three of "
        "them (SIGABRT).",
    ),
    _RULES.numbers(
        "strides",
        10,
        2,
        1,
        "C1",
        remark="C2 of it has their number.",
        unenforced="silently accepts none of them if shapes are not declared, and rejects other "
        "numbers. Versions up to 1.25 end the process at a 0 (SIGFPE).",
    ),
    _RULES.numbers(
        "dilations",
        11,
        2,
        1,
        "C1",
        remark="C2 of it has their number.",
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
        "C1",
        remark="It has their number. A padding is a number of elements, 'possibly zero'.",
        unenforced="silently accepts none of them if shapes are not declared, and rejects other "
        "numbers. Versions up to 1.29 take negative numbers too.",
        survived=True,
    ),
    _RULES.rule(
        "padding",
        13,
        "No padding is as long as the dilated kernel.",
        HeldByRuntime(
            _WINDOW,
            _padding_is_narrow,
            Illustration(
                "kernel_shape=[2, 2], pads=[1, 1, 1, 1]",
                "kernel_shape=[2, 2], pads=[2, 2, 2, 2]",
                "pad less, or in front of the node with Pad",
            ),
        ),
        at="Attributes, pads, Constraints [C2]",
        remark="ONNX Runtime demands it of the kernel without dilation, and rejects more.",
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
        at="Outputs, Y [C1]",
        remark="The draft has a formula for the sizes of Y. What does not fit has none.",
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
        remark="The draft demands a padding that is shorter than the dilated kernel, so that each "
        "window has an element of X. A window steps over a shorter axis nevertheless.",
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
    remark="The draft has examples with -inf, and does not say what its Max_F makes of NaN. "
    "That of October 2026 gives NaN.",
    unenforced="silently gives NaN or a number for a window with a NaN, depending on its place "
    "and the type, and in float the lowest finite number for many windows of -inf.",
    standing=Standing.OWN,
)

MAX_POOL = Operator(
    name="MaxPool",
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
    contracts=of_families(
        {Family.FLOAT: (*_OF_ALL_TYPES, _NUMBERS), Family.INTEGER: _OF_ALL_TYPES}
    ),
    result="Y",
    further_results=("Indices",),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
)
