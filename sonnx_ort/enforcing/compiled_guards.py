"""Guards by one compiled operator, in place of nodes of standard operators.

    A, B -> sonnx.compiled::Guard -> A

It tests all rules of a node, or of a value, that a run has to check, and gives its first operand on
as it lies in memory. It reads shapes when it runs, so nothing that ONNX Runtime infers matters.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.compiled.guards import GUARD, GuardOperand, guard_text
from sonnx_ort.custom_ops.failure_channel import telling_guard_name
from sonnx_ort.custom_ops.inspection import remark_on, value_operator
from sonnx_ort.enforcing.nodes import DATA_TYPES, StandardNodes
from sonnx_ort.errors import escaped
from sonnx_ort.guards.guard import GuardedNode, Operands
from sonnx_ort.profile.contract_rules import OnSizes
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import COMPILED_DOMAIN
from sonnx_ort.profile.rule import Rule
from sonnx_ort.terms.operand import has_known_sizes


@dataclass(frozen=True, slots=True)
class CompiledGuard:
    """What a Guard tests.

    Attributes:
        operator: The operator of its node, as errors name it.
        label: The name of its node.
        rules: The rules, in the order of decision.
        tests: What is tested of each.
        read: The places of the operands that it reads, the guarded one first.
        names: Their names.
        kind: The type of the guarded operand.
        rank: Its rank; None if that is not certain.
        remark: What the guarded value must be, if the rules do not say it.
    """

    operator: str
    label: str
    rules: Sequence[Rule]
    tests: Sequence[str]
    read: Sequence[int]
    names: Sequence[str]
    kind: ElementType
    rank: int | None
    remark: str = ""

    def add_to(self, nodes: StandardNodes, operands: Operands) -> ir.Value:
        """Add the node; its result is readable only if all rules are kept."""
        named = {f"operand_{i}": escaped(name) for i, name in enumerate(self.names)}
        result = nodes.value("guarded")
        result.type = ir.TensorType(DATA_TYPES[self.kind])
        if self.rank is not None:
            # A Scan does not run without the ranks of its body.
            result.shape = ir.Shape([None] * self.rank)
        node = ir.node(
            GUARD,
            [operands[place] for place in self.read],
            {
                "node": escaped(self.label),
                "operator": self.operator,
                "tests": ";".join(self.tests),
                **named,
            },
            domain=COMPILED_DOMAIN,
            outputs=[result],
            name=nodes.name_of_node(
                telling_guard_name(self.operator, self.label, self.rules, self.remark)
            ),
        )
        nodes.nodes.append(node)
        return result


def guard_of_node(
    examined: ExaminedNode, guarded: GuardedNode, rules: Sequence[Rule]
) -> CompiledGuard | None:
    """The Guard in front of a node; None if it has no test for one of the rules.

    Args:
        examined: The node.
        guarded: What its guards know of it.
        rules: The rules that a run has to check, in the order of decision.
    """
    operands = _operands(examined, guarded)
    kind = operands[0].element_type if operands else None
    if kind is None or examined.broadcast is not None:
        # What is expanded has other shapes than are known of the operands.
        return None
    # Demands on shapes need not read weights, of which some tests read the elements.
    for kept in (_without_weights(examined, operands), operands):
        tests = [_test(rule, examined, kept, guarded) for rule in rules]
        known = [test for test in tests if test is not None]
        if len(known) == len(rules):
            read = [place for place, operand in enumerate(kept) if operand.place is not None]
            names = [kept[place].name for place in read]
            ruled = examined.ruled
            return CompiledGuard(
                *(ruled.operator.name, ruled.label, rules, known, read, names, kind),
                rank=_certain_rank(examined),
            )
    return None


def guard_of_value(checked: CheckedValue) -> CompiledGuard | None:
    """The Guard after a value; None if it has no test for its rule."""
    requirement, obligation = checked.requirement, checked.obligation
    of_shapes = isinstance(requirement, OnSizes)
    kind = ElementType.named(checked.operand.element_type)
    if kind is None:
        return None
    names = requirement.operands if of_shapes else (checked.operand.value,)
    operands = [GuardOperand(place, name, kind) for place, name in enumerate(names)]
    rule = replace(checked.rule, requirement=requirement)
    test = guard_text(rule, operands, kind)
    if test is None or len(names) != 1 + len(checked.others):
        return None
    shape = checked.value.shape if of_shapes else checked.operand.shape
    certain = shape is not None and not checked.operand.scalar_inputs
    return CompiledGuard(
        *(value_operator(obligation.operator), obligation.node, [checked.rule], [test]),
        *(range(len(names)), names, kind),
        rank=len(shape) if shape is not None and certain else None,
        remark=remark_on(requirement),
    )


def _test(
    rule: Rule, examined: ExaminedNode, operands: Sequence[GuardOperand], guarded: GuardedNode
) -> str | None:
    """What the guard tests of a rule; None if it has no test for it."""
    selected = rule.select_operands(examined.ruled.operand_names, operands)
    own = next((o.element_type for o in selected if o.element_type is not None), None)
    limited_as = guarded.element_type if own is guarded.computed_in else own
    return None if limited_as is None else guard_text(rule, selected, limited_as)


def _operands(examined: ExaminedNode, guarded: GuardedNode) -> list[GuardOperand]:
    """The operands in their places, in the types in which the node reads them."""
    ruled = examined.ruled
    converted = guarded.computed_in is not guarded.element_type
    found = []
    for place, (name, operand) in enumerate(
        zip(ruled.operand_names, examined.operands, strict=True)
    ):
        own = ElementType.named(operand.element_type)
        if converted and name not in ruled.operator.operand_types:
            own = guarded.computed_in
        found.append(GuardOperand(place, name, own))
    return found


def _without_weights(
    examined: ExaminedNode, operands: Sequence[GuardOperand]
) -> list[GuardOperand]:
    """The operands without the places of initializers, whose shapes no run changes.

    Kernels keep other forms of weights, and ONNX Runtime frees those that nothing else reads.
    """
    places, found = itertools.count(), []
    values = examined.ruled.inputs
    for operand, known, value in zip(operands, examined.operands, values, strict=True):
        certain = value.is_initializer() and not value.is_graph_input()
        if operand.place and certain and has_known_sizes(known.shape):
            shape = tuple(size for size in known.shape or () if isinstance(size, int))
            found.append(replace(operand, place=None, shape=shape))
        else:
            found.append(replace(operand, place=next(places)))
    return found


def _certain_rank(examined: ExaminedNode) -> int | None:
    first = examined.operands[0]
    return None if first.shape is None or first.scalar_inputs else len(first.shape)
