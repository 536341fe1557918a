"""Stand-ins for arrays of integers that take down what a kernel does, and what it comes to."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
import z3
from numpy.lib.mixins import NDArrayOperatorsMixin

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.proofs.terms import NotInterpreted

DType = np.dtype[Any]

Meaning = Callable[..., z3.ArithRef]
"""Gives the result: of the steps that it adds to, of a type, and of the operands."""


@dataclass
class Steps:
    """What is known of the results of steps.

    Attributes:
        definitions: What is true of the terms that stand for results.
        requirements: What has to be true for that to be so.
        quotients: Each quotient with its divisor.
    """

    definitions: list[z3.BoolRef] = field(default_factory=list)
    requirements: list[z3.BoolRef] = field(default_factory=list)
    quotients: list[tuple[z3.ArithRef, z3.ArithRef]] = field(default_factory=list)

    def facts(self) -> list[z3.BoolRef]:
        """The definitions, and what is true of each two multiples of one divisor.

        Z3 proves the latter of any numbers at once, but does not come upon it among others.
        """
        pairs = combinations(self.quotients, 2)
        apart = [multiples_lie_apart(x, y, b) for (x, b), (y, other) in pairs if z3.eq(b, other)]
        return [*self.definitions, *apart]


def within(number: z3.ArithRef, dtype: DType) -> z3.BoolRef:
    """Whether a number is one of a type."""
    limits = np.iinfo(dtype)
    return z3.And(number >= int(limits.min), number <= int(limits.max))


def wrapped(number: z3.ArithRef, dtype: DType) -> z3.ArithRef:
    """The integer of a type that stands for a number beyond it by less than the type is wide."""
    limits = np.iinfo(dtype)
    width = 1 << limits.bits
    below = z3.If(number < int(limits.min), number + width, number)
    return z3.If(number > int(limits.max), number - width, below)


def magnitude(number: z3.ArithRef) -> z3.ArithRef:
    """A number without its sign."""
    return z3.If(number < 0, -number, number)


def truncates(quotient: z3.ArithRef, a: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """Whether a quotient is that of two integers without its fraction.

    What it leaves is smaller than the divisor, and has the sign of the dividend.
    """
    rest = a - quotient * b
    signed_as_a = z3.Or(rest == 0, (rest < 0) == (a < 0))
    return z3.And(magnitude(rest) < magnitude(b), signed_as_a)


def multiples_lie_apart(x: z3.ArithRef, y: z3.ArithRef, b: z3.ArithRef) -> z3.BoolRef:
    """That two multiples of a number that are less than it apart are one."""
    return z3.Implies(magnitude(x * b - y * b) < magnitude(b), x == y)


def facts_of_xor(x: Any, y: Any, found: Any) -> list[z3.BoolRef]:
    """What is true of the exclusive or of two signed integers, of bit-vectors or of numbers."""
    facts = [(found < 0) == ((x < 0) != (y < 0))]
    for one, other in ((x, y), (y, x)):
        facts += [z3.Implies(one == 0, found == other), z3.Implies(one == -1, found == -1 - other)]
    return facts


def _xor(steps: Steps, dtype: DType, x: z3.ArithRef, y: z3.ArithRef) -> z3.ArithRef:
    if dtype.kind != "i":
        raise NotInterpreted(f"an exclusive or of {dtype}")
    found = z3.FreshInt("xor")
    steps.definitions += [*facts_of_xor(x, y, found), within(found, dtype)]
    return found


def _shifted(_: Steps, dtype: DType, x: z3.ArithRef, places: z3.ArithRef) -> z3.ArithRef:
    number = z3.simplify(places)
    if not z3.is_int_value(number) or not 0 <= number.as_long() < np.iinfo(dtype).bits:
        raise NotInterpreted(f"a shift by {number}")
    # Z3 rounds the quotient by a positive number down, as the shift of a signed integer does.
    return x / z3.IntVal(1 << number.as_long())


def _divided(
    steps: Steps, a: z3.ArithRef, b: z3.ArithRef, like: z3.ArithRef
) -> tuple[z3.ArithRef, z3.ArithRef]:
    """Quotient and remainder, which has the sign of one of the two."""
    quotient, rest = z3.FreshInt("quotient"), z3.FreshInt("rest")
    steps.requirements.append(b != 0)
    steps.quotients.append((quotient, b))
    steps.definitions += [
        quotient * b + rest == a,
        magnitude(rest) < magnitude(b),
        z3.Or(rest == 0, (rest < 0) == (like < 0)),
    ]
    return quotient, rest


def _floor_quotient(steps: Steps, dtype: DType, a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    quotient, _ = _divided(steps, a, b, b)
    if dtype.kind == "i":
        beyond = z3.And(a == int(np.iinfo(dtype).min), b == -1)
        steps.requirements.append(z3.Not(beyond))
    return quotient


_MEANINGS: Mapping[np.ufunc, Meaning] = MappingProxyType(
    {
        np.absolute: lambda _, dtype, x: wrapped(magnitude(x), dtype),
        np.bitwise_xor: _xor,
        np.floor_divide: _floor_quotient,
        np.fmod: lambda steps, _, a, b: _divided(steps, a, b, a)[1],
        np.remainder: lambda steps, _, a, b: _divided(steps, a, b, b)[1],
        np.right_shift: _shifted,
        np.subtract: lambda _, dtype, x, y: wrapped(x - y, dtype),
    }
)


def computed(steps: Steps, function: np.ufunc, dtype: DType, *terms: z3.ArithRef) -> z3.ArithRef:
    """The result of a function of numpy.

    Args:
        steps: Takes what is known of it.
        function: The function.
        dtype: The type of its operands and of its result.
        terms: Its operands.

    Raises:
        NotInterpreted: Nobody said what it does.
    """
    meaning = _MEANINGS.get(function)
    if meaning is None:
        raise NotInterpreted(f"{function.__name__} of integers")
    return meaning(steps, dtype, *terms)


def seen_as(term: z3.ArithRef, own: DType, dtype: DType) -> z3.ArithRef:
    """The integer of a type that has the bits of one of another."""
    if own.kind not in "iu" or dtype.kind not in "iu" or own.itemsize != dtype.itemsize:
        raise NotInterpreted(f"a view of {own} as {dtype}")
    return wrapped(term, dtype)


Part = tuple[z3.ArithRef, z3.ArithRef]
"""The first place of a block, and the one behind its last."""

_PLACE = z3.Int("place")


_SIZE = z3.Int("size")


_PASS = z3.Int("pass")


@dataclass
class Trace:
    """What a kernel did.

    Attributes:
        few: What it is told where it asks whether there are at most so many elements.
        steps: What is known of the results of its steps.
        conditions: What it was told of the number of elements.
        starts: For each loop the first number, the one behind the last, and the step.
        written: The blocks that it wrote.
    """

    few: bool
    steps: Steps = field(default_factory=Steps)
    conditions: list[z3.BoolRef] = field(default_factory=list)
    starts: list[tuple[int, z3.ArithRef, int]] = field(default_factory=list)
    written: list[Part] = field(default_factory=list)

    def passes(self, first: int, end: "_Count", step: int) -> Iterator[z3.ArithRef]:
        """Stand for `range`, of which one number is any of its numbers."""
        if self.starts or step <= 0:
            raise NotInterpreted("a second loop, or one that counts down")
        self.starts.append((first, end.term, step))
        yield first + step * _PASS


@dataclass(frozen=True)
class _Count:
    """How many elements there are."""

    term: z3.ArithRef
    trace: Trace

    def __le__(self, most: int) -> bool:
        """Take the answer down."""
        if self.trace.conditions:
            raise NotInterpreted("a second look at the number of elements")
        few = self.term <= most
        self.trace.conditions.append(few if self.trace.few else z3.Not(few))
        return self.trace.few


class _Memory:
    """What views share: who writes makes the others stale."""

    writes = 0


class TracedIntegers(NDArrayOperatorsMixin):
    """Stands for an array of integers."""

    def __init__(
        self,
        trace: Trace,
        dtype: DType,
        term: z3.ArithRef | None,
        *,
        memory: _Memory | None = None,
        part: Part | None = None,
        flat: bool = False,
    ) -> None:
        """Stand for an array.

        Args:
            trace: Takes down what is done with it.
            dtype: Its type.
            term: Its element at the place; None where nothing is there yet.
            memory: What it shares with those that it is a view of.
            part: The block that it is; None for the whole.
            flat: Whether it has one axis.
        """
        self.dtype = dtype
        self._trace, self._term, self._part, self._flat = trace, term, part, flat
        self._memory = _Memory() if memory is None else memory
        self._seen = self._memory.writes

    def __getattr__(self, name: str) -> Any:
        """Refuse whatever else a kernel may ask."""
        raise NotInterpreted(f"what a kernel does by way of {name}")

    @property
    def term(self) -> z3.ArithRef:
        """Its element at the place."""
        if self._term is None or self._seen != self._memory.writes:
            raise NotInterpreted("an element that was not written, or through another view")
        return self._term

    @property
    def size(self) -> _Count:
        """How many elements it has."""
        if self._part is not None:
            raise NotInterpreted("the size of a block")
        return _Count(_SIZE, self._trace)

    @property
    def shape(self) -> z3.ArithRef:
        """What stands for the shape."""
        if self._flat:
            raise NotInterpreted("the shape of what has one axis")
        return _SIZE

    def reshape(self, shape: object) -> "TracedIntegers":
        """The same with one axis, or with all of them again."""
        if self._part is not None or not (shape == -1 or shape is _SIZE):
            raise NotInterpreted(f"a reshape to {shape}")
        return self._like(self.term, flat=shape is not _SIZE)

    def view(self, dtype: Any) -> "TracedIntegers":
        """The same bits as another type."""
        other = np.dtype(dtype)
        return self._like(seen_as(self.term, self.dtype, other), dtype=other)

    def __getitem__(self, block: slice) -> "TracedIntegers":
        """A block."""
        return self._like(self.term, part=self._part_at(block))

    def __setitem__(self, block: slice, value: "TracedIntegers") -> None:
        """Write a block."""
        part = self._part_at(block)
        if value.dtype != self.dtype or not _same_part(value._part, part):
            raise NotInterpreted("a block written with other things than one of the same places")
        self._trace.written.append(part)
        self._write(z3.If(_lies_in(part), value.term, self.term))

    def __array_function__(self, function: object, types: object, args: Any, kwargs: Any) -> Any:
        """Take a function down."""
        del types
        if function is np.empty_like and args == (self,) and not kwargs:
            return TracedIntegers(self._trace, self.dtype, None, part=self._part, flat=self._flat)
        raise NotInterpreted(f"{function}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Take an operation down."""
        (out,) = options.pop("out", (None,))
        arrays = [one for one in (*inputs, out) if isinstance(one, TracedIntegers)]
        alike = all(
            one.dtype == self.dtype
            and one._flat == self._flat
            and _same_part(one._part, self._part)
            for one in arrays
        )
        if method != "__call__" or options or not alike:
            raise NotInterpreted(f"{ufunc.__name__} of unlike arrays, or with {options}")
        terms = [one.term if isinstance(one, TracedIntegers) else z3.IntVal(one) for one in inputs]
        result = computed(self._trace.steps, ufunc, self.dtype, *terms)
        if out is None:
            return TracedIntegers(self._trace, self.dtype, result, part=self._part, flat=self._flat)
        out._write(result)
        return out

    def _like(self, term: z3.ArithRef, **different: Any) -> "TracedIntegers":
        own = {"part": self._part, "flat": self._flat, "memory": self._memory} | different
        return TracedIntegers(self._trace, own.pop("dtype", self.dtype), term, **own)

    def _write(self, term: z3.ArithRef) -> None:
        self._memory.writes += 1
        self._term, self._seen = term, self._memory.writes

    def _part_at(self, block: slice) -> Part:
        if not self._flat or self._part is not None or block.step is not None:
            raise NotInterpreted("other things than blocks of what has one axis")
        return (block.start, block.stop)


