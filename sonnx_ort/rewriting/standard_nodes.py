"""New nodes of standard operators, in the order in which they are made.

Among them are the guards. A custom operator cannot raise: it gives its result together with the
result's shape, and where a rule is broken the shape `[-ticket]` instead. The `Reshape` behind it
makes the result of the two, and fails at the latter; no output of the operator is reachable except
through it:

    A, B -> sonnx::CheckedDiv -> result, shape -> Reshape -> C
"""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.profile.domain import DOMAIN

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
