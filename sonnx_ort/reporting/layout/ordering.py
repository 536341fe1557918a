"""Second step: an order within each layer that lets few edges cross."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sonnx_ort.reporting.layout.layers import Layering

_SWEEPS = 8


def order_layers(layering: Layering) -> None:
    """Order the vertices of each layer by the barycentre heuristic, down and up in turns.

    Args:
        layering: The layers; their order is changed in place to the best one that was met.
    """
    above: dict[int, list[int]] = defaultdict(list)
    below: dict[int, list[int]] = defaultdict(list)
    for upper, lower in layering.segments:
        above[lower].append(upper)
        below[upper].append(lower)
    best, fewest = layering.layers, _crossings(layering.layers, below)
    layers = best
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        layers = _swept(layers, above) if sweep % 2 == 0 else _swept(layers[::-1], below)[::-1]
        crossings = _crossings(layers, below)
        if crossings < fewest:
            best, fewest = layers, crossings
    layering.layers = best


def _swept(
    layers: Sequence[Sequence[int]], neighbours: Mapping[int, Sequence[int]]
) -> list[list[int]]:
    """Order each layer by where the vertices' neighbours stand in the layer before it."""
    done = [list(layers[0])]
    for layer in layers[1:]:
        fixed = {vertex: index for index, vertex in enumerate(done[-1])}
        wanted = {
            vertex: _mean([fixed[n] for n in neighbours.get(vertex, ())], index)
            for index, vertex in enumerate(layer)
        }
        done.append(sorted(layer, key=wanted.__getitem__))
    return done


def _mean(positions: Sequence[int], otherwise: float) -> float:
    return sum(positions) / len(positions) if positions else otherwise


def _crossings(layers: Sequence[Sequence[int]], below: Mapping[int, Sequence[int]]) -> int:
    """Count the pairs of segments that cross: inversions, layer by layer."""
    count = 0
    for upper, lower in pairwise(layers):
        position = {vertex: index for index, vertex in enumerate(lower)}
        seen: list[int] = []
        for vertex in upper:
            ends = sorted(position[reader] for reader in below.get(vertex, ()))
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count
