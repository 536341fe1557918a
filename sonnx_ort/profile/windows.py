"""What Conv, ConvInteger and MaxPool share: a window that moves over two spatial axes.

Source: SONNX Conv, ConvInteger and MaxPool, drafts of the working group, section Attributes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sonnx_ort.kernel.sizes import Bounds, reach
from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.requirements.attributes import admitted
from sonnx_ort.profile.rule import Attributes, AttributeValue, Rule
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
            "write the pads and auto_pad=NOTSET; make_explicit=True writes a default",
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
        behind: The padding behind each axis.
    """

    dilations: tuple[int, int]
    before: tuple[int, int]
    behind: tuple[int, int]

    @classmethod
    def of(cls, attributes: Attributes) -> "Window":
        """Read the attributes of a node."""
        pads = _numbers(attributes.get("pads"), (0, 0, 0, 0))
        dilations = _numbers(attributes.get("dilations"), (1, 1))
        return cls((dilations[0], dilations[1]), (pads[0], pads[1]), (pads[2], pads[3]))

    def smallest(self, place: int, kernel: int) -> int:
        """The smallest size of a spatial axis that the window fits into, with its padding."""
        padding = self.before[place] + self.behind[place]
        return reach(kernel, self.dilations[place]) - padding

    @property
    def padding(self) -> tuple[int, ...]:
        """All paddings."""
        return (*self.before, *self.behind)

    def pads(self, place: int) -> bool:
        """Whether a spatial axis is padded."""
        return bool(self.before[place] or self.behind[place])


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
