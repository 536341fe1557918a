"""The parts of the native guards.

A guard computes one flag: whether the operands keep a rule. `Decision` turns it into the shape of
the first operand, or the code of the violated rule, for a `Reshape` that passes the operand on or
fails.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.enforcing.value_info import DATA_TYPES
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.profile.element_type import ElementType

_SMALL_REDUCTION = 12
"""The first opset that reduces 8-bit integers."""

Operands = Sequence[ir.Value]


@dataclass(frozen=True, slots=True)
class GuardedNode:
    """What a guard knows about the node that it protects.

    Attributes:
        examined: The node, with its obligations.
        element_type: The type of its operands.
        computed_in: The type in which they are compared.
    """

    examined: ExaminedNode
    element_type: ElementType
    computed_in: ir.DataType

    @property
    def may_be_scalar(self) -> bool:
        """Whether the first operand may be a scalar, provided that shapes are equal if demanded."""
        operands = self.examined.operands
        if not self.examined.target.operator.elementwise:
            operands = operands[:1]
        return operands[0].scalar_inputs or not any(operand.shape for operand in operands)

    def type_of(self, name: str) -> ir.DataType:
        """The type in which the elements of an operand, named as in the profile, are compared."""
        for operand in self.examined.operands:
            own = ElementType.named(operand.element_type) if operand.name == name else None
            if own is not None and own is not self.element_type:
                return DATA_TYPES[own]
        return self.computed_in


@dataclass(frozen=True, slots=True)
class Flag:
    """Whether a run keeps a rule.

    Attributes:
        value: One boolean, as a scalar or a vector; or one for each axis of the first operand.
        when_kept: The value if the rule is kept.
    """

    value: ir.Value
    when_kept: bool


class Precondition(enum.Enum):
    """The precondition for evaluating a guard without an error."""

    NOTHING = enum.auto()
    """Any operands that the operator takes."""

    ONE_SHAPE = enum.auto()
    """The operands have equal shapes, if that is demanded."""

    EARLIER_RULES = enum.auto()
    """All rules decided earlier are kept."""


def _never(_: object) -> Sequence[int]:
    return ()


@dataclass(frozen=True, slots=True)
class DecidingGuard:
    """Computes whether operands keep a rule.

    Several guards make one decision, with one `Reshape` for each guarded operand.

    Attributes:
        look: Returns the flag. Takes the builder of new nodes, the operands of the rule and the
            node.
        binds: Whether elements of a type can violate the rule in a run.
        precondition: The precondition.
        passing: The positions of operands to guard besides the first.
        sufficient: By the position of an operand, a lower bound of its elements that is sufficient
            for the rule, the likeliest first.
    """

    look: Callable[[StandardNodes, Operands, GuardedNode], Flag]
    binds: Callable[[ElementType], bool]
    precondition: Precondition = Precondition.EARLIER_RULES
    passing: Callable[[GuardedNode], Sequence[int]] = _never
    sufficient: Mapping[int, Callable[[ElementType], int]] = field(default_factory=dict)


def any_true(nodes: StandardNodes, flags: ir.Value, purpose: str) -> ir.Value:
    """Whether any flag is true, as a scalar; false for an empty tensor.

    For an empty tensor ReduceMax gives 0 in ONNX Runtime 1.23, and the smallest number of the type
    in 1.32.
    """
    # Bytes are the fastest to reduce.
    small = nodes.opset >= _SMALL_REDUCTION
    carrier = ir.DataType.UINT8 if small else ir.DataType.FLOAT
    numbers = nodes.cast(flags, carrier, f"{purpose}_numbers")
    largest = nodes.add("ReduceMax", [numbers], f"{purpose}_number", {"keepdims": 0})
    if small:
        return nodes.cast(largest, ir.DataType.BOOL, purpose)
    return nodes.add("Greater", [largest, nodes.constant(0, "zero", carrier)], purpose)
