"""New nodes, and putting them in the place of one so that nothing else in the graph notices.

Among them are the guards. A custom operator cannot raise: it gives its result together with the
result's shape, and where a rule is broken the shape `[-ticket]` instead. The `Reshape` behind it
makes the result of the two, and fails at the latter; no output of the operator is reachable except
through it:

    A, B -> sonnx::CheckedDiv -> result, shape -> Reshape -> C
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np
import onnx_ir as ir

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.profile.rule import Status

Attribute = ir.TensorProtocol | ir.Graph | int | str

Known = Mapping[tuple[Hashable, ...], ir.Value]
"""What nodes give, by what they compute and what the names of their outputs say of it."""

ADDED_OPERATORS = frozenset(
    {
        *("Add", "And", "Cast", "Concat", "Constant", "ConstantOfShape", "Equal", "Expand"),
        *("Gather", "Greater", "Identity", "If", "IsNaN", "Less", "Loop", "Max", "Neg", "Not"),
        *("Or", "Range", "ReduceMax", "ReduceMin", "Reshape", "Shape", "Sub", "Tile", "Where"),
    }
)
"""The operators of all nodes that `StandardNodes` makes.

ONNX Runtime makes one of two nodes that compute the same, and believes what a file declares of
either: so no false declaration may stay of what a node of one of these operators gives.
"""

CONSTANT_OF_ANY_TYPE = 9
"""The first version of the standard operators in which Constant can be an integer."""


class StandardNodes:
    """Makes the nodes that go into the place of one node, or in front of it."""

    def __init__(
        self, names: ValueNames, stem: str, opset: int, known: Known = MappingProxyType({})
    ) -> None:
        """Start with no nodes.

        Args:
            names: Gives names to new values.
            stem: What the names of new values start with.
            opset: The version of the standard operators.
            known: What nodes around these compute already.
        """
        self.nodes: list[ir.Node] = []
        self.opset = opset
        self._names = names
        self._stem = stem
        self._known: dict[tuple[Hashable, ...], ir.Value] = dict(known)

    def body(self) -> "StandardNodes":
        """Start the nodes of a subgraph, which can read all values made here."""
        return StandardNodes(self._names, self._stem, self.opset, self._known)

    def add(
        self,
        operator: str,
        inputs: Sequence[ir.Value],
        purpose: str,
        attributes: Mapping[str, Attribute] | None = None,
        *,
        name: str = "",
    ) -> ir.Value:
        """Add a node with one output, unless one computes the same for the same purpose already.

        Args:
            operator: The operator.
            inputs: Its inputs.
            purpose: What the output's name says of it.
            attributes: Its attributes.
            name: Its name, if people are to read it; a number is put behind one that is taken. Such
                a node is always added.

        Returns:
            Its output.

        Raises:
            ValueError: It is none of `ADDED_OPERATORS`.
        """
        if operator not in ADDED_OPERATORS:
            raise ValueError(f"nodes of {operator} are added, and ADDED_OPERATORS does not name it")
        key = (operator, *inputs, purpose, *(attributes or {}).items())
        if not name and key in self._known:
            return self._known[key]
        output = self.value(purpose)
        own = self._names.fresh_for_node(name) if name else ""
        node = ir.node(operator, inputs, attributes, outputs=[output], name=own)
        self.nodes.append(node)
        self._known[key] = output
        return output

    def enforced(
        self,
        operator: str,
        inputs: Sequence[ir.Value],
        attributes: Mapping[str, str],
        *,
        guard: str,
    ) -> ir.Value:
        """Add a custom operator and its guard.

        Args:
            operator: The operator of the domain `sonnx`.
            inputs: Its inputs.
            attributes: Its attributes.
            guard: The name of the guard.

        Returns:
            The output of the guard.
        """
        result, shape = self.value("result"), self.value("shape")
        node = ir.node(operator, inputs, attributes, domain=DOMAIN, outputs=[result, shape])
        self.nodes.append(node)
        guarded = self.value("guarded")
        self.nodes.append(ir.node("Reshape", [result, shape], outputs=[guarded], name=guard))
        return guarded

    def shape(self, value: ir.Value) -> ir.Value:
        """Add the Shape of a value.

        Args:
            value: The value.
        """
        return self.add("Shape", [value], "operand_shape")

    def cast(self, value: ir.Value, to: ir.DataType, purpose: str) -> ir.Value:
        """Add a Cast.

        Args:
            value: What to convert.
            to: The type to convert to.
            purpose: What the output's name says of it.
        """
        return self.add("Cast", [value], purpose, {"to": to})

    def constant(
        self,
        numbers: Sequence[int] | int | float,
        purpose: str,
        element_type: ir.DataType = ir.DataType.INT64,
    ) -> ir.Value:
        """Add a constant, unless there is the same for the same purpose already.

        Args:
            numbers: Its elements, or the one element of a scalar.
            purpose: What the value's name says of it.
            element_type: Its type; every number can be told exactly in it and in double.
        """
        # The older Constant has no integers.
        exact = self.opset >= CONSTANT_OF_ANY_TYPE
        array = np.array(numbers, element_type.numpy() if exact else float)
        key = (purpose, array.dtype, array.shape, array.tobytes())
        if key not in self._known:
            tensor = ir.Tensor(array)
            value = self.add("Constant", [], purpose, {"value": tensor})
            # The graph library gives it that name when it reads the model again.
            tensor.name = value.name
            self._known[key] = value
        return self._known[key] if exact else self.cast(self._known[key], element_type, purpose)

    def value(self, purpose: str) -> ir.Value:
        """Make a value that no node gives yet.

        Args:
            purpose: What its name says of it.
        """
        return ir.val(self._names.fresh(f"{self._stem}_{purpose}"))


RULES = "sonnx_ort.rules"
"""The key in a node's metadata under which the ids of the rules stand that bind it."""

