"""What enforces the rules in a run."""

import enum
from collections.abc import Sequence
from typing import Protocol

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligations import Examination
from sonnx_ort.rewriting.enforcement import Enforcement


class Backend(enum.StrEnum):
    """The choices for what enforces the rules in a run."""

    PYTHON = "python"
    """Custom operators defined in Python: the reference."""

    NATIVE = "native"
    """Standard operators only, which every ONNX Runtime runs without a plugin."""


class Lowering(Protocol):
    """Makes a backend's nodes."""

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest version of the standard operators in which a node can be enforced."""
        ...

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model whose nodes are to be enforced."""
        ...

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Do what concerns several nodes together, before the first is enforced.

        Returns:
            The nodes with what is left to enforce.
        """
        ...

    def enforce(self, examined: ExaminedNode) -> None:
        """Enforce a node, in place; its outputs keep their names, types and shapes."""
        ...
