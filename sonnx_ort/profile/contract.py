"""The operating envelope of a model: what its inputs, and values inside of it, may be.

A contract is a demand of the model's user. It is enforced where a value enters or is computed, and
is a premise for all that follows.

    Contract(
        (ValueContract("image", (0.0, 1.0)), ValueContract("features")),
        (ShapeContract("image", ("batch", 3, "height", "width")),),
        (SizeContract("batch", 1, 8), SizeContract("height", 32, 640, multiple_of=32)),
    )
"""

import functools
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sonnx_ort.facts.bounds import BOOLEAN, LIMITS
from sonnx_ort.facts.intervals import within
from sonnx_ort.facts.node import FLOATS
from sonnx_ort.facts.ranges import Ends, Interval
from sonnx_ort.facts.sizes import LARGEST, Bounds, Rejected, Size, Symbolic
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.terms.numbers import NumberSet, finite_limits

Limited = tuple[float, float]
"""The smallest and the largest number."""


@dataclass(frozen=True, slots=True)
class ValueContract:
    """What the elements of a value may be; NaN never.

    Attributes:
        value: The name of an input of the graph, or of a value that a node of the graph computes.
        range: The smallest and the largest number, or such a pair for each index of an axis; None
            for all finite numbers.
        message: What to tell a person if it is broken; empty for nothing more.
        axis: The axis whose indices have ranges of their own, negative from the end; None if one
            range is for all elements.
        whole: Whether all elements are whole numbers, held in floats.
    """

    value: str
    range: Limited | tuple[Limited, ...] | None = None
    message: str = ""
    axis: int | None = None
    whole: bool = False

    def __post_init__(self) -> None:
        """Take lists in place of tuples."""
        given: Any = self.range
        if isinstance(given, Sequence):
            ends = (tuple(each) if isinstance(each, list) else each for each in given)
            object.__setattr__(self, "range", tuple(ends))

    @property
    def ranges(self) -> tuple[Limited, ...]:
        """The range of all elements, or that of each index of the axis; none if it has none."""
        given: Any = self.range
        return () if given is None else given if self.axis is not None else (given,)

    @property
    def demands(self) -> tuple["ValueContract", ...]:
        """The same as one entry for each rule: that numbers are whole is a rule of its own."""
        if self.range is None or not self.whole:
            return (self,)
        return replace(self, whole=False), replace(self, range=None, axis=None)

    @property
    def numbers(self) -> NumberSet:
        """The numbers that are allowed, by type; with an axis, at each of its indices."""
        outside = "fractional, NaN or infinite" if self.whole else "NaN or infinite"
        if self.axis is not None:
            outside = f"outside of the range of its index on axis {self.axis}"
        elif self.ranges:
            outside = f"outside of {format_ends(self.ranges[0])}"
        return NumberSet(outside, self._overlap, admits_nan=False, finding=self.finding(outside))

    def finding(self, outside: str) -> str:
        """What an element is that breaks the entry, with its message; empty if it has none."""
        return f"{self.value} is {outside} ({self.message})" if self.message else ""

    def limits(self, dtype: np.dtype[Any]) -> tuple[Limited, ...]:
        """The smallest and the largest number of a type that is allowed, for each range."""
        return tuple(self._in_type(dtype, ends) for ends in self.ranges) or (finite_limits(dtype),)

    def _overlap(self, dtype: np.dtype[Any]) -> Limited:
        lower, upper = zip(*self.limits(dtype), strict=True)
        return max(lower), min(upper)

    @staticmethod
    def _in_type(dtype: np.dtype[Any], ends: Limited) -> Limited:
        if dtype.kind in "biu":
            return _integers_within(LIMITS.get(dtype.name, BOOLEAN), ends)
        with np.errstate(over="ignore"):
            least, most = (float(dtype.type(float(end))) for end in ends)
        # An end that is a number never lets infinity pass, also where it is rounded to it.
        smallest, largest = finite_limits(dtype)
        if least == -math.inf < ends[0]:
            least = smallest
        if ends[1] < math.inf == most:
            most = largest
        return least, most

    def intersected(
        self,
        element_type: ElementType,
        before: Bounds | Interval | None,
        shape: Sequence[object] | None = None,
    ) -> Bounds | Interval | None:
        """What is known of the value after the guard of this entry.

        Args:
            element_type: The type of the value.
            before: What is known in front of it; of floats an interval, of integers bounds.
            shape: The sizes of the value, if they are known: then indices have intervals.
        """
        limits = self.limits(element_type.dtype)
        if element_type in FLOATS:
            demanded = within(*self._ends(limits, shape), element_type)
            if not isinstance(before, Interval):
                return demanded
            if before.lower.size > 1 < demanded.lower.size:
                before = before.uniform
            # Where nothing is common to both, no run passes the guard.
            lower = before.lower.clip(demanded.lower, demanded.upper)
            upper = before.upper.clip(demanded.lower, demanded.upper)
            return Interval(lower, upper, nan=False)
        own = LIMITS.get(element_type)
        if own is None:
            return before
        known = before if isinstance(before, Bounds) else own
        least, most = min(lower for lower, _ in limits), max(upper for _, upper in limits)
        return Bounds(
            known.lower if least == -math.inf else max(known.lower, int(least)),
            known.upper if most == math.inf else min(known.upper, int(most)),
        )

    def _ends(self, limits: Sequence[Limited], shape: Sequence[object] | None) -> tuple[Ends, Ends]:
        """The ends of floats: those of each index if there is such an axis, else of all."""
        lower, upper = np.array(limits, np.float64).T
        if self.whole:
            lower, upper = np.ceil(lower), np.floor(upper)
        axis, rank = self.axis, 0 if shape is None else len(shape)
        if axis is None or shape is None or not -rank <= axis < rank or shape[axis] != len(limits):
            return lower.min(), upper.max()
        places = [-1 if place == axis % rank else 1 for place in range(rank)]
        return lower.reshape(places), upper.reshape(places)


