"""Models of one element-wise operator of the profile, of any arity and in every type it takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule
from sonnx_ort.vectors.applied import special_values
from support.graphs import parse
from support.operator_cases import (
    NEWEST,
    OPERATOR_CASES,
    OPSET,
    Boundary,
    OperatorCase,
    called,
    written,
)
from support.values import random_pairs

Array = npt.NDArray[Any]

REPEATED = 3
"""How many operands an operator has here that takes any number."""


@dataclass(frozen=True)
class Single:
    """One operator in one type.

    Attributes:
        operator: The operator.
        element_type: The type of the operands that have no type of their own.
        repeated: How many operands it has, if it takes any number.
        said: Attributes of the node, besides the usual ones or in their place.
    """

    operator: Operator
    element_type: ElementType
    repeated: int = REPEATED
    said: tuple[tuple[str, int | str], ...] = ()

    @property
    def case(self) -> OperatorCase:
        """What the table says of the operator."""
        return OPERATOR_CASES[self.operator.name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its operands."""
        return self.operator.operand_names(self.repeated)

    @property
    def attributes(self) -> Mapping[str, int | str]:
        """The attributes of the node of the model."""
        usual = self.case.attributes.get(self.element_type.family, {})
        return {**usual, **dict(self.said)}

    @property
    def opset(self) -> int:
        """The version of the standard operators in which there is a kernel of it."""
        return 28 if self.element_type in self.case.newer_kernels else OPSET

    def types(self) -> tuple[ElementType, ...]:
        """The type of each operand."""
        own = self.operator.operand_types
        return tuple(ElementType(own.get(name, self.element_type)) for name in self.names)

    def rules(self) -> tuple[Rule, ...]:
        """The rules of the typed edition, as they bind the node of the model."""
        rules = self.operator.rules(Edition.TYPED, self.element_type.family)
        (node,) = self.model().graph.node
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        return tuple(rule.of_node(values) for rule in rules)

    def model(
        self,
        ranks: Sequence[int] | None = None,
        *,
        constants: Mapping[str, Array] | None = None,
        opset: int | None = None,
    ) -> onnx.ModelProto:
        """A model of a node of the operator, whose inputs have unknown sizes.

        Args:
            ranks: The ranks of the inputs, 0 for one that is open; 1 for each by default.
            constants: Those of the operands that are initializers.
            opset: The version of the standard operators; one with a kernel by default.
        """
        inputs = ", ".join(
            f"{kind}[{','.join(f'{name}{axis}' for axis in range(rank))}] {name}"
            for name, kind, rank in zip(
                self.names, self.types(), ranks or [1] * len(self.names), strict=True
            )
            if name not in (constants or {})
        )
        own = self.operator.result_type
        result = own or self.element_type
        if own == OF_THE_NODE:
            result = onnx.TensorProto.DataType.Name(int(self.attributes["to"])).lower()
        node = called(self.operator.name, self.element_type.family, self.names, dict(self.said))
        text = f"({inputs}) => ({result}[] y) {{ [the_node] y = {node} }}"
        return parse(text, opset=opset or self.opset, constants=constants)

    def operands(self, size: int, seed: int) -> dict[str, Array]:
        """Operands of one shape: special values, and any bit patterns."""
        generator = np.random.default_rng(seed)
        feeds = {}
        for name, kind in zip(self.names, self.types(), strict=True):
            if kind is ElementType.BOOL:
                feeds[name] = generator.random(size) < 0.5
                continue
            special = generator.choice(special_values(kind).view(f"u{kind.dtype.itemsize}"), size)
            anything, _ = random_pairs(kind, size)
            anything = generator.permutation(anything.view(special.dtype))
            chosen = np.where(generator.random(size) < 0.5, special, anything)
            feeds[name] = chosen.view(kind.dtype)
        return feeds

    def __str__(self) -> str:
        """Give operator and type: `Add float`, `Mod <fmod = 0> float`."""
        name = f"{self.operator.name} {written(dict(self.said))}".strip()
        return f"{name} {self.element_type}"


def singles() -> Iterator[Single]:
    """Every element-wise operator of the profile in every type that ONNX Runtime computes it in."""
    for name, case in sorted(OPERATOR_CASES.items()):
        operator = OPERATORS[name]
        if not operator.elementwise:
            continue
        for kind in ElementType:
            taken = kind.family in operator.families
            carried = kind is ElementType.BFLOAT16 and operator.rounds_once
            single = Single(operator, kind)
            there = kind in (*case.kernels, *case.newer_kernels)
            computed = carried if kind is ElementType.BFLOAT16 else there
            if taken and computed and single.opset <= NEWEST:
                yield single


@dataclass(frozen=True)
class Crossing:
    """A rule about elements in one type.

    Attributes:
        boundary: The rule, and elements on both sides of it.
        single: The operator in that type.
    """

    boundary: Boundary
    single: Single

    def operands(self, shape: tuple[int, ...], outside: int | None = None) -> dict[str, Array]:
        """Operands that keep the rule, or break it at one place alone.

        Args:
            shape: Their shape.
            outside: The place, counted in row-major order; None for nowhere.
        """
        kind = self.single.element_type
        inside = self.boundary.inside(kind)
        size = int(np.prod(shape))
        chosen = [inside[place % len(inside)] for place in range(size)]
        if outside is not None:
            offending = self.boundary.outside(kind)
            chosen[outside] = offending[outside % len(offending)]
        columns = zip(*chosen, strict=True) if chosen else ((),) * len(self.single.names)
        return {
            name: np.array(column, kind.dtype).reshape(shape)
            for name, column in zip(self.single.names, columns, strict=True)
        }

    def __str__(self) -> str:
        """Give rule and type: `Mod.int.C1 int8`."""
        return f"{self.boundary.rule} {self.single.element_type}"


def crossings() -> Iterator[Crossing]:
    """Every rule about elements in every type that it binds and that there is a kernel for."""
    for single in singles():
        bound = {rule.id for rule in single.rules()}
        for boundary in single.case.boundaries:
            if boundary.rule in bound and single.element_type in boundary.types:
                yield Crossing(boundary, single)
