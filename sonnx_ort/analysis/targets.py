"""The nodes to which rules apply, and the values that have to be finite, or within a contract."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import onnx
import onnx_ir as ir

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.values.declarations import (
    constant_tensor,
    declared_axes,
    declared_shape,
    declared_type,
    is_sparse,
)
from sonnx_ort.analysis.values.provenance import is_declared_scalar
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.analysis.values.value_types import numeric_types
from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.loading.traversal import every_node, label_of, subgraphs_in
from sonnx_ort.loading.written import Written, where_written
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.contract import Contract, ValueContract
from sonnx_ort.profile.contract_rules import (
    OnSizes,
    ShapeDemand,
    contract_requirement,
    contract_rule,
    shape_demands,
)
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.element_type import FLOAT_TYPES, NUMERIC_TYPES, ElementType
from sonnx_ort.profile.graph import FINITE, FINITE_OUTPUTS, FINITE_VALUES, finite_elements
from sonnx_ort.profile.operator import STANDARD_DOMAIN, Operator
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import VERSION, AttributeValue, Rule, Status
from sonnx_ort.terms.operand import Operand

_LEGACY_ATTRIBUTES = ("axis", "broadcast", "consumed_inputs")
"""Attributes that element-wise operators had in versions 1 and 6 only."""


@dataclass(frozen=True)
class Target:
    """A node of an operator for which the profile has rules.

    Attributes:
        label: The node's name for messages; derived from its output if the node has no name.
        version: The imported version of the operator's domain.
        path: The nodes whose subgraphs contain it, outermost first: "If 'choose' then_branch".
        written: Where it was written, as the model says; None if it does not.
    """

    node: ir.Node
    operator: Operator
    label: str
    version: int
    path: tuple[str, ...] = ()
    written: Written | None = None

    @property
    def inputs(self) -> tuple[ir.Value, ...]:
        """The operands as they are now, without those that are omitted."""
        return tuple(value for value in self.node.inputs if value is not None)

    @cached_property
    def operand_names(self) -> tuple[str, ...]:
        """The names of these operands in the operator's document."""
        names = self.operator.operand_names(len(self.node.inputs))
        pairs = zip(names, self.node.inputs, strict=False)
        return tuple(name for name, value in pairs if value is not None)

    @cached_property
    def declared_results(self) -> tuple[Operand, ...]:
        """The outputs of the operands' type as declared in the file, which may be wrong."""
        outputs = self.node.outputs[:1] if self.operator.further_results else self.node.outputs
        names = self.operator.result_names(len(outputs))
        return tuple(
            Operand(
                name=name,
                value=value.name or "",
                origin="declared",
                element_type=declared_type(value),
                shape=declared_shape(value),
                sparse=is_sparse(value),
            )
            for name, value in zip(names, outputs, strict=True)
        )

    @property
    def output(self) -> ir.Value:
        """The first output."""
        return self.node.outputs[0]

    @property
    def in_branch(self) -> bool:
        """Whether it is inside a branch of an If, at any depth."""
        return any(step.startswith("If '") for step in self.path)

    @property
    def broadcasts(self) -> bool:
        """Whether ONNX broadcasts the operands: by default since some version, or by attribute."""
        return self.version >= self.operator.broadcasting_since or self.asks_for_broadcasting

    @property
    def asks_for_broadcasting(self) -> bool:
        """Whether a node of version 1 or 6 has the attribute `broadcast=1`."""
        attribute = self.node.attributes.get("broadcast")
        return attribute is not None and attribute.as_int() != 0

    @property
    def further_attributes(self) -> tuple[str, ...]:
        """The names of the node's attributes, without those of limited broadcasting."""
        legacy = _LEGACY_ATTRIBUTES if self.operator.elementwise else ()
        return tuple(name for name in self.node.attributes if name not in legacy)

    @property
    def attributes(self) -> dict[str, AttributeValue]:
        """The node's attributes by name; None for one that is no number, text or list of them."""
        return {name: attribute_value(self.node, name) for name in self.node.attributes}

    @property
    def limited_broadcasting(self) -> LimitedBroadcasting | None:
        """The requirement of limited broadcasting; None if the node does not request it."""
        if not self.asks_for_broadcasting:
            return None
        axis = self.node.attributes.get("axis")
        return LimitedBroadcasting(None if axis is None else axis.as_int())


_SCALAR_TYPES = (ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING)


def attribute_value(node: ir.Node, name: str) -> AttributeValue:
    """The value of a node's attribute; None if it is missing or no number, text or list of them."""
    attribute = node.attributes.get(name)
    if attribute is None or attribute.is_ref():
        return None
    if attribute.type in (ir.AttributeType.INTS, ir.AttributeType.FLOATS, ir.AttributeType.STRINGS):
        return tuple(attribute.value)
    value: AttributeValue = attribute.value if attribute.type in _SCALAR_TYPES else None
    return value


