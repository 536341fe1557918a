"""The rules of contracts: what a model's user demands of its inputs and values.

They are our own, and bind the values that a contract names.
"""

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.contract import (
    Axis,
    Contract,
    SizeContract,
    ValueContract,
    format_ends,
)
from sonnx_ort.profile.requirements.elements import OnElements, on_elements
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import (
    Judgement,
    Rule,
    Status,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.evaluation import Answer, Shapes, answer_in_run
from sonnx_ort.terms.language import All, Compare, IsMultiple, Size, Tensor, Term
from sonnx_ort.terms.operand import Operand, Shape, first_index, format_index


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


def contract_rule(entry: ValueContract | ShapeDemand) -> Rule:
    """The rule that binds a value with a contract."""
    if isinstance(entry, ShapeDemand):
        return WITHIN_SIZES
    if entry.whole:
        return WHOLE
    return WITHIN_FINITE if entry.range is None else WITHIN_RANGE


@functools.cache
def contract_requirement(entry: ValueContract | ShapeDemand) -> "OnElements | OnSizes":
    """The requirement on a value with a contract; of a value's entry one of `demands`."""
    if isinstance(entry, ShapeDemand):
        return sizes_requirement(entry)
    names, numbers = (entry.value,), entry.numbers
    if entry.whole or entry.axis is not None:
        return OnValue(names, entry.value, lambda _: numbers, of=entry)
    return OnElements(names, entry.value, lambda _: numbers)


_NO_ENTRY = ValueContract("value", whole=True)


@dataclass(frozen=True, slots=True)
class OnValue(OnElements):
    """The elements of a value are whole numbers, or each is in the range of its index.

    Attributes:
        of: What its contract says.
    """

    of: ValueContract = _NO_ENTRY

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Check constants element by element, and of others what holds at each index."""
        (operand,) = operands
        if operand.constant is None:
            known = "the elements depend on the inputs"
            return at_run_time(known) if self.of.whole else OnElements.judge(self, operands)
        found = self.violation_of((self.of.value,), (operand.constant,))
        named = f"the constant '{operand.value}'"
        return proved(f"{named} is as demanded") if found is None else violated(found.reason)

    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Find the first element that is no whole number, or outside of the range of its index."""
        (array,), entry = arrays, self.of
        own = array.dtype if array.dtype.kind in "iu" else np.float64
        limits = np.array(entry.limits(array.dtype), own)
        outside = np.isnan(array)
        if entry.axis is None:
            outside |= np.isinf(array) | (array != np.floor(array))
        else:
            line = [1] * array.ndim
            line[entry.axis] = len(limits)
            outside |= (array < limits[:, 0].reshape(line)) | (array > limits[:, 1].reshape(line))
        if not outside.any():
            return None
        index = first_index(outside)
        text = self.finding
        if entry.axis is not None:
            ends = format_ends(entry.ranges[index[entry.axis]])
            said = f"outside of {ends} at index {index[entry.axis]} of axis {entry.axis}"
            text = entry.finding(said) or f"{entry.value} is {said}"
        value = array[index].item()
        return Violation(f"{text}: {names[0]}{format_index(index)} = {value}", index, (value,))


WITHIN_RANGE = Rule(
    "Contract.range", 1317, on_elements("value", ValueContract("value", (0.0, 1.0)).numbers)
)

WITHIN_FINITE = Rule("Contract.finite", 1318, on_elements("value", ValueContract("value").numbers))


# Terms are the same if they are one object, and answers about them are kept.
@functools.cache
def _parts(demand: ShapeDemand) -> tuple[tuple[Term, Axis], ...]:
    """What is demanded of the rank and of each axis, and the axis that it is about."""
    return tuple(_each_part(demand))


def _each_part(demand: ShapeDemand) -> Iterator[tuple[Term, Axis]]:
    tensor = Tensor(demand.input)
    yield tensor.rank == len(demand.axes), None
    for index, axis in enumerate(demand.axes):
        size = tensor.size(index)
        match axis:
            case int():
                yield size == axis, axis
            case SizeContract(least=least, most=most, multiple_of=factor):
                yield size >= least, axis
                yield size <= most, axis
                if factor > 1:
                    yield IsMultiple(size, factor), axis
        for own, other, place in demand.equal:
            if own == index:
                yield size == Tensor(other).size(place), axis


_NOTHING = ShapeDemand("input", ())


@dataclass(frozen=True, slots=True)
class OnSizes(OnShapes):
    """The shape of an input is as its contract demands.

    Attributes:
        of: What that is.
    """

    of: ShapeDemand = _NOTHING

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Read the term of the known shapes, and say what the contract allows."""
        found = OnShapes.judge(self, operands)
        if found.status is not Status.VIOLATED:
            return found
        by_name = {operand.name: operand for operand in operands}
        shapes = {operand.name: operand.shape for operand in operands}
        known = Shapes(shapes, lambda name, size: by_name[name].certain(size))
        return violated(self._broken(operands[0].shape or (), known.answer) or found.evidence)

    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Read the shapes of arrays that have these names, and say what the contract allows."""
        shapes = tuple(array.shape for array in arrays)
        words = self._broken(shapes[0], lambda term: answer_in_run(term, tuple(names), shapes))
        return Violation(words) if words else None

    def _broken(self, shape: Shape, answer: Callable[[Term], Answer]) -> str:
        """What a shape is that is not as demanded, as a clause; empty if it is."""
        for term, axis in _parts(self.of):
            found = answer(term)
            if found.holds is not False:
                continue
            if not isinstance(axis, SizeContract):
                return found.words
            match term:
                case Compare(Size(axis=index) as size, _, int()) | IsMultiple(
                    Size(axis=index) as size
                ) if isinstance(given := shape[index], int):
                    message = f" ({axis.message})" if axis.message else ""
                    allowed = f"{_sizes(axis)} for {axis.name}{message}"
                    return f"{answer(size == given).words}; the contract says {allowed}"
            return f"{found.words}; {_stated(axis)}"
        return ""

    @property
    def stated(self) -> str:
        """The shape that is allowed, such as `(batch is 1 to 8, 3)`."""
        axes = ("?" if axis is None else _stated(axis) for axis in self.of.axes)
        return f"({', '.join(axes)})"


def _stated(axis: int | str | SizeContract) -> str:
    """What a contract allows of an axis, as a clause."""
    if not isinstance(axis, SizeContract):
        return str(axis)
    message = f" ({axis.message})" if axis.message else ""
    return f"{axis.name} is {_sizes(axis)}{message}"


def _sizes(axis: SizeContract) -> str:
    """The sizes that an entry allows: `32 to 96 in multiples of 32`."""
    if axis.least == axis.most:
        return str(axis.least)
    steps = f" in multiples of {axis.multiple_of}" if axis.multiple_of > 1 else ""
    return f"{axis.least} to {axis.most}{steps}"


def sizes_requirement(demand: ShapeDemand) -> OnSizes:
    """The requirement on the shape of an input."""
    whole = All(tuple(term for term, _ in _parts(demand)))
    return OnSizes(demand.operands, lambda _: whole, of=demand)


WITHIN_SIZES = Rule(
    "Contract.sizes",
    1319,
    sizes_requirement(ShapeDemand("input", (SizeContract("batch", 1, 8), 3))),
)

WHOLE = Rule("Contract.whole", 1320, OnValue(("value",), "value", lambda _: _NO_ENTRY.numbers))

CONTRACT_RULES = (WITHIN_RANGE, WITHIN_FINITE, WITHIN_SIZES, WHOLE)
"""The rules that a contract selects."""
