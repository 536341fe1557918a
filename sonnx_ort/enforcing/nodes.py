"""Adds nodes to a graph, and replaces nodes and values by them.

A custom operator cannot raise an exception. It returns its result and the result's shape, or
`[-ticket]` as the shape if a rule is violated. Its guard is the `Reshape` that reads both, and
fails for such a shape. No other node reads the operator's outputs:

    A, B -> sonnx::CheckedDiv -> result, shape -> Reshape -> C
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.guards.guard import OPERATORS, NodesOf, Numbers
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.profile.rule import Status

Attribute = ir.TensorProtocol | ir.Graph | int | str | tuple[int, ...]

Known = Mapping[tuple[Hashable, ...], ir.Value]
"""Outputs of existing nodes, by what they compute and their purpose."""

ADDED_OPERATORS = OPERATORS | {"ConstantOfShape", "Expand", "Max"}
"""The operators of all nodes that `StandardNodes` adds: of guards and of broadcasts.

ONNX Runtime merges nodes that compute the same, and uses the declared shape of either. So values of
these operators must not have false declarations.
"""

DATA_TYPES: dict[ElementType, ir.DataType] = {
    element_type: ir.DataType.from_numpy(element_type.dtype) for element_type in ElementType
}
"""The data type of onnx_ir for each element type."""

CONSTANT_OF_ANY_TYPE = 9
"""The first opset in which Constant can be an integer."""


class StandardNodes(NodesOf[ir.Value]):
    """Makes the nodes that replace one node, or that precede it."""

    def __init__(
        self, names: ValueNames, stem: str, opset: int, known: Known = MappingProxyType({})
    ) -> None:
        """Start with no nodes.

        Args:
            names: Makes names of new values.
            stem: The start of these names.
            opset: The opset of the model.
            known: Outputs that existing nodes already compute.
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
        """Add a node with one output, unless an equal node with the same purpose exists.

        Args:
            operator: The operator.
            inputs: Its inputs.
            purpose: The end of the output's name.
            attributes: Its attributes.
            name: The name of the node, if users should see it; a number is appended if it is in
                use. A node with a name is always added.

        Raises:
            ValueError: The operator is not in `ADDED_OPERATORS`.
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
        """Add a custom operator and its guard with the given name; return the guard's output."""
        result, shape = self.value("result"), self.value("shape")
        node = ir.node(operator, inputs, attributes, domain=DOMAIN, outputs=[result, shape])
        self.nodes.append(node)
        guarded = self.value("guarded")
        self.nodes.append(ir.node("Reshape", [result, shape], outputs=[guarded], name=guard))
        return guarded

    def constant(
        self, numbers: Numbers, purpose: str, element_type: ElementType = ElementType.INT64
    ) -> ir.Value:
        """Add a constant, unless an equal one with the same purpose exists."""
        # Before opset 9 Constant has no integers.
        exact = self.opset >= CONSTANT_OF_ANY_TYPE
        array = np.array(numbers, element_type.dtype if exact else float)
        key = (purpose, array.dtype, array.shape, array.tobytes())
        if key not in self._known:
            tensor = ir.Tensor(array)
            value = self.add("Constant", [], purpose, {"value": tensor})
            # onnx_ir gives it that name when it reads the model again.
            tensor.name = value.name
            self._known[key] = value
        return self._known[key] if exact else self.cast(self._known[key], element_type, purpose)

    def name_of_node(self, name: str) -> str:
        """The name for a node, with a number appended if it is in use."""
        return self._names.fresh_for_node(name)

    def value(self, purpose: str) -> ir.Value:
        """Make a new value that no node computes yet."""
        return ir.val(self._names.fresh(f"{self._stem}_{purpose}"))


RULES = "sonnx_ort.rules"
"""The key in a node's metadata for the ids of its rules."""

PROVED = "sonnx_ort.proved"
"""The key in a node's metadata for the ids of its proved rules."""

Uses = Mapping[ir.Value, Sequence[tuple[ir.Node, int]]]
"""For each value the nodes that read it, with the index of the input."""


def uses_of(values: Iterable[ir.Value]) -> Uses:
    """Find the current uses of values."""
    return {value: tuple(value.uses()) for value in values}


def record_rules(node: ir.Node, examined: ExaminedNode) -> None:
    """Record the rules of an enforced node in its metadata, and which are proved.

    This is for users and their tools; nothing here relies on it.
    """
    own = [o for o in examined.obligations if o.operator == examined.ruled.operator.name]
    proved = (o.rule.id for o in own if o.status is Status.PROVED)
    node.metadata_props[RULES] = " ".join(o.rule.id for o in own)
    node.metadata_props[PROVED] = " ".join(proved)


def keep_as_it_is(examined: ExaminedNode) -> None:
    """Record the rules of a node that stays as it is, without legacy attributes.

    A rewrite also adds nodes that move elements, and another one changes nothing.
    """
    if not examined.ruled.operator.moves_elements:
        record_rules(examined.ruled.node, examined)
    drop_legacy_attributes(examined)


def computed(
    nodes: StandardNodes, examined: ExaminedNode, operands: Sequence[ir.Value]
) -> list[ir.Value]:
    """Add a copy of the node itself that reads other operands, without omitted ones.

    Legacy broadcasting attributes are removed.

    Returns:
        Its outputs, in the places of those of the node.
    """
    original = examined.ruled.node
    drop_legacy_attributes(examined)
    given = iter(operands)
    results = [
        nodes.value("result") if output.name else ir.Value(name="") for output in original.outputs
    ]
    node = ir.node(
        original.op_type,
        [None if value is None else next(given) for value in original.inputs],
        outputs=results,
        name=original.name,
        doc_string=original.doc_string,
        metadata_props=original.metadata_props,
    )
    node.attributes.update(original.attributes)
    record_rules(node, examined)
    nodes.nodes.append(node)
    return results


def drop_legacy_attributes(examined: ExaminedNode) -> None:
    """Remove the attributes of legacy broadcasting, which newer opsets do not have."""
    attributes = examined.ruled.node.attributes
    for name in [name for name in attributes if name not in examined.ruled.further_attributes]:
        del attributes[name]
