"""A kernel of integers, run on stand-ins for arrays of any size: what one place of its result is.

A stand-in knows the element at one place, which is any. What a kernel decides by the number of
elements is decided both ways, and of a loop over blocks one pass is run, which is any: what has to
be true for the others to leave its block alone is claimed with the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import z3
from numpy.lib.mixins import NDArrayOperatorsMixin

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.proofs.machine_integers import DType, Steps, computed, seen_as, truncates, within
from support.proofs.terms import NotInterpreted

_PLACE = z3.Int("place")
_SIZE = z3.Int("size")
_PASS = z3.Int("pass")

Part = tuple[z3.ArithRef, z3.ArithRef]
"""The first place of a block, and the one behind its last."""


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