def _integers_within(own: Bounds, ends: Limited) -> tuple[int, int]:
    """The smallest and the largest integer of a type in a range, whose ends may be infinite."""
    lower, upper = ends
    least = own.upper + 1 if lower > own.upper else math.ceil(max(lower, own.lower))
    most = own.lower - 1 if upper < own.lower else math.floor(min(upper, own.upper))
    return least, most


def format_ends(ends: Limited) -> str:
    """The ends of a range with all their digits: `0 to 9223372036854775807`."""
    # The digits of a number of numpy stand in more letters.
    numbers = (end if isinstance(end, int) else float(end) for end in ends)
    return " to ".join(repr(number).removesuffix(".0") for number in numbers)


@dataclass(frozen=True, slots=True)
class SizeContract:
    """What the size of each axis with a name may be. All axes of the name have one size.

    Attributes:
        name: The name of axes of inputs.
        least: The smallest size.
        most: The largest size, at least the smallest.
        multiple_of: What the size is a multiple of.
        message: What to tell a person if it is broken; empty for nothing more.
    """

    name: str
    least: int = 0
    most: int = LARGEST
    multiple_of: int = 1
    message: str = ""

    @property
    def sizes(self) -> range:
        """The sizes that are allowed."""
        first = -(-self.least // self.multiple_of) * self.multiple_of
        return range(first, self.most + 1, self.multiple_of)

    @property
    def size(self) -> Size:
        """The open size that the name stands for after the guard of this entry."""
        ends = Bounds(self.sizes[0], self.sizes[-1])
        return Symbolic.named(self.name, ends, self.multiple_of)


def is_size(given: object) -> bool:
    """Whether something is a size that a contract can name."""
    return type(given) is int and 0 <= given <= LARGEST


Axis = int | SizeContract | str | None
"""What the size of an axis has to be: a number, or what a name allows. Another name or None says
that it may be anything."""


@dataclass(frozen=True, slots=True)
class ShapeContract:
    """The axes of an input, in place of those that the model leaves open.

    A size that the model declares stays, for ONNX Runtime demands it.

    Attributes:
        input: The name of the input.
        axes: For each axis its size, its name, or None for any size that the model admits.
    """

    input: str
    axes: tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class TypeContract:
    """The element type that an input is declared with; ONNX Runtime accepts no other.

    Attributes:
        input: The name of the input.
        dtype: The ONNX name of the type, such as "float".
    """

    input: str
    dtype: str


@dataclass(frozen=True, slots=True)
class StateContract:
    """A state of a model that is called in steps: what one call gives, the next one takes.

    Attributes:
        input: The name of the input, which has an entry.
        output: The name of the output, which keeps the same entry.
    """

    input: str
    output: str


_CLASSES: Mapping[str, type] = {
    "values": ValueContract,
    "shapes": ShapeContract,
    "sizes": SizeContract,
    "states": StateContract,
    "types": TypeContract,
}
"""The class of the entries of each part of a contract."""


@dataclass(frozen=True)
class Contract:
    """What the values of a model may be.

    Attributes:
        values: One entry for each value whose numbers are limited, in the order of the file, and
            after them those that outputs have as states.
        shapes: One entry for each input whose axes the model leaves open.
        sizes: One entry for each name of axes.
        states: One entry for each state.
        types: One entry for each input whose element type is stated.
    """

    values: tuple[ValueContract, ...] = ()
    shapes: tuple[ShapeContract, ...] = ()
    sizes: tuple[SizeContract, ...] = ()
    states: tuple[StateContract, ...] = ()
    types: tuple[TypeContract, ...] = ()

    def __post_init__(self) -> None:
        """Demand of the outputs of states what is demanded of their inputs.

        Raises:
            TypeError: An entry is of another class.
        """
        for name, kind in _CLASSES.items():
            given: Any = getattr(self, name)
            if not (isinstance(given, Sequence) and all(isinstance(e, kind) for e in given)):
                raise TypeError(
                    f"Contract(): '{name}' is {given!r:.60}; give a tuple of {kind.__name__}"
                )
            object.__setattr__(self, name, tuple(given))
        entries = {entry.value: entry for entry in self.values}
        kept = (
            replace(entries[each.input], value=each.output)
            for each in self.states
            if each.input in entries and each.output not in entries
        )
        object.__setattr__(self, "values", (*self.values, *kept))

    def keeps(self, state: StateContract) -> bool:
        """Whether the same is demanded of the input and of the output of a state."""
        given, result = self.of(state.input), self.of(state.output)
        return given is not None and result == replace(given, value=state.output)

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.values or self.limits_sizes or self.states or self.types)

    @functools.cached_property
    def limits_sizes(self) -> bool:
        """Whether it demands anything of sizes."""
        return bool(self.shapes or self.sizes)

    def of_inputs(self, inputs: Iterable[str]) -> "Contract":
        """What it says of inputs, without values inside and states."""
        names = frozenset(inputs)
        values = tuple(entry for entry in self.values if entry.value in names)
        types = tuple(entry for entry in self.types if entry.input in names)
        return replace(self, values=values, states=(), types=types)

    def of(self, value: str) -> ValueContract | None:
        """The entry for a value; None if there is none."""
        return self._by_name.get(value)

    @functools.cached_property
    def _by_name(self) -> Mapping[str, ValueContract]:
        return {entry.value: entry for entry in self.values}

    def narrowed(
        self,
        value: str,
        element_type: str,
        before: Bounds | Interval | None,
        shape: Sequence[object] | None,
    ) -> Bounds | Interval | None:
        """What is known of the numbers of a value that the contract names, after its guard.

        Args:
            value: The name of the value.
            element_type: The ONNX name of its type.
            before: What is known in front of the guard.
            shape: The sizes of the value, if they are known.

        Raises:
            Rejected: The type has no range.
        """
        known = ElementType.named(element_type)
        if known is None:
            raise Rejected("its type has no range")
        return self._by_name[value].intersected(known, before, shape)

    def axes_of(
        self, value: str, declared: Sequence[int | str | None] | None
    ) -> tuple[Axis, ...] | None:
        """What the axes of an input have to be; None if nothing is demanded of them.

        Args:
            value: The name of the input.
            declared: Its declared axes; None if it may be of any rank.
        """
        own = next((entry.axes for entry in self.shapes if entry.input == value), None)
        stated = declared if own is None else _with_declared_sizes(own, declared)
        axes = tuple(self._with_contract(each) for each in stated or ())
        demands = any(isinstance(axis, SizeContract) for axis in axes)
        return axes if own is not None or demands else None

    def _with_contract(self, stated: int | str | None) -> Axis:
        if not isinstance(stated, str):
            return stated
        return self._by_size.get(stated, stated)

    @functools.cached_property
    def _by_size(self) -> Mapping[str, SizeContract]:
        named = (each for entry in self.shapes for each in entry.axes if isinstance(each, str))
        found = {name: SizeContract(name) for name in named}
        return found | {entry.name: entry for entry in self.sizes}

    @property
    def size_names(self) -> frozenset[str]:
        """The names whose axes all have one size."""
        return frozenset(self._by_size)


