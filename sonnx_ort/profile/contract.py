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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sonnx_ort.kernel.bounds import BOOLEAN, LIMITS
from sonnx_ort.kernel.intervals import within
from sonnx_ort.kernel.node import FLOATS
from sonnx_ort.kernel.sizes import LARGEST, Bounds, Interval, Size, Symbolic
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.terms.language import NumberSet, finite_limits


@dataclass(frozen=True, slots=True)
class ValueContract:
    """What the elements of a value may be; NaN never.

    Attributes:
        value: The name of an input of the graph, or of a value that a node of the graph computes.
        range: The smallest and the largest number; None for all finite numbers.
        message: What to tell a person if it is broken; empty for nothing more.
    """

    value: str
    range: tuple[float, float] | None = None
    message: str = ""

    @property
    def numbers(self) -> NumberSet:
        """The numbers that are allowed, by type."""
        outside = "NaN or infinite"
        if self.range is not None:
            outside = f"outside of {self.range[0]:.9g} to {self.range[1]:.9g}"
        finding = f"{self.value} is {outside} ({self.message})" if self.message else ""
        return NumberSet(outside, self.limits, admits_nan=False, finding=finding)

    def limits(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The smallest and the largest number of a type that is allowed."""
        if self.range is None:
            return finite_limits(dtype)
        if dtype.kind in "biu":
            own = LIMITS.get(dtype.name, BOOLEAN)
            ends = max(self.range[0], own.lower), min(self.range[1], own.upper)
            return math.ceil(ends[0]), math.floor(ends[1])
        with np.errstate(over="ignore"):
            lower, upper = (float(dtype.type(end)) for end in self.range)
        return lower, upper

    def intersected(
        self, element_type: ElementType, before: Bounds | Interval | None
    ) -> Bounds | Interval | None:
        """What is known of the value behind the guard of this entry.

        Args:
            element_type: The type of the value.
            before: What is known in front of it; of floats an interval, of integers bounds.
        """
        limits = self.limits(element_type.dtype)
        if element_type in FLOATS:
            demanded = within(*limits, element_type)
            if not isinstance(before, Interval):
                return demanded
            # Where nothing is common to both, no run passes the guard.
            lower = before.lower.clip(demanded.lower, demanded.upper)
            upper = before.upper.clip(demanded.lower, demanded.upper)
            return Interval(lower, upper, nan=False)
        own = LIMITS.get(element_type)
        if own is None:
            return before
        known = before if isinstance(before, Bounds) else own
        least, most = limits
        return Bounds(
            known.lower if least == -math.inf else max(known.lower, int(least)),
            known.upper if most == math.inf else min(known.upper, int(most)),
        )


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
        """The open size that the name stands for behind the guard of this entry."""
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
    """The axes of an input, in place of its declaration.

    Attributes:
        input: The name of the input.
        axes: For each axis its size, its name, or None for any size.
    """

    input: str
    axes: tuple[int | str | None, ...]


@dataclass(frozen=True)
class Contract:
    """What the values of a model may be.

    Attributes:
        values: One entry for each value whose numbers are limited, in the order of the file.
        shapes: One entry for each input whose axes are not as declared.
        sizes: One entry for each name of axes.
    """

    values: tuple[ValueContract, ...] = ()
    shapes: tuple[ShapeContract, ...] = ()
    sizes: tuple[SizeContract, ...] = ()

    def __bool__(self) -> bool:
        """Whether it demands anything."""
        return bool(self.values or self.limits_sizes)

    @property
    def limits_sizes(self) -> bool:
        """Whether it demands anything of sizes."""
        return bool(self.shapes or self.sizes)

    def of(self, value: str) -> ValueContract | None:
        """The entry for a value; None if there is none."""
        return self._by_name.get(value)

    @functools.cached_property
    def _by_name(self) -> Mapping[str, ValueContract]:
        return {entry.value: entry for entry in self.values}

    def axes_of(
        self, value: str, declared: Sequence[int | str | None] | None
    ) -> tuple[Axis, ...] | None:
        """What the axes of an input have to be; None if nothing is demanded of them.

        Args:
            value: The name of the input.
            declared: Its declared axes; None if it may be of any rank.
        """
        own = next((entry.axes for entry in self.shapes if entry.input == value), None)
        stated = declared if own is None else own
        axes = tuple(self._axis(each) for each in stated or ())
        demands = any(isinstance(axis, SizeContract) for axis in axes)
        return axes if own is not None or demands else None

    def _axis(self, stated: int | str | None) -> Axis:
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


NO_CONTRACT = Contract()
"""The contract that demands nothing."""


@dataclass(frozen=True, slots=True)
class ShapeDemand:
    """What a contract demands of the shape of one input.

    Attributes:
        input: The name of the input.
        axes: What the size of each axis has to be.
        equal: The axes of the input that have the size of an axis of an earlier input, or of an
            earlier axis of it: the own axis, the other input's name, and its axis.
    """

    input: str
    axes: tuple[Axis, ...]
    equal: tuple[tuple[int, str, int], ...] = ()

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the inputs whose shapes decide, its own first."""
        return tuple(dict.fromkeys((self.input, *(other for _, other, _ in self.equal))))

    def to_json(self) -> str:
        """Write it as one line of JSON."""
        axes = [asdict(axis) if isinstance(axis, SizeContract) else axis for axis in self.axes]
        return json.dumps([self.input, axes, self.equal], ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "ShapeDemand":
        """Parse the result of `to_json`."""
        name, axes, equal = json.loads(text)
        read = (SizeContract(**axis) if isinstance(axis, dict) else axis for axis in axes)
        return cls(name, tuple(read), tuple(map(tuple, equal)))


def shape_demands(
    contract: Contract, inputs: Iterable[tuple[str, Sequence[int | str | None] | None]]
) -> Mapping[str, ShapeDemand]:
    """What a contract demands of the shapes of inputs, by their names.

    Args:
        contract: The contract.
        inputs: The names of all inputs of the graph, each with its declared axes; None if it may
            be of any rank.
    """
    demands, first = {}, dict[str, tuple[str, int]]()
    for name, declared in inputs:
        axes, equal = contract.axes_of(name, declared), []
        for index, axis in enumerate(axes or ()):
            if isinstance(axis, SizeContract):
                before = first.setdefault(axis.name, (name, index))
                if before != (name, index):
                    equal.append((index, *before))
        if axes is not None:
            demands[name] = ShapeDemand(name, axes, tuple(equal))
    return demands


def contract_to_json(contract: Contract) -> str:
    """Write a contract as one line of JSON."""
    return json.dumps(contract_document(contract), ensure_ascii=False)


def contract_document(contract: Contract) -> list[Mapping[str, object]]:
    """A contract as lists and dictionaries; infinities are text."""
    values = (
        {
            "value": entry.value,
            **({} if entry.range is None else {"range": [_end(end) for end in entry.range]}),
            **_message(entry.message),
        }
        for entry in contract.values
    )
    shapes = ({"input": entry.input, "shape": [*entry.axes]} for entry in contract.shapes)
    sizes = (
        {
            "size": entry.name,
            "range": [entry.least, entry.most],
            **({} if entry.multiple_of == 1 else {"multiple_of": entry.multiple_of}),
            **_message(entry.message),
        }
        for entry in contract.sizes
    )
    return [*values, *shapes, *sizes]


def _message(text: str) -> dict[str, str]:
    return {"message": text} if text else {}


def _end(end: float) -> float | str:
    return str(end) if math.isinf(end) else end


def text_of(entry: ValueContract | None) -> str:
    """Write one entry as JSON; an empty text for none."""
    return "" if entry is None else contract_to_json(Contract((entry,)))


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
    return Contract(
        tuple(
            ValueContract(
                str(entry["value"]),
                _ends(entry["range"]) if "range" in entry else None,
                str(entry.get("message", "")),
            )
            for entry in document
            if "value" in entry
        ),
        tuple(
            ShapeContract(str(entry["input"]), tuple(entry["shape"]))
            for entry in document
            if "input" in entry
        ),
        tuple(
            SizeContract(
                str(entry["size"]),
                *_sizes(entry["range"]),
                int(entry.get("multiple_of", 1)),
                str(entry.get("message", "")),
            )
            for entry in document
            if "size" in entry
        ),
    )


def _ends(given: Sequence[float | str]) -> tuple[float, float]:
    lower, upper = (float(end) if isinstance(end, str) else end for end in given)
    if not lower <= upper:
        raise ValueError(f"{lower} to {upper} is no range")
    return lower, upper


def _sizes(given: Sequence[int]) -> tuple[int, int]:
    least, most = map(int, given)
    return least, most
