"""What a node needs in front of it, when standard operators enforce its rules."""

from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType, Family, smallest_value
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.requirements.division import (
    InfinityForZeroDivisor,
    NonZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.known_output import element_type_of


@dataclass(frozen=True, slots=True)
class Needs:
    """What is left to the run of an element-wise node's rules.

    Attributes:
        element_type: The type of the operands.
        shapes: The rules about equal shapes, in the order of decision.
        zero: Those about zero divisors of integers.
        overflow: Those about quotients beyond the type.
        infinity: Whether the result is +inf wherever B is zero.
        equal_ranks: Whether the operands are known to be of one rank.
        through: Which of the operands have to pass the guard of equal shapes.
        may_be_scalar: Whether the operands may have no axes, given that they have one shape.
        foldable_divisor: Whether ONNX Runtime may find a zero in the divisor before all runs.
    """

    element_type: ElementType
    shapes: tuple[Rule, ...]
    zero: tuple[Rule, ...]
    overflow: tuple[Rule, ...]
    infinity: bool
    equal_ranks: bool
    through: tuple[bool, bool]
    may_be_scalar: bool
    foldable_divisor: bool

    @property
    def guarded(self) -> bool:
        """Whether a run decides any rule."""
        return bool(self.shapes or self.zero or self.overflow)

    @classmethod
    def of(cls, examined: ExaminedNode, edition: Edition) -> "Needs":
        """Find what a node needs.

        Args:
            examined: The node.
            edition: The edition to enforce.

        Raises:
            SonnxError: Its element type follows from nothing.
        """
        element_type = _known_element_type(examined)
        integer = element_type.family is Family.INTEGER
        # A type that is known by its declaration alone: no fact says that it is unsigned.
        signed = integer and smallest_value(element_type) < 0
        left = _LeftToTheRun(examined, edition, element_type)
        zero = left.rules(NonZeroDivisor, InfinityForZeroDivisor) if integer else ()
        return cls(
            element_type=element_type,
            shapes=left.rules(SameShape),
            zero=zero,
            overflow=left.rules(RepresentableQuotient) if signed else (),
            infinity=has_infinity(examined),
            equal_ranks=_equal_ranks(examined),
            through=_through_guard(examined),
            may_be_scalar=_may_be_scalar(examined),
            foldable_divisor=bool(zero) and examined.operands[-1].foldable,
        )


def has_infinity(examined: ExaminedNode) -> bool:
    """Whether the result is +inf wherever B is zero, in whatever type has an infinity.

    Args:
        examined: The node.
    """
    element_type = element_type_of(examined)
    if element_type is None or element_type.family is not Family.FLOAT:
        return False
    requirements = (obligation.rule.requirement for obligation in examined.obligations)
    return any(isinstance(requirement, InfinityForZeroDivisor) for requirement in requirements)


@dataclass(frozen=True, slots=True)
class _LeftToTheRun:
    """The rules of a node that a run decides."""

    examined: ExaminedNode
    edition: Edition
    element_type: ElementType

    def rules(self, *requirements: type) -> tuple[Rule, ...]:
        """Those that demand such things, in the order of decision."""
        operator = self.examined.target.operator
        binding = operator.rules(self.edition, self.element_type.family)
        return tuple(
            o.rule
            for o in self.examined.obligations
            if o.status is Status.RUNTIME
            and o.operator == operator.name
            and o.rule in binding
            and isinstance(o.rule.requirement, requirements)
        )


def _known_element_type(examined: ExaminedNode) -> ElementType:
    element_type = element_type_of(examined)
    if element_type is None:
        target = examined.target
        raise SonnxError(
            f"{target.operator.name} '{target.label}': the native backend needs to know the "
            f"element type of '{target.inputs[0].name}', which follows from nothing and is not "
            "declared; declare it in value_info, or use the python backend"
        )
    return element_type


def _equal_ranks(examined: ExaminedNode) -> bool:
    if examined.broadcast is not None:
        return all(examined.broadcast.expanded)
    if examined.operands[0].scalar_inputs:
        return False
    ranks = {None if o.shape is None else len(o.shape) for o in examined.operands}
    return len(ranks) == 1 and None not in ranks


def _through_guard(examined: ExaminedNode) -> tuple[bool, bool]:
    """Which operands have to pass the guard.

    One is enough to stop the run. But where ONNX Runtime knows all sizes of the other one, it takes
    these for the result's, and leaves out the node and its guard if only the Shape of that is read.
    """
    if examined.broadcast is not None:
        return True, True
    a_known, b_known = (
        operand.shape is not None and all(isinstance(size, int) for size in operand.shape)
        for operand in examined.operands
    )
    a, b = examined.target.inputs
    if b_known and not a_known:
        return not _open_input(a), True
    return True, not _open_input(b)


def _open_input(value: ir.Value) -> bool:
    """Whether a value is an input of which ONNX Runtime does not know all sizes."""
    shape = value.shape
    open_shape = shape is None or any(not isinstance(size, int) for size in shape)
    return value.is_graph_input() and value.producer() is None and open_shape


def _may_be_scalar(examined: ExaminedNode) -> bool:
    operands = examined.operands
    return operands[0].scalar_inputs or not any(operand.shape for operand in operands)
