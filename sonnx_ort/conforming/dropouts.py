"""Removes each Dropout in the mode of inference, which gives back its operand."""

from collections.abc import Callable

import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.verified_operators import VERIFIED
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.loading.written import carry
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_TRAINING_MODE = 2


_MASK = 1


_WITHOUT_TRAINING = 7
"""The first version of Dropout that trains only if an input says so, which came with version 12."""


def remove_dropouts(
    model: ir.Model, facts: Facts, removable: Callable[[ir.Value], bool] = lambda _: True
) -> None:
    """Let readers of a Dropout in the mode of inference read its operand, in place.

    One whose mask is read stays, and one of an operand that is not `removable`. One that gives an
    output of the graph becomes an Identity, which gives its operand under that name.
    """
    for node in every_node(model.graph):
        if (node.domain, node.op_type) != (STANDARD_DOMAIN, "Dropout") or not _infers(node, model):
            continue
        if VERIFIED["Dropout"].doubt(node, model.opset_imports[STANDARD_DOMAIN], facts) is not None:
            continue
        if any(mask.uses() or mask.is_graph_output() for mask in node.outputs[_MASK:]):
            continue
        operand, result = node.inputs[0], node.outputs[0]
        if operand is None or not isinstance(node.graph, ir.Graph) or not removable(operand):
            continue
        if result.is_graph_output():
            kept = ir.node("Identity", [operand], outputs=[ir.Value()], name=node.name)
            carry(node.metadata_props, kept)
            ir.convenience.replace_nodes_and_values(
                node.graph, node, [node], [kept], [result], [kept.outputs[0]]
            )
        else:
            ir.convenience.replace_all_uses_with(result, operand)
            node.graph.remove(node, safe=True)


def _infers(node: ir.Node, model: ir.Model) -> bool:
    """Whether a Dropout is certainly in the mode of inference."""
    version = model.opset_imports[STANDARD_DOMAIN]
    if version < _WITHOUT_TRAINING:
        return node.attributes.get_int("is_test", 0) != 0
    mode = node.inputs[_TRAINING_MODE] if len(node.inputs) > _TRAINING_MODE else None
    if mode is None:
        return True
    tensor = constant_tensor(mode)
    return tensor is not None and not tensor.numpy().any()
