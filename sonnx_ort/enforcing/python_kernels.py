"""Decides which nodes need a custom operator.

ONNX Runtime's constant folding never computes a custom operator, nor anything that depends on one.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.arithmetic import SELECTING
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.profile.element_type import CARRIERS, ElementType, Family
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.profile.rule import Status, Subject
from sonnx_ort.terms.operand import Operand, has_known_sizes


def carrier_of(examined: ExaminedNode) -> ElementType | None:
    """The type that a node is computed in instead of the operands' own; None if it is the same."""
    element_type = examined.element_type
    custom = CUSTOM_OPERATORS.get(examined.ruled.operator.name)
    return None if custom is None or element_type is None else custom.carriers.get(element_type)


def has_kernel(examined: ExaminedNode) -> bool:
    """Whether a standard kernel computes the node in its own type, as the custom operator does."""
    custom = CUSTOM_OPERATORS.get(examined.ruled.operator.name)
    if custom is None or examined.element_type is None or carrier_of(examined) is not None:
        return False
    return custom.arithmetic is None or not examined.ruled.further_attributes


def can_keep_standard_node(examined: ExaminedNode) -> bool:
    """Whether the standard operator can compute what it would compute in the rewritten model."""
    operator = examined.ruled.operator
    custom = CUSTOM_OPERATORS.get(operator.name)
    if custom is None or custom.arithmetic is None:
        return operator.moves_elements or examined.element_type is not ElementType.BFLOAT16
    return has_kernel(examined)


def has_other_zeros(examined: ExaminedNode) -> bool:
    """Whether a standard kernel may give zeros of other signs than the custom operator."""
    element_type = examined.element_type
    may_be_float = element_type is None or element_type.family is Family.FLOAT
    return examined.ruled.operator.name in SELECTING and may_be_float


def require_kernel(examined: ExaminedNode) -> None:
    """Require that the python backend can enforce a node.

    Raises:
        SonnxError: There is no kernel for the node.
    """
    ruled = examined.ruled
    name, element_type = ruled.operator.name, examined.element_type
    problem = f"{name} '{ruled.label}': the python backend has no kernel for it"
    if element_type is ElementType.BFLOAT16 and not ruled.operator.computes_bfloat16:
        raise SonnxError(f"{problem} in {element_type}, and ONNX Runtime has none either")
    if ruled.further_attributes and CUSTOM_OPERATORS[name].arithmetic is not None:
        raise SonnxError(f"{problem} with the attribute '{ruled.further_attributes[0]}'")
    if element_type in CARRIERS and carrier_of(examined) is None:
        raise SonnxError(f"{problem} in {element_type}")


def require_nothing_waived(examined: ExaminedNode) -> None:
    """Require that no rule that a kernel checks is waived, because a kernel checks all.

    Raises:
        SonnxError: A violation is waived.
    """
    for obligation in examined.obligations:
        if obligation.status is Status.VIOLATED and obligation.rule.in_run:
            raise SonnxError(
                f"the waiver of {obligation.rule.id} at {obligation.place} has no effect: the "
                "kernels of the python backend check all rules of a node; use the native backend"
            )


def constant_nodes(
    model: ir.Model, nodes: Sequence[ExaminedNode], checked: AbstractSet[ir.Node]
) -> frozenset[ir.Node]:
    """Find the constant nodes whose obligations are all proved.

    A custom operator stands after each of the `checked` nodes.
    """
    # After a custom operator, types in a subgraph are unknown.
    outside = (n for n in nodes if n.ruled.node.graph is model.graph)
    kept = {
        n.ruled.node for n in outside if _foldable(n) and has_kernel(n) and not has_other_zeros(n)
    }
    enforced = ({n.ruled.node for n in nodes} - kept) | checked
    return frozenset(kept - _depending_on(model, enforced)) if kept else frozenset()


def _foldable(examined: ExaminedNode) -> bool:
    """Whether a node may stay as it is, so that ONNX Runtime can fold it."""
    broadcasts = examined.broadcast is not None
    types = {ElementType.named(o.element_type) for o in examined.operands}
    floats = any(kind is None or kind.family is Family.FLOAT for kind in types)
    return (
        all(examined.foldable)
        # Another version may run the model, with the kernels of the custom operators.
        and all(o.status is Status.PROVED and not o.by_version for o in examined.obligations)
        and not examined.proof_uses_guards
        and not any(examined.may_be_misinferred)
        and not (broadcasts and not all(_known_not_empty(o) for o in examined.operands))
        # A rule about the elements of floats determines the result.
        and not (floats and _has_rules_about_elements(examined))
    )


def _known_not_empty(operand: Operand) -> bool:
    """Whether all sizes are known and none is 0; expanding empty tensors is unreliable."""
    return has_known_sizes(operand.shape) and 0 not in (operand.shape or ())


def _has_rules_about_elements(examined: ExaminedNode) -> bool:
    return any(o.rule.requirement.subject is Subject.ELEMENTS for o in examined.obligations)


def _depending_on(model: ir.Model, enforced: Iterable[ir.Node]) -> set[ir.Node]:
    """The nodes that depend on an enforced one, in any iteration."""
    custom = set(enforced)
    reached: set[ir.Value] = set()
    after: set[ir.Node] = set()
    while True:
        before = len(reached)
        for node in every_node(model.graph):
            bodies = subgraphs_of(node)
            given = (output for body in bodies for output in body.outputs)
            reads = not reached.isdisjoint(value for value in node.inputs if value is not None)
            if reads:
                after.add(node)
            is_enforced = node in custom or node.domain == DOMAIN
            if reads or is_enforced or not reached.isdisjoint(given):
                reached.update(node.outputs)
                reached.update(taken for body in bodies for taken in body.inputs)
        if len(reached) == before:
            return after
