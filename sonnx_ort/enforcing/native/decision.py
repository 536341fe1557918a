"""The guards in front of a node, and their decision: which rule is violated first, if any.

ReduceMin(B) -> Greater(smallest, 0)

A divisor above zero violates no rule, whatever the dividend is.

shape or code -> If(one pass proves the rules, as it is, a full check) -> Reshape(A) -> A

If possible, all guards make one decision, with one `Reshape` for each guarded operand. A guard that
presumes earlier rules makes another decision, about guarded operands. Equal shapes have one guard:

Shape(A), Shape(B) -> Equal -> Where(equal, Shape(A), -code) -> Reshape(A) -> A

Nothing is copied: the `Reshape` returns its operand unchanged, or fails.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.errors import SonnxError
from sonnx_ort.guards.axis_guards import has_equal_ranks
from sonnx_ort.guards.catalog import deciding_guard
from sonnx_ort.guards.guard import DecidingGuard, Flag, GuardedNode, Operands, Precondition
from sonnx_ort.guards.smallest_element import settling_flag
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.quotients import InfinityForZeroDivisor
from sonnx_ort.profile.rule import Rule, Status, Subject


@dataclass(frozen=True, slots=True)
class Guards:
    """The guards in front of a node.

    Attributes:
        shapes: The rules that demand equal shapes; one guard checks all of them.
        deciding: The other rules, each with its guard, in the order of decision.
    """

    shapes: Sequence[Rule]
    deciding: Sequence[tuple[Rule, DecidingGuard]]


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
            ruled = examined.ruled
            raise SonnxError(
                f"{ruled.operator.name} '{ruled.label}': the native backend has no guard for "
                f"{rule.id} ({rule.sentence}); use the python backend"
            )
        elif guard.binds(element_type):
            deciding.append((rule, guard))
    return Guards(shapes, deciding)


def gives_infinity(examined: ExaminedNode, element_type: ElementType | None) -> bool:
    """Whether the result is infinite wherever a divisor is 0, even if that rule is proved."""
    floats = element_type is not None and element_type.family is Family.FLOAT
    rules = (obligation.rule for obligation in examined.obligations)
    return floats and any(isinstance(r.requirement, InfinityForZeroDivisor) for r in rules)


def _left_to_the_run(
    examined: ExaminedNode, element_type: ElementType, edition: Edition
) -> list[Rule]:
    """The rules of a node that a run has to check, in the order of decision."""
    operator = examined.ruled.operator
    binding = {rule.id for rule in operator.rules(edition, element_type.family)}
    return [
        o.rule
        for o in examined.obligations
        if o.status is Status.RUNTIME and o.rule.in_run and o.rule.id in binding
    ]


@dataclass(frozen=True, slots=True)
class ShapeComparison:
    """The comparison of the shapes of operands in a run.

    Attributes:
        shape: The shape of the first operand.
        equal: Whether the others have the same sizes, axis by axis.
        impossible: The negative code of the rule that a different shape violates.
    """

    shape: ir.Value
    equal: ir.Value
    impossible: ir.Value

    def or_code(self, nodes: StandardNodes, decided: ir.Value) -> ir.Value:
        """A decision if the shapes are equal, else the code."""
        return nodes.add("Where", [self.equal, decided, self.impossible], "shape_or_code")


def compare_shapes(
    nodes: StandardNodes,
    operands: Operands,
    examined: ExaminedNode,
    rules: Sequence[Rule],
    name: str,
) -> ShapeComparison:
    """Compare the shapes of operands.

    The rules that demand equal shapes are in the order of decision; the name is that of the guard.
    """
    first, *others = operands
    # A proof may be left to the run that is not certified, though there is no other operand.
    own, shapes = nodes.shape(first), [nodes.shape(other) for other in others or [first]]
    impossible = nodes.constant([-rules[0].code], "code")
    # After a Broadcast, shapes are only compared if an operand was not expanded.
    if examined.broadcast is not None or not has_equal_ranks(examined.operands):
        # Equal broadcasts: it would compare a shape of one size with each size of the other.
        shapes = [_of_equal_rank(nodes, own, shape, impossible, name) for shape in shapes]
    return ShapeComparison(own, all_equal(nodes, own, shapes), impossible)


def _of_equal_rank(
    nodes: StandardNodes, own: ir.Value, shape: ir.Value, impossible: ir.Value, name: str
) -> ir.Value:
    """A shape, readable only if its rank is that of the first."""
    rank = nodes.shape(own)
    equal = all_equal(nodes, rank, [nodes.shape(shape)])
    decided = nodes.add("Where", [equal, rank, impossible], "shape_or_code")
    return nodes.add("Reshape", [shape, decided], "shape_of_equal_rank", name=f"{name} (rank)")


def all_equal(nodes: StandardNodes, one: ir.Value, others: Sequence[ir.Value]) -> ir.Value:
    """For each element of a vector, whether it is the same in others."""
    flags = [nodes.add("Equal", [one, other], "equal") for other in others]
    return nodes.together("And", flags, "all_equal")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a run checks in front of one node.

    Attributes:
        examined: The node.
        node: What guards know of it.
        guards: The guard of each rule that a run has to check.
        all_pass: Whether to guard every operand, because another decision reads all of them.
    """

    examined: ExaminedNode
    node: GuardedNode
    guards: Guards
    all_pass: bool = False

    @property
    def rules(self) -> Sequence[Rule]:
        """All rules, in the order of decision."""
        return [*self.guards.shapes, *(rule for rule, _ in self.guards.deciding)]

    def guard_operands(self, nodes: StandardNodes, operands: Operands) -> Operands:
        """Put operands after guards; reading a guarded operand fails if a rule is violated."""
        *earlier, last = self._split()
        for guards in earlier:
            operands = replace(self, guards=guards, all_pass=True).decide(nodes, operands)
        return replace(self, guards=last).decide(nodes, operands)

    def _split(self) -> Iterator[Guards]:
        """Split the guards: one that presumes earlier rules starts a new group."""
        guards = replace(self.guards, deciding=())
        for rule, guard in self.guards.deciding:
            if guard.precondition is Precondition.EARLIER_RULES:
                yield guards
                guards = replace(guards, shapes=(), deciding=())
            guards = replace(guards, deciding=(*guards.deciding, (rule, guard)))
        yield guards

    def decide(self, nodes: StandardNodes, operands: Operands) -> Operands:
        """Put operands after the guards of one decision about all rules."""
        rules, deciding = self.guards.shapes, self.guards.deciding
        agreed = None
        if rules:
            agreed = compare_shapes(nodes, operands, self.examined, rules, self._guard_name(rules))
        if not deciding:
            return operands if agreed is None else self._of_one_shape(nodes, operands, agreed)
        # A guarded operand keeps its shape, and the shape is often known earlier.
        shape = nodes.shape(operands[0])
        looks = [guard for _, guard in deciding]
        flag = None
        if not self.examined.ruled.in_branch:
            # ONNX Runtime's optimizer crashes on some Ifs in branches that it inlines.
            flag = settling_flag(nodes, operands, self.node, looks)
        if agreed is not None and flag is None and self._needs_one_shape:
            operands, agreed = self._of_one_shape(nodes, operands, agreed), None
        if flag is not None:
            decided = self._quickly_or_fully_checked(nodes, operands, agreed, flag)
        else:
            decided = self._fully_checked(nodes, operands, shape)
            decided = decided if agreed is None else agreed.or_code(nodes, decided)
        return _after(nodes, operands, decided, self._guard_names(agreed), "defined")

    @property
    def _needs_one_shape(self) -> bool:
        """Whether elements can only be checked in operands of equal shape."""
        return self.node.may_be_scalar or any(
            guard.precondition is not Precondition.NOTHING for _, guard in self.guards.deciding
        )

    def _of_one_shape(
        self, nodes: StandardNodes, operands: Operands, agreed: ShapeComparison
    ) -> Operands:
        decided = agreed.or_code(nodes, agreed.shape)
        passing = range(len(operands) if self.all_pass else 1)
        names = self._names(self.guards.shapes, passing)
        return _after(nodes, operands, decided, names, "of_equal_shape")

    def _quickly_or_fully_checked(
        self,
        nodes: StandardNodes,
        operands: Operands,
        agreed: ShapeComparison | None,
        flag: ir.Value,
    ) -> ir.Value:
        """A shape, or the code of the first violated rule; a full check runs only if needed."""
        shape = nodes.shape(operands[0])
        usual, rare = nodes.body(), nodes.body()
        if agreed is None:
            kept = usual.add("Identity", [shape], "shape_or_code")
        else:
            kept = agreed.or_code(usual, shape)
            operands = self._of_one_shape(rare, operands, agreed)
            shape = rare.shape(operands[0])
        full = self._fully_checked(rare, operands, shape)
        branches = {
            "then_branch": _branch(usual, kept, "rules_kept"),
            "else_branch": _branch(rare, full, "look_closely"),
        }
        return nodes.add("If", [flag], "shape_or_code", branches)

    def _fully_checked(self, nodes: StandardNodes, operands: Operands, shape: ir.Value) -> ir.Value:
        """The shape if all rules about elements are kept.

        Otherwise it is the code of the first violated rule, or reading it fails.
        """
        names, scalar = self.examined.ruled.operand_names, self.node.may_be_scalar
        decided = nodes.shape(shape) if scalar else shape
        # Reversed, so that the first violated rule determines the code.
        for rule, guard in reversed(self.guards.deciding):
            flag = guard.look(nodes, rule.select_operands(names, operands), self.node)
            decided = _shape_or_code(nodes, flag, decided, rule.code)
        if not scalar:
            return decided
        # A scalar's shape has no element to hold a code, so its rank is used.
        name = self._guard_name([rule for rule, _ in self.guards.deciding])
        return nodes.add("Reshape", [shape, decided], "shape_if_defined", name=name)

    def _guard_names(self, agreed: ShapeComparison | None) -> dict[int, str]:
        """The names of the guards, by the position of the operand."""
        passing = {0, *(p for _, guard in self.guards.deciding for p in guard.passing(self.node))}
        if self.all_pass:
            passing.update(range(len(self.examined.operands)))
        rules = [rule for rule, _ in self.guards.deciding]
        if agreed is not None:
            return self._names([*self.guards.shapes, *rules], sorted(passing))
        if self.node.may_be_scalar:
            # The decision is a shape: an earlier guard has failed otherwise.
            return dict.fromkeys(sorted(passing), "")
        return self._names(rules, sorted(passing))

    def _names(self, rules: Sequence[Rule], passing: Sequence[int]) -> dict[int, str]:
        """A name for each operand; that of the first has no operand name."""
        name, (first, *others) = self._guard_name(rules), passing
        operands = self.examined.ruled.operand_names
        return {first: name, **{other: f"{name} ({operands[other]})" for other in others}}

    def _guard_name(self, rules: Sequence[Rule]) -> str:
        ruled = self.examined.ruled
        return guard_name(ruled.operator.name, ruled.label, rules)


def _shape_or_code(nodes: StandardNodes, flag: Flag, decided: ir.Value, code: int) -> ir.Value:
    """The previous decision if a rule is kept, else the rule's code."""
    impossible = nodes.constant([-code], "code")
    choice = [decided, impossible] if flag.when_kept else [impossible, decided]
    return nodes.add("Where", [flag.value, *choice], "shape_or_code")


def _after(
    nodes: StandardNodes,
    operands: Operands,
    decided: ir.Value,
    names: Mapping[int, str],
    purpose: str,
) -> Operands:
    """The operands; those with guard names are readable only if the decision is a shape."""
    after = list(operands)
    for position, name in names.items():
        inputs = [operands[position], decided]
        after[position] = nodes.add("Reshape", inputs, purpose, name=name)
    return after


def _branch(nodes: StandardNodes, output: ir.Value, name: str) -> ir.Graph:
    output.type = ir.TensorType(ir.DataType.INT64)
    return ir.Graph([], [output], nodes=nodes.nodes, name=name)
