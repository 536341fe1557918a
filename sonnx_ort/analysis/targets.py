"""The nodes that the profile constrains."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.analysis.declarations import declared_shape, declared_type, is_sparse
from sonnx_ort.loading.traversal import every_node, subgraphs_in
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import AttributeValue

_LEGACY_ATTRIBUTES = ("axis", "broadcast", "consumed_inputs")
"""What versions 1 and 6 of element-wise operators had besides their operands."""


@dataclass(frozen=True, slots=True)
class Target:
    """A node of an operator that the profile constrains.

    Attributes:
        node: The node.
        operator: The profile's operator.
        label: The node's name, by which errors speak of it; an unnamed node is spoken of by its
            output.
        version: The version of the operator's domain that the model imports.
        path: The nodes whose subgraphs it lies in, outermost first: "If 'choose' then_branch".
    """

    node: ir.Node
    operator: Operator
    label: str
    version: int
    path: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[ir.Value, ...]:
        """The operands, without those that are left out."""
        return tuple(value for value in self.node.inputs if value is not None)

    @property
    def operand_names(self) -> tuple[str, ...]:
        """The names of these operands in the operator's document."""
        names = self.operator.operand_names(len(self.node.inputs))
        given = zip(names, self.node.inputs, strict=False)
        return tuple(name for name, value in given if value is not None)

    @property
    def declared_results(self) -> tuple[Operand, ...]:
        """What the file declares of the outputs; knowledge of nothing but the file."""
        names = self.operator.result_names(len(self.node.outputs))
        return tuple(
            Operand(
                name=name,
                value=value.name or "",
                origin="declared",
                element_type=declared_type(value),
                shape=declared_shape(value),
                sparse=is_sparse(value),
            )
            for name, value in zip(names, self.node.outputs, strict=True)
        )

    @property
    def output(self) -> ir.Value:
        """The result; the first of several."""
        return self.node.outputs[0]

    @property
    def in_branch(self) -> bool:
        """Whether it lies in a branch of an If, at any depth."""
        return any(step.startswith("If '") for step in self.path)

    @property
    def broadcasts(self) -> bool:
        """Whether ONNX broadcasts the operands: from some version on, or where the node asks."""
        return self.version >= self.operator.broadcasting_since or self.asks_for_broadcasting

    @property
    def asks_for_broadcasting(self) -> bool:
        """Whether a version 1 or 6 node has the attribute `broadcast=1`."""
        attribute = self.node.attributes.get("broadcast")
        return attribute is not None and attribute.as_int() != 0

    @property
    def further_attributes(self) -> tuple[str, ...]:
        """The names of the node's attributes, without those of limited broadcasting."""
        legacy = _LEGACY_ATTRIBUTES if self.operator.elementwise else ()
        return tuple(name for name in self.node.attributes if name not in legacy)

    def attributes(self, names: Sequence[str]) -> dict[str, AttributeValue]:
        """What the node's attributes say, as far as they are numbers or texts.

        Args:
            names: The names of the attributes.
        """
        return {name: attribute_value(self.node, name) for name in names}

    @property
    def limited_broadcasting(self) -> LimitedBroadcasting | None:
        """What such a node allows; None for a node that does not ask for broadcasting."""
        if not self.asks_for_broadcasting:
            return None
        axis = self.node.attributes.get("axis")
        return LimitedBroadcasting(None if axis is None else axis.as_int())


_PLAIN = (ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING)


def attribute_value(node: ir.Node, name: str) -> AttributeValue:
    """What an attribute of a node says; None if there is none, or one of another kind.

    Args:
        node: The node.
        name: The name of the attribute.
    """
    attribute = node.attributes.get(name)
    if attribute is None or attribute.is_ref() or attribute.type not in _PLAIN:
        return None
    value: AttributeValue = attribute.value
    return value


def targets(model: ir.Model) -> Iterator[Target]:
    """The nodes that the profile constrains, in the main graph and in subgraphs at any depth.

    Args:
        model: A canonical model: model-local functions hold no such node.
    """
    for node, path in nodes_with_paths(model):
        operator = OPERATORS.get(node.op_type)
        if operator is not None and node.domain == operator.domain:
            version = model.opset_imports.get(node.domain, 1)
            yield Target(node, operator, label_of(node), version, path)


def nodes_with_paths(model: ir.Model) -> Iterator[tuple[ir.Node, tuple[str, ...]]]:
    """The nodes of the main graph and of its subgraphs, each with its path as in `Target`.

    Args:
        model: The model.
    """
    paths: dict[object, tuple[str, ...]] = {model.graph: ()}
    for node in every_node(model.graph):
        path = paths[node.graph]
        for attribute in node.attributes.values():
            for body in subgraphs_in(attribute):
                paths[body] = (*path, step_into(node, attribute))
        yield node, path


def label_of(node: ir.Node) -> str:
    """The name by which people are told of a node: its own, or that of its first output.

    Args:
        node: The node.
    """
    return node.name or f"(output {node.outputs[0].name if node.outputs else 'none'})"


def step_into(node: ir.Node, attribute: ir.Attr) -> str:
    """One step of a path: `If 'choose' then_branch`.

    Args:
        node: A node with subgraphs.
        attribute: The attribute that holds the subgraph.
    """
    return f"{node.op_type} '{label_of(node)}' {attribute.name}"
