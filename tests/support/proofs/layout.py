"""Nodes of layout operators, behind the guards that the native backend emits.

Their operands are tensors of any ranks and vectors of sizes or axes, which are given or constant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.graphs import declared, parse
from support.operator_cases import written
from support.proofs.nodes import NAME
from support.proofs.single_operands import SingleOperands
from support.proofs.tensors import Operand, index_operand, operand
from support.proofs.theorem import Question

Array = npt.NDArray[Any]


LAYOUT = frozenset({"Concat", "Range", "Reshape", "Squeeze", "Unsqueeze"})
"""The operators that `tests/proofs/test_layout.py` has."""


@dataclass(frozen=True)
class Layout(SingleOperands):
    """A node whose operands have any ranks and sizes.

    Attributes:
        vectors: The operands that are vectors of numbers, each with how many it has; None: any.
        numbers: The vectors that are constant.
        rank: The rank of all other operands, as declared; None: it is open.
    """

    vectors: Mapping[str, int | None] = field(default_factory=dict)
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rank: int | None = None

    def __str__(self) -> str:
        """Say which: `Squeeze float, rank 3, A [0, -1]`."""
        parts = [super().__str__()]
        parts += [f"rank {self.rank}"] if self.rank is not None else []
        parts += [f"{name} {list(numbers)}" for name, numbers in self.numbers.items()]
        parts += [f"{count} of {name}" for name, count in self.vectors.items()]
        return ", ".join(parts)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of those that are not constant."""
        return tuple(name for name in self.names if name not in self.numbers)

    def kind_of(self, name: str) -> ElementType:
        """The type of an operand."""
        own = ElementType.named(OPERATORS[self.name].operand_types.get(name))
        return own or self.element_type

    @cached_property
    def original(self) -> onnx.ModelProto:
        """The model before it is rewritten."""
        axes = None if self.rank is None else [None] * self.rank
        inputs = ", ".join(
            f"{declared(self.kind_of(n), [None] if n in self.vectors else axes)} {n}"
            for n in self.inputs
        )
        result = declared(self.element_type, None)
        called = f"{self.name}{written(_lists(self.attributes))}({', '.join(self.names)})"
        text = f"({inputs}) => ({result} y) {{ [{NAME}] y = {called} }}"
        return parse(text, opset=self.opset, constants=self._constants())

    def _constants(self) -> dict[str, Array]:
        return {name: np.array(numbers, np.int64) for name, numbers in self.numbers.items()}

    def question(self) -> Question:
        """What is proved: the guards let pass exactly what keeps the rules."""
        operands = [*self._operands({})]
        return self._question(self.emitted, operands, whole=True)

    def small(self, model: onnx.ModelProto) -> Iterator[Question]:
        """The same of few axes and few elements, of a model in which something is wrong."""
        tensors = [name for name in self.inputs if name not in self.vectors]
        few = range(4 if len(tensors) == 1 else 3) if self.rank is None else (self.rank,)
        for ranks in product(few, repeat=len(tensors)):
            for count in range(3) if None in self.vectors.values() else (0,):
                operands = [*self._operands(dict(zip(tensors, ranks, strict=True)), count)]
                limits = [
                    o.tensor.sizes.at(axis) <= 3
                    for o in operands
                    if o.name in tensors
                    for axis in range(int(o.tensor.rank))
                ]
                yield self._question(model, operands, limits)

    def _operands(self, ranks: Mapping[str, int], count: int | None = None) -> Iterator[Operand]:
        for name in self.inputs:
            kind = self.kind_of(name)
            if name in self.vectors:
                many = self.vectors[name] if count is None else self.vectors[name] or count
                yield index_operand(name, kind, z3.Int(f"{name}.count") if many is None else many)
            else:
                unknown = z3.Int(f"{name}.rank") if self.rank is None else self.rank
                yield operand(name, kind, ranks.get(name, unknown))


def _lists(attributes: Mapping[str, object]) -> dict[str, object]:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in attributes.items()}
