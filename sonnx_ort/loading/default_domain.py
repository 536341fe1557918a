"""The default domain under its second name."""

import onnx

from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.profile.domain import STANDARD_DOMAIN

_ALIAS = "ai.onnx"


def resolve_default_domain(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Call the default domain "" wherever it is called "ai.onnx", which ONNX Runtime takes for it.

    Args:
        proto: The model; not modified.

    Returns:
        The model itself where nothing bears the alias, else a copy.
    """
    if not _bears_alias(proto):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for entry in _bearers(copy):
        if entry.domain == _ALIAS:
            entry.domain = STANDARD_DOMAIN
    return copy


def _bears_alias(proto: onnx.ModelProto) -> bool:
    return any(bearer.domain == _ALIAS for bearer in _bearers(proto))


def _bearers(
    proto: onnx.ModelProto,
) -> list[onnx.OperatorSetIdProto | onnx.FunctionProto | onnx.NodeProto]:
    imports = [entry for function in proto.functions for entry in function.opset_import]
    return [*proto.opset_import, *imports, *proto.functions, *all_nodes(proto)]
