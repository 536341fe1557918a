"""First step: vertices get layers, and edges over several layers get virtual vertices."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

Edge = tuple[int, int]


@dataclass(slots=True)
class Layering:
    """Vertices in layers, such that every segment leads from one layer to the next.

    Attributes:
        real: How many vertices there are; virtual ones have the numbers from there on.
        layers: The vertices of each layer.
        segments: Pairs of vertices in neighbouring layers, upper one first.
        routes: For each vertex that is read, its own segments, on all ways to its readers.
    """

    real: int
    layers: list[list[int]]
    segments: list[Edge] = field(default_factory=list)
    routes: dict[int, list[Edge]] = field(default_factory=dict)


def assign_layers(count: int, edges: Sequence[Edge]) -> Layering:
    """Put every vertex below all that it reads, and sources close to what reads them.

    Edges from one vertex share their virtual vertices: they are one line that branches.

    Args:
        count: How many vertices there are, numbered from 0.
        edges: Pairs of vertices, the smaller number first.
    """
    layer_of = [0] * count
    read: set[int] = set()
    readers: dict[int, list[int]] = defaultdict(list)
    for giver, reader in sorted(edges, key=lambda edge: edge[1]):
        layer_of[reader] = max(layer_of[reader], layer_of[giver] + 1)
        read.add(reader)
        readers[giver].append(reader)
    for vertex in range(count):
        if vertex not in read and readers[vertex]:
            layer_of[vertex] = min(layer_of[reader] for reader in readers[vertex]) - 1
    layering = Layering(count, [[] for _ in range(max(layer_of, default=-1) + 1)])
    for vertex, layer in enumerate(layer_of):
        layering.layers[layer].append(vertex)
    total = count
    for giver, those in readers.items():
        total = _route(layering, giver, sorted(those, key=layer_of.__getitem__), layer_of, total)
    return layering


def _route(
    layering: Layering, giver: int, readers: Sequence[int], layer_of: Sequence[int], total: int
) -> int:
    """Lead a line from a vertex down to its readers; give the next free number."""
    if not readers:
        return total
    own: list[Edge] = []
    end, layer = giver, layer_of[giver]
    for reader in readers:
        while layer < layer_of[reader] - 1:
            layer += 1
            layering.layers[layer].append(total)
            own.append((end, total))
            end = total
            total += 1
        own.append((end, reader))
    layering.segments.extend(own)
    layering.routes[giver] = own
    return total
