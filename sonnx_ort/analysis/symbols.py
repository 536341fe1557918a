"""What the declarations of a model's inputs leave uncertain."""

from collections import Counter
from collections.abc import Iterable

import onnx_ir as ir


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
    """Whether one of these is declared as a scalar, other than a condition or a number of trips.

    Args:
        inputs: Inputs of a model.
    """
    return any(
        value.shape is not None and len(value.shape) == 0 and not _steers_only(value)
        for value in inputs
    )


def _steers_only(value: ir.Value) -> bool:
    """Whether only If and Loop read a value, which take one element of whatever rank."""
    positions = {"If": 1, "Loop": 2}
    return all(use.idx < positions.get(use.node.op_type, 0) for use in value.uses())