def _same_part(one: Part | None, other: Part | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(z3.eq(x, y) for x, y in zip(one, other, strict=True))


def _lies_in(part: Part) -> z3.BoolRef:
    first, end = part
    return z3.And(first <= _PLACE, end > _PLACE)


def claims_of_quotient(
    module: ModuleType, element_type: ElementType, *, few: bool
) -> Iterator[z3.BoolRef]:
    """That a module's `divide` gives the truncated quotient of operands that keep the rules.

    Args:
        module: The module; its `range` is a stand-in while it runs.
        element_type: The type of the operands.
        few: Whether there are at most as many elements as it asks for, if it asks.

    Yields:
        For a loop over blocks, that each place is in a block of one pass alone, and is in one; and
        what the result is at a place, of the pass that has it.
    """
    dtype = element_type.dtype
    trace = Trace(few)
    a, b = z3.Ints("a b")
    operands = [TracedIntegers(trace, dtype, term) for term in (a, b)]
    # A name of the module goes before one of Python.
    module.__dict__["range"] = trace.passes
    try:
        result = module.divide(*operands, edition=Edition.TYPED)
    finally:
        del module.__dict__["range"]
    if result.dtype != dtype or result.shape is not _SIZE:
        raise NotInterpreted(f"a result of {result.dtype} in another shape")
    there = z3.And(_PLACE >= 0, _PLACE < _SIZE, *trace.conditions)
    yield from (z3.Implies(there, claim) for claim in _claims_of_passes(trace))
    keeps = [within(a, dtype), within(b, dtype), b != 0]
    if dtype.kind == "i":
        keeps.append(z3.Not(z3.And(a == int(np.iinfo(dtype).min), b == -1)))
    ours = [_runs(trace, _PASS), *map(_lies_in, trace.written)] if trace.starts else []
    right = z3.And(
        *trace.steps.requirements, truncates(result.term, a, b), within(result.term, dtype)
    )
    yield z3.Implies(z3.And(there, *keeps, *ours, *trace.steps.facts()), right)


def _claims_of_passes(trace: Trace) -> Iterator[z3.BoolRef]:
    if not trace.starts:
        return
    if len(trace.written) != 1:
        raise NotInterpreted("a loop that does not write one block")
    ((first, _, step),), (part,) = trace.starts, trace.written
    lies = z3.And(_runs(trace, _PASS), _lies_in(part))
    other = z3.Int("other")
    yield z3.substitute(lies, (_PASS, (_PLACE - first) / z3.IntVal(step)))
    elsewhere = z3.substitute(lies, (_PASS, other))
    yield z3.Implies(z3.And(lies, elsewhere), other == _PASS)


def _runs(trace: Trace, number: z3.ArithRef) -> z3.BoolRef:
    """Whether a loop makes a pass of a number."""
    ((first, end, step),) = trace.starts
    return z3.And(number >= 0, first + step * number < end)
