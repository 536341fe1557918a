"""Raises a model's opset version where enforcement needs operators of a newer one."""

from collections.abc import Iterable

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.opset import differing_operators
from sonnx_ort.profile.domain import STANDARD_DOMAIN


def raise_opset(model: ir.Model, replaced: Iterable[ir.Node], oldest: int) -> None:
    """Raise the version of the standard operators where it is too old.

    Args:
        model: The model, before enforcement; its imports are changed.
        replaced: The nodes that will be replaced; what they mean in the newer version is no
            matter.
        oldest: The oldest version that will do.

    Raises:
        InvalidModel: Another operator of the model means something else in that version.
    """
    version = model.opset_imports.get(STANDARD_DOMAIN, oldest)
    if version >= oldest:
        return
    gone = set(replaced)
    kept = (node for node in RecursiveGraphIterator(model.graph) if node not in gone)
    differing = differing_operators(kept, version, oldest)
    if differing:
        raise InvalidModel(
            f"the model imports version {version} of the ONNX operators, and enforcement needs "
            f"version {oldest}, which defines {', '.join(differing)} differently; convert the "
            "model with onnx.version_converter"
        )
    model.opset_imports[STANDARD_DOMAIN] = oldest
