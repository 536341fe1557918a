"""Expand: every element of its result is one of its input's, at a place that follows from shapes.

Where all sizes are told, so are the places. Else they are a function of which this is known: it
gives places that are there, and is one and the same for equal shapes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import z3

from support.proofs.run import Call, Expansion, Meaning, Run
from support.proofs.tensors import (
    Index,
    Length,
    Tensor,
    Vector,
    counted,
    exists,
    number_of_elements,
    reduced,
    same_sizes,
    term,
)
from support.proofs.terms import NotInterpreted


def expanded(run: Run, x: Tensor, wanted: Vector) -> Tensor:
    """What Expand gives where it does not fail.

    Args:
        run: Takes what is true of places.
        x: The tensor.
        wanted: The shape that it is expanded to.
    """
    return _Expanding(run, x, wanted).result()


@dataclass(frozen=True, eq=False)
class _Expanding:
    run: Run
    x: Tensor
    wanted: Vector

    @property
    def rank(self) -> Length:
        own, asked = self.x.rank, self.wanted.length
        if isinstance(own, int) and isinstance(asked, int):
            return max(own, asked)
        return z3.If(term(own) < term(asked), term(asked), term(own))

    def misfits(self) -> z3.BoolRef:
        def misfit(from_the_end: Any) -> z3.BoolRef:
            own, new = self._pair(from_the_end)
            return z3.Or(new < 0, z3.And(own != new, own != 1, new != 1))

        return exists(self.rank, misfit)

    def result(self) -> Tensor:
        rank = self.rank

        def size(index: Any) -> z3.ExprRef:
            own, new = self._pair(reduced(rank - 1 - index))
            return z3.If(own == 1, new, own)

        sizes = Vector(rank, size, backwards=True)
        count = number_of_elements(sizes)

        def at(index: Index) -> z3.ExprRef:
            told = self._told_place(index)
            if told is not None:
                return self.x.elements.at(told)
            return self.x.elements.at(self._places(sizes, count)(index))

        return Tensor(self.x.element_type, sizes, Vector(count, at))

    def _pair(self, from_the_end: Any) -> tuple[z3.ExprRef, z3.ExprRef]:
        """The sizes of the input and of the shape that is asked for."""
        x, wanted = self.x.sizes, self.wanted
        return x.aligned_at(from_the_end, 1), wanted.aligned_at(from_the_end, 1)

    def _told_place(self, index: Index) -> int | None:
        """The place of an element, where the index and all sizes are numbers."""
        if not isinstance(index, int):
            return None
        own, wanted = _numbers(self.x.sizes), _numbers(self.wanted)
        if own is None or wanted is None:
            return None
        places = np.arange(np.prod(own, dtype=np.int64)).reshape(own)
        try:
            everywhere = np.broadcast_to(places, np.broadcast_shapes(own, wanted))
        except ValueError:
            return None
        return int(everywhere.flat[index]) if index < everywhere.size else None

    def _places(self, sizes: Vector, count: Length) -> z3.FuncDeclRef:
        known = self.run.expansions
        for each in known:
            if each.sizes is self.x.sizes and each.wanted is self.wanted:
                return each.place
        place = z3.FreshFunction(z3.IntSort(), z3.IntSort())
        index = z3.FreshInt("i")
        there = z3.And(index >= 0, index < term(count))
        within = z3.And(place(index) >= 0, place(index) < term(self.x.elements.length))
        all_there = z3.ForAll([index], z3.Implies(there, within), patterns=[place(index)])
        facts = [z3.Implies(z3.Not(self.misfits()), all_there)]
        if not isinstance(count, int):
            facts += counted(count, sizes)
        for each in known:
            alike = z3.And(same_sizes(each.sizes, self.x.sizes), _same(each.wanted, self.wanted))
            equal = z3.ForAll([index], place(index) == each.place(index), patterns=[place(index)])
            facts.append(z3.Implies(alike, equal))
        self.run.definitions += facts
        known.append(Expansion(self.x.sizes, self.wanted, place))
        return place


def _same(one: Vector, other: Vector) -> z3.BoolRef:
    return z3.BoolVal(True) if one is other else same_sizes(one, other)


def _numbers(sizes: Vector) -> list[int] | None:
    if not isinstance(sizes.length, int):
        return None
    terms = [z3.simplify(sizes.at(axis)) for axis in range(sizes.length)]
    if not all(z3.is_int_value(size) for size in terms):
        return None
    return [size.as_long() for size in terms]


def _expand(call: Call) -> Tensor:
    call.only()
    x, asked = call.tensor(0), call.tensor(1)
    if not asked.is_vector:
        raise NotInterpreted("Expand to a shape that is no vector")
    expanding = _Expanding(call.run, x, asked.elements)
    call.fails_if(expanding.misfits())
    return expanding.result()


EXPANSION: Mapping[str, Meaning] = MappingProxyType({"Expand": _expand})
"""By operator what it gives."""
