"""The list of operators whose shapes are believed. Everything else is unknown.

Each entry is tried against the kernels of ONNX Runtime: `tests/soundness/test_shape_rules.py`.
"""

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.knowledge.shapes.elementwise import ELEMENTWISE
from sonnx_ort.knowledge.shapes.layout import LAYOUT
from sonnx_ort.knowledge.shapes.products import PRODUCTS, REDUCTIONS
from sonnx_ort.knowledge.shapes.rule import ShapeRule
from sonnx_ort.knowledge.shapes.sizes import SIZES
from sonnx_ort.loading.opset import operator_version
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_COMPUTED = (ELEMENTWISE.keys() | PRODUCTS.keys() | REDUCTIONS.keys()) - {"Dropout"}

SHAPE_RULES: Mapping[str, ShapeRule] = {
    **ELEMENTWISE,
    **LAYOUT,
    **PRODUCTS,
    **REDUCTIONS,
    **SIZES,
}
"""The rules by the names of standard operators."""


def rule_for(node: ir.Node, version: int) -> ShapeRule | None:
    """The rule that was verified for a node; None if there is none.

    Args:
        node: The node.
        version: The version of the standard operators that the model imports.
    """
    rule = SHAPE_RULES.get(node.op_type) if node.domain == STANDARD_DOMAIN else None
    if rule is None or not rule.applies(node, operator_version(node.op_type, version)):
        return None
    return rule


def reads_elements_of(node: ir.Node) -> Sequence[int]:
    """The positions of the inputs whose elements every output of a node is computed from.

    ONNX Runtime leaves nothing of that out: no Shape, which it may know before a run, no ratio of a
    Dropout, no type that is asked for.

    Args:
        node: A node that a rule was verified for.
    """
    if node.op_type not in _COMPUTED:
        return ()
    return range(len(node.inputs)) if node.op_type in ELEMENTWISE else (0,)
