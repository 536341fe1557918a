"""Requirements on the elements of operands."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.attributes import DecidedByAttributes
from sonnx_ort.profile.requirements.division import format_index
from sonnx_ort.profile.rule import (
    AttributeValue,
    DependsOnAttributes,
    HintByExample,
    Illustration,
    Judgement,
    Requirement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand, first_index


@dataclass(frozen=True, slots=True)
class WithinInterval(HintByExample):
    """All elements of an operand are within an interval.

    Attributes:
        operands: The names of all operands.
        interval: The smallest and largest allowed number, by type.
        outside: Describes a forbidden element, such as "negative".
        admits_nan: Whether NaN keeps the rule.
    """

    operands: tuple[str, ...]
    position: int
    interval: Callable[[np.dtype[Any]], tuple[float, float]]
    outside: str
    example: Illustration
    admits_nan: bool = True

    subject: ClassVar = Subject.ELEMENTS

    @property
    def deciding(self) -> tuple[str, ...]:
        """The operand."""
        return (self.operands[self.position],)

    @property
    def decides(self) -> "WithinInterval":
        """The requirement itself."""
        return self

    @property
    def finding(self) -> str:
        """What a forbidden element is, as a clause."""
        return f"{self.operands[self.position]} is {self.outside}"

    def limits(self, dtype: np.dtype[Any]) -> tuple[float | None, float | None]:
        """The allowed interval for a type; None for an end at or beyond the type's own limit."""
        lower, upper = self.interval(dtype)
        smallest, largest = -np.inf, np.inf
        if dtype.kind in "iu":
            smallest, largest = np.iinfo(dtype).min, np.iinfo(dtype).max
        return lower if lower > smallest else None, upper if upper < largest else None

    def binds(self, dtype: np.dtype[Any]) -> bool:
        """Whether a type has elements outside the interval."""
        nan_is_outside = not self.admits_nan and dtype.kind not in "iu"
        return nan_is_outside or self.limits(dtype) != (None, None)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the type, then bounds, then a constant."""
        if len(operands) <= self.position:
            return proved(f"{self.operands[self.position]} is left out")
        return self._judge_elements(operands[self.position])

    def _judge_elements(self, operand: Operand) -> Judgement:
        element_type = ElementType.named(operand.element_type)
        unknown = at_run_time(f"the elements of {operand.name} are known only in a run")
        if element_type is None:
            return unknown
        if not self.binds(element_type.dtype):
            return proved(f"no {element_type} is {self.outside}")
        lower, upper = self.limits(element_type.dtype)
        bounds, constant = operand.bounds, operand.constant
        if (
            bounds is not None
            and (lower is None or lower <= bounds.lower)
            and (upper is None or bounds.upper <= upper)
        ):
            return proved(f"every element of {operand.name} '{operand.value}' lies in {bounds}")
        if constant is None or constant.dtype != element_type.dtype:
            return unknown
        index = self._first_outside(constant)
        named = f"the constant {operand.name} '{operand.value}'"
        if index is None:
            return proved(f"no element of {named} is {self.outside}")
        return violated(f"{named} is {self.outside} at {format_index(index)}")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first element outside the interval."""
        if len(arrays) <= self.position:
            return None
        index = self._first_outside(arrays[self.position])
        if index is None:
            return None
        at, values = format_index(index), tuple(array[index].item() for array in arrays)
        text = (f"{n}{at} = {value}" for n, value in zip(self.operands, values, strict=True))
        return Violation(f"{self.finding}: {', '.join(text)}", index, values)

    def _first_outside(self, array: npt.NDArray[Any]) -> tuple[int, ...] | None:
        lower, upper = self.limits(array.dtype)
        masks = [] if lower is None else [array < lower]
        masks += [] if upper is None else [array > upper]
        masks += [] if self.admits_nan else [np.isnan(array)]
        if not masks:
            return None
        outside = np.asarray(functools.reduce(np.logical_or, masks))
        return first_index(outside) if outside.any() else None


_INT32 = Bounds(-(1 << 31), (1 << 31) - 1)


