"""Numbers that the integer type holds which they are converted to."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.judgement import Judgement, Violation, at_run_time, proved
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.requirements.interval import WithinInterval
from sonnx_ort.profile.requirements.settled import Settled
from sonnx_ort.profile.rule import (
    AttributeValue,
    DependsOnAttributes,
    Illustration,
    Requirement,
    Subject,
)

_EXAMPLE = Illustration(
    "X [2147483520.0, -0.5], float, to int32",
    "X [2147483648.0, NaN], float, to int32",
    "keep such numbers out, for example with Clip, or convert to a wider type",
)


class HeldByTheIntegerType(DependsOnAttributes):
    """No element is NaN, or beyond the integer type that the attribute `to` names.

    What is behind the point does not count: it is cut off.
    """

    subject = Subject.ELEMENTS
    attributes = ("to",)
    example = _EXAMPLE

    def of_node(self, attributes: Mapping[str, AttributeValue]) -> Requirement:
        """Give what is demanded where the type is known."""
        to = attributes["to"]
        return self if not isinstance(to, int) else _held_by(to)

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Nothing is known without the type."""
        del operands
        return at_run_time("the node does not say which type it converts to")

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Without the type, nothing keeps the rule."""
        del arrays
        return Violation("the node does not say which type it converts to")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say how to keep numbers out."""
        del operands
        return self.example.mended


@functools.cache
def _held_by(to: int) -> Requirement:
    names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
    integer = ElementType.named(names.get(to))
    if integer is None or integer.family is not Family.INTEGER:
        return Settled(proved(f"{names.get(to, to)} is no type of integers"), _EXAMPLE)
    return WithinInterval(
        ("X",),
        0,
        lambda dtype: _range_in(dtype, integer),
        f"NaN or beyond {integer}",
        _EXAMPLE,
        admits_nan=False,
    )


def _range_in(dtype: np.dtype[Any], integer: ElementType) -> tuple[float, float]:
    """The smallest and the largest finite float that an integer type holds without its fraction."""
    held: np.iinfo[Any] = np.iinfo(integer.dtype.name)
    finite: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    with np.errstate(over="ignore"):
        lower = max(dtype.type(float(held.min - 1)), finite.min)
        upper = min(dtype.type(float(held.max + 1)), finite.max)
    # What is not a float of Python's may wrap when it becomes an integer.
    while int(float(lower)) < held.min:
        lower = np.nextafter(lower, finite.max)
    while int(float(upper)) > held.max:
        upper = np.nextafter(upper, finite.min)
    return float(lower), float(upper)
