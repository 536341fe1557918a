"""Third step: horizontal positions that keep lines straight and vertices apart."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from sonnx_ort.reporting.layout.layers import Layering

GAP = 18.0
"""The room between two vertices of one layer."""

_ROUNDS = 6
_STRAIGHTNESS = {0: 1.0, 1: 2.0, 2: 8.0}
"""How much a segment wants to be vertical, by how many of its ends are virtual."""

_INERTIA = 0.01
"""How much a vertex without neighbours wants to stay where it is."""

Neighbours = Mapping[int, Sequence[tuple[int, float]]]


def assign_coordinates(layering: Layering, widths: Sequence[float]) -> list[float]:
    """Find the centre of each vertex.

    Layer after layer the vertices move towards their neighbours, as far as their order and their
    widths allow, down and up in turns.

    Args:
        layering: The ordered layers.
        widths: The width of each vertex that is not virtual.

    Returns:
        The centres, virtual vertices included; the smallest left edge is at 0.
    """
    total = sum(map(len, layering.layers))
    width = [*widths, *[0.0] * (total - layering.real)]
    above: dict[int, list[tuple[int, float]]] = defaultdict(list)
    below: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for upper, lower in layering.segments:
        weight = _STRAIGHTNESS[(upper >= layering.real) + (lower >= layering.real)]
        above[lower].append((upper, weight))
        below[upper].append((lower, weight))
    centre = [0.0] * total
    for layer in layering.layers:
        for vertex, offset in zip(layer, _offsets(layer, width), strict=True):
            centre[vertex] = offset
    for _ in range(_ROUNDS):
        for layer in layering.layers[1:]:
            _move(layer, centre, width, above)
        for layer in layering.layers[-2::-1]:
            _move(layer, centre, width, below)
    least = min((x - w / 2 for x, w in zip(centre, width, strict=True)), default=0.0)
    return [x - least for x in centre]


def _offsets(layer: Sequence[int], width: Sequence[float]) -> list[float]:
    """How far the centre of each vertex is at least from that of the first one."""
    steps = (GAP + (width[one] + width[other]) / 2 for one, other in pairwise(layer))
    return list(accumulate(steps, initial=0.0))


def _move(
    layer: Sequence[int], centre: list[float], width: Sequence[float], neighbours: Neighbours
) -> None:
    """Move the vertices of a layer as close to their neighbours as they can all be together.

    The sum of the weighted squares of the distances is least: an isotonic regression, by pooling
    adjacent violators.
    """
    offsets = _offsets(layer, width)
    blocks: list[tuple[float, float, int]] = []
    for vertex, offset in zip(layer, offsets, strict=True):
        pulls = neighbours.get(vertex, ())
        weight = sum(pull for _, pull in pulls) or _INERTIA
        wanted = sum(centre[n] * pull for n, pull in pulls) / weight if pulls else centre[vertex]
        mean, members = wanted - offset, 1
        while blocks and blocks[-1][0] >= mean:
            earlier, heavy, more = blocks.pop()
            mean = (earlier * heavy + mean * weight) / (heavy + weight)
            weight += heavy
            members += more
        blocks.append((mean, weight, members))
    means = (mean for mean, _, members in blocks for _ in range(members))
    for vertex, offset, mean in zip(layer, offsets, means, strict=True):
        centre[vertex] = mean + offset
