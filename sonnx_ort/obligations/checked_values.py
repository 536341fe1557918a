"""The values that have to be finite, or within a contract, and what is known of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import onnx_ir as ir

from sonnx_ort.errors import SonnxError
from sonnx_ort.knowledge.declarations import constant_tensor, declared_axes, declared_type
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.targets import label_of, nodes_with_paths
from sonnx_ort.profile.contract import Contract, ShapeDemand, ValueContract, shape_demands
from sonnx_ort.profile.contract_rules import OnSizes, contract_requirement, contract_rule
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType
from sonnx_ort.profile.graph import FINITE, FINITE_OUTPUTS, FINITE_VALUES, finite_elements
from sonnx_ort.profile.options import Demands
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.terms.operand import Operand


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """A value that has to be finite, or within a contract.

    Attributes:
        operand: What is known of it.
        contract: What its contract says of its elements or of its shape; None if it has to be
            finite.
        may_be_misinferred: Whether ONNX Runtime may infer a wrong rank or wrong sizes.
        others: The inputs that its shape is compared with.
    """

    value: ir.Value
    operand: Operand
    contract: ValueContract | ShapeDemand | None
    obligation: Obligation
    may_be_misinferred: bool
    others: tuple[ir.Value, ...] = ()

    @property
    def left_to_the_run(self) -> bool:
        """Whether each run has to check it; a waived constant is not checked."""
        return self.obligation.status is Status.RUNTIME

    @property
    def rule(self) -> Rule:
        """The rule that binds it."""
        return self.obligation.rule

    @property
    def requirement(self) -> OnElements | OnSizes:
        """What its elements, or its sizes, have to be."""
        if self.contract is None:
            return finite_elements(self.operand.value)
        return contract_requirement(self.contract)

    @property
    def node(self) -> ir.Node | None:
        """The node that computes it; None for an input with a contract.

        Raises:
            SonnxError: There is none, so that no guard can stand behind it.
        """
        producer = self.value.producer()
        if producer is None and self.rule is FINITE:
            raise SonnxError(
                f"{FINITE.id}: no node computes the output '{self.value.name}', so it cannot be "
                "checked; insert an Identity in front of it"
            )
        return producer

    @property
    def element_type(self) -> ElementType:
        """The type of its elements, proved or declared.

        Raises:
            SonnxError: It is neither.
        """
        element_type = ElementType.named(self.operand.element_type)
        if element_type is None:
            raise SonnxError(
                f"{self.rule.id}: the element type of '{self.value.name}', which "
                f"{self.obligation.place} computes, is unknown; declare it in value_info"
            )
        return element_type


def checked_values(model: ir.Model, facts: Facts, demands: Demands) -> tuple[CheckedValue, ...]:
    """Find the values with a contract, and those that have to be finite, in the order of the graph.

    Args:
        model: A canonical model.
        facts: What is known of its values.
        demands: What the caller asks for.
    """
    asked_for: list[tuple[ir.Value, tuple[str, ...]]] = []
    if FINITE_VALUES in demands.operators:
        asked_for += _computed(model)
    if FINITE_OUTPUTS in demands.operators:
        asked_for += [(value, ()) for value in model.graph.outputs]
    return (
        *_within_sizes(model, demands.contract, facts),
        *(_checked(value, entry, facts) for value, entry in _contracted(model, demands)),
        *(
            _checked(value, None, facts, path=path)
            for value, path in dict(asked_for).items()
            if _may_be_float(value, facts)
        ),
    )


def _contracted(model: ir.Model, demands: Demands) -> Iterator[tuple[ir.Value, ValueContract]]:
    """The values of the main graph with a contract."""
    if not demands.contract:
        return
    computed = (value for node in model.graph for value in node.outputs)
    for value in chain(model.graph.inputs, computed):
        entry = demands.contract.of(str(value.name)) if value.name else None
        if entry is not None:
            yield value, entry


def _within_sizes(model: ir.Model, contract: Contract, facts: Facts) -> Iterator[CheckedValue]:
    """The inputs whose shapes have a contract."""
    if not contract.limits_sizes:
        return
    inputs = {str(value.name): value for value in model.graph.inputs}
    for name, demand in shape_demands(contract, declared_axes(model.graph)).items():
        others = tuple(inputs[other] for other in demand.operands[1:])
        yield _checked(inputs[name], demand, facts, others=others)


def _checked(
    value: ir.Value,
    entry: ValueContract | ShapeDemand | None,
    facts: Facts,
    *,
    path: tuple[str, ...] = (),
    others: tuple[ir.Value, ...] = (),
) -> CheckedValue:
    """Judge a value; with a contract without its guards, which enforce what is demanded."""
    values, node, tensor = (value, *others), value.producer(), constant_tensor(value)
    names = ["output"] if entry is None else [str(each.name) for each in values]
    operand, *compared = facts.operands(names, values)
    if operand.element_type is None:
        # A session with types that do not match does not start.
        operand = replace(operand, element_type=declared_type(value))
    known = [operand, *compared]
    if entry is not None:
        known = [facts.unguarded(each, own) for each, own in zip(known, values, strict=True)]
    if tensor is not None:
        known[0] = replace(known[0], constant=tensor.numpy())
    rule = FINITE if entry is None else contract_rule(entry)
    requirement = FINITE.requirement if entry is None else contract_requirement(entry)
    judgement = requirement.judge(known)
    own = "replace it by a large finite number" if entry is None else requirement.hint([operand])
    without = ("", "") if entry is None else ("Input", str(value.name))
    operator, label = without if node is None else (node.op_type, label_of(node))
    obligation = Obligation(
        rule,
        operator,
        label,
        (operand, *compared),
        judgement.status,
        judgement.evidence,
        own if judgement.status is Status.VIOLATED else "",
        path,
    )
    misinferred = facts.may_be_misinferred(value)
    return CheckedValue(value, operand, entry, obligation, misinferred, others)


def _computed(model: ir.Model) -> Iterator[tuple[ir.Value, tuple[str, ...]]]:
    """The values that nodes compute and that are read, each with the path of its node."""
    for node, path in nodes_with_paths(model):
        for value in node.outputs:
            if value.name and (value.is_graph_output() or any(value.uses())):
                yield value, path


def _may_be_float(value: ir.Value, facts: Facts) -> bool:
    kind = facts.element_type(value) or declared_type(value)
    return facts.may_be_tensor(value) and (kind is None or kind in FLOAT_TYPES)
