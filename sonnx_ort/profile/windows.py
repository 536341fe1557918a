"""Windows that move over two spatial axes, and MaxPool.

Source: SONNX Conv, ConvInteger and MaxPool, drafts of the working group, section Attributes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sonnx_ort.kernel.sizes import Bounds, reach
from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import IEEE_TYPES, ElementType, Family
from sonnx_ort.profile.graph import WRITE_DEFAULT
from sonnx_ort.profile.options import WRITE_DOWN
from sonnx_ort.profile.requirements.attributes import (
    admitted,
    attribute_is,
    given_attributes,
    held,
)
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.shapes import of_rank, on_shapes
from sonnx_ort.profile.rule import Attributes, AttributeValue, Judgement, Rule, proved, violated
from sonnx_ort.remedies import Advice
from sonnx_ort.terms.language import All, NumberSet, Tensor, Term, finite_numbers
from sonnx_ort.terms.operand import Operand, bounds_of_axis

SPATIAL = (2, 3)
"""The spatial axes; the others are batch and channels."""


def auto_pad_is_not_set(rules: RulesOf, tag: str, offset: int, at: str, *, given: bool) -> Rule:
    """The restriction on auto_pad; `given` is whether the rule demands that it is given."""
    return rules(tag, offset, at).states(
        f"The attribute auto_pad is NOTSET{', and stands in the file' if given else ''}.",
        admitted(
            "auto_pad",
            "NOTSET",
            lambda mode: mode == "NOTSET",
            *('auto_pad="NOTSET"', 'auto_pad="SAME_UPPER"'),
            Advice("write the pads and auto_pad=NOTSET; ", WRITE_DOWN, " writes a default"),
            given=given,
        ),
        remark="Its origin is that no attribute has a default." if given else "The words are ours.",
        unenforced="silently computes the pads.",
    )


def attribute_has_numbers(  # noqa: PLR0913, PLR0917 - a row of a table
    rules: RulesOf, offset: int, name: str, count: int, least: int, at: str, **fields: Any
) -> Rule:
    """The rule that an attribute has so many numbers, none below the least."""
    demanded = f"{ {2: 'two', 4: 'four'}[count] } numbers, none below {least}"
    kept, broken = [least] * count, [least] * (count - 1) + [least - 1]
    admits = numbers_from(count, least)
    example = (f"{name}={kept}", f"{name}={broken}", f"give {demanded}")
    return rules(name, offset, f"Attributes, {name}, Constraints [{at}]").states(
        f"The attribute {name} has {demanded}.",
        admitted(name, None, admits, *example),
        **{"survived": False, **fields},
    )


def numbers_from(count: int, least: int) -> Callable[[Any], bool]:
    """Whether a value of an attribute is so many integers, none below the least."""

    def admits(value: Any) -> bool:
        numbers = value if isinstance(value, tuple) else ()
        return len(numbers) == count and all(isinstance(n, int) and n >= least for n in numbers)

    return admits


@dataclass(frozen=True, slots=True)
class Window:
    """The attributes of a window, by spatial axis; ONNX's defaults where they are not usable.

    Attributes:
        dilations: The distances of its elements.
        before: The padding in front of each axis.
        after: The padding after each axis.
    """

    dilations: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]

    @classmethod
    def of(cls, attributes: Attributes) -> "Window":
        """Read the attributes of a node."""
        pads = _numbers(attributes.get("pads"), (0, 0, 0, 0))
        dilations = _numbers(attributes.get("dilations"), (1, 1))
        return cls((dilations[0], dilations[1]), (pads[0], pads[1]), (pads[2], pads[3]))

    def smallest(self, place: int, kernel: int) -> int:
        """The smallest size of a spatial axis that the window fits into, with its padding."""
        padding = self.before[place] + self.after[place]
        return reach(kernel, self.dilations[place]) - padding

    def pads(self, place: int) -> bool:
        """Whether a spatial axis is padded."""
        return bool(self.before[place] or self.after[place])


def kernel_of(attributes: Attributes) -> tuple[int, ...] | None:
    """The attribute kernel_shape, if it is two integers."""
    kernel = attributes.get("kernel_shape")
    return tuple(map(int, kernel)) if _are_integers(kernel, 2) else None  # type: ignore[arg-type]


def _numbers(value: AttributeValue, default: tuple[int, ...]) -> tuple[int, ...]:
    return value if _are_integers(value, len(default)) else default  # type: ignore[return-value]


def _are_integers(value: AttributeValue, count: int) -> bool:
    numbers = value if isinstance(value, tuple) else ()
    return len(numbers) == count and all(isinstance(number, int) for number in numbers)


def bounds_of_size(operand: Operand, axis: int) -> Bounds | None:
    """What the size of an axis is within; None if it is not certain that there is one."""
    if operand.shape is None or operand.scalar_inputs or axis >= len(operand.shape):
        return None
    return bounds_of_axis(operand.shape[axis])


def known_size(operand: Operand, axis: int) -> int | None:
    """The size of an axis, if it is certain."""
    known = bounds_of_size(operand, axis)
    return known.lower if known is not None and known.lower == known.upper else None


_max_pool = RulesOf("MaxPool", 781, survived=True)
_WINDOW = ("kernel_shape", "pads", "dilations")
_X = Tensor("X")
_COUNTED = "C2 of it has their number."
_NONE_OF_THEM = "silently accepts none of them if shapes are not declared, and rejects other"


def _given(tag: str, offset: int, *names: str, since: int = 1) -> Rule:
    named = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
    sentence = f"The attribute{'s' * (len(names) > 1)} {named} stand{'s' * (len(names) == 1)}"
    return _max_pool(tag, offset, "Restrictions [R2]").states(
        f"{sentence} in the file.",
        given_attributes(
            names,
            ", ".join(f"{name} given" for name in names),
            f"{names[0]} left out",
            WRITE_DEFAULT,
        ),
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
        pads = max(window.before[place], window.after[place])
        dilated = reach(size, window.dilations[place])
        if pads >= dilated:
            padded = f"axis {SPATIAL[place]} is padded by {pads}"
            return violated(f"{padded}, and the dilated kernel has size {dilated}")
    return proved("no padding is as long as the dilated kernel")


MAX_POOL = _max_pool.operator(
    Family.FLOAT,
    Family.INTEGER,
    rules=[
        *_max_pool.general(
            (*IEEE_TYPES, ElementType.INT8, ElementType.UINT8),
            at="MaxPool (float)",
            remark="The draft has another section for integers of 8 bits.",
            sentence="Tensors X and Y have the same type: float16, float, double, int8 or uint8.",
        ),
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
            unenforced="silently gives NaN or a number for a window with a NaN, by its position "
            "and the type. In float it gives the lowest finite number for many "
            "windows of -inf.",
        ),
    ],
    description="""
        `MaxPool`: the largest element in each position of a window that moves over two spatial
        axes.

        Results: elements of X, in its type; padding is never the largest. The second output has the
        indices of these elements in X, counted from its first one. Of equal elements it is the
        first.

        The draft of 2026-10-03 in ericjenn/sonnx is not followed. It takes any rank from 3 on, does
        not support the second output, and gives NaN for a window with a NaN.

        ONNX Runtime 1.32.0 has kernels for float16, float, double, int8 and uint8, and rejects
        empty tensors, except an empty batch. Versions up to 1.28 give wrong indices of elements
        that are the smallest number of their type. Each rule says what it does with a violation.
    """,
    operands=("X",),
    versions=(1, 8, 10, 11, 12, 22),
    further_results=("Indices",),
    oldest_kernels=1,
)
