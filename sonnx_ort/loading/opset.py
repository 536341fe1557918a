"""The versions of operators that a model imports."""

import functools
from collections.abc import Iterable

import onnx
import onnx.defs
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import all_nodes, every_node
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_WHERE_NONE_IS_ASKED_FOR = 17
"""A version with all operators that guards are made of, which every supported ONNX Runtime has."""


def differing_operators(nodes: Iterable[ir.Node], one: int, other: int) -> list[str]:
    """The standard operators among these nodes that two opset versions define differently.

    Args:
        nodes: The nodes; those of other domains do not count.
        one: A version of the standard operators.
        other: Another version.

    Returns:
        The sorted names; empty if the versions mean the same for all of them.
    """
    used = {node.op_type for node in nodes if node.domain == STANDARD_DOMAIN}
    return sorted(
        name for name in used if operator_version(name, one) != operator_version(name, other)
    )


def import_standard_operators(model: ir.Model) -> None:
    """Let a model import the standard operators where it does not: enforcement adds some.

    Only its functions may have any then, and import the version that these are of.

    Args:
        model: The model; changed in place.
    """
    theirs = (f.opset_imports.get(STANDARD_DOMAIN, 0) for f in model.functions.values())
    model.opset_imports.setdefault(
        STANDARD_DOMAIN, max(theirs, default=0) or _WHERE_NONE_IS_ASKED_FOR
    )


def adopt_opset_imports(function: ir.Function, model: ir.Model) -> None:
    """Let a function import the model's versions where they mean the same for its nodes.

    Args:
        function: A model-local function; its imports are changed in place.
        model: The model.

    Raises:
        InvalidModel: They do not mean the same.
    """
    ours = model.opset_imports[STANDARD_DOMAIN]
    theirs = function.opset_imports.get(STANDARD_DOMAIN, ours)
    differing = differing_operators(every_node(function.graph), theirs, ours)
    if differing:
        raise InvalidModel(
            f"the model-local function '{function.name}' imports version {theirs} of the standard "
            f"operators and the model version {ours}, which define {', '.join(differing)} "
            "differently; export both with one version"
        )
    function.opset_imports[STANDARD_DOMAIN] = ours


@functools.cache
def operator_version(name: str, version: int) -> int:
    """The version of a standard operator that an import stands for; 0 if there is none.

    Args:
        name: The operator.
        version: The imported version of the standard operators.
    """
    try:
        since: int = onnx.defs.get_schema(name, version, STANDARD_DOMAIN).since_version
    except onnx.defs.SchemaError:
        return 0
    return since


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
