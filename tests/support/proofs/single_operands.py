"""Nodes with rules about single operands, behind the guards that the native backend emits.

Their operands are tensors of any ranks and sizes, and vectors of sizes, axes and places.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import z3

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import VERSION, AttributeValue, Rule
from support.graphs import declared, parse
from support.operator_cases import OPERATOR_CASES, written
from support.proofs.nodes import NAME, are_kept, passing
from support.proofs.tensors import Length, Operand, constant, index_operand, operand, term
from support.proofs.theorem import Question

Array = npt.NDArray[Any]

INDICES = frozenset({"starts", "ends", "axes", "steps"})
"""The operands that are vectors of places."""

LAYOUT = frozenset({"Concat", "Range", "Reshape", "Squeeze", "Unsqueeze"})
"""The operators that `tests/proofs/test_single_operands.py` has."""

_SIZES_AT_MOST = 3


@dataclass(frozen=True)
class SingleOperands:
    """A node whose operands have any ranks and sizes.

    Attributes:
        name: The operator.
        element_type: The type of the operands that have none of their own.
        given: The names of the operands that are given; all by default.
        index_type: The type of places.
        attributes: The attributes of the node.
        opset: The version of the standard operators.
        stored: The shapes of the operands that are initializers, of ones.
        ranks: The ranks of the others for which faults are looked for; few of them by default.
        vectors: The operands that are vectors of numbers, each with how many it has; None: any.
        numbers: The vectors that are constant.
        rank: The rank of all other operands, as declared; None: it is open.
    """

    name: str
    element_type: ElementType
    given: tuple[str, ...] = ()
    index_type: ElementType = ElementType.INT64
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    opset: int = 21
    stored: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ranks: tuple[tuple[int, ...], ...] = ()
    vectors: Mapping[str, int | None] = field(default_factory=dict)
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rank: int | None = None

    def __str__(self) -> str:
        """Say which: `Slice float, places int32`, or `Squeeze float, rank 3, A [0, -1]`."""
        parts = [f"{self.name} {self.element_type}"]
        parts += [f"of {', '.join(self.given)}"] if self.given else []
        parts += [f"places {self.index_type}"] if INDICES & set(self.names) else []
        parts += [written(self.attributes)] if self.attributes else []
        parts += [f"opset {self.opset}"] if self.opset != 21 else []
        parts += [f"rank {self.rank}"] if self.rank is not None else []
        parts += [f"{name} {list(numbers)}" for name, numbers in self.numbers.items()]
        parts += [f"{count} of {name}" for name, count in self.vectors.items()]
        return ", ".join(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operands that are given."""
        return self.given or OPERATORS[self.name].operands

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of those that are no initializers."""
        constant = {*self.stored, *self.numbers}
        return tuple(name for name in self.names if name not in constant)

    @property
    def _counts(self) -> Mapping[str, int | None]:
        """How many numbers each vector among the inputs has."""
        return {**{n: None for n in self.inputs if n in INDICES}, **self.vectors}

    def kind_of(self, name: str) -> ElementType:
        """The type of an operand."""
        own = ElementType.named(OPERATORS[self.name].operand_types.get(name))
        return self.index_type if name in INDICES else own or self.element_type

    @cached_property
    def original(self) -> onnx.ModelProto:
        """The model before it is rewritten."""
        axes = None if self.rank is None else [None] * self.rank
        inputs = ", ".join(
            f"{declared(self.kind_of(name), [None] if name in self._counts else axes)} {name}"
            for name in self.inputs
        )
        operands = OPERATORS[self.name].operands or self.names
        places = [name if name in self.names else "" for name in operands]
        result = declared(OPERATORS[self.name].result_type or self.element_type, None)
        called = f"{self.name}{written(self.attributes)}({', '.join(places)})"
        text = f"({inputs}) => ({result} y) {{ [{NAME}] y = {called} }}"
        return parse(text, opset=self.opset, constants=self._constants())

    def _constants(self) -> dict[str, Array]:
        stored = {n: np.ones(s, self.kind_of(n).dtype) for n, s in self.stored.items()}
        return stored | {n: np.array(each, np.int64) for n, each in self.numbers.items()}

    @cached_property
    def emitted(self) -> onnx.ModelProto:
        """What the native backend makes of the node."""
        return sonnx_ort.rewrite(self.original, backend="native", operators="all,-Graph")

    def rules(self) -> tuple[Rule, ...]:
        """The rules that a run decides, in the order of decision."""
        rules = OPERATORS[self.name].rules(Edition.TYPED, self.element_type.family)
        said = {**self.attributes, VERSION: self.opset}
        binding = (rule for rule in rules if rule.in_run and rule.binds_version(self.opset))
        return tuple(rule.of_node(said) for rule in binding)

    def question(self) -> Question:
        """What is proved, of operands of any ranks, sizes and numbers of places.

        The guards let pass exactly what keeps the rules, unchanged, and what breaks one is told by
        the code of the first that it breaks.
        """
        return self._question(self.emitted, [*self._operands({})], whole=True)

    def small(self, model: onnx.ModelProto) -> Iterator[Question]:
        """The same of few axes and few elements, of a model in which something is wrong."""
        tensors = [name for name in self.inputs if name not in self._counts]
        few = range(4 - len(tensors) // 2) if self.rank is None else (self.rank,)
        chosen = self.ranks or tuple(product(few, repeat=len(tensors)))
        for places in range(3) if None in self._counts.values() else (0,):
            for ranks in chosen:
                operands = [*self._operands(dict(zip(tensors, ranks, strict=True)), places)]
                limits = [
                    o.tensor.sizes.at(axis) <= _SIZES_AT_MOST
                    for o in operands
                    if o.name in tensors
                    for axis in range(int(o.tensor.rank))
                ]
                yield self._question(model, operands, limits)

    def keeps_rules(self, feeds: Mapping[str, Array]) -> bool:
        """Whether arrays keep the rules, by the profile's own decision."""
        given = {**feeds, **self._constants()}
        return are_kept(self.rules(), self.names, [given[name] for name in self.names])

    def _operands(self, ranks: Mapping[str, int], places: int | None = None) -> Iterator[Operand]:
        """Operands of these ranks, or of any, and so many numbers in vectors, or any number."""
        many = z3.Int("places") if places is None else places
        for name in self.inputs:
            kind = self.kind_of(name)
            if name in self._counts:
                count = self._counts[name]
                yield index_operand(name, kind, many if count is None else count)
            else:
                unknown = z3.Int(f"{name}.rank") if self.rank is None else self.rank
                yield operand(name, kind, ranks.get(name, unknown))

    def _question(
        self,
        model: onnx.ModelProto,
        operands: Sequence[Operand],
        known: Sequence[z3.BoolRef] = (),
        *,
        whole: bool = False,
    ) -> Question:
        by_name = {o.name: o.tensor for o in operands}
        by_name |= {n: constant(a, self.kind_of(n)) for n, a in self._constants().items()}
        tensors = [by_name[name] for name in self.names]
        rank = by_name[self.names[0]].rank
        there = self._is_there(rank)
        claim = passing(self.rules(), self.names, tensors, model, whole=whole, there=there)
        axes = by_name.get("axes")
        named = [] if axes is None else [axes.elements.for_all(_on_an_axis(axes.elements.at, rank))]
        return Question(model, operands, frozenset({NAME}), claim, [*known, *named])

    def _is_there(self, rank: Length) -> z3.BoolRef:
        """Whether the axis is there that an attribute names: else ONNX Runtime itself refuses."""
        axis = self.attributes.get("axis", -1)
        return term(rank) > (axis if isinstance(axis, int) else -1)


