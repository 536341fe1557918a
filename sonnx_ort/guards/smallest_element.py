"""The flag that looks at the smallest element alone: where it is true, rules about all are kept.

ReduceMin(B) -> Greater(smallest, 0)

A divisor above zero violates no rule, whatever the dividend is. The rules of one decision, their
order and the type of the elements say which operand is looked at, in which type, and what its
elements have to be above. Who adds the nodes and who compares them with a model ask the same
function, so there is no flag that the one makes and the other takes for less.
"""

from collections.abc import Mapping, Sequence

from sonnx_ort.guards.guard import (
    DecidingGuard,
    GuardedNode,
    GuardNodes,
    Operands,
    Precondition,
    Value,
)
from sonnx_ort.profile.element_type import ElementType

REDUCED_AS: Mapping[ElementType, ElementType] = {
    ElementType.INT8: ElementType.INT32,
    ElementType.INT16: ElementType.INT32,
    ElementType.INT32: ElementType.INT32,
    # In ONNX Runtime, ReduceMin of floats takes less than half the time.
    ElementType.INT64: ElementType.FLOAT,
}
"""The signed integer types, and the type in which their minimum is computed.

To int32 the elements are exact. To float they are rounded, which never exchanges two, and 0, -1 and
the smallest integer are exact as floats: a limit below all rounded elements is below all elements.
A narrower integer type would not do, for Cast takes the lowest bits alone.
"""


def settling_flag(
    nodes: GuardNodes, operands: Operands, node: GuardedNode, guards: Sequence[DecidingGuard]
) -> Value | None:
    """The flag that is true only if the smallest element of an operand keeps all rules.

    For an empty operand the flag may have either value.

    Args:
        nodes: Takes the nodes.
        operands: The operands of the node.
        node: What is known of it.
        guards: The guards of the rules of one decision, in their order.

    Returns:
        The flag; None if no such flag is made: a look at all elements costs no more, or no operand
        decides all rules.
    """
    single = len(guards) == 1 and guards[0].precondition is Precondition.NOTHING
    if single or node.computed_in not in REDUCED_AS:
        return None
    first, *others = guards
    for position in first.sufficient:
        if all(position in guard.sufficient for guard in others):
            least = max(guard.sufficient[position](node.element_type) for guard in guards)
            return _none_below(nodes, operands[position], node.computed_in, least)
    return None


def _none_below(nodes: GuardNodes, operand: Value, element_type: ElementType, least: int) -> Value:
    carrier = REDUCED_AS[element_type]
    if carrier is not element_type:
        operand = nodes.cast(operand, carrier, "in_order")
    smallest = nodes.add("ReduceMin", [operand], "smallest_element", {"keepdims": 0})
    too_small = nodes.constant(least - 1, "too_small", carrier)
    return nodes.add("Greater", [smallest, too_small], "settled")
