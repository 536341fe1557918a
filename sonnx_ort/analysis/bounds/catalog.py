"""The list of operators whose integers are bounded. Of everything else only the type is known.

Each entry is tried against the kernels of ONNX Runtime: `tests/soundness/test_bounds_rules.py`.
"""

from collections.abc import Mapping

import onnx_ir as ir

from sonnx_ort.analysis.bounds.arithmetic import ARITHMETIC
from sonnx_ort.analysis.bounds.counts import COUNTS
from sonnx_ort.analysis.bounds.elements import ELEMENTS
from sonnx_ort.analysis.bounds.rule import BoundsRule
from sonnx_ort.analysis.shapes.catalog import rule_for
from sonnx_ort.loading.opset import operator_version
from sonnx_ort.profile.domain import STANDARD_DOMAIN

BOUNDS_RULES: Mapping[str, BoundsRule] = {**ARITHMETIC, **COUNTS, **ELEMENTS}
"""The rules by the names of standard operators."""

_OF_OPEN_SHAPE: Mapping[str, tuple[int, int]] = {"Compress": (9, 11), "Unique": (11, 11)}
"""The versions that were verified of operators of which not even the rank is believed."""


def bounds_rule_for(node: ir.Node, version: int) -> BoundsRule | None:
    """The rule that was verified for a node; None if there is none.

    Args:
        node: The node.
        version: The version of the standard operators that the model imports.
    """
    rule = BOUNDS_RULES.get(node.op_type) if node.domain == STANDARD_DOMAIN else None
    if rule is None:
        return None
    if node.op_type in _OF_OPEN_SHAPE:
        first, last = _OF_OPEN_SHAPE[node.op_type]
        verified = first <= operator_version(node.op_type, version) <= last
    else:
        verified = rule_for(node, version) is not None
    return rule if verified else None