def _on_an_axis(
    axis: Callable[[Any], z3.ExprRef], rank: Length
) -> Callable[[int | z3.ArithRef], z3.BoolRef]:
    """Whether a place names an axis: else ONNX Runtime itself refuses, and no rule speaks of it."""

    def there(index: int | z3.ArithRef) -> z3.BoolRef:
        return z3.And(-term(rank) <= axis(index), axis(index) < term(rank))

    return there


RANKS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "Conv": ((4, 4, 1), (3, 3, 1), (4, 4, 2), (3, 4, 1), (0, 4, 1), (4, 4, 0)),
    "ConvInteger": ((4, 4, 0, 0), (4, 4, 0, 1), (4, 4, 1, 0), (3, 3, 0, 0), (4, 4, 0, 2)),
    "MaxPool": ((4,), (3,), (0,), (5,)),
    "Gemm": ((2, 2, 2), (1, 2, 2), (2, 2, 1), (2, 1, 2), (2, 2, 0)),
    "LSTM": ((3,), (2,), (0,)),
}
"""The ranks of operands among which faults are looked for."""


def windowed(
    name: str, kind: ElementType, *, given: tuple[str, ...] = (), **said: AttributeValue
) -> SingleOperands:
    """A node of one of the operators of `RANKS`.

    Args:
        name: The operator.
        kind: The type of the operands that have none of their own.
        given: The names of the operands that are given; all by default.
        **said: Attributes beside those that it cannot do without.
    """
    case = OPERATOR_CASES[name]
    attributes = {**case.attributes.get(kind.family, {}), **said}
    hidden = attributes.get("hidden_size", 0)
    stored = {} if name != "LSTM" else stored_for(int(hidden))
    ranks = tuple(each[: len(given) or None] for each in RANKS[name])
    return SingleOperands(name, kind, given, attributes=attributes, stored=stored, ranks=ranks)


def stored_for(hidden: int) -> dict[str, tuple[int, ...]]:
    """The operands of an LSTM that are constant, for one feature and a batch of two."""
    state = (1, 2, hidden)
    return {
        "W": (1, 4 * hidden, 1),
        "R": (1, 4 * hidden, hidden),
        "B": (1, 8 * hidden),
        "sequence_lens": (2,),
        "initial_h": state,
        "initial_c": state,
        "P": (1, 3 * hidden),
    }
