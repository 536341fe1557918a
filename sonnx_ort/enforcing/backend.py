"""What the two backends have in common: they put nodes in the place of nodes of a model."""

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.enforcing.broadcasting import ShapeDecisions
from sonnx_ort.enforcing.nodes import StandardNodes, replace_node
from sonnx_ort.enforcing.scan_outputs import Passed
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.options import Enforcement
from sonnx_ort.profile.operator import STANDARD_DOMAIN


class EnforcingBackend(ABC):
    """Enforces the nodes of one model, in place."""

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model.

        Args:
            model: The model whose nodes are to be enforced; its opset imports are changed.
            enforcement: How they are to be enforced.
        """
        self._model = model
        self._edition = enforcement.demands.edition
        self._names = ValueNames(model)
        self._opset = model.opset_imports[STANDARD_DOMAIN]

    @staticmethod
    @abstractmethod
    def decisions() -> ShapeDecisions:
        """How it decides about shapes in a run."""

    @staticmethod
    @abstractmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest version of the standard operators in which a node can be enforced.

        Args:
            examined: The node; what a Broadcast in front of it needs is not counted.
        """

    @staticmethod
    @abstractmethod
    def kept(model: ir.Model, nodes: Sequence[ExaminedNode]) -> Container[ir.Node]:
        """The nodes that need no enforcement: the standard operator is kept as it is.

        Args:
            model: The model, before enforcement.
            nodes: The nodes that are to be enforced.
        """

    @staticmethod
    @abstractmethod
    def added(nodes: Sequence[ExaminedNode]) -> Container[str]:
        """The operators of nodes that are added, and that may equal nodes of the model.

        Args:
            nodes: The nodes that are to be enforced.
        """

    @abstractmethod
    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Do what concerns several nodes together, before the first is enforced.

        Args:
            examination: All that the profile demands of the model.

        Returns:
            The nodes, with the obligations that have still to be enforced.
        """

    @abstractmethod
    def enforce(self, examined: ExaminedNode) -> None:
        """Enforce a node, in place; its output keeps its name, type and shape.

        Args:
            examined: The node, with its obligations.

        Raises:
            SonnxError: It cannot be enforced.
        """

    def nodes(self, stem: str) -> StandardNodes:
        """Start new nodes.

        Args:
            stem: The start of the names of their values.
        """
        return StandardNodes(self._names, stem, self._opset)

    def replace(
        self,
        examined: ExaminedNode,
        nodes: Sequence[ir.Node],
        values: Mapping[ir.Value, ir.Value],
    ) -> None:
        """Put nodes in the place of one.

        Args:
            examined: The node to replace.
            nodes: The nodes that replace it, in order.
            values: What they give for each of its outputs that anything can read.
        """
        replace_node(examined.target.node, nodes, values)

    def record(self, passed: Passed) -> None:  # noqa: B027 - a backend need not record it
        """Record what was put behind a value, where that has to be undone later.

        Args:
            passed: The nodes, the value, and what takes its place.
        """
