"""Refuses models that would talk their way around enforcement."""

from itertools import chain

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.traversal import subgraphs
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import DOMAIN, DOMAIN_VERSION, STANDARD_DOMAIN


def refuse_impostors(proto: onnx.ModelProto) -> None:
    """Check that no model-local function takes the name of an operator that is not the model's.

    Nodes in the domain `sonnx` are looked at once the graph is known: what `rewrite` made may
    stay.

    Args:
        proto: The model.

    Raises:
        InvalidModel: A function lies in the domain `sonnx` or in the default domain, or the model
            imports a version of `sonnx` that does not exist.
    """
    for function in proto.functions:
        if function.domain == DOMAIN:
            raise InvalidModel(
                f"the model-local function '{function.name}' lies in the domain '{DOMAIN}', which "
                "belongs to the enforced operators; move it to a domain of its own"
            )
        if function.domain == STANDARD_DOMAIN:
            raise InvalidModel(
                f"the model-local function '{function.name}' takes the place of the standard "
                f"operator of that name; move it to a domain of its own"
            )
        nodes = chain(function.node, *(graph.node for graph in subgraphs(function.node)))
        if any(node.domain == DOMAIN and node.op_type != BROADCAST.name for node in nodes):
            raise InvalidModel(
                f"the model-local function '{function.name}' contains operators of the domain "
                f"'{DOMAIN}', which only rewrite puts into a model; use the standard operators"
            )
    for entry in proto.opset_import:
        if entry.domain == DOMAIN and entry.version != DOMAIN_VERSION:
            raise InvalidModel(
                f"the model imports version {entry.version} of the domain '{DOMAIN}'; there is "
                f"only version {DOMAIN_VERSION}"
            )
