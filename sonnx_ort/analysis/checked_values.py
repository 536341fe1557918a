"""The values that a contract binds, or that have to be finite.

An example: with a contract that `x` lies between 0 and 1, and with the rule that outputs are
finite, the values of `y = Log(x)` are x, for the contract, and y, for the rule. Each has an
obligation, which is judged here and, where it is left to the run, enforced behind the node that
computes the value.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import onnx_ir as ir

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.ruled_nodes import nodes_with_paths
from sonnx_ort.analysis.values.declarations import constant_tensor, declared_axes, declared_type
from sonnx_ort.analysis.values.provenance import is_declared_scalar
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import GraphIndex, label_of
from sonnx_ort.loading.written import where_written
from sonnx_ort.profile.contract import Contract, ValueContract
from sonnx_ort.profile.contract_rules import (
    OnSizes,
    ShapeDemand,
    contract_requirement,
    contract_rule,
    shape_demands,
)
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType
from sonnx_ort.profile.graph import FINITE, FINITE_OUTPUTS, FINITE_VALUES, finite_elements
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
        shares_sizes: Whether another axis of inputs has the name of one of its sizes, and nothing
            holds the two to one size. ONNX Runtime then takes memory of one for the other, and a
            run ends in which they differ.
    """

    value: ir.Value
    operand: Operand
    contract: ValueContract | ShapeDemand | None
    obligation: Obligation
    may_be_misinferred: bool
    others: tuple[ir.Value, ...] = ()
    shares_sizes: bool = False

    @property
    def left_to_the_run(self) -> bool:
        """Whether each run has to check it; a waived constant is not checked."""
        return self.obligation.left_to_the_run

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
    def passed_type(self) -> str:
        """The ONNX name of its element type, as operators that look at no element take it.

        Raises:
            SonnxError: It is neither proved nor declared.
        """
        if self.operand.element_type is None:
            raise self._of_unknown_type()
        return self.operand.element_type

    @property
    def node(self) -> ir.Node | None:
        """The node that computes it; None for an input with a contract.

        Raises:
            SonnxError: There is none, so that no guard can stand after it.
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
        """The type of its elements, proved or declared; of sizes that of sizes.

        Raises:
            SonnxError: It is neither.
        """
        if isinstance(self.contract, ShapeDemand):
            return ElementType.INT64
        element_type = ElementType.named(self.operand.element_type)
        if element_type is None:
            raise self._of_unknown_type()
        return element_type

    def _of_unknown_type(self) -> SonnxError:
        return SonnxError(
            f"{self.rule.id}: the element type of '{self.value.name}', which "
            f"{self.obligation.place} computes, is unknown; declare it in value_info"
        )


def checked_values(
    model: ir.Model, index: GraphIndex, facts: Facts, demands: Demands
) -> tuple[CheckedValue, ...]:
    """Find the values with a contract, and those that have to be finite, in the order of the graph.

    Args:
        model: A canonical model.
        index: What it has.
        facts: What is known of its values.
        demands: What the caller asks for.
    """
    asked_for: list[tuple[ir.Value, tuple[str, ...]]] = []
    if FINITE_VALUES in demands.operators:
        asked_for += _computed(index)
    if FINITE_OUTPUTS in demands.operators:
        asked_for += [(value, ()) for value in model.graph.outputs]
    checked = (
        *_within_sizes(model, demands.contract, facts),
        *(
            _checked(value, demand, facts, path=path)
            for value, demand, path in _contracted(model, index, demands)
        ),
        *(
            _checked(value, None, facts, path=path)
            for value, path in dict(asked_for).items()
            if _may_be_float(value, facts)
        ),
    )
    return tuple(_placed(each, model.producer_name) for each in checked)


def _placed(checked: CheckedValue, producer: str | None) -> CheckedValue:
    """The same, with where the node was written that computes the value."""
    node = checked.value.producer()
    place = None if node is None else where_written(node, producer)
    if place is None:
        return checked
    return replace(checked, obligation=replace(checked.obligation, written=place))


def _contracted(
    model: ir.Model, index: GraphIndex, demands: Demands
) -> Iterator[tuple[ir.Value, ValueContract, tuple[str, ...]]]:
    """The values with a contract, what it demands by each rule, and the paths of their nodes."""
    if not demands.contract.values:
        return
    inputs = ((value, ()) for value in model.graph.inputs)
    computed = ((v, path) for node, path in nodes_with_paths(index) for v in node.outputs)
    for value, path in chain(inputs, computed):
        entry = demands.contract.of(str(value.name)) if value.name else None
        yield from ((value, demand, path) for demand in (entry.demands if entry else ()))


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
    if entry is not None and is_declared_scalar(value):
        # Whatever reads it: the contract is of the input itself.
        operand = replace(operand, scalar_inputs=True)
    known = [operand, *compared]
    if entry is not None:
        known = [facts.unguarded(each, own) for each, own in zip(known, values, strict=True)]
    if tensor is not None:
        known[0] = replace(known[0], constant=tensor.numpy())
    rule = FINITE if entry is None else contract_rule(entry)
    requirement = FINITE.requirement if entry is None else contract_requirement(entry)
    judgement = requirement.judge(known)
    own = "replace it by a large finite number" if entry is None else rule.hint([operand])
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
    misinferred, shares = facts.may_be_misinferred(value), facts.shares_sizes(value)
    return CheckedValue(value, operand, entry, obligation, misinferred, others, shares)


def _computed(index: GraphIndex) -> Iterator[tuple[ir.Value, tuple[str, ...]]]:
    """The values that nodes compute and that are read, each with the path of its node."""
    for node, path in nodes_with_paths(index):
        for value in node.outputs:
            if value.name and (value.is_graph_output() or any(value.uses())):
                yield value, path


def _may_be_float(value: ir.Value, facts: Facts) -> bool:
    kind = facts.element_type(value) or declared_type(value)
    return facts.may_be_tensor(value) and (kind is None or kind in FLOAT_TYPES)
