"""The nodes for which the profile has rules.

A node is seen in three ways, each of which adds to the one before:

    ir.Node       what the file says: an operator, operands, attributes
    RuledNode     the operator of the profile whose rules bind it, with the version and the place
    ExaminedNode  what is known of its operands, and what that says of each rule: its obligations

`GraphNode` of `analysis/values` is beside them: what the rules of facts read, whether or not the
profile has rules for the operator. For a model with `y = Div(a, b)` and `z = Log(y)` there are two
`GraphNode`s, one `RuledNode` of Div, and one `ExaminedNode`, with an obligation for `Div.float.R1`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import onnx
import onnx_ir as ir

from sonnx_ort.analysis.schema_parameters import numeric_types
from sonnx_ort.analysis.values.declarations import declared_shape, declared_type, is_sparse
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors import InvalidModel
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.loading.traversal import GraphIndex, label_of, subgraphs_in
from sonnx_ort.loading.written import Written, where_written
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.profile.operator import STANDARD_DOMAIN, Operator
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import VERSION, AttributeValue
from sonnx_ort.terms.operand import Operand

_LEGACY_ATTRIBUTES = ("axis", "broadcast", "consumed_inputs")
"""Attributes that element-wise operators had in versions 1 and 6 only."""


@dataclass(frozen=True)
class RuledNode:
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


def ruled_nodes(model: ir.Model, index: GraphIndex) -> Iterator[RuledNode]:
    """The nodes of a canonical model to which the profile's rules apply, at any depth."""
    for node, path in nodes_with_paths(index):
        operator = OPERATORS.get(node.op_type)
        if operator is not None and node.domain == operator.domain:
            version = model.opset_imports.get(node.domain, 1)
            place = where_written(node, model.producer_name)
            yield RuledNode(node, operator, label_of(node), version, path, place)


def nodes_with_paths(index: GraphIndex) -> Iterator[tuple[ir.Node, tuple[str, ...]]]:
    """The nodes of the main graph and of its subgraphs, each with its path as in `RuledNode`."""
    paths: dict[object, tuple[str, ...]] = {index.graphs[0]: ()}
    for node in index.nodes:
        path = paths[node.graph]
        for attribute in node.attributes.data.values():  # a view takes longer
            for body in subgraphs_in(attribute):
                paths[body] = (*path, step_into(node, attribute))
        yield node, path


def step_into(node: ir.Node, attribute: ir.Attr) -> str:
    """One step of a path, such as `If 'choose' then_branch`."""
    return f"{node.op_type} '{label_of(node)}' {attribute.name}"


def is_of_known_version(ruled: RuledNode) -> bool:
    """Whether the profile supports the imported version of the operator."""
    operator = ruled.operator
    if operator.domain != STANDARD_DOMAIN:
        return True
    return operator_version(operator.name, ruled.version) in (0, *operator.versions)


def require_known_version(ruled: RuledNode) -> None:
    """Reject an operator version that the profile does not support.

    Raises:
        InvalidModel: The model imports such a version.
    """
    if is_of_known_version(ruled):
        return
    name = ruled.operator.name
    first = operator_version(name, ruled.version)
    raise InvalidModel(
        f"{name} '{ruled.label}': version {first} of the standard operators changes {name}, and "
        f"the rules apply only to earlier versions; export the model with version {first - 1} of "
        "the standard operators"
    )


def require_allowed_types(ruled: RuledNode, facts: Facts) -> None:
    """Reject operands of a numeric type that the operator's imported version does not support.

    ONNX Runtime rejects such a model as well. A type that is not numeric violates a rule instead.

    Raises:
        InvalidModel: An operand has such a type.
    """
    name = ruled.operator.name
    if ruled.operator.domain != STANDARD_DOMAIN:
        return
    for operand, value in zip(ruled.operand_names, ruled.inputs, strict=True):
        found = ElementType.named(facts.element_type(value))
        if found not in NUMERIC_TYPES or found in _supported_types(name, ruled.version):
            continue
        first = _first_supporting_version(name, found)
        if first is None:
            raise InvalidModel(
                f"{name} '{ruled.label}': {operand} is {found.value}, which no version of {name} "
                "supports; convert the operand with Cast"
            )
        raise InvalidModel(
            f"{name} '{ruled.label}': {operand} is {found.value}, which {name} supports from "
            f"version {first} of the standard operators on, but the model imports version "
            f"{ruled.version}; convert the model, for example with onnx.version_converter"
        )


def _supported_types(name: str, version: int) -> frozenset[ElementType]:
    return frozenset().union(*numeric_types(name, version, STANDARD_DOMAIN))


def _first_supporting_version(name: str, element_type: ElementType) -> int | None:
    newest = onnx.defs.onnx_opset_version()
    versions = (v for v in range(1, newest + 1) if operator_version(name, v))
    return next((v for v in versions if element_type in _supported_types(name, v)), None)
