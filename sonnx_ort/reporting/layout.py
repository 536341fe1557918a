"""Places the nodes of a drawing in layers, with few crossings."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

Edge = tuple[int, int]


@dataclass(slots=True)
class Layering:
    """Vertices in layers, such that every segment connects two neighbouring layers.

    Attributes:
        real: The number of real vertices; virtual ones have the numbers from there on.
        layers: The vertices of each layer.
        segments: Pairs of vertices in neighbouring layers, upper one first.
        routes: For each vertex with readers, the segments on all routes to them.
    """

    real: int
    layers: list[list[int]]
    segments: list[Edge] = field(default_factory=list)
    routes: dict[int, list[Edge]] = field(default_factory=dict)


def assign_layers(count: int, edges: Sequence[Edge]) -> Layering:
    """Put every vertex below all that it reads, and sources close to their readers.

    Edges from one vertex share their virtual vertices: they form one line that branches.

    The vertices are numbered from 0; edges have the smaller number first.
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
    """Route a line from a vertex down to its readers; return the next free number."""
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


_SWEEPS = 8


def order_layers(layering: Layering) -> None:
    """Order the vertices of each layer by the barycentre heuristic, down and up in turns.

    The order is changed in place to the best one found.
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
    """Order each layer by the positions of the vertices' neighbours in the previous layer."""
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


GAP = 18.0
"""The space between two vertices of one layer."""

_ROUNDS = 6
_STRAIGHTNESS = {0: 1.0, 1: 2.0, 2: 8.0}
"""The weight of a vertical segment, by the number of its virtual ends."""

_INERTIA = 0.01
"""The weight of the current position of a vertex without neighbours."""

Neighbours = Mapping[int, Sequence[tuple[int, float]]]


def assign_coordinates(layering: Layering, widths: Sequence[float]) -> list[float]:
    """Compute the centre of each vertex.

    Layer by layer the vertices move towards their neighbours, as far as their order and widths
    allow, down and up in turns.

    The widths are those of the real vertices.

    Returns:
        The centres, including those of virtual vertices; the smallest left edge is at 0.
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
    """The minimum distance of each vertex's centre from that of the first."""
    steps = (GAP + (width[one] + width[other]) / 2 for one, other in pairwise(layer))
    return list(accumulate(steps, initial=0.0))


def _move(
    layer: Sequence[int], centre: list[float], width: Sequence[float], neighbours: Neighbours
) -> None:
    """Move the vertices of a layer as close to their neighbours as possible.

    Minimizes the weighted sum of squared distances: an isotonic regression, by pooling adjacent
    violators.
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


LAYER_GAP = 34.0
"""The space between two layers."""

Size = tuple[float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """All edges from one vertex, as connected pieces."""

    giver: int
    pieces: tuple[tuple[Point, Point], ...]
    passages: tuple[tuple[Point, Point], ...]
    ends: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A graph with coordinates; y grows downwards."""

    corners: tuple[Point, ...]
    lines: tuple[Line, ...]
    size: Size


def lay_out(sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """Lay a graph out from top to bottom.

    The sizes are widths and heights; edges have the smaller number first.
    """
    layering = assign_layers(len(sizes), edges)
    order_layers(layering)
    centres = assign_coordinates(layering, [width for width, _ in sizes])
    tops, bottoms = _extents(layering, sizes)
    corners = tuple(
        (centres[vertex] - width / 2, tops[vertex]) for vertex, (width, _) in enumerate(sizes)
    )
    lines = tuple(
        _line(giver, route, tops[giver] + sizes[giver][1], layering.real, (centres, tops, bottoms))
        for giver, route in layering.routes.items()
    )
    right = [x + width for (x, _), (width, _) in zip(corners, sizes, strict=True)]
    right += centres[layering.real :]
    return Layout(corners, lines, (max(right, default=0.0), max(bottoms, default=0.0)))


def _extents(layering: Layering, sizes: Sequence[Size]) -> tuple[list[float], list[float]]:
    """The top and bottom of each vertex's layer."""
    total = sum(map(len, layering.layers))
    tops, bottoms = [0.0] * total, [0.0] * total
    top = 0.0
    for layer in layering.layers:
        height = max((sizes[vertex][1] for vertex in layer if vertex < layering.real), default=0.0)
        for vertex in layer:
            tops[vertex], bottoms[vertex] = top, top + height
        top += height + LAYER_GAP
    return tops, bottoms


def _line(
    giver: int,
    route: Sequence[Edge],
    bottom: float,
    real: int,
    places: tuple[Sequence[float], Sequence[float], Sequence[float]],
) -> Line:
    """Pieces between layers, straight passages through them, and the ends at the readers."""
    centres, tops, bottoms = places
    lowers = [lower for _, lower in route]
    passed = [lower for lower in lowers if lower >= real]
    start = ((centres[giver], bottom), (centres[giver], bottoms[giver]))
    return Line(
        giver,
        tuple(((centres[u], bottoms[u]), (centres[v], tops[v])) for u, v in route),
        (start, *(((centres[v], tops[v]), (centres[v], bottoms[v])) for v in passed)),
        tuple((centres[v], tops[v]) for v in lowers if v < real),
    )
