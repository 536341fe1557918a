"""What is known of the inputs of runs beyond the model, and the options that state it.

A change may need a size or a value that the model leaves open. The reason then names the option
that fixes it, with what samples or a contract say, or else with the size 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

import onnx_ir as ir

from sonnx_ort.errors.remedies import Remedy

OPEN = 1
"""The size of an axis of which nothing is said."""


def is_fixed(size: object) -> TypeGuard[int]:
    """Whether a declared size is a number."""
    return isinstance(size, int) and size >= 0


@dataclass(frozen=True, slots=True)
class Stated:
    """What inputs are in the runs that are known.

    Attributes:
        shapes: Their shapes, by name.
        values: The numbers that all of their elements are, by name.
        varying: The names of inputs that have several shapes.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, bool | int | float] = field(default_factory=dict)
    varying: frozenset[str] = frozenset()

    def fixing_shapes(
        self, declared: Iterable[tuple[str, Sequence[object] | None]], others: int = OPEN
    ) -> tuple[Remedy, ...]:
        """The options that fix the shapes of inputs with open sizes: those known, or made up.

        What is not known is `OPEN` for a first axis, along which examples are often stacked.

        Args:
            declared: The inputs, each by its name and with the sizes that the model declares.
            others: What other sizes are taken as that are not known.
        """
        found = []
        for name, shape in declared:
            if name in self.varying or (shape is None and name not in self.shapes):
                continue
            axes = tuple(shape or ())
            sizes = tuple(
                size if is_fixed(size) else OPEN if axis == 0 and len(axes) > 1 else others
                for axis, size in enumerate(axes)
            )
            if shape is None or sizes != axes:
                known = self.shapes.get(name, sizes)
                found.append(Remedy("assume_shapes", known, name))
        return tuple(found)

    def fixing_values(self, inputs: Iterable[ir.Value]) -> tuple[Remedy, ...]:
        """The options that fix inputs of one element, with the numbers that are known of them."""
        found = []
        for each in inputs:
            name = str(each.name)
            is_one = each.shape is not None and all(size == 1 for size in each.shape)
            if name in self.values or is_one:
                found.append(Remedy("assume", self.values.get(name), name))
        return tuple(found)