PROVED = "sonnx_ort.proved"
"""The key under which those of them stand that hold in every run."""

Uses = Mapping[ir.Value, Sequence[tuple[ir.Node, int]]]
"""For each value the nodes that read it, and the positions at which they do."""


def uses_of(values: Iterable[ir.Value]) -> Uses:
    """Find what reads values now.

    Args:
        values: The values.
    """
    return {value: tuple(value.uses()) for value in values}


def put_behind_inputs(
    graph: ir.Graph, uses: Uses, nodes: Sequence[ir.Node], behind: Mapping[ir.Value, ir.Value]
) -> None:
    """Let what reads inputs read what new nodes make of these.

    Args:
        graph: The main graph, which gets the nodes.
        uses: What read the inputs before there were the nodes.
        nodes: The nodes, in order.
        behind: What they give for each input.
    """
    for value, made in behind.items():
        made.type = value.type
        for node, index in uses[value]:
            node.replace_input_with(index, made)
    graph.insert_before(graph[0], nodes)


def replace_node(
    node: ir.Node, nodes: Sequence[ir.Node], values: Mapping[ir.Value, ir.Value]
) -> None:
    """Put nodes in the place of one, and values in the place of its outputs.

    Args:
        node: The node to replace.
        nodes: The nodes that replace it, in order.
        values: What they give for each of its outputs that anything can read.
    """
    for old, new in values.items():
        new.metadata_props.update(old.metadata_props)
        new.doc_string = old.doc_string
        new.meta.update(old.meta)
    ir.convenience.replace_nodes_and_values(
        cast(ir.Graph, node.graph), node, [node], nodes, list(values), list(values.values())
    )


def record_rules(node: ir.Node, examined: ExaminedNode) -> None:
    """Write down which rules an enforced node keeps, and which need no check.

    For people and their tools; nothing here relies on it.

    Args:
        node: The node that takes the place of the examined one.
        examined: The examined one.
    """
    own = [o for o in examined.obligations if o.operator == examined.target.operator.name]
    proved = (o.rule.id for o in own if o.status is Status.PROVED)
    node.metadata_props[RULES] = " ".join(o.rule.id for o in own)
    node.metadata_props[PROVED] = " ".join(proved)


def computed(
    nodes: StandardNodes, examined: ExaminedNode, operands: Sequence[ir.Value]
) -> ir.Value:
    """Let the node itself compute, on other operands.

    Args:
        nodes: Takes the new node.
        examined: The node; its attributes that ask for broadcasting are taken away.
        operands: What it reads now in the places of its operands, without those left out.

    Returns:
        The result.

    Raises:
        SonnxError: The node has further outputs that something may read.
    """
    original, result = examined.target.node, nodes.value("result")
    if any(output.name for output in original.outputs[1:]):
        target = examined.target
        raise SonnxError(
            f"{target.operator.name} '{target.label}' has further outputs, with which it cannot be "
            "enforced; export the model for inference"
        )
    drop_legacy_attributes(examined)
    given = iter(operands)
    node = ir.node(
        original.op_type,
        [None if value is None else next(given) for value in original.inputs],
        outputs=[result],
        name=original.name,
        doc_string=original.doc_string,
        metadata_props=original.metadata_props,
    )
    node.attributes.update(original.attributes)
    record_rules(node, examined)
    nodes.nodes.append(node)
    return result


def drop_legacy_attributes(examined: ExaminedNode) -> None:
    """Take away what asks for broadcasting, which the version that the model gets does not know.

    Args:
        examined: The node.
    """
    attributes = examined.target.node.attributes
    for name in [name for name in attributes if name not in examined.target.further_attributes]:
        del attributes[name]
