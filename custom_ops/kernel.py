"""Kernels that never raise: they check the rules of an operator, and compute its result.

Makes kernels that never raise from the arithmetic of operators. An exception in a kernel ends the
process (onnxruntime-extensions' `Compute` is `noexcept`). So on a violation a kernel returns an
impossible shape, for which the `Reshape` after it fails.
"""

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from sonnx_ort.custom_ops.arithmetic import Arithmetic
from sonnx_ort.custom_ops.definition import (
    KERNEL_TYPES,
    Kernel,
    KernelDefinition,
    KernelOutput,
    kernel_output,
    shape_output,
)
from sonnx_ort.custom_ops.failure_channel import contract_violation, failed, kernel_failed
from sonnx_ort.profile.element_type import CARRIERS, ElementType
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import VERSION, AttributeValue, Rule, first_violation

Array = npt.NDArray[Any]

ATTRIBUTES = ("node", "edition")
"""The attributes of every custom operator; others have parameters of its rules."""


def for_any_version(edition: Edition) -> str:
    """The attribute `edition` of a node that checks the rules of every version of onnxruntime.

    The reference of a natively enforced model has it, whose guards are for every version.
    """
    return f"{edition.value}, any version"


Decision = Callable[..., tuple[KernelOutput, KernelOutput] | None]
"""Finds the first violated rule, as `refusal` below."""


def make_decision(
    operator: Operator,
    rules: Callable[[Edition], Iterable[Rule]],
    dtype: np.dtype[Any],
    runtime: str = onnxruntime.__version__,
) -> Decision:
    """Prepare the decision of an operator.

    Only rules that a run can violate are checked, and that this version of onnxruntime needs; the
    dtype is that of the kernel's result.
    """
    plain: dict[str, tuple[Rule, ...]] = {}
    for each in Edition:
        every = tuple(rule for rule in rules(each) if rule.in_run)
        plain[each.value] = tuple(rule for rule in every if rule.needed_with(runtime))
        plain[for_any_version(each)] = every

    @functools.cache
    def of_node(edition: str, attributes: tuple[tuple[str, str], ...]) -> tuple[Rule, ...]:
        given = {name: _attribute(text) for name, text in attributes}
        version = given.get(VERSION)
        binding = plain[edition]
        if isinstance(version, int):
            binding = tuple(rule for rule in binding if rule.binds_version(version))
        return tuple(rule.of_node(given) for rule in binding)

    def refusal(
        operands: Sequence[Array],
        node: str,
        edition: str,
        attributes: Mapping[str, str],
        names: Sequence[str] = (),
    ) -> tuple[KernelOutput, KernelOutput] | None:
        """Return what a kernel returns for a violation; None if all rules are kept.

        The attributes are the operator's parameters in JSON; names are given if operands are
        omitted.
        """
        binding = of_node(edition, tuple(attributes.items())) if attributes else plain[edition]
        operand_names = tuple(names or operator.operand_names(len(operands)))
        broken = first_violation(binding, operand_names, operands)
        if broken is None:
            return None
        rule, violation = broken
        shapes = tuple(operand.shape for operand in operands)
        error = contract_violation(operator, rule, node, operand_names, shapes, violation)
        return failed(dtype, rule.code, error)

    return refusal


def _attribute(text: str) -> AttributeValue:
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value


_INT64 = ElementType.INT64.value