def _with_declared_sizes(
    axes: Sequence[int | str | None], declared: Sequence[int | str | None] | None
) -> Sequence[int | str | None]:
    """The axes of a contract; an open one has the declared size, which ONNX Runtime demands."""
    if declared is None or len(declared) != len(axes):
        return axes
    pairs = zip(axes, declared, strict=True)
    return [size if axis is None and is_size(size) else axis for axis, size in pairs]


NO_CONTRACT = Contract()
"""The contract that demands nothing."""


def contract_to_json(contract: Contract) -> str:
    """Write a contract as one line of JSON."""
    return json.dumps(contract_document(contract), ensure_ascii=False)


def contract_document(contract: Contract) -> list[Mapping[str, object]]:
    """A contract as lists and dictionaries; infinities are text."""
    values = (
        _without_nothing(**asdict(entry) | {"range": _range_document(entry)})
        for entry in contract.values
    )
    shapes = ({"input": entry.input, "shape": [*entry.axes]} for entry in contract.shapes)
    sizes = (
        _without_nothing(
            size=entry.name,
            range=[entry.least, entry.most],
            multiple_of=None if entry.multiple_of == 1 else entry.multiple_of,
            message=entry.message,
        )
        for entry in contract.sizes
    )
    states = ({"state": entry.input, "output": entry.output} for entry in contract.states)
    types = ({"type": entry.input, "dtype": entry.dtype} for entry in contract.types)
    return [*values, *shapes, *sizes, *states, *types]


