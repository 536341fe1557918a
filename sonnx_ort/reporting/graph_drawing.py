"""The graph as SVG: every node in the colour and with the sign of what its obligations say."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import count

from sonnx_ort.analysis.graph_outline import GraphOutline, Vertex
from sonnx_ort.reporting.label import shortened, text_width
from sonnx_ort.reporting.layout.layered import Layout, Point, Size, lay_out
from sonnx_ort.reporting.node_state import NodeKey, NodeState
from sonnx_ort.reporting.svg import draw_line, draw_node, draw_value

_PADDING = 10.0
_HEIGHTS = {True: 42.0, False: 24.0}
"""Of a node, and of a value."""

_HEADER = 34.0
_CAPTION = 20.0
_MARGIN = 12.0
_SIGN = 16.0
_BOLD = 1.1
"""How much wider an operator's name is drawn than another one."""


def draw(graph: GraphOutline, states: Mapping[NodeKey, NodeState]) -> str:
    """Draw a graph with its subgraphs.

    Args:
        graph: The graph.
        states: What is known of each node that a rule binds.

    Returns:
        An `svg` element without any script; every name in it is escaped. Each node is a `g` with
        the class `vertex`, and has its key in the attribute `data-key`.
    """
    sheet = _Sheet(graph)
    width, height = (side + 2 * _MARGIN for side in sheet.size)
    pen = _Pen(states)
    pen.draw(sheet, (_MARGIN, _MARGIN))
    return (
        f'<svg id="graph" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="group" '
        f'aria-label="the graph of the model">{"".join(pen.strokes)}</svg>'
    )


@dataclass(frozen=True)
class _Sheet:
    """A graph with the sheets of its subgraphs, and where everything stands on it."""

    graph: GraphOutline

    @cached_property
    def bodies(self) -> tuple[tuple["_Sheet", ...], ...]:
        """The sheets of the subgraphs of each vertex."""
        return tuple(
            tuple(_Sheet(body.graph) for body in vertex.bodies) for vertex in self.graph.vertices
        )

    @cached_property
    def layout(self) -> Layout:
        """Where everything stands."""
        sizes = list(map(_size, self.graph.vertices, self.bodies))
        return lay_out(sizes, self.graph.edges)

    @property
    def size(self) -> Size:
        """The room that it takes, without a margin."""
        return self.layout.size


def _size(vertex: Vertex, bodies: Sequence[_Sheet]) -> Size:
    operator = text_width(shortened(vertex.operator)) * _BOLD + 2 * _SIGN
    width = max(text_width(shortened(vertex.label)), operator, 40.0) + 2 * _PADDING
    if not bodies:
        return width, _HEIGHTS[vertex.is_node]
    captions = (text_width(shortened(body.attribute)) for body in vertex.bodies)
    inner = zip(bodies, captions, strict=True)
    widths = [max(sheet.size[0], caption) + 2 * _MARGIN for sheet, caption in inner]
    height = max(sheet.size[1] for sheet in bodies) + _CAPTION + 2 * _MARGIN
    return max(width, sum(widths) + _MARGIN * (len(widths) + 1)), _HEADER + height + 2 * _MARGIN


class _Pen:
    """Draws sheets, and numbers the vertices of all of them."""

    def __init__(self, states: Mapping[NodeKey, NodeState]) -> None:
        self.strokes: list[str] = []
        self._states = states
        self._numbers = count()

    def draw(self, sheet: _Sheet, origin: Point) -> None:
        """Draw the lines first, so that they lie behind the nodes."""
        numbers = [next(self._numbers) for _ in sheet.graph.vertices]
        layout = sheet.layout
        givers: dict[int, list[int]] = {}
        for giver, reader in sheet.graph.edges:
            givers.setdefault(reader, []).append(numbers[giver])
        for line in layout.lines:
            self.strokes.append(draw_line(line, numbers[line.giver], origin))
        for index, vertex in enumerate(sheet.graph.vertices):
            x, y = layout.corners[index]
            corner = (x + origin[0], y + origin[1])
            size = _size(vertex, sheet.bodies[index])
            read = " ".join(f"v{number}" for number in givers.get(index, ()))
            attributes = f'id="v{numbers[index]}" data-reads="{read}"'
            if not vertex.is_node:
                self.strokes.append(draw_value(vertex, corner, size, attributes))
                continue
            state = self._states.get((vertex.label, sheet.graph.path))
            key = f'data-key="{escape(node_key(vertex.label, sheet.graph.path))}"'
            self.strokes.append(draw_node(vertex, corner, size, state, f"{attributes} {key}"))
            self._draw_bodies(vertex, sheet.bodies[index], corner)

    def _draw_bodies(self, vertex: Vertex, sheets: Sequence[_Sheet], corner: Point) -> None:
        x, y = corner[0] + _MARGIN, corner[1] + _HEADER + _MARGIN
        for body, sheet in zip(vertex.bodies, sheets, strict=True):
            width = max(sheet.size[0], text_width(shortened(body.attribute))) + 2 * _MARGIN
            height = sheet.size[1] + _CAPTION + 2 * _MARGIN
            self.strokes.append(
                f'<rect class="body" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" rx="6"/><text class="caption" x="{x + 8:.1f}" '
                f'y="{y + 15:.1f}">{escape(shortened(body.attribute))}</text>'
            )
            self.draw(sheet, (x + _MARGIN, y + _CAPTION + _MARGIN))
            x += width + _MARGIN


def node_key(label: str, path: Sequence[str]) -> str:
    """The name and the path of a node, as one text: a list in JSON.

    Args:
        label: The name.
        path: The nodes whose subgraphs it lies in, outermost first.
    """
    return json.dumps([label, *path], ensure_ascii=False, separators=(",", ":"))
