"""The parts of the guards.

A guard computes one flag: whether the operands keep a rule. Who adds nodes turns it into the shape
of the first operand, or the code of the violated rule, for a `Reshape` that passes the operand on
or fails.
"""

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Generic, TypeVar

from onnx import TensorProto

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.terms.operand import Operand

_SMALL_REDUCTION = 12
"""The first opset that reduces 8-bit integers."""

OLDEST_FORMAT = 11
"""The least version of the file's format (`ir_version`) that an enforced model has.

ONNX Runtime reads it from 1.23 on. Older releases fuse guards away, fail without a rule's name, or
lack kernels that guards need: they refuse the model instead.
"""

OPERATORS = frozenset(
    [
        *("Add", "And", "Cast", "Concat", "Constant", "Div", "Equal", "Floor", "Gather", "Greater"),
        *("Identity", "If", "IsNaN", "Less", "Loop", "Mul", "Neg", "Not", "Or", "Pow", "Range"),
        *("ReduceMax", "ReduceMin", "ReduceSum", "Reshape", "Shape", "Slice", "Sub", "Tile"),
        "Where",
    ]
)
"""What guards are made of; each gives the same results for the same operands.

This is the only list. Whoever makes a guard refuses others: the expressions that the checker
compares are made by the same functions as the nodes of a model.
"""

Value = Any
"""What computes an operand or a flag: a value of a graph, or an expression."""

Operands = Sequence[Value]

V = TypeVar("V")

Numbers = Sequence[int] | Sequence[Sequence[int]] | int | float
"""The elements of a vector or a matrix, or the one element of a scalar."""


class NodesOf(ABC, Generic[V]):
    """Makes the nodes of a guard, or expressions of the same operators.

    Attributes:
        opset: The opset of the model.
    """

    opset: int

    @abstractmethod
    def add(
        self,
        operator: str,
        inputs: Sequence[V],
        purpose: str,
        attributes: Mapping[str, int | tuple[int, ...]] | None = None,
    ) -> V:
        """The result of an operator; the purpose is the end of its name."""

    @abstractmethod
    def constant(
        self, numbers: Numbers, purpose: str, element_type: ElementType = ElementType.INT64
    ) -> V:
        """A constant: its elements, or the one element of a scalar.

        They are exact in the element type and in double.
        """

    def shape(self, value: V) -> V:
        """The Shape of a value."""
        return self.add("Shape", [value], "operand_shape")

    def cast(self, value: V, to: ElementType, purpose: str) -> V:
        """A value in another type."""
        return self.add("Cast", [value], purpose, {"to": TensorProto.DataType.Value(to.upper())})

    def together(self, operator: str, flags: Sequence[V], purpose: str) -> V:
        """Flags by And or Or, each with the result of those before."""
        return reduce(lambda one, other: self.add(operator, [one, other], purpose), flags)

    def negated(self, flags: V, purpose: str) -> V:
        """Which flags are false. ONNX Runtime's optimizer removes a Not."""
        false = self.constant(False, "false", ElementType.BOOL)
        return self.add("Equal", [flags, false], purpose)


GuardNodes = NodesOf[Any]
"""What a guard is made by, of values that it does not look into."""


@dataclass(frozen=True, slots=True)
class GuardedNode:
    """What a guard knows about the node that it protects.

    Attributes:
        operands: What is known of its operands.
        element_type: The type of its operands.
        computed_in: The type in which they are compared.
        elementwise: Whether its operands have one shape.
        foldable: Whether ONNX Runtime can compute an operand by constant folding, for each.
        names_every_axis: Whether it is known that a Slice names as many axes as there are.
    """

    operands: Sequence[Operand]
    element_type: ElementType
    computed_in: ElementType
    elementwise: bool = False
    foldable: Sequence[bool] = ()
    names_every_axis: bool = True

    @property
    def may_be_scalar(self) -> bool:
        """Whether the first operand can be a scalar.

        For element-wise operators any operand counts, since shapes are checked to be equal.
        """
        operands = self.operands if self.elementwise else self.operands[:1]
        return operands[0].scalar_inputs or not any(operand.shape for operand in operands)

    def type_of(self, name: str) -> ElementType:
        """The type in which the elements of an operand, named as in the profile, are compared."""
        for operand in self.operands:
            own = ElementType.named(operand.element_type) if operand.name == name else None
            if own is not None and own is not self.element_type:
                return own
        return self.computed_in


@dataclass(frozen=True, slots=True)
class Flag:
    """Whether a run keeps a rule.

    Attributes:
        value: One boolean, as a scalar or a vector; or one for each axis of the first operand.
        when_kept: The value if the rule is kept.
    """

    value: Value
    when_kept: bool


class Precondition(enum.Enum):
    """The precondition for evaluating a guard without an error."""

    NOTHING = enum.auto()
    """Any operands that the operator takes."""

    ONE_SHAPE = enum.auto()
    """The operands have equal shapes, if that is demanded."""

    EARLIER_RULES = enum.auto()
    """All rules decided earlier are kept."""


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

    look: Callable[[GuardNodes, Operands, GuardedNode], Flag]
    binds: Callable[[ElementType], bool]
    precondition: Precondition = Precondition.EARLIER_RULES
    passing: Callable[[GuardedNode], Sequence[int]] = lambda _: ()
    sufficient: Mapping[int, Callable[[ElementType], int]] = field(default_factory=dict)


def any_true(nodes: GuardNodes, flags: Value, purpose: str) -> Value:
    """Whether any flag is true, as a scalar; false for an empty tensor.

    For an empty tensor ReduceMax gives 0 in ONNX Runtime 1.23, and the smallest number of the type
    in 1.32.
    """
    # Bytes are the fastest to reduce.
    small = nodes.opset >= _SMALL_REDUCTION
    carrier = ElementType.UINT8 if small else ElementType.FLOAT
    numbers = nodes.cast(flags, carrier, f"{purpose}_numbers")
    largest = nodes.add("ReduceMax", [numbers], f"{purpose}_number", {"keepdims": 0})
    if small:
        return nodes.cast(largest, ElementType.BOOL, purpose)
    return nodes.add("Greater", [largest, nodes.constant(0, "zero", carrier)], purpose)
