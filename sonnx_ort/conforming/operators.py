"""Operators that changes add, and templates: how an operator outside the set is written by them.

New operators are written as calls: `op.Mul(x, 2.0)`. A number becomes a constant of the type of
`op`, a list of integers one of int64. Each operator is written in the form that the model's opset
has: what became an input in some version is an attribute before it.

A template, which is a function of `Operators` and of a node's inputs, writes an operator outside
the set by operators of the set. It raises `NoChangeError` with the reason if it cannot.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.bounds import Bound
from sonnx_ort.conforming.change import (
    SLICED_BY_INPUTS,
    Attribute,
    NoChangeError,
    NodeEdit,
    TooEarlyError,
)
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.terms.operand import bounds_of_element

Given = ir.Value | npt.NDArray[Any] | Sequence[int] | float | None
"""What an operator may read: a value, elements, integers, or a number of the operand's type."""

_INPUT_SINCE: Mapping[tuple[str, str], tuple[int, int]] = {
    ("Squeeze", "axes"): (13, 1),
    ("Unsqueeze", "axes"): (13, 1),
    ("ReduceSum", "axes"): (13, 1),
    ("ReduceMax", "axes"): (18, 1),
    ("ReduceMean", "axes"): (18, 1),
    ("Clip", "min"): (11, 1),
    ("Clip", "max"): (11, 2),
}
"""The first version in which an attribute is an input, and which input it is."""

WITH_LAST_INDEX = 12
"""The first version of ArgMax that says which of several places it gives."""


