"""What guards of standard operators know, and what they are made of.

A guard gives one flag: whether operands keep a rule. `Decision` makes of it the shape of the first
operand, or the code of the rule that is broken, and a `Reshape` that lets the operand through or
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
"""The first version of the standard operators that reduces 8-bit integers."""

Operands = Sequence[ir.Value]


@dataclass(frozen=True, slots=True)
class GuardedNode:
    """What a guard may know of the node that it stands in front of.

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
        """Whether the first operand may have no axes, given that rules about equality are kept."""
        operands = self.examined.operands
        if not self.examined.target.operator.elementwise:
            operands = operands[:1]
        return operands[0].scalar_inputs or not any(operand.shape for operand in operands)

    def type_of(self, name: str) -> ir.DataType:
        """The type in which the elements of an operand are compared.

        Args:
            name: The operand's name in the operator's document.
        """
        for operand in self.examined.operands:
            own = ElementType.named(operand.element_type) if operand.name == name else None
            if own is not None and own is not self.element_type:
                return DATA_TYPES[own]
        return self.computed_in


@dataclass(frozen=True, slots=True)
class Flag:
    """Whether a run keeps a rule.

    Attributes:
        value: One boolean, a scalar or in a vector.
        when_kept: What it is where the rule is kept.
    """

    value: ir.Value
    when_kept: bool


class Presumed(enum.Enum):
    """What has to hold of operands so that the nodes of a guard look at them without an error."""

    NOTHING = enum.auto()
    """They can look at any operands that the operator takes."""

    ONE_SHAPE = enum.auto()
    """Operands have one shape, where that is demanded."""

    EARLIER_RULES = enum.auto()
    """All rules that are decided before are kept."""


def _never(_: object) -> Sequence[int]:
    return ()


@dataclass(frozen=True, slots=True)
class DecidingGuard:
    """Decides whether operands keep a rule.

    Several of them make one decision, and one `Reshape` for each operand that has to pass.

    Attributes:
        look: Gives the flag. It takes what gives new nodes, the operands that the rule speaks of,
            and the node.
        binds: Whether a run can break the rule with elements of a type.
        presumed: What has to hold before it looks.
        passing: The positions of further operands that have to pass, besides the first.
        sufficient: What keeps the rule whatever else is in the operands: by the position of one of
            them, the number that none of its elements is below. Each alone does; the likeliest
            comes first.
    """

    look: Callable[[StandardNodes, Operands, GuardedNode], Flag]
    binds: Callable[[ElementType], bool]
    presumed: Presumed = Presumed.EARLIER_RULES
    passing: Callable[[GuardedNode], Sequence[int]] = _never
    sufficient: Mapping[int, Callable[[ElementType], int]] = field(default_factory=dict)


def any_true(nodes: StandardNodes, flags: ir.Value, purpose: str) -> ir.Value:
    """Whether a flag of whatever shape is true; if there are none, none is.

    Of no elements ONNX Runtime 1.23 gives 0, and 1.32 the smallest number of the type.

    Args:
        nodes: Takes the new nodes.
        flags: The flags.
        purpose: What the names of new values say of them.
    """
    # Bytes are the quickest to reduce.
    small = nodes.opset >= _SMALL_REDUCTION
    carrier = ir.DataType.UINT8 if small else ir.DataType.FLOAT
    numbers = nodes.cast(flags, carrier, f"{purpose}_numbers")
    largest = nodes.add("ReduceMax", [numbers], f"{purpose}_number", {"keepdims": 0})
    if small:
        return nodes.cast(largest, ir.DataType.BOOL, purpose)
    return nodes.add("Greater", [largest, nodes.constant(0, "zero", carrier)], purpose)
