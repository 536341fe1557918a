"""Custom operators that compute nothing: they check operands, shapes and values.

Custom operators that check the operands of a node, and compute nothing. They read the shapes of
operands, or the elements if rules depend on them, and return the shape of the first operand, so
they read no large tensor. The graph reshapes the first operand to that shape, and the standard node
computes:

    Shape(A), Shape(B) -> sonnx::MatMulOperands -> A's shape, its shape -> Reshape -> shape
    A, shape -> Reshape -> A

For any number of operands, the shapes and the ranks of all are in two vectors:

    Shape(X0), Shape(X1), ... -> Concat -> sonnx::ConcatOperands

Custom operators that decide broadcasting from shapes alone, without reading tensors.
`sonnx::BroadcastShape` returns the common shape of any number of tensors. `sonnx::AlignedShape`
returns the shape by which the second operand aligns with the first in opsets 1 and 6. The graph
then reshapes and expands.

The custom operator that checks that all elements of a value are finite, or within a contract. It
returns the value's shape, to which the graph reshapes the value itself:

    X -> sonnx::CheckedElements -> X's shape, its shape -> Reshape -> shape
    X, shape -> Reshape -> X

`sonnx::CheckedSizes` does the same for the shape of an input with a contract.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.definition import (
    KERNEL_TYPES,
    Kernel,
    KernelDefinition,
    KernelOutput,
    shape_output,
)
from sonnx_ort.custom_ops.failure_channel import (
    contract_violation,
    failed,
    guard_name,
    kernel_failed,
)
from sonnx_ort.custom_ops.kernel import ATTRIBUTES, make_decision, shapes_in
from sonnx_ort.errors import escaped
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.contract import contract_from_json
from sonnx_ort.profile.contract_rules import (
    WITHIN_SIZES,
    OnSizes,
    ShapeDemand,
    contract_requirement,
    contract_rule,
    sizes_requirement,
)
from sonnx_ort.profile.element_type import CARRIERS, ElementType
from sonnx_ort.profile.graph import FINITE, computing_operator, finite_elements
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.broadcasting import Broadcastable
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import Rule, Violation

Array = npt.NDArray[Any]

LEFT_OUT = -1
"""The single size or element that represents an omitted operand."""

_NOTHING = (*[1] * 8, 0)
"""The shape of an omitted operand; no document gives an operand so many axes."""

_INT64 = ElementType.INT64.dtype

_FEW_BYTES = 256
"""Operands with so few bytes in all are compared with earlier ones, which takes less than rules."""

_MOST_REMEMBERED = 256
"""How many earlier operands a kernel remembers."""


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
        kinds = (kind for kind in KERNEL_TYPES if kind.family in self.operator.families)
        inputs = dict.fromkeys(map(self._inputs, kinds))
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

    def shape_of(self, inputs: Sequence[Array]) -> tuple[int, ...]:
        """The shape that the kernel gives for its inputs: that of the first operand."""
        return next(iter(_given(self.operator, inputs).values())).shape

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
        `[-ticket]` on a violation. It never raises. Few operands that kept the rules before, bit
        for bit, keep them again: rules depend on nothing else.
    """
    operator = inspection.operator

    def rules(edition: Edition) -> Iterable[Rule]:
        # Rules that a run can violate are the same in all families, but for those that hold of
        # all integers; the family of floats is the first.
        return next(iter(operator.contracts[edition].values()))

    decided = make_decision(operator, rules, _INT64)
    kept: dict[object, tuple[KernelOutput, KernelOutput]] = {}

    def kernel(
        *inputs: Array, node: str, edition: str, **attributes: str
    ) -> tuple[KernelOutput, KernelOutput]:
        try:
            seen = _if_few(inputs, edition, attributes)
            # Several threads may run the kernel: one look, for another may forget it.
            known = kept.get(seen)
            if known is not None:
                return known
            given = _given(operator, inputs)
            refused = decided(tuple(given.values()), node, edition, attributes, tuple(given))
            if refused is not None:
                return refused
            shape = next(iter(given.values())).shape
            outputs = shape_output(shape), shape_output((len(shape),))
            if seen is not None:
                if len(kept) >= _MOST_REMEMBERED:
                    kept.clear()
                kept[seen] = outputs
        except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
            return kernel_failed(_INT64, inspection.name, node, error)
        return outputs

    return kernel


def _if_few(
    inputs: Sequence[Array], edition: str, attributes: Mapping[str, str]
) -> tuple[object, ...] | None:
    """All that decides whether rules are kept, if it is few bytes; else None."""
    if sum([array.nbytes for array in inputs]) > _FEW_BYTES:
        return None
    contents = [(array.shape, array.tobytes()) for array in inputs]
    return edition, *attributes.items(), *contents