@dataclass(frozen=True, slots=True)
class CustomOperator:
    """The custom operator for an element-wise operator.

    Attributes:
        operator: The profile's operator.
        arithmetic: The computation; None if the custom operator only checks the operands and passes
            one on, and a standard node computes.
        carriers: The types that replace those that kernels cannot take, if the results are the
            same; other such types are rejected.
        passed_operand: The index of the operand that is passed on to the standard node: one that
            ONNX Runtime must not know before a run, if there is one.
    """

    operator: Operator
    arithmetic: Arithmetic | None
    carriers: Mapping[ElementType, ElementType] = field(default_factory=lambda: CARRIERS)
    passed_operand: int = 0

    @property
    def name(self) -> str:
        """Its name in the domain `sonnx`, which no operator of ONNX has."""
        computes = self.arithmetic is not None
        return f"Checked{self.operator.name}" if computes else f"{self.operator.name}Operands"

    def definitions(self) -> tuple[KernelDefinition, ...]:
        """One kernel for each type."""
        return tuple(
            KernelDefinition(
                name=self.name,
                operator=self.operator,
                inputs=self._inputs(element_type),
                output=self.output(element_type),
                attributes=(*ATTRIBUTES, *self.operator.parameters),
                kernel=make_kernel(self, element_type),
            )
            for element_type in (*KERNEL_TYPES, ElementType.BOOL)
            if element_type.family in self.operator.families
        )

    def output(self, element_type: ElementType) -> str:
        """The ONNX name of the result's type, for operands of an element type."""
        if self.arithmetic is not None:
            return self.operator.result_type or element_type.value
        name = self.operator.operand_names(self.passed_operand + 1)[self.passed_operand]
        return self.operator.operand_types.get(name, element_type.value)

    def _inputs(self, element_type: ElementType) -> tuple[str, ...]:
        """For any number of tensors: all elements, all sizes, and the rank of each."""
        if self.operator.repeated_operand is not None:
            return (element_type.value, _INT64, _INT64)
        own = self.operator.operand_types
        return tuple(own.get(name, element_type.value) for name in self.operator.operands)


def make_kernel(custom: CustomOperator, element_type: ElementType) -> Kernel:
    """Make the kernel of an operator for one element type.

    Returns:
        A function of the operands, the attributes `node` and `edition`, and parameters of the rules
        in JSON. It returns the result and its shape; on a violation an empty result and the shape
        `[-ticket]`. It never raises.
    """
    operator, arithmetic = custom.operator, custom.arithmetic or _passing_on(custom.passed_operand)
    dtype = ElementType(custom.output(element_type)).dtype
    decided = make_decision(
        operator, lambda edition: operator.rules(edition, element_type.family), dtype
    )
    editions = {name: each for each in Edition for name in (each.value, for_any_version(each))}
    variadic = operator.repeated_operand is not None

    def kernel(
        *inputs: Array, node: str, edition: str, **attributes: str
    ) -> tuple[KernelOutput, KernelOutput]:
        try:
            operands = separated(*inputs) if variadic else inputs
            refused = decided(operands, node, edition, attributes)
            if refused is not None:
                return refused
            result = arithmetic(*operands, edition=editions[edition])
            return kernel_output(result, dtype), shape_output(result.shape)
        except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
            return kernel_failed(dtype, custom.name, node, error)

    return kernel


def _passing_on(position: int) -> Arithmetic:
    """Returns the operand at a position, for the standard node."""

    def passed_operand(*operands: Array, edition: Edition) -> Array:
        del edition
        return operands[position]

    return passed_operand


def separated(elements: Array, sizes: Array, ranks: Array) -> tuple[Array, ...]:
    """Split the vectors of an operator with any number of operands into tensors.

    Args:
        elements: The elements of all tensors, one tensor after the other.
        sizes: The shapes of all tensors, one after the other, int64.
        ranks: The rank of each tensor, int64.
    """
    tensors, start = [], 0
    for shape in shapes_in(sizes, ranks):
        stop = start + int(np.prod(shape, dtype=np.int64))
        tensors.append(elements[start:stop].reshape(shape))
        start = stop
    return tuple(tensors)


def shapes_in(sizes: Array, ranks: Array) -> list[tuple[int, ...]]:
    """Split a vector of the sizes of tensors into shapes, by their ranks."""
    flat = sizes.tolist()
    shapes, start = [], 0
    for rank in ranks.tolist():
        shapes.append(tuple(flat[start : start + rank]))
        start += rank
    return shapes
