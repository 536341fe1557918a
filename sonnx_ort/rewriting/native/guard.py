"""What guards of standard operators know, and what they are made of.

A guard decides about a shape: it gives the shape of the first operand, or the code of the rule that
is broken. A `Reshape` to that lets the operand through or fails.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.standard_nodes import StandardNodes
from sonnx_ort.rewriting.value_info import DATA_TYPES

_SMALL_REDUCTION = 12
"""The first version of the standard operators that reduces 8-bit integers."""

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


ShapeGuard = Callable[[StandardNodes, Operands, GuardedNode, Sequence[Rule], str], Operands]
"""Lets operands through where shapes are as rules demand.

It takes what gives new nodes, the operands, the node, the rules and the guard's name.
"""


@dataclass(frozen=True, slots=True)
class DecidingGuard:
    """Decides whether operands keep a rule, and says so by a shape or a code.

    Several of them make one decision, and one `Reshape` for each operand that has to pass.

    Attributes:
        decide: Gives what was decided so far, or the code where the rule is broken. It takes what
            gives new nodes, the operands that the rule speaks of, the node, the code, and what was
            decided so far.
        binds: Whether a run can break the rule with elements of a type.
        passing: The positions of further operands that have to pass, besides the first.
        sufficient: What keeps the rule whatever else is in the operands: by the position of one of
            them, the number that none of its elements is below. Each alone does; the likeliest
            comes first.
        passes: How often it goes over operands itself.
    """

    decide: Callable[[StandardNodes, Operands, GuardedNode, int, ir.Value], ir.Value]
    binds: Callable[[ElementType], bool]
    passing: Callable[[GuardedNode], Sequence[int]]
    sufficient: Mapping[int, Callable[[ElementType], int]] = field(default_factory=dict)
    passes: int = 1


def pass_if_decided(
    nodes: StandardNodes,
    operands: Operands,
    node: GuardedNode,
    guards: Sequence[tuple[Rule, DecidingGuard]],
    shape: ir.Value,
) -> Operands:
    """Let operands through where all rules about their elements are kept.

    Args:
        nodes: Takes the new nodes.
        operands: The operands, of one shape.
        node: The node that reads them.
        guards: The rules, in the order of decision, with what decides each.
        shape: The shape of the first operand.

    Returns:
        The operands, those that have to pass behind the guard.
    """
    target, scalar = node.examined.target, node.may_be_scalar
    name = guard_name(target.operator.name, target.label, [rule for rule, _ in guards])
    decided = _decided(nodes, operands, node, guards, nodes.shape(shape) if scalar else shape)
    if scalar:
        # A scalar's shape has no element that a code could take the place of, but its rank is one.
        decided = nodes.add("Reshape", [shape, decided], "shape_if_defined", name=name)
    passing = {0, *(position for _, guard in guards for position in guard.passing(node))}
    behind = list(operands)
    for position in sorted(passing):
        own = name if position == 0 else f"{name} ({target.operand_names[position]})"
        operand = operands[position]
        behind[position] = nodes.add(
            "Reshape", [operand, decided], "defined", name="" if scalar else own
        )
    return behind


def _decided(
    nodes: StandardNodes,
    operands: Operands,
    node: GuardedNode,
    guards: Sequence[tuple[Rule, DecidingGuard]],
    undecided: ir.Value,
) -> ir.Value:
    """A shape, or the code of the first rule that is broken.

    One pass over one operand settles most tensors, and only the others are looked at closer.
    """
    settling = _settling(node, [guard for _, guard in guards])
    if settling is None:
        return _looked_at_closely(nodes, operands, node, guards, undecided)
    position, least = settling
    settled = _none_below(nodes, operands[position], node.computed_in, least)
    usual, rare = nodes.body(), nodes.body()
    kept = usual.add("Identity", [undecided], "shape_or_code")
    closely = _looked_at_closely(rare, operands, node, guards, undecided)
    branches = {
        "then_branch": _branch(usual, kept, "rules_kept"),
        "else_branch": _branch(rare, closely, "look_closely"),
    }
    return nodes.add("If", [settled], "shape_or_code", branches)


def _looked_at_closely(
    nodes: StandardNodes,
    operands: Operands,
    node: GuardedNode,
    guards: Sequence[tuple[Rule, DecidingGuard]],
    undecided: ir.Value,
) -> ir.Value:
    names = node.examined.target.operand_names
    decided = undecided
    # A later decision covers an earlier one.
    for rule, guard in reversed(guards):
        spoken_of = rule.spoken_of(names, operands)
        decided = guard.decide(nodes, spoken_of, node, rule.code, decided)
    return decided


def _settling(node: GuardedNode, guards: Sequence[DecidingGuard]) -> tuple[int, int] | None:
    """The operand of which one pass can settle all rules, and how small its elements may be.

    None where that is not worth a pass, or cannot be had: ONNX Runtime's optimizer does not survive
    some Ifs in branches that it puts in the place of their If.
    """
    if node.computed_in not in _REDUCED_AS or node.examined.target.in_branch:
        return None
    if sum(guard.passes for guard in guards) == 1:
        return None
    first, *others = guards
    for position in first.sufficient:
        if all(position in guard.sufficient for guard in others):
            least = (guard.sufficient[position](node.element_type) for guard in guards)
            return position, max(least)
    return None


def _none_below(
    nodes: StandardNodes, operand: ir.Value, element_type: ir.DataType, least: int
) -> ir.Value:
    """Whether no element is below a number; of no elements ONNX Runtime may say either."""
    carrier = _REDUCED_AS[element_type]
    if carrier is not element_type:
        operand = nodes.cast(operand, carrier, "in_order")
    smallest = nodes.add("ReduceMin", [operand], "smallest_element", {"keepdims": 0})
    too_small = nodes.constant(least - 1, "too_small", carrier)
    return nodes.add("Greater", [smallest, too_small], "settled")


def _branch(nodes: StandardNodes, output: ir.Value, name: str) -> ir.Graph:
    output.type = ir.TensorType(ir.DataType.INT64)
    return ir.Graph([], [output], nodes=nodes.nodes, name=name)


def any_true(nodes: StandardNodes, flags: ir.Value, purpose: str) -> ir.Value:
    """Whether a flag of whatever shape is true; if there are none, none is.

    Of no elements ONNX Runtime 1.23 gives 0, and 1.31 the smallest number of the type.

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