def _given(operator: Operator, inputs: Sequence[Array]) -> Mapping[str, Array]:
    """The operands by name, without omitted ones."""
    if operator.repeated_operand is not None:
        shapes = shapes_in(*inputs)
        names = operator.operand_names(len(shapes))
        return {name: _of_shape(shape) for name, shape in zip(names, shapes, strict=True)}
    return {
        name: _of_shape(array.tolist()) if name in operator.by_shape else array
        for name, array in zip(operator.checked_operands, inputs, strict=True)
        if not _is_omitted(operator, name, array)
    }


def omitted(operator: Operator, name: str) -> list[Any]:
    """What represents an omitted operand: no shape, or no elements along many axes."""
    nothing: list[Any] = np.empty(_NOTHING).tolist()
    return [LEFT_OUT] if name in operator.by_shape else nothing


def _is_omitted(operator: Operator, name: str, array: Array) -> bool:
    # A list of the elements would take a hundred times as long as what ONNX Runtime computes.
    return array.tolist() == [LEFT_OUT] if name in operator.by_shape else array.shape == _NOTHING


def _of_shape(sizes: Sequence[int]) -> Array:
    """An array of a shape, without memory for its elements."""
    # As numpy.broadcast_to makes it, in a quarter of the time.
    return np.ndarray(tuple(sizes), np.int8, b"\0", strides=(0,) * len(sizes))


_BROADCASTABLE = Broadcastable()


def common_shape(
    sizes: Array, ranks: Array, node: str, operands: str
) -> tuple[KernelOutput, KernelOutput]:
    """Compute the common shape, or record a violation for the first two incompatible tensors.

    Args:
        sizes: The shapes of all tensors in one vector, int64.
        ranks: The rank of each tensor, int64.
        node: The node's name.
        operands: The names of the tensors, a list in JSON.

    Returns:
        The common shape, and its own shape: `[rank]`, or `[-ticket]` on a violation. Never raises.
    """
    try:
        shapes = shapes_in(sizes, ranks)
        common = _BROADCASTABLE.common_shape(shapes)
        if isinstance(common, Violation):
            own = BROADCAST.operand_names(len(shapes))
            names = [f"{one} '{name}'" for one, name in zip(own, json.loads(operands), strict=True)]
            error = contract_violation(BROADCAST, E1, node, tuple(names), tuple(shapes), common)
            return failed(_INT64, E1.code, error)
        return shape_output(common), shape_output((len(common),))
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return kernel_failed(_INT64, BROADCAST.name, node, error)


def aligned_shape(  # noqa: PLR0913, PLR0917 - the inputs, then the attributes
    sizes: Array, ranks: Array, node: str, operator: str, rule: str, axis: str
) -> tuple[KernelOutput, KernelOutput]:
    """Compute the shape by which the second of two tensors aligns with the first.

    Args:
        sizes: The shapes of both tensors in one vector, int64.
        ranks: The rank of each tensor, int64.
        node: The node's name.
        operator: The node's operator.
        rule: The rule that is violated if they cannot be aligned.
        axis: The attribute `axis` in digits; empty if it is not set.

    Returns:
        The second tensor's shape with trailing axes of size 1, and the shape of that: `[rank]`, or
        `[-ticket]` on a violation. Never raises.
    """
    try:
        a, b = shapes_in(sizes, ranks)
        limits = LimitedBroadcasting(int(axis) if axis else None)
        violation = limits.violation(a, b)
        if violation is not None:
            broken, enforced = RULES[rule], OPERATORS[operator]
            error = contract_violation(enforced, broken, node, enforced.operands, (a, b), violation)
            return failed(_INT64, broken.code, error)
        trailing = limits.trailing_axes(len(a), len(b)) or 0
        return shape_output(b + (1,) * trailing), shape_output((len(b) + trailing,))
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return kernel_failed(_INT64, operator, node, error)


BROADCAST_SHAPE = KernelDefinition(
    name="BroadcastShape",
    operator=BROADCAST,
    inputs=(ElementType.INT64.value, ElementType.INT64.value),
    output=ElementType.INT64.value,
    attributes=("node", "operands"),
    kernel=common_shape,
)
"""Checks a Broadcast."""

ALIGNED_SHAPE = KernelDefinition(
    name="AlignedShape",
    operator=None,
    inputs=(ElementType.INT64.value, ElementType.INT64.value),
    output=ElementType.INT64.value,
    attributes=("node", "operator", "rule", "axis"),
    kernel=aligned_shape,
    remark="B has to line up with A",
)
"""Checks the broadcasting of opsets 1 and 6."""


