"""Windows that move over two spatial axes, and MaxPool.

Source: SONNX Conv, ConvInteger and MaxPool, drafts of the working group, section Attributes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sonnx_ort.facts.sizes import Bounds, reach
from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import IEEE_TYPES, ElementType, Family
from sonnx_ort.profile.requirements.attributes import (
    admitted,
    attribute_is,
    given_attributes,
    held,
)
from sonnx_ort.profile.requirements.elements import on_elements
from sonnx_ort.profile.requirements.shapes import of_rank, on_shapes
from sonnx_ort.profile.rule import Attributes, AttributeValue, Judgement, Rule, proved, violated
from sonnx_ort.terms.language import All, Tensor, Term
from sonnx_ort.terms.numbers import NumberSet, finite_numbers
from sonnx_ort.terms.operand import Operand, bounds_of_axis

SPATIAL = (2, 3)
"""The spatial axes; the others are batch and channels."""


def auto_pad_is_not_set(rules: RulesOf, tag: str, offset: int, *, given: bool) -> Rule:
    """The restriction on auto_pad; `given` is whether the rule demands that it is given."""
    return rules(tag, offset).states(
        admitted("auto_pad", "NOTSET", lambda mode: mode == "NOTSET", given=given)
    )


def attribute_has_numbers(
    rules: RulesOf, offset: int, name: str, count: int, least: int, **fields: Any
) -> Rule:
    """The rule that an attribute has so many numbers, none below the least."""
    admits = numbers_from(count, least)
    return rules(name, offset).states(admitted(name, None, admits), **{"survived": False, **fields})


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
        pads = _numbers_or_default(attributes.get("pads"), (0, 0, 0, 0))
        dilations = _numbers_or_default(attributes.get("dilations"), (1, 1))
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


def _numbers_or_default(value: AttributeValue, default: tuple[int, ...]) -> tuple[int, ...]:
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


def _attribute_is_given(tag: str, offset: int, *names: str, since: int = 1) -> Rule:
    """The rule of MaxPool that attributes are written in the file."""
    return _max_pool(tag, offset).states(given_attributes(names), since=since)


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
        *_max_pool.general((*IEEE_TYPES, ElementType.INT8, ElementType.UINT8)),
        _max_pool("R1", 2).states(of_rank(4), survived=False),
        _attribute_is_given("R2", 3, "auto_pad", "kernel_shape", "pads", "strides"),
        _attribute_is_given("R2.storage_order", 4, "storage_order", since=8),
        _attribute_is_given("R2.dilations", 5, "ceil_mode", "dilations", since=10),
        auto_pad_is_not_set(_max_pool, "R3", 6, given=False),
        _max_pool("R4", 7).states(attribute_is("ceil_mode", 0), since=10),
        _max_pool("R5", 8).states(attribute_is("storage_order", 0), since=8),
        attribute_has_numbers(_max_pool, 9, "kernel_shape", 2, 1),
        attribute_has_numbers(_max_pool, 10, "strides", 2, 1),
        attribute_has_numbers(_max_pool, 11, "dilations", 2, 1, survived=True, since=10),
        attribute_has_numbers(_max_pool, 12, "pads", 4, 0, survived=True),
        _max_pool("padding", 13).states(held(_padding_is_narrow, attributes=_WINDOW)),
        _max_pool("fits", 14).states(on_shapes(("X",), _window_fits, attributes=_WINDOW)),
        _max_pool("C1", 15).states(
            on_shapes(("X",), _no_window_steps_over, attributes=("pads", "dilations"))
        ),
        _max_pool("float.C2", 16).states(
            on_elements(
                "X",
                NumberSet(
                    "NaN or -inf",
                    lambda dtype: (finite_numbers(dtype)[0], math.inf),
                    admits_nan=False,
                ),
            )
        ),
    ],
    operands=("X",),
    versions=(1, 8, 10, 11, 12, 22),
    further_results=("Indices",),
    oldest_kernels=1,
)
