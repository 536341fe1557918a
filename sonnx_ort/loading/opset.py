"""Versions of the standard operators: which of them mean the same."""

import functools
from collections.abc import Iterable

import onnx.defs
import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.errors import InvalidModel
from sonnx_ort.profile.domain import STANDARD_DOMAIN


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


def adopt_opset_imports(function: ir.Function, model: ir.Model) -> None:
    """Let a function import the model's versions where they mean the same for its nodes.

    Args:
        function: A model-local function; its imports are changed in place.
        model: The model.

    Raises:
        InvalidModel: They do not mean the same.
    """
    theirs = function.opset_imports.get(STANDARD_DOMAIN)
    ours = model.opset_imports.get(STANDARD_DOMAIN)
    if theirs is None or ours is None or theirs == ours:
        return
    differing = differing_operators(RecursiveGraphIterator(function.graph), theirs, ours)
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
