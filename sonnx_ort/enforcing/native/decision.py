"""The decision of a node's guards: which rule is broken first, if any.

ReduceMin(B) -> Greater(smallest, 0)

A divisor above zero breaks no rule, whatever it divides.

shape or code -> If(one pass settles the elements, as it is, a closer look) -> Reshape(A) -> A

Where that can be, all of them make one decision, and one `Reshape` for each operand that has to
pass. A guard that presumes earlier rules makes another one, of operands that have passed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.enforcing.native.catalog import Guards
from sonnx_ort.enforcing.native.guard import DecidingGuard, Flag, GuardedNode, Operands, Presumed
from sonnx_ort.enforcing.native.shape_guards import ShapeComparison, compare_shapes
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.profile.rule import Rule

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


@dataclass(frozen=True, slots=True)
class Decision:
    """What a run decides in front of one node.

    Attributes:
        node: The node.
        guards: What decides each rule that is left to the run.
        all_pass: Whether every operand has to pass, for another decision looks at all of them.
    """

    node: GuardedNode
    guards: Guards
    all_pass: bool = False

    def let_through(self, nodes: StandardNodes, operands: Operands) -> Operands:
        """Let operands through where all rules are kept.

        Args:
            nodes: Takes the new nodes.
            operands: The operands.

        Returns:
            The operands, those behind a guard that have to be.
        """
        *earlier, last = self._apart()
        for guards in earlier:
            operands = replace(self, guards=guards, all_pass=True).decide(nodes, operands)
        return replace(self, guards=last).decide(nodes, operands)

    def _apart(self) -> Iterator[Guards]:
        """The guards, those apart that look only where all earlier rules are kept."""
        guards = replace(self.guards, deciding=())
        for rule, guard in self.guards.deciding:
            if guard.presumed is Presumed.EARLIER_RULES and guards.any_in_front:
                yield guards
                guards = replace(guards, shapes=(), deciding=())
            guards = replace(guards, deciding=(*guards.deciding, (rule, guard)))
        yield guards

    def decide(self, nodes: StandardNodes, operands: Operands) -> Operands:
        """Let operands through where one decision about all rules lets them.

        Args:
            nodes: As for `let_through`.
            operands: As for `let_through`.
        """
        rules, deciding = self.guards.shapes, self.guards.deciding
        agreed = None
        if rules:
            agreed = compare_shapes(nodes, operands, self.node, rules, self._name(rules))
        if not deciding:
            return operands if agreed is None else self._of_one_shape(nodes, operands, agreed)
        # What passes a guard keeps its shape, and that is often known before it.
        shape = nodes.shape(operands[0])
        flag = settled(nodes, operands, self.node, [guard for _, guard in deciding])
        if agreed is not None and flag is None and self._needs_one_shape:
            operands, agreed = self._of_one_shape(nodes, operands, agreed), None
        if flag is not None:
            decided = self._settled_or_looked_at(nodes, operands, agreed, flag)
        else:
            decided = self._looked_at(nodes, operands, shape)
            decided = decided if agreed is None else agreed.or_code(nodes, decided)
        return _behind(nodes, operands, decided, self._guard_names(agreed), "defined")

    @property
    def _needs_one_shape(self) -> bool:
        """Whether elements can only be looked at in operands that have one shape."""
        return self.node.may_be_scalar or any(
            guard.presumed is not Presumed.NOTHING for _, guard in self.guards.deciding
        )

    def _of_one_shape(
        self, nodes: StandardNodes, operands: Operands, agreed: ShapeComparison
    ) -> Operands:
        decided = agreed.or_code(nodes, agreed.shape)
        passing = range(len(operands)) if self.all_pass else agreed.passing
        names = self._names(self.guards.shapes, passing)
        return _behind(nodes, operands, decided, names, "of_equal_shape")

    def _settled_or_looked_at(
        self,
        nodes: StandardNodes,
        operands: Operands,
        agreed: ShapeComparison | None,
        flag: ir.Value,
    ) -> ir.Value:
        """A shape, or the code of the first rule that is broken."""
        shape = nodes.shape(operands[0])
        usual, rare = nodes.body(), nodes.body()
        if agreed is None:
            kept = usual.add("Identity", [shape], "shape_or_code")
        else:
            kept = agreed.or_code(usual, shape)
            operands = self._of_one_shape(rare, operands, agreed)
            shape = rare.shape(operands[0])
        closely = self._looked_at(rare, operands, shape)
        branches = {
            "then_branch": _branch(usual, kept, "rules_kept"),
            "else_branch": _branch(rare, closely, "look_closely"),
        }
        return nodes.add("If", [flag], "shape_or_code", branches)

    def _looked_at(self, nodes: StandardNodes, operands: Operands, shape: ir.Value) -> ir.Value:
        """The shape where all rules about elements are kept.

        Elsewhere it is the code of the first that is broken, or nothing that can be reached.
        """
        names, scalar = self.node.examined.target.operand_names, self.node.may_be_scalar
        decided = nodes.shape(shape) if scalar else shape
        # A later decision covers an earlier one.
        for rule, guard in reversed(self.guards.deciding):
            flag = guard.look(nodes, rule.spoken_of(names, operands), self.node)
            decided = _shape_or_code(nodes, flag, decided, rule.code)
        if not scalar:
            return decided
        # A scalar's shape has no element that a code could take the place of, but its rank is one.
        name = self._name([rule for rule, _ in self.guards.deciding])
        return nodes.add("Reshape", [shape, decided], "shape_if_defined", name=name)

    def _guard_names(self, agreed: ShapeComparison | None) -> dict[int, str]:
        """The names of the guards of the operands that have to pass."""
        passing = {0, *(p for _, guard in self.guards.deciding for p in guard.passing(self.node))}
        if self.all_pass:
            passing.update(range(len(self.node.examined.operands)))
        rules = [rule for rule, _ in self.guards.deciding]
        if agreed is not None:
            return self._names([*self.guards.shapes, *rules], sorted(passing.union(agreed.passing)))
        if self.node.may_be_scalar:
            # What is decided is a shape: the guard in front of it has refused all else.
            return dict.fromkeys(sorted(passing), "")
        return self._names(rules, sorted(passing))

    def _names(self, rules: Sequence[Rule], passing: Sequence[int]) -> dict[int, str]:
        """A name for each operand; that of the first one does not tell which operand it is."""
        name, (first, *others) = self._name(rules), passing
        operands = self.node.examined.target.operand_names
        return {first: name, **{other: f"{name} ({operands[other]})" for other in others}}

    def _name(self, rules: Sequence[Rule]) -> str:
        target = self.node.examined.target
        return guard_name(target.operator.name, target.label, rules)


def _shape_or_code(nodes: StandardNodes, flag: Flag, decided: ir.Value, code: int) -> ir.Value:
    """What was decided so far where a rule is kept, and its code elsewhere."""
    impossible = nodes.constant([-code], "code")
    choice = [decided, impossible] if flag.when_kept else [impossible, decided]
    return nodes.add("Where", [flag.value, *choice], "shape_or_code")


def _behind(
    nodes: StandardNodes,
    operands: Operands,
    decided: ir.Value,
    names: Mapping[int, str],
    purpose: str,
) -> Operands:
    """The operands, those that have guards of their own reachable only if a shape was decided."""
    behind = list(operands)
    for position, name in names.items():
        inputs = [operands[position], decided]
        behind[position] = nodes.add("Reshape", inputs, purpose, name=name)
    return behind


def _branch(nodes: StandardNodes, output: ir.Value, name: str) -> ir.Graph:
    output.type = ir.TensorType(ir.DataType.INT64)
    return ir.Graph([], [output], nodes=nodes.nodes, name=name)