def _without_nothing(**entry: object) -> Mapping[str, object]:
    return {name: each for name, each in entry.items() if each or type(each) is int}


def _range_document(entry: ValueContract) -> object:
    infinite = (math.inf, -math.inf)
    ranges = [[str(end) if end in infinite else end for end in ends] for ends in entry.ranges]
    return ranges if entry.axis is not None else ranges[0] if ranges else None


def contract_from_json(text: str) -> Contract:
    """Parse the result of `contract_to_json`.

    Raises:
        Exception: It is none; the type depends on what is wrong with it.
    """
    return contract_of(json.loads(text))


def contract_of(document: Sequence[Mapping[str, Any]]) -> Contract:
    """Read the result of `contract_document`.

    Raises:
        Exception: It is none; the type depends on what is wrong with it.
    """
    read: dict[str, list[Any]] = {kind: [] for kind in _ENTRIES}
    for entry in document:
        for kind, made in _ENTRIES.items():
            if kind in entry:
                read[kind].append(made(entry))
    return Contract(*map(tuple, read.values()))


def _value_entry(entry: Mapping[str, Any]) -> ValueContract:
    axis, given, found = entry.get("axis"), entry.get("range"), None
    if given is not None:
        found = _read_ends(given) if axis is None else tuple(map(_read_ends, given))
    if axis is not None and (type(axis) is not int or not given):
        raise ValueError(f"{axis} is no axis with ranges")
    name, message = str(entry["value"]), str(entry.get("message", ""))
    return ValueContract(name, found, message, axis, entry.get("whole", False) is True)


def _read_ends(given: Sequence[float | str]) -> Limited:
    lower, upper = (float(end) if isinstance(end, str) else end for end in given)
    if not (is_end(lower) and is_end(upper) and lower <= upper):
        raise ValueError(f"{lower} to {upper} is no range")
    return lower, upper


def is_end(number: object) -> bool:
    """Whether something can be an end of a range: an infinity, or a number that double has."""
    if type(number) is int:
        return abs(number) <= sys.float_info.max
    return isinstance(number, float) and not math.isnan(number)


def _size_entry(entry: Mapping[str, Any]) -> SizeContract:
    (least, most), factor = map(int, entry["range"]), int(entry.get("multiple_of", 1))
    return SizeContract(str(entry["size"]), least, most, factor, str(entry.get("message", "")))


_ENTRIES: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "value": _value_entry,
    "input": lambda entry: ShapeContract(str(entry["input"]), tuple(entry["shape"])),
    "size": _size_entry,
    "state": lambda entry: StateContract(str(entry["state"]), str(entry["output"])),
    "type": lambda entry: TypeContract(str(entry["type"]), str(entry["dtype"])),
}
"""What reads an entry, by the key that only such an entry has; in the order of `Contract`."""
