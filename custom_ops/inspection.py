"""Custom operators that check the operands of a node, and compute nothing.

They read the shapes of operands, or the elements if rules depend on them, and return the shape of
the first operand, so they read no large tensor. The graph reshapes the first operand to that shape,
and the standard node computes:

    Shape(A), Shape(B) -> sonnx::MatMulOperands -> A's shape, its shape -> Reshape -> shape
    A, shape -> Reshape -> A

For any number of operands, the shapes and the ranks of all are in two vectors:

    Shape(X0), Shape(X1), ... -> Concat -> sonnx::ConcatOperands
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.decision import ATTRIBUTES, make_decision
from sonnx_ort.custom_ops.definition import (
    CARRIERS,
    KERNEL_TYPES,
    Kernel,
    KernelDefinition,
    KernelOutput,
    shape_output,
)
from sonnx_ort.custom_ops.kernel import shapes_in
from sonnx_ort.custom_ops.violation_log import kernel_failed
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule

Array = npt.NDArray[Any]

LEFT_OUT = -1
"""The single size or element that represents an omitted operand."""

_INT64 = ElementType.INT64.dtype


@dataclass(frozen=True, slots=True)
class Inspection:
    """The custom operator for an operator that is not element-wise.

    Attributes:
        operator: The profile's operator.
    """

    operator: Operator

    arithmetic: ClassVar[None] = None
    carriers: ClassVar[Mapping[ElementType, ElementType]] = CARRIERS

    @property
    def name(self) -> str:
        """Its name in the domain `sonnx`, which no operator of ONNX has."""
        return f"{self.operator.name}Operands"

    def definitions(self) -> tuple[KernelDefinition, ...]:
        """One kernel, or one for each type of operands whose elements are read."""
        inputs = dict.fromkeys(self._inputs(kind) for kind in self._kinds())
        return tuple(
            KernelDefinition(
                name=self.name,
                operator=self.operator,
                inputs=types,
                output=ElementType.INT64.value,
                attributes=(*ATTRIBUTES, *self.operator.parameters),
                kernel=make_kernel(self),
            )
            for types in inputs
        )

    def _kinds(self) -> Sequence[ElementType]:
        return [kind for kind in KERNEL_TYPES if kind.family in self.operator.families]

    def _inputs(self, element_type: ElementType) -> tuple[str, ...]:
        operator = self.operator
        if operator.repeated_operand is not None:
            return (ElementType.INT64.value, ElementType.INT64.value)
        return tuple(
            ElementType.INT64.value
            if name in operator.by_shape
            else operator.operand_types.get(name, element_type.value)
            for name in operator.checked_operands
        )


def make_kernel(inspection: Inspection) -> Kernel:
    """Make the kernel of an operator.

    Returns:
        A function of shapes and elements, the attributes `node` and `edition`, and parameters of
        the rules in JSON. It returns the first shape, and the shape of that: `[rank]`, or
        `[-ticket]` on a violation. It never raises.
    """
    operator = inspection.operator

    def rules(edition: Edition) -> Iterable[Rule]:
        # Rules that a run can violate are the same in all families, but for those that hold of
        # all integers; the family of floats is the first.
        return next(iter(operator.contracts[edition].values()))

    decided = make_decision(operator, rules, _INT64)

    def kernel(
        *inputs: Array, node: str, edition: str, **attributes: str
    ) -> tuple[KernelOutput, KernelOutput]:
        try:
            given = _given(operator, inputs)
            refused = decided(tuple(given.values()), node, edition, attributes, tuple(given))
            if refused is not None:
                return refused
            shape = next(iter(given.values())).shape
            return shape_output(shape), shape_output((len(shape),))
        except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
            return kernel_failed(_INT64, inspection.name, node, error)

    return kernel


def _given(operator: Operator, inputs: Sequence[Array]) -> Mapping[str, Array]:
    """The operands by name, without omitted ones."""
    if operator.repeated_operand is not None:
        shapes = shapes_in(*inputs)
        names = operator.operand_names(len(shapes))
        return {name: _of_shape(shape) for name, shape in zip(names, shapes, strict=True)}
    return {
        name: _of_shape(array.tolist()) if name in operator.by_shape else array
        for name, array in zip(operator.checked_operands, inputs, strict=True)
        if array.tolist() != omitted(operator, name)
    }


def omitted(operator: Operator, name: str) -> list[int] | list[list[int]]:
    """What represents an omitted operand: no shape, or elements in a matrix."""
    return [LEFT_OUT] if name in operator.by_shape else [[LEFT_OUT]]


def _of_shape(sizes: Sequence[int]) -> Array:
    """An array of a shape, without memory for its elements."""
    return np.broadcast_to(np.int8(0), tuple(sizes))
