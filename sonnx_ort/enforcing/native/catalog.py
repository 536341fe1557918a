"""The guards in front of a node, and what is computed behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import onnx_ir as ir

from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.errors import SonnxError
from sonnx_ort.guards.catalog import deciding_guard
from sonnx_ort.guards.element_guards import with_infinity
from sonnx_ort.guards.guard import DecidingGuard, GuardedNode, Operands
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.arithmetic import InfinityForZeroDivisor
from sonnx_ort.profile.rule import Rule, Status, Subject

ResultForm = Callable[[StandardNodes, ir.Value, Operands, GuardedNode], ir.Value]
"""Transforms a node's result: takes the result, the operands and the node."""

RESULT_FORMS: Mapping[type, tuple[Family, ResultForm]] = MappingProxyType(
    {InfinityForZeroDivisor: (Family.FLOAT, with_infinity)}
)
"""Transformations that apply to all results of a family of types, even if the rule is proved."""


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards in front of a node, and the transformations behind it.

    Attributes:
        shapes: The rules that demand equal shapes; one guard checks all of them.
        deciding: The other rules, each with its guard, in the order of decision.
        results: The transformations of the result.
    """

    shapes: Sequence[Rule]
    deciding: Sequence[tuple[Rule, DecidingGuard]]
    results: Sequence[ResultForm]

    @property
    def any_in_front(self) -> bool:
        """Whether a run checks any rule."""
        return bool(self.shapes or self.deciding)


def guards_of(examined: ExaminedNode, element_type: ElementType, edition: Edition) -> Guards:
    """Find the guards of a node.

    Raises:
        SonnxError: A rule that a run has to check has no guard.
    """
    shapes, deciding = [], []
    for rule in _left_to_the_run(examined, element_type, edition):
        if rule.requirement.subject is Subject.EQUAL_SHAPES:
            shapes.append(rule)
        elif (guard := deciding_guard(rule.requirement)) is None:
            target = examined.target
            raise SonnxError(
                f"{target.operator.name} '{target.label}': the native backend has no guard for "
                f"{rule.id} ({rule.sentence}); use the python backend"
            )
        elif guard.binds(element_type):
            deciding.append((rule, guard))
    return Guards(shapes, deciding, result_forms(examined, element_type))


def result_forms(examined: ExaminedNode, element_type: ElementType | None) -> list[ResultForm]:
    """The transformations of a node's result; none if the element type is unknown."""
    kinds = dict.fromkeys(type(o.rule.requirement) for o in examined.obligations)
    forms = [RESULT_FORMS[kind] for kind in kinds if kind in RESULT_FORMS]
    if element_type is None:
        return []
    return [form for family, form in forms if family is element_type.family]


def _left_to_the_run(
    examined: ExaminedNode, element_type: ElementType, edition: Edition
) -> list[Rule]:
    """The rules of a node that a run has to check, in the order of decision."""
    operator = examined.target.operator
    binding = {rule.id for rule in operator.rules(edition, element_type.family)}
    return [
        o.rule
        for o in examined.obligations
        if o.status is Status.RUNTIME and o.rule.in_run and o.rule.id in binding
    ]
