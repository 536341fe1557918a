"""Which nodes a kernel enforces, and which constant folding makes superfluous.

It never computes a custom operator before a run, nor anything that depends on one.
"""

from collections.abc import Callable, Iterable, Sequence

import onnx_ir as ir

from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.enforcing.value_info import element_type_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operand import Operand, has_known_sizes
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.profile.rule import Status, Subject


def carrier_of(examined: ExaminedNode) -> ElementType | None:
    """The type that stands in for the operands' own; None if there is no need of one.

    Args:
        examined: The node.
    """
    element_type = element_type_of(examined)
    custom = CUSTOM_OPERATORS.get(examined.target.operator.name)
    return None if custom is None or element_type is None else custom.carriers.get(element_type)


def has_kernel(examined: ExaminedNode) -> bool:
    """Whether a node's own kernel computes in the node's own type, as the custom operator does.

    Args:
        examined: The node.
    """
    custom = CUSTOM_OPERATORS.get(examined.target.operator.name)
    if custom is None or element_type_of(examined) is None or carrier_of(examined) is not None:
        return False
    return custom.arithmetic is None or not examined.target.further_attributes


def left_in_place(examined: ExaminedNode) -> bool:
    """Whether a standard operator's kernel computes what the python backend would let compute.

    Args:
        examined: The node.
    """
    operator = examined.target.operator
    custom = CUSTOM_OPERATORS.get(operator.name)
    if custom is not None and custom.arithmetic is None:
        return operator.rounds_once or element_type_of(examined) is not ElementType.BFLOAT16
    return has_kernel(examined)


def require_kernel(examined: ExaminedNode) -> None:
    """Demand that the python backend can enforce a node.

    Args:
        examined: The node.

    Raises:
        SonnxError: There is no kernel for it.
    """
    target = examined.target
    name, element_type = target.operator.name, element_type_of(examined)
    told = f"{name} '{target.label}': the python backend has no kernel for it"
    if target.further_attributes and CUSTOM_OPERATORS[name].arithmetic is not None:
        raise SonnxError(f"{told} with the attribute '{target.further_attributes[0]}'")
    if element_type is ElementType.BFLOAT16 and not target.operator.rounds_once:
        raise SonnxError(f"{told} in {element_type}, and ONNX Runtime has none either")
    if element_type in CARRIERS and carrier_of(examined) is None:
        raise SonnxError(f"{told} in {element_type}")


def require_nothing_waived(examined: ExaminedNode) -> None:
    """Demand that a kernel has to check all rules of a node.

    Args:
        examined: The node.

    Raises:
        SonnxError: A violation of one is waived.
    """
    for obligation in examined.obligations:
        if obligation.status is Status.VIOLATED:
            raise SonnxError(
                f"the waiver of {obligation.rule.id} at {obligation.place} cannot have effect: the "
                "kernels of the python backend check all rules of a node; use the native backend"
            )


def same_in_every_run(
    model: ir.Model, nodes: Sequence[ExaminedNode], has_kernel: Callable[[ExaminedNode], bool]
) -> frozenset[ir.Node]:
    """Find the nodes of which all is proved, and that depend on constants alone.

    Args:
        model: The model, before enforcement.
        nodes: The nodes that are to be enforced.
        has_kernel: Whether a node computes the same by a standard operator's kernel.
    """
    # Behind a custom operator nothing tells the types within a subgraph.
    outside = (n for n in nodes if n.target.node.graph is model.graph)
    left = {n.target.node for n in outside if _settled(n) and has_kernel(n)}
    enforced = {n.target.node for n in nodes} - left
    return frozenset(left - _behind(model, enforced)) if left else frozenset()


def _settled(examined: ExaminedNode) -> bool:
    broadcasts = examined.broadcast is not None
    types = {ElementType.named(o.element_type) for o in examined.operands}
    floats = any(kind is None or kind.family is Family.FLOAT for kind in types)
    return (
        all(examined.foldable)
        and all(o.status is Status.PROVED for o in examined.obligations)
        and not examined.rests_on_guards
        and not any(examined.mistakable)
        and not (broadcasts and not all(_known_to_hold_something(o) for o in examined.operands))
        # What a rule says of the elements of floats is what the result has to be.
        and not (floats and _speaks_of_elements(examined))
    )


def _known_to_hold_something(operand: Operand) -> bool:
    """Whether all sizes are known, and none is 0: of what is expanded empty, little is certain."""
    return has_known_sizes(operand.shape) and 0 not in (operand.shape or ())


def _speaks_of_elements(examined: ExaminedNode) -> bool:
    return any(o.rule.requirement.subject is Subject.ELEMENTS for o in examined.obligations)


def _behind(model: ir.Model, enforced: Iterable[ir.Node]) -> set[ir.Node]:
    """The nodes that depend on an enforced one, in any iteration."""
    custom = set(enforced)
    reached: set[ir.Value] = set()
    behind: set[ir.Node] = set()
    while True:
        before = len(reached)
        for node in every_node(model.graph):
            bodies = subgraphs_of(node)
            given = (output for body in bodies for output in body.outputs)
            reads = not reached.isdisjoint(value for value in node.inputs if value is not None)
            if reads:
                behind.add(node)
            ours = node in custom or node.domain == DOMAIN
            if reads or ours or not reached.isdisjoint(given):
                reached.update(node.outputs)
                reached.update(taken for body in bodies for taken in body.inputs)
        if len(reached) == before:
            return behind
