"""The symbols that a model declares for sizes of its inputs."""

from collections import Counter

import onnx_ir as ir


def shared_symbols(model: ir.Model) -> frozenset[str]:
    """The symbols that more than one dimension of the inputs is declared with.

    Args:
        model: A canonical model.
    """
    declared = Counter(
        dimension.value
        for value in model.graph.inputs
        for dimension in value.shape or ()
        if isinstance(dimension, ir.SymbolicDim)
    )
    return frozenset(symbol for symbol, count in declared.items() if symbol and count > 1)
