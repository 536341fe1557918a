"""The list of operators with verified shape rules; the shapes of all others are unknown.

Each rule is tested against the kernels of ONNX Runtime: `tests/soundness/test_shape_rules.py`, and
those that read numbers for all small ones: `tests/soundness/test_size_cubes.py`.
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
"""The rules by standard operator."""


def rule_for(node: ir.Node, version: int) -> ShapeRule | None:
    """The verified rule for a node at this opset version; None if there is none."""
    rule = SHAPE_RULES.get(node.op_type) if node.domain == STANDARD_DOMAIN else None
    if rule is None or not rule.applies(node, operator_version(node.op_type, version)):
        return None
    return rule


def reads_elements_of(node: ir.Node) -> Sequence[int]:
    """The positions of the inputs whose elements every output of a node depends on.

    ONNX Runtime cannot remove these dependencies. Excluded are a Shape's input, whose shape may be
    known before a run, the ratio of a Dropout, and inputs that only give a type.
    """
    if node.op_type not in _COMPUTED:
        return ()
    return range(len(node.inputs)) if node.op_type in ELEMENTWISE else (0,)