@dataclass(frozen=True, slots=True)
class Operators:
    """Adds operators in front of a node.

    `dtype` is the type of which numbers become constants: in a template, that of the operand.
    """

    edit: NodeEdit
    dtype: ir.DataType = ir.DataType.INT64

    def __getattr__(self, operator: str) -> Callable[..., ir.Value]:
        """What adds this operator: given its inputs, its attributes by name, and a node's name."""

        def add(
            *inputs: Given, name: str | None = None, **attributes: Attribute | Given
        ) -> ir.Value:
            return self.add(operator, inputs, attributes, name)

        return add

    def attribute(self, name: str) -> Any:
        """An attribute of the node, as `NodeEdit.attribute` gives it."""
        return self.edit.attribute(name)

    def elements(self, value: ir.Value) -> npt.NDArray[Any]:
        """The elements of an input, as `NodeEdit.elements_of` gives them."""
        return self.edit.elements_of(value)

    def integers(self, value: ir.Value) -> list[int]:
        """The integers that an input holds, whatever its rank is."""
        return [int(each) for each in self.elements(value).ravel()]

    def integer(self, value: ir.Value) -> int:
        """The only integer of an input, as `NodeEdit.integer_of` gives it."""
        return self.edit.integer_of(value)

    def rank(self, value: ir.Value) -> int:
        """The certain rank of a value.

        Raises:
            NoChangeError: It is not known.
        """
        return len(self.edit.shape(value))

    def axis(self, value: ir.Value) -> int:
        """The axis of a value that the attribute `axis` names, counted from the front.

        Raises:
            NoChangeError: The rank is not known, or 0.
        """
        return self.axis_of(self.attribute("axis"), self.rank(value))

    def axis_of(self, axis: int, rank: int) -> int:
        """An axis of so many, counted from the front.

        Raises:
            NoChangeError: There is none of this number.
        """
        if not -rank <= axis < rank:
            raise NoChangeError(f"an operand of rank {rank} has no axis {axis}")
        return int(axis) % rank

    def axes_of(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Axes of so many, counted from the front, in their order.

        Raises:
            NoChangeError: There is none of such a number, or one is named twice.
        """
        found = sorted(self.axis_of(axis, rank) for axis in axes)
        if len(set(found)) < len(found):
            raise NoChangeError(f"it names an axis twice: {', '.join(map(str, axes))}")
        return tuple(found)

    def require_elements(self, value: ir.Value, axes: Iterable[int]) -> None:
        """Refuse a value that may have no elements along one of these axes.

        Raises:
            NoChangeError: It may.
        """
        shape = self.edit.shape(value)
        for axis in axes:
            bounds = bounds_of_element(shape[axis])
            if bounds is None or bounds.lower < 1:
                raise NoChangeError(
                    f"axis {axis} of '{value.name}' may be empty", self.edit.fixing_sizes(value)
                )

    def is_within(self, indices: ir.Value, least: int, most: int | None = None) -> bool:
        """Whether all integers that a value holds are within limits in every run."""
        known = self.edit.facts.constant(indices)
        if known is not None:
            fits = (known >= least) & (True if most is None else known <= most)
            return bool(np.all(fits))
        (operand,) = self.edit.facts.operands(("indices",), (indices,))
        bounds = operand.bounds
        return (
            bounds is not None and bounds.lower >= least and (most is None or bounds.upper <= most)
        )

    def unless(self, wrong: ir.Value, numbers: ir.Value) -> ir.Value:
        """The numbers, of int64, in a run in which none of some booleans is true; else an error.

        An index of 1 is beyond the only element, of which Gather tells. It is so of empty operands
        too, and at each level of optimization.
        """
        zeros = self.Gather([0], self.cast(wrong, ir.DataType.INT64), axis=0)
        return self.Add(numbers, zeros)

    def cast(self, value: ir.Value, dtype: ir.DataType) -> ir.Value:
        """Convert elements."""
        return self.add("Cast", [value], {"to": dtype.value})

    def number(self, number: float, dtype: ir.DataType | None = None) -> ir.Value:
        """A number, by default of the type of the node's operand."""
        with np.errstate(over="ignore"):
            elements = np.asarray(number).astype((dtype or self.dtype).numpy())
        return self.edit.constant(elements, "number")

    def slice(self, value: ir.Value, axis: int, start: int, end: int) -> ir.Value:
        """A part of an axis, which is counted from the front."""
        return self.add("Slice", [value, [start], [end], [axis], [1]], {})

    def at(self, value: ir.Value, axis: int, index: int) -> ir.Value:
        """What stands at an index of an axis, which is counted from the front and removed."""
        return self.squeeze(self.slice(value, axis, index, index + 1), [axis])

    def concat(self, parts: Iterable[ir.Value], axis: int) -> ir.Value:
        """Join values along an axis; a single one is given as it is."""
        first, *others = parts
        return self.add("Concat", [first, *others], {"axis": axis}) if others else first

    def squeeze(self, value: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Remove axes; without any, the value itself is given."""
        return self.add("Squeeze", [value], {"axes": axes}) if axes else value

    def unsqueeze(self, value: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Insert axes of size 1; without any, the value itself is given."""
        return self.add("Unsqueeze", [value], {"axes": axes}) if axes else value

    def size(self, value: ir.Value, axis: int) -> ir.Value:
        """The size of an axis in a run, as one element of int64."""
        return self.slice(self.add("Shape", [value], {}), 0, axis, axis + 1)

    def sizes(self, value: ir.Value, axes: Sequence[int]) -> ir.Value:
        """The sizes of axes in a run, as int64 of one axis."""
        return self.add("Gather", [self.add("Shape", [value], {}), list(axes)], {"axis": 0})

    def add(
        self,
        operator: str,
        inputs: Sequence[Given],
        attributes: Mapping[str, Attribute | Given],
        name: str | None = None,
    ) -> ir.Value:
        """Add an operator in the form that the model's opset has."""
        if not operator_version(operator, self.edit.opset):
            raise TooEarlyError(
                f"version {self.edit.opset} of the standard operators has no {operator}"
            )
        if operator == "Slice" and self.edit.opset < SLICED_BY_INPUTS:
            raise TooEarlyError(
                f"version {self.edit.opset} of the standard operators slices by attributes"
            )
        read, written = list(inputs), dict(attributes)
        for (known, attribute), (since, position) in _INPUT_SINCE.items():
            if known == operator and attribute in written and self.edit.opset >= since:
                read += [None] * (position + 1 - len(read))
                read[position] = cast(Given, written.pop(attribute))
        values = [self._as_value(each) for each in read]
        given = {key: value for key, value in written.items() if value is not None}
        return self.edit.add(operator, values, cast(dict[str, Attribute], given), name)

    def _as_value(self, given: Given) -> ir.Value | None:
        match given:
            case None | ir.Value():
                return given
            case int() | float():
                return self.number(given)
            case _:
                return self.edit.constant(given, "given")


Result = ir.Value | tuple[ir.Value | None, ...]
"""What takes the place of a node's outputs; None for one of which it is not known."""


@dataclass(frozen=True, slots=True)
class Template:
    """How an operator is written by operators of the set.

    Attributes:
        operator: The operator, with its domain if that is not the standard one.
        make: Gives what takes the place of the outputs. A node's optional inputs are None where
            they are omitted.
        exact: The types of the first operand for which every result keeps its bits in every run.
        near: The other types for which the template is written.
        bound: How far results of these may be from those of the operator's own kernel.

    Raises:
        ValueError: There are such types and no bound, or a bound for no type.
    """

    operator: str
    make: Callable[..., Result]
    exact: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()
    bound: Bound | None = None

    def __post_init__(self) -> None:
        """Check that there is a bound for what may be rounded otherwise, and for nothing else."""
        if bool(self.near - self.exact) != (self.bound is not None):
            raise ValueError(f"{self.operator}: a bound is of types of which results may differ")