_NAME = "CheckedElements"


def checked_shape(  # noqa: PLR0913, PLR0917 - the input, then the attributes
    elements: npt.NDArray[Any],
    node: str,
    operator: str,
    value: str,
    element_type: str,
    contract: str,
) -> tuple[KernelOutput, KernelOutput]:
    """Give the shape of a value if all of its elements are as demanded.

    Args:
        elements: The value; 16-bit floats as float, perhaps before they are rounded.
        node: The name of the node that computes it.
        operator: That node's operator.
        value: The value's name.
        element_type: The value's own type.
        contract: The contract of the value in JSON; empty if it has to be finite.

    Returns:
        The shape, and its own shape: `[rank]`, or `[-ticket]` on a violation. Never raises.
    """
    try:
        rounded = _rounded(elements, ElementType(element_type))
        rule, requirement = _demanded(value, contract)
        violation = requirement.violation((rounded,))
        if violation is not None:
            shapes = (elements.shape,)
            error = contract_violation(
                computing_operator(operator), rule, node, (value,), shapes, violation
            )
            return failed(_INT64, rule.code, error)
        return shape_output(elements.shape), shape_output((elements.ndim,))
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return kernel_failed(_INT64, _NAME, node, error)


def checked_sizes(
    sizes: npt.NDArray[Any], ranks: npt.NDArray[Any], demand: str
) -> tuple[KernelOutput, KernelOutput]:
    """Give the shape of an input if it is as its contract demands.

    Args:
        sizes: The shapes of the input, and of those with an axis of the same size, in one vector.
        ranks: Their ranks.
        demand: The demand in JSON.

    Returns:
        The shape, and its own shape: `[rank]`, or `[-ticket]` on a violation. Never raises.
    """
    try:
        demanded = ShapeDemand.from_json(demand)
        shapes = tuple(shapes_in(sizes, ranks))
        requirement = sizes_requirement(demanded)
        violation = requirement.violation_of(demanded.operands, [*map(_of_shape, shapes)])
        if violation is not None:
            operands, node = demanded.operands, demanded.input
            operator = computing_operator("Input")
            error = contract_violation(operator, WITHIN_SIZES, node, operands, shapes, violation)
            return failed(_INT64, WITHIN_SIZES.code, error)
        return shape_output(shapes[0]), shape_output((len(shapes[0]),))
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return kernel_failed(_INT64, "CheckedSizes", demand, error)


CHECKED_SIZES = KernelDefinition(
    name="CheckedSizes",
    operator=None,
    inputs=(ElementType.INT64.value, ElementType.INT64.value),
    output=ElementType.INT64.value,
    attributes=("demand",),
    kernel=checked_sizes,
)
"""Checks the shape of an input with a contract."""


def _demanded(value: str, contract: str) -> tuple[Rule, OnElements | OnSizes]:
    """The rule that binds a value, and what it demands."""
    if not contract:
        return FINITE, finite_elements(value)
    (entry,) = contract_from_json(contract).values
    return contract_rule(entry), contract_requirement(entry)


@np.errstate(all="ignore")
def _rounded(elements: npt.NDArray[Any], element_type: ElementType) -> npt.NDArray[Any]:
    return elements.astype(element_type.dtype, copy=False)


def value_operator(operator: str) -> str:
    """The name of an operator of any domain in errors: letters, digits and underscores."""
    return re.sub(r"\W", "_", operator)


def remark_on(requirement: OnElements | OnSizes) -> str:
    """What a value must be, for the name of its guard."""
    if isinstance(requirement, OnSizes):
        return escaped(f"'{requirement.of.input}' must be {requirement.stated}")
    finding = requirement.finding.removeprefix(f"{requirement.checked} is ")
    return escaped(f"'{requirement.checked}' must not be {finding}")


def value_guard_name(
    operator: str, node: str, rule: Rule, requirement: OnElements | OnSizes, *, logged: bool = False
) -> str:
    """Make the name of the guard after a value.

    Args:
        operator: The operator of the node that computes it, of any domain.
        node: The name of that node.
        rule: The rule that binds the value.
        requirement: What it demands.
        logged: As `guard_name` takes it.
    """
    name = value_operator(operator)
    return guard_name(name, node, [rule], remark_on(requirement), logged=logged)


CHECKED_ELEMENTS = tuple(
    KernelDefinition(
        name=_NAME,
        operator=None,
        inputs=(element_type.value,),
        output=ElementType.INT64.value,
        attributes=("node", "operator", "value", "element_type", "contract"),
        kernel=checked_shape,
    )
    for element_type in KERNEL_TYPES
)
"""One kernel for each type of numbers that kernels take."""
