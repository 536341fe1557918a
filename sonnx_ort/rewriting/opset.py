"""Raises a model's opset version where enforcement needs operators of a newer one."""

from collections.abc import Sequence

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.native_types import CARRIERS
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.opset import differing_operators
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.rewriting.broadcast_lowering import OLDEST_OPSET as OLDEST_WITH_EXPAND
from sonnx_ort.rewriting.known_output import element_type_of

_RESHAPE_BY_INPUT = 5
"""From here on `Reshape` takes its shape as an input."""

_CAST_BY_NUMBER = 6
"""From here on `Cast` takes its type as a number."""

_BFLOAT16 = 13
"""From here on Reshape, Shape and Gather take bfloat16."""


def raise_opset(model: ir.Model, nodes: Sequence[ExaminedNode]) -> None:
    """Raise the version of the standard operators to the oldest that enforcement can use.

    Args:
        model: The model, before enforcement; its imports are changed.
        nodes: The nodes that will be replaced; what they mean in the newer version is no matter.

    Raises:
        InvalidModel: Another operator of the model means something else in that version.
    """
    casts = any(element_type_of(examined) in CARRIERS for examined in nodes)
    oldest = _CAST_BY_NUMBER if casts else _RESHAPE_BY_INPUT
    if any(examined.broadcast is not None for examined in nodes):
        oldest = OLDEST_WITH_EXPAND
    if any(_broadcasts_bfloat16(examined) for examined in nodes):
        oldest = _BFLOAT16
    version = model.opset_imports.get(STANDARD_DOMAIN, oldest)
    if version >= oldest:
        return
    replaced = {examined.target.node for examined in nodes}
    kept = (node for node in RecursiveGraphIterator(model.graph) if node not in replaced)
    differing = differing_operators(kept, version, oldest)
    if differing:
        raise InvalidModel(
            f"the model imports version {version} of the ONNX operators, and enforcement needs "
            f"version {oldest}, which defines {', '.join(differing)} differently; convert the "
            "model with onnx.version_converter"
        )
    model.opset_imports[STANDARD_DOMAIN] = oldest


def _broadcasts_bfloat16(examined: ExaminedNode) -> bool:
    types = {operand.element_type for operand in examined.operands}
    return examined.target.operator is BROADCAST and ElementType.BFLOAT16 in types
