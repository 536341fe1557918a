"""What is known of the inputs of runs beyond the model, and the options that state it.

A change may need a size or a value that the model leaves open. The reason then names the option
that fixes it, with what samples or a contract say, or else with the size 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import onnx_ir as ir

from sonnx_ort.remedies import Remedy


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

    def fixing_shapes(self, inputs: Iterable[ir.Value]) -> tuple[Remedy, ...]:
        """The options that fix the shapes of inputs with open sizes: those known, or the size 1."""
        found = []
        for each in inputs:
            name = str(each.name)
            if name in self.varying or (each.shape is None and name not in self.shapes):
                continue
            declared = tuple(each.shape or ())
            sizes = tuple(size if isinstance(size, int) else 1 for size in declared)
            if each.shape is None or sizes != declared:
                shape = self.shapes.get(name, sizes)
                found.append(Remedy("assume_shapes", shape, name))
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
