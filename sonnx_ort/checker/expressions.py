"""What holds after guards, as expressions of the values of a model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from onnx import helper

from sonnx_ort.guards.guard import OPERATORS, NodesOf, Numbers
from sonnx_ort.profile.element_type import ElementType

Tree = tuple[Any, ...]
"""An expression: an operator, its attributes and its operands; a value of the original; a constant
with its type, shape and elements."""


@dataclass(frozen=True)
class Facts:
    """What holds after guards that have passed.

    Attributes:
        kept: Flags that are true, everywhere if they are tensors.
        broken: Flags that are false, everywhere if they are tensors.
    """

    kept: frozenset[Tree] = frozenset()
    broken: frozenset[Tree] = frozenset()

    def __post_init__(self) -> None:
        """Take flags apart that are true if several others are."""
        object.__setattr__(self, "kept", frozenset(_with_conjuncts(self.kept)))

    def __or__(self, other: "Facts") -> "Facts":
        return Facts(self.kept | other.kept, self.broken | other.broken)


def _with_conjuncts(trees: Iterable[Tree]) -> Iterable[Tree]:
    waiting = list(trees)
    while waiting:
        tree = waiting.pop()
        yield tree
        if tree[0] == "And":
            waiting += tree[2:]


Cases = list[Facts]
"""What holds, in each of the cases that an If decides."""

NOTHING = Facts()


def conjunction(several: Iterable[Cases]) -> Cases:
    """What holds if all these are evaluated."""
    found = []
    for alternatives in product(*several):
        facts = NOTHING
        for alternative in alternatives:
            facts |= alternative
        found.append(facts)
    return found


@dataclass(frozen=True)
class Expressions(NodesOf[Tree]):
    """Makes the expressions that guards compute, in the place of nodes."""

    opset: int

    def add(
        self,
        operator: str,
        inputs: Sequence[Tree],
        purpose: str,
        attributes: Mapping[str, int | tuple[int, ...]] | None = None,
    ) -> Tree:
        """The result of an operator.

        Raises:
            ValueError: The operator is not in `OPERATORS`, and would be in no enforced model.
        """
        if operator not in OPERATORS:
            raise ValueError(f"guards have a {operator}, and OPERATORS does not name it")
        del purpose
        given = sorted((attributes or {}).items())
        return operator, tuple((name, _attribute(name, value)) for name, value in given), *inputs

    def constant(
        self, numbers: Numbers, purpose: str, element_type: ElementType = ElementType.INT64
    ) -> Tree:
        """A constant."""
        del purpose
        array = np.array(numbers, element_type.dtype)
        return "constant", str(array.dtype), array.shape, tuple(array.ravel().tolist())


def _attribute(name: str, value: int | tuple[int, ...]) -> Any:
    """An attribute as `Enforced` reads it."""
    if isinstance(value, int):
        return value
    return helper.make_attribute(name, value).SerializeToString(deterministic=True)
