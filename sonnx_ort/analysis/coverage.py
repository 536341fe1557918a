"""What no rule speaks of, so that a report never reads as if everything had been looked at."""

from collections import Counter
from collections.abc import Mapping

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.domain import DOMAIN


def count_not_covered(model: ir.Model) -> Mapping[str, int]:
    """Count the nodes whose operators no rule binds, by operator.

    Args:
        model: A canonical model.

    Returns:
        How many nodes there are of each, most frequent first; the default domain is left out of
        the names, and operators of the domain `sonnx` are covered by definition.
    """
    nodes = list(RecursiveGraphIterator(model.graph))
    for function in model.functions.values():
        nodes.extend(RecursiveGraphIterator(function.graph))
    counts = Counter(
        f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        for node in nodes
        if node.domain != DOMAIN and not _covered(node)
    )
    return dict(counts.most_common())


def _covered(node: ir.Node) -> bool:
    operator = OPERATORS.get(node.op_type)
    return operator is not None and operator.domain == node.domain
