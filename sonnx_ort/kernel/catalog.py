"""The operators with verified rules; of the results of all others nothing is known.

Each rule is tested against the kernels of ONNX Runtime: `tests/soundness/test_shape_rules.py`, and
those that read numbers for all small ones: `tests/soundness/test_size_cubes.py`.
"""

import functools
from collections.abc import Mapping

from onnx import defs

from .elementwise import ELEMENTWISE
from .layout import LAYOUT
from .node import Node, ShapeRule
from .products import PRODUCTS, REDUCTIONS
from .shaping import SHAPING
from .sizes import Rejected, require

SHAPE_RULES: Mapping[str, ShapeRule] = {
    **ELEMENTWISE,
    **LAYOUT,
    **PRODUCTS,
    **REDUCTIONS,
    **SHAPING,
}
"""The rules by standard operator."""


@functools.cache
def operator_version(name: str, version: int) -> int:
    """The version of a standard operator in a version of the opset; 0 if it does not exist."""
    try:
        since: int = defs.get_schema(name, version, "").since_version
    except defs.SchemaError:
        return 0
    return since


_OF_OPEN_RANK: Mapping[str, tuple[int, int]] = {"Compress": (9, 11), "Unique": (11, 11)}
"""The verified versions of operators whose results have no known rank, and so no rule of shapes."""


def require_verified(node: Node) -> None:
    """Reject a node whose version or attributes are not among the verified ones.

    Raises:
        Rejected: They are not, or nothing is known of the operator.
    """
    if node.op_type not in _OF_OPEN_RANK:
        rule_of(node)
        return
    first, last = _OF_OPEN_RANK[node.op_type]
    require(first <= node.version <= last, f"version {node.version} is not verified")


def verified_rule(node: Node) -> ShapeRule | None:
    """The same as `rule_of`; None if there is no such rule."""
    try:
        return rule_of(node)
    except Rejected:
        return None


def rule_of(node: Node) -> ShapeRule:
    """The verified rule for a node of a standard operator.

    Raises:
        Rejected: There is none, or not for its version or attributes.
    """
    rule = SHAPE_RULES.get(node.op_type)
    if rule is None:
        raise Rejected(f"a {node.op_type} has no rule")
    rule.require_verified(node)
    return rule
