"""The names of a model's values and nodes, and new ones that no graph of it uses yet."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator


class ValueNames:
    """All names of a model's values and nodes, to which new ones are added."""

    def __init__(self, model: ir.Model) -> None:
        """Collect the names.

        Args:
            model: The model, whose bodies may use a name of the main graph.
        """
        self._uses = Counter(value.name for value in defined_values(model.graph))
        self._nodes = {node.name for node in RecursiveGraphIterator(model.graph)}

    def repeated(self, name: str | None) -> bool:
        """Whether more than one value bears the name.

        Args:
            name: The name of a value.
        """
        return self._uses[name] > 1

    def fresh(self, name: str) -> str:
        """Give the name, with a number behind it if it is taken, and take it.

        Args:
            name: The wanted name.
        """
        candidate, number = name, 1
        while candidate in self._uses:
            number += 1
            candidate = f"{name}_{number}"
        self._uses[candidate] += 1
        return candidate

    def fresh_for_node(self, name: str) -> str:
        """Give the name for a node, with a number behind it if one bears it, and take it.

        ONNX Runtime refuses a graph in which two nodes bear one name.

        Args:
            name: The wanted name.
        """
        candidate, number = name, 1
        while candidate in self._nodes:
            number += 1
            candidate = f"{name} ({number})"
        self._nodes.add(candidate)
        return candidate


def defined_values(graph: ir.Graph) -> Iterator[ir.Value]:
    """Every value that a graph or a body in it defines: inputs, initializers, nodes' outputs.

    Args:
        graph: The graph; the order is the same for two graphs of the same nodes.
    """
    bodies: dict[ir.Graph, None] = {graph: None}

    def enter(body: object) -> None:
        if isinstance(body, ir.Graph):
            bodies.setdefault(body)

    for node in RecursiveGraphIterator(graph, enter_graph=enter):
        yield from node.outputs
    for body in bodies:
        # An initializer may stand among the inputs too.
        yield from dict.fromkeys(chain(body.inputs, body.initializers.values()))
