"""The three steps together: where each vertex stands, and the way of each line."""

from collections.abc import Sequence
from dataclasses import dataclass

from sonnx_ort.reporting.layout.coordinates import assign_coordinates
from sonnx_ort.reporting.layout.layers import Edge, Layering, assign_layers
from sonnx_ort.reporting.layout.ordering import order_layers

LAYER_GAP = 34.0
"""The room between two layers."""

Size = tuple[float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """All edges from one vertex: pieces that hang together, each with its ends.

    Attributes:
        giver: The vertex.
        pieces: From where to where; between them lies the room between two layers.
        passages: From where to where it leads straight down, through a layer or to its end.
        ends: Where it arrives at a reader.
    """

    giver: int
    pieces: tuple[tuple[Point, Point], ...]
    passages: tuple[tuple[Point, Point], ...]
    ends: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A graph with coordinates; y grows downwards.

    Attributes:
        corners: The upper left corner of each vertex.
        lines: One for each vertex that is read.
        size: The width and height of all.
    """

    corners: tuple[Point, ...]
    lines: tuple[Line, ...]
    size: Size


def lay_out(sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """Lay a graph out from top to bottom.

    Args:
        sizes: The width and height of each vertex.
        edges: Pairs of vertices by their numbers, the smaller number first.
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
    """Where the layer of each vertex begins and ends."""
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
