"""Refuses what a file passes off as made by this package."""

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.file_traversal import all_nodes, nodes_within
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import DOMAIN, DOMAIN_VERSION, OWN_DOMAINS, STANDARD_DOMAIN


def refuse_impostors(proto: onnx.ModelProto) -> None:
    """Check that no function redefines an operator of the domain `sonnx` or of the default domain.

    Nodes of the domain `sonnx` are checked later, on the graph, because `rewrite` may have made
    them.

    Raises:
        InvalidModel: A function is in the domain `sonnx` or in the default domain, a Broadcast is
            malformed, or the model imports a version of `sonnx` that does not exist.
    """
    for function in proto.functions:
        if function.domain in OWN_DOMAINS:
            raise InvalidModel(
                f"the model-local function '{function.name}' is in the domain "
                f"'{function.domain}', which "
                "is reserved for the enforced operators; move it to another domain"
            )
        if function.domain == STANDARD_DOMAIN:
            raise InvalidModel(
                f"the model-local function '{function.name}' replaces the standard operator of "
                "that name; move it to another domain"
            )
        nodes = nodes_within(function.node)
        own = (node for node in nodes if node.domain in OWN_DOMAINS)
        made = next((node for node in own if node.op_type != BROADCAST.name), None)
        if made is not None:
            raise InvalidModel(
                f"the model-local function '{function.name}' contains operators of the domain "
                f"'{made.domain}', which only `rewrite` may insert; use the standard operators"
            )
    own_nodes = [node for node in all_nodes(proto) if node.domain == DOMAIN]
    for node in own_nodes:
        if node.op_type == BROADCAST.name:
            _check_broadcast(node)
    for entry in proto.opset_import:
        # ONNX Runtime adds the import to every model that it saves while the domain is registered.
        if own_nodes and entry.domain == DOMAIN and entry.version != DOMAIN_VERSION:
            raise InvalidModel(
                f"the model imports version {entry.version} of the domain '{DOMAIN}'; only "
                f"version {DOMAIN_VERSION} exists"
            )


def _check_broadcast(node: onnx.NodeProto) -> None:
    """Check the form of a Broadcast, which the ONNX checker does not know."""
    reason = None
    if not node.input or not all(node.input):
        reason = "it needs at least one input, and none may be omitted"
    elif len(node.output) > len(node.input) or not any(node.output):
        reason = f"it has {len(node.input)} inputs and {len(node.output)} outputs"
    elif node.attribute:
        reason = f"it has no attribute '{node.attribute[0].name}'"
    if reason is not None:
        raise InvalidModel(
            f"node '{node.name}' is not a valid {DOMAIN}::{BROADCAST.name}: {reason}"
        )
