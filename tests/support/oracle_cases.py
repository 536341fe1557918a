"""Nodes with operands for them, what the oracle admits of their results, and how it rounds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import onnx
from restrictions import Violation, violation

from sonnx_ort.oracle import Result, meaning
from sonnx_ort.oracle.numbers import TYPES, BinaryFormat, Kind, decode, encode, finite
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.graphs import parse
from support.operator_cases import OPERATOR_CASES, OPSET, Array, written


def rounded(value: Fraction, binary_format: BinaryFormat) -> Fraction | None:
    """The number of a format that a nonnegative number is encoded as; None for infinity."""
    found = decode(encode(finite(value, negative=False), binary_format), binary_format)
    return found.magnitude if found.kind is Kind.FINITE else None


@dataclass(frozen=True)
class Case:
    """A node with operands.

    Attributes:
        operator: The operator.
        element_type: The type of the operands that have none of their own.
        operands: The operands, None in the places of those that are left out.
        attributes: The attributes of the node.
    """

    operator: str
    element_type: ElementType
    operands: tuple[Array | None, ...]
    attributes: Mapping[str, int | float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operands, empty for those that are left out."""
        names = OPERATORS[self.operator].operands
        return tuple(n if o is not None else "" for n, o in zip(names, self.operands, strict=False))

    @property
    def feeds(self) -> dict[str, Array]:
        """The operands that are given, by name."""
        pairs = zip(self.names, self.operands, strict=True)
        return {name: operand for name, operand in pairs if operand is not None}

    @cached_property
    def meaning(self) -> Result | Violation:
        """What the oracle says."""
        broken = violation(
            self.operator, self.operands, self.element_type, Edition.TYPED, self.attributes
        )
        if broken is not None:
            return broken
        (result,) = meaning(self.operator, OPSET, self.attributes, self.operands)
        return result

    def model(self) -> onnx.ModelProto:
        """A model of the node, whose inputs have known ranks and open sizes."""
        types = {dtype: t for t in reversed(ElementType) for dtype in [t.dtype]}
        inputs = ", ".join(
            f"{types[array.dtype]}[{', '.join(f'{name}{k}' for k in range(array.ndim))}] {name}"
            for name, array in self.feeds.items()
        )
        called = f"{self.operator}{written(self.attributes)}({', '.join(self.names)})"
        result = self._result_type()
        return parse(f"({inputs}) => ({result}[] y) {{ [the_node] y = {called} }}", opset=OPSET)

    def _result_type(self) -> ElementType:
        match self.operator:
            case "Cast":
                return TYPES[int(self.attributes["to"])]
            case "ArgMax":
                return ElementType.INT64
        return self.element_type

    def __str__(self) -> str:
        """Give operator and type: `MatMul float`."""
        return f"{self.operator} {self.element_type}"


def cases(operator: str, element_type: ElementType, count: int, seed: int = 0) -> Iterator[Case]:
    """Random nodes whose operands keep the rules, and of which ONNX Runtime keeps the documents.

    It does not of an ArgMax of NaN, of a Clip of int64 beyond int32, and of infinities where a
    bound of a Clip is left out; `tests/upstream` has these.

    Args:
        operator: The operator, one whose row has `random` operands.
        element_type: The type of the operands that have none of their own.
        count: How many of them.
        seed: Decides which.
    """
    generator = np.random.default_rng([seed, *map(ord, f"{operator} {element_type}")])
    for _ in range(count):
        make = OPERATOR_CASES[operator].random
        assert make is not None, operator
        operands, attributes = make(generator, element_type)
        case = Case(operator, element_type, tuple(operands), attributes)
        if not isinstance(case.meaning, Violation):
            yield case
