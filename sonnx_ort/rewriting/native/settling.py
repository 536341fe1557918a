"""One pass over one operand that settles all rules about elements, for most tensors.

    ReduceMin(B) -> Greater(smallest, 0)

A divisor above zero breaks no rule, whatever it divides.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.rewriting.native.guard import DecidingGuard, GuardedNode, Operands, Presumed
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_REDUCED_AS = {
    ir.DataType.INT8: ir.DataType.INT32,
    ir.DataType.INT16: ir.DataType.INT32,
    ir.DataType.INT32: ir.DataType.INT32,
    # ONNX Runtime finds the smallest float in less than half the time.
    ir.DataType.INT64: ir.DataType.FLOAT,
}
"""The signed integers, and the type in which the smallest of them is looked for.

To round keeps the order of numbers, and 0, -1 and the smallest numbers of all types are floats: one
of them that is smaller than all rounded numbers is smaller than all numbers.
"""


def settled(
    nodes: StandardNodes, operands: Operands, node: GuardedNode, guards: Sequence[DecidingGuard]
) -> ir.Value | None:
    """Find whether no element of an operand is so small that a closer look is needed.

    Of no elements ONNX Runtime may say either.

    Args:
        nodes: Takes the new nodes.
        operands: The operands, of any shapes.
        node: The node that reads them.
        guards: What decides about elements; there is one or more.

    Returns:
        The flag; None where it is not worth a pass, or cannot be had: ONNX Runtime's optimizer does
        not survive some Ifs in branches that it puts in the place of their If.
    """
    single = len(guards) == 1 and guards[0].presumed is Presumed.NOTHING
    if single or node.computed_in not in _REDUCED_AS or node.examined.target.in_branch:
        return None
    first, *others = guards
    for position in first.sufficient:
        if all(position in guard.sufficient for guard in others):
            least = max(guard.sufficient[position](node.element_type) for guard in guards)
            return _none_below(nodes, operands[position], node.computed_in, least)
    return None


def _none_below(
    nodes: StandardNodes, operand: ir.Value, element_type: ir.DataType, least: int
) -> ir.Value:
    carrier = _REDUCED_AS[element_type]
    if carrier is not element_type:
        operand = nodes.cast(operand, carrier, "in_order")
    smallest = nodes.add("ReduceMin", [operand], "smallest_element", {"keepdims": 0})
    too_small = nodes.constant(least - 1, "too_small", carrier)
    return nodes.add("Greater", [smallest, too_small], "settled")