class WithinInt32(HintByExample):
    """All int64 elements are representable in int32.

    ONNX Runtime up to 1.31.1 compares the lower halves of two int64 numbers as signed if the upper
    halves are equal: of 3000000000 and 0 it considers 0 the larger one.
    """

    subject = Subject.ELEMENTS
    example = Illustration(
        "int64 [2000000000, -7]",
        "int64 [3000000000, 0]",
        "compare with Greater and choose with Where, which are right",
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check types, constants and bounds."""
        wide = [o for o in operands if o.element_type in (ElementType.INT64, None)]
        for operand in wide:
            index = _beyond(operand.constant)
            if index is not None and operand.constant is not None:
                number = int(operand.constant[index])
                return violated(f"{operand.name} is a constant that holds {number}")
        unknown = [o.name for o in wide if o.constant is None and not _within(o.bounds)]
        if unknown:
            return at_run_time(f"the elements of {' and '.join(unknown)} are known only in a run")
        return proved("every number is one that int32 can hold" if wide else "no operand is int64")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first number outside int32."""
        for position, array in enumerate(arrays):
            index = _beyond(array)
            if index is not None:
                number = int(array[index])
                reason = f"operand {position} has {number} at {list(index)}, which is beyond int32"
                return Violation(reason, index, (number,))
        return None


def _within(bounds: Bounds | None) -> bool:
    return bounds is not None and bounds.lower in _INT32 and bounds.upper in _INT32


def _beyond(array: npt.NDArray[Any] | None) -> tuple[int, ...] | None:
    if array is None or array.dtype != np.int64:
        return None
    beyond = np.asarray(array != array.astype(np.int32))
    return first_index(beyond) if beyond.any() else None


_EXAMPLE = Illustration(
    "X [2147483520.0, -0.5], float, to int32",
    "X [2147483648.0, NaN], float, to int32",
    "keep such numbers out, for example with Clip, or convert to a wider type",
)


@dataclass(frozen=True, slots=True)
class WithinIntervalIf(DependsOnAttributes, HintByExample):
    """Attributes decide whether a requirement on elements applies.

    Attributes:
        attributes: The names of the attributes.
        applies: Whether the requirement applies to a node, given its attributes by name.
        interval: The requirement.
        otherwise: Why nothing is required of other nodes.
        given: The attributes of the node, by name.
    """

    attributes: tuple[str, ...]
    applies: Callable[[Mapping[str, AttributeValue]], bool]
    interval: WithinInterval
    otherwise: str
    given: tuple[tuple[str, AttributeValue], ...] = ()

    subject: ClassVar = Subject.ELEMENTS

    @property
    def example(self) -> Illustration:
        """That of the requirement."""
        return self.interval.example

    @property
    def applied(self) -> WithinInterval | None:
        """The requirement, if it applies to the node."""
        return self.interval if self.applies(dict(self.given)) else None

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded of a node."""
        given = ((name, attributes[name]) for name in self.attributes if name in attributes)
        return replace(self, given=tuple(given))

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check the attributes, then the operand."""
        applied = self.applied
        return proved(self.otherwise) if applied is None else applied.judge(operands)

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Find the first element outside the interval, if the requirement applies."""
        applied = self.applied
        return None if applied is None else applied.violation(arrays)


class RepresentableAsInteger(DependsOnAttributes, HintByExample):
    """All elements are numbers in the range of the integer type given by the attribute `to`.

    Fractions are truncated and do not matter.
    """

    subject = Subject.ELEMENTS
    attributes = ("to",)
    example = _EXAMPLE

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded where the type is known."""
        to = attributes.get("to")
        return self if not isinstance(to, int) else _held_by(to)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Undecided, because the type is unknown."""
        del operands
        return at_run_time("the node does not say which type it converts to")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """A violation, because the type is unknown."""
        del arrays
        return Violation("the node does not say which type it converts to")


@functools.cache
def _held_by(to: int) -> Requirement:
    names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
    integer = ElementType.named(names.get(to))
    if integer is None or integer.family is not Family.INTEGER:
        return DecidedByAttributes(proved(f"{names.get(to, to)} is no type of integers"), _EXAMPLE)
    return WithinInterval(
        ("X",),
        0,
        lambda dtype: _range_in(dtype, integer),
        f"NaN or beyond {integer}",
        _EXAMPLE,
        admits_nan=False,
    )


def _range_in(dtype: np.dtype[Any], integer: ElementType) -> tuple[float, float]:
    """The smallest and largest finite float that an integer type holds after truncation."""
    held: np.iinfo[Any] = np.iinfo(integer.dtype.name)
    finite: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    with np.errstate(over="ignore"):
        lower = max(dtype.type(float(held.min - 1)), finite.min)
        upper = min(dtype.type(float(held.max + 1)), finite.max)
    # Other types than Python's float may wrap when converted to an integer.
    while int(float(lower)) < held.min:
        lower = np.nextafter(lower, finite.max)
    while int(float(upper)) > held.max:
        upper = np.nextafter(upper, finite.min)
    return float(lower), float(upper)
