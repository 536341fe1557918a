"""The opset versions that a model imports."""

from collections.abc import Iterable

import onnx
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel
from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.loading.traversal import all_nodes, every_node
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_DEFAULT_VERSION = 17
"""A version with all operators of guards that every supported ONNX Runtime supports."""


def differing_operators(nodes: Iterable[ir.Node], one: int, other: int) -> list[str]:
    """The sorted standard operators of these nodes that two opset versions define differently."""
    used = {node.op_type for node in nodes if node.domain == STANDARD_DOMAIN}
    return sorted(
        name for name in used if operator_version(name, one) != operator_version(name, other)
    )


def import_standard_operators(model: ir.Model) -> None:
    """Add the import of the standard operators, which enforcement uses, if a model lacks it.

    Then only its functions can use standard operators, and their version is imported.
    """
    theirs = (f.opset_imports.get(STANDARD_DOMAIN, 0) for f in model.functions.values())
    model.opset_imports.setdefault(STANDARD_DOMAIN, max(theirs, default=0) or _DEFAULT_VERSION)


def defined_differently(function: ir.Function, model: ir.Model) -> list[str]:
    """The operators of a function that the version that the model imports defines differently."""
    ours = model.opset_imports[STANDARD_DOMAIN]
    theirs = function.opset_imports.get(STANDARD_DOMAIN, ours)
    return differing_operators(every_node(function.graph), theirs, ours)


def adopt_opset_imports(function: ir.Function, model: ir.Model) -> None:
    """Set a function's imports to the model's versions if both mean the same for its nodes.

    Raises:
        InvalidModel: The versions define an operator of the function differently.
    """
    ours = model.opset_imports[STANDARD_DOMAIN]
    theirs = function.opset_imports.get(STANDARD_DOMAIN, ours)
    differing = defined_differently(function, model)
    if differing:
        raise InvalidModel(
            f"the model-local function '{function.name}' imports version {theirs} of the standard "
            f"operators and the model imports version {ours}, which define {', '.join(differing)} "
            "differently; export both with one version"
        )
    function.opset_imports[STANDARD_DOMAIN] = ours


_ALIAS = "ai.onnx"


def resolve_default_domain(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Replace the alias "ai.onnx" of the default domain by "", in a copy if there is any."""
    if not _has_alias(proto):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for entry in _domain_owners(copy):
        if entry.domain == _ALIAS:
            entry.domain = STANDARD_DOMAIN
    return copy


def _has_alias(proto: onnx.ModelProto) -> bool:
    return any(owner.domain == _ALIAS for owner in _domain_owners(proto))


def _domain_owners(
    proto: onnx.ModelProto,
) -> list[onnx.OperatorSetIdProto | onnx.FunctionProto | onnx.NodeProto]:
    imports = [entry for function in proto.functions for entry in function.opset_import]
    return [*proto.opset_import, *imports, *proto.functions, *all_nodes(proto)]