def parameter_texts(node: ir.Node, operator: Operator, version: int) -> dict[str, str]:
    """What an operator's rules depend on besides operands, as JSON for a kernel.

    Args:
        node: The node.
        operator: Its operator.
        version: The imported version of the operator's domain.
    """
    values: dict[str, AttributeValue] = {VERSION: version}
    values |= {name: attribute_value(node, name) for name in operator.attributes}
    return {name: json.dumps(values[name]) for name in operator.parameters}


def targets(model: ir.Model) -> Iterator[Target]:
    """The nodes of a canonical model to which the profile's rules apply, at any depth."""
    for node, path in nodes_with_paths(model):
        operator = OPERATORS.get(node.op_type)
        if operator is not None and node.domain == operator.domain:
            version = model.opset_imports.get(node.domain, 1)
            place = where_written(node, model.producer_name)
            yield Target(node, operator, label_of(node), version, path, place)


def nodes_with_paths(model: ir.Model) -> Iterator[tuple[ir.Node, tuple[str, ...]]]:
    """The nodes of the main graph and of its subgraphs, each with its path as in `Target`."""
    paths: dict[object, tuple[str, ...]] = {model.graph: ()}
    for node in every_node(model.graph):
        path = paths[node.graph]
        for attribute in node.attributes.data.values():  # a view takes longer
            for body in subgraphs_in(attribute):
                paths[body] = (*path, step_into(node, attribute))
        yield node, path


def step_into(node: ir.Node, attribute: ir.Attr) -> str:
    """One step of a path, such as `If 'choose' then_branch`."""
    return f"{node.op_type} '{label_of(node)}' {attribute.name}"


def is_of_known_version(target: Target) -> bool:
    """Whether the profile supports the imported version of the operator."""
    operator = target.operator
    if operator.domain != STANDARD_DOMAIN:
        return True
    return operator_version(operator.name, target.version) in (0, *operator.versions)


def require_known_version(target: Target) -> None:
    """Reject an operator version that the profile does not support.

    Raises:
        InvalidModel: The model imports such a version.
    """
    if is_of_known_version(target):
        return
    name = target.operator.name
    first = operator_version(name, target.version)
    raise InvalidModel(
        f"{name} '{target.label}': version {first} of the standard operators changes {name}, and "
        f"the rules apply only to earlier versions; export the model with version {first - 1} of "
        "the standard operators"
    )


def require_allowed_types(target: Target, facts: Facts) -> None:
    """Reject operands of a numeric type that the operator's imported version does not support.

    ONNX Runtime rejects such a model as well. A type that is not numeric violates a rule instead.

    Raises:
        InvalidModel: An operand has such a type.
    """
    name = target.operator.name
    if target.operator.domain != STANDARD_DOMAIN:
        return
    for operand, value in zip(target.operand_names, target.inputs, strict=True):
        found = ElementType.named(facts.element_type(value))
        if found not in NUMERIC_TYPES or found in _supported_types(name, target.version):
            continue
        first = _first_supporting_version(name, found)
        if first is None:
            raise InvalidModel(
                f"{name} '{target.label}': {operand} is {found.value}, which no version of {name} "
                "supports; convert the operand with Cast"
            )
        raise InvalidModel(
            f"{name} '{target.label}': {operand} is {found.value}, which {name} supports from "
            f"version {first} of the standard operators on, but the model imports version "
            f"{target.version}; convert the model, for example with onnx.version_converter"
        )


def _supported_types(name: str, version: int) -> frozenset[ElementType]:
    return frozenset().union(*numeric_types(name, version, STANDARD_DOMAIN))


def _first_supporting_version(name: str, element_type: ElementType) -> int | None:
    newest = onnx.defs.onnx_opset_version()
    versions = (v for v in range(1, newest + 1) if operator_version(name, v))
    return next((v for v in versions if element_type in _supported_types(name, v)), None)


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
    checked = (
        *_within_sizes(model, demands.contract, facts),
        *(
            _checked(value, demand, facts, path=path)
            for value, demand, path in _contracted(model, demands)
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
    model: ir.Model, demands: Demands
) -> Iterator[tuple[ir.Value, ValueContract, tuple[str, ...]]]:
    """The values with a contract, what it demands by each rule, and the paths of their nodes."""
    if not demands.contract.values:
        return
    inputs = ((value, ()) for value in model.graph.inputs)
    computed = ((v, path) for node, path in nodes_with_paths(model) for v in node.outputs)
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


def _computed(model: ir.Model) -> Iterator[tuple[ir.Value, tuple[str, ...]]]:
    """The values that nodes compute and that are read, each with the path of its node."""
    for node, path in nodes_with_paths(model):
        for value in node.outputs:
            if value.name and (value.is_graph_output() or any(value.uses())):
                yield value, path


def _may_be_float(value: ir.Value, facts: Facts) -> bool:
    kind = facts.element_type(value) or declared_type(value)
    return facts.may_be_tensor(value) and (kind is None or kind in FLOAT_TYPES)
