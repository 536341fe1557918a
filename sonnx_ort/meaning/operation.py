"""What an operator means: the row of an operator in the table of meanings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonnx_ort.meaning.lines import MakeLines

Compute = Callable[[Any], Sequence[Any]]
"""Gives the results of a node: `Elements` or `Result`, of balls also arrays."""

Count = Callable[[Any], int]
"""Counts the scalar operations of a node."""


@dataclass(frozen=True)
class Operation:
    """What an operator means.

    Attributes:
        compute: Gives the results of a `Node` or of a `BallNode`.
        count: Counts the scalar operations, by shapes and attributes alone.
        since: The oldest version with this meaning; None if no document of SONNX has the operator,
            which then is computed of a `BallNode` alone, if it is not `of_onnx`.
        moves: Whether it only moves elements: floats need not be balls.
        exact: Whether integers and bools are computed of a `BallNode` too.
        of_onnx: Whether a `Node` is computed by the document of ONNX, as no document of SONNX has
            the operator.
        unless: Which attributes make a node compute elements, too, of an operator that moves them.
        moved: The places of the operands whose elements are moved; None for all that have floats.
        lines: Gives what each element of the result reads; None for a node that is compared as a
            whole, as most are that only move elements.
    """

    compute: Compute
    count: Count = lambda node: sum(operand.size for operand in node.given())
    since: int | None = None
    moves: bool = False
    exact: bool = False
    of_onnx: bool = False
    unless: Callable[[Mapping[str, Any]], bool] = lambda _: False
    moved: tuple[int, ...] | None = None
    lines: MakeLines | None = None

    def only_moves(self, attributes: Mapping[str, Any]) -> bool:
        """Whether a node with these attributes only moves elements."""
        return self.moves and not self.unless(attributes)
