"""Where the nodes and values of a graph were before changes moved, copied or renamed them."""

from collections.abc import Iterable, Mapping
from itertools import chain

import onnx_ir as ir

from sonnx_ort.analysis.ruled_nodes import nodes_with_paths
from sonnx_ort.loading.traversal import index_of, label_of

_ORIGIN = "sonnx_ort.origin"
"""The metadata of a node or value, which is written into no file: its label and path before."""

Origin = tuple[str, tuple[str, ...]]
"""A label and a path in the graph without changes."""

NamedPlace = tuple[str, str, tuple[str, ...]]
"""The operator, the label and the path of a node; of a value no operator, and its name."""


def remember_origins(model: ir.Model) -> None:
    """Let each node and value of a graph remember its label and path, in place."""
    index = index_of(model.graph)
    for node, path in nodes_with_paths(index):
        node.meta[_ORIGIN] = label_of(node), path
    for value in index.values:
        value.meta[_ORIGIN] = str(value.name), ()


def copy_origin(original: ir.Node | ir.Value, copied: ir.Node | ir.Value) -> None:
    """Let a copy remember what its original remembers."""
    if _ORIGIN in original.meta:
        copied.meta[_ORIGIN] = original.meta[_ORIGIN]


def origin_of(node: ir.Node) -> Origin | None:
    """Where a node was before any change, or what it is a copy of; None of one that was added."""
    origin: Origin | None = node.meta.get(_ORIGIN)
    return origin


def origins(model: ir.Model) -> Mapping[NamedPlace, Origin]:
    """What nodes and values remember, by where they are now; added ones remember nothing."""
    index = index_of(model.graph)
    nodes = (((node.op_type, label_of(node), path), node) for node, path in nodes_with_paths(index))
    values = ((("", str(value.name), ()), value) for value in index.values)
    everything: Iterable[tuple[NamedPlace, ir.Node | ir.Value]] = chain(values, nodes)
    return {place: each.meta[_ORIGIN] for place, each in everything if _ORIGIN in each.meta}
