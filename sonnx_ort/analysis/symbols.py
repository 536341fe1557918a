"""What the declarations of a model's inputs leave uncertain."""

from collections import Counter
from collections.abc import Iterable

import onnx_ir as ir

_STEERING = {"If": (0,), "Loop": (0, 1), "Dropout": (1, 2)}
"""The inputs of operators that are a condition, a number of trips, or a ratio."""


def shared_symbols(inputs: Iterable[ir.Value]) -> frozenset[str]:
    """The symbols that more than one dimension of these inputs is declared with.

    Args:
        inputs: Inputs of a model.
    """
    declared = Counter(
        dimension.value
        for value in inputs
        for dimension in value.shape or ()
        if isinstance(dimension, ir.SymbolicDim)
    )
    return frozenset(symbol for symbol, count in declared.items() if symbol and count > 1)


def has_scalars(inputs: Iterable[ir.Value]) -> bool:
    """Whether one of these is declared as a scalar, and may have another rank to an effect.

    Args:
        inputs: Inputs of a model.
    """
    return any(
        value.shape is not None and len(value.shape) == 0 and not _steers_only(value)
        for value in inputs
    )


def steers(node: ir.Node, index: int) -> bool:
    """Whether a node takes one element of whatever rank for an input.

    Args:
        node: The node.
        index: The position of the input.
    """
    return index in _STEERING.get(node.op_type, ())


def _steers_only(value: ir.Value) -> bool:
    return all(steers(use.node, use.idx) for use in value.uses())
