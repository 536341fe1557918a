"""Nodes whose zeros get their signs from nodes behind, which the native backend adds.

Such a node is audited by the result of the last of these: what nothing else reads has no meaning of
its own.
"""

from collections.abc import Iterable, Mapping

from onnx import NodeProto

from sonnx_ort.enforcing.metadata import GROUP
from sonnx_ort.enforcing.nodes import RULES
from sonnx_ort.guards.zeros import SIGNED
from sonnx_ort.loading.file_traversal import names_needed

_LAST = frozenset({"Where", "Mul"})
"""The operators that give the result its signs."""


def signed_results(nodes: Iterable[NodeProto], returned: Iterable[str]) -> Mapping[str, str]:
    """The signed result for each one that gets signs from nodes behind.

    Args:
        nodes: The nodes of a graph.
        returned: The names of its outputs.
    """
    outputs, readers = set(returned), dict[str, list[NodeProto]]()
    signless: dict[str, str] = {}
    for node in nodes:
        for name in names_needed(node):
            readers.setdefault(name, []).append(node)
        enforced = node.op_type in SIGNED and not node.domain and _entry(node, RULES)
        if enforced and (group := _entry(node, GROUP)):
            signless[node.output[0]] = group
    found = {}
    for name, group in signless.items():
        behind = readers.get(name, [])
        last = [node for node in behind if node.op_type in _LAST]
        if (
            name not in outputs
            and len(last) == 1
            and all(_entry(n, GROUP) == group for n in behind)
        ):
            found[name] = last[0].output[0]
    return found


def _entry(node: NodeProto, key: str) -> str:
    """What a backend has written into a node that it added or kept; empty for other nodes."""
    return next((entry.value for entry in node.metadata_props if entry.key == key), "")
