"""Draws a graph as SVG."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from sonnx_ort.errors import printable, to_html, to_json
from sonnx_ort.reporting.checked_models import GraphOutline, Vertex, VertexKind
from sonnx_ort.reporting.layout import Layout, Line, Point, Size, lay_out
from sonnx_ort.reporting.verdict import NodeKey, NodeState

_CHARACTER = 6.7
"""The width of a character, in a monospaced font of 11 pixels."""

_LONGEST = 26


def shortened(label: str) -> str:
    """A label without its middle if it is long; names often differ at their ends."""
    plain = printable(label)
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[: _LONGEST // 3]}…{plain[-(_LONGEST - _LONGEST // 3 - 1) :]}"


def text_width(text: str) -> float:
    """The width of a text in pixels."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * _CHARACTER


Words = Mapping[NodeState | None, str]
"""What the state of a node means; None is that of a node without one."""

STATUS_WORDS: Words = {
    NodeState.VIOLATED: "violated whenever it runs",
    NodeState.RUNTIME: "checked in each run",
    NodeState.PROVED: "proved",
    NodeState.NOT_ASKED_FOR: "not looked at",
    None: "no rules",
}

_WORDS = {
    VertexKind.INPUT: "input",
    VertexKind.OUTPUT: "output",
    VertexKind.CAPTURED: "value of an outer graph",
}


Look = tuple[NodeState | None, str]
"""How a node looks: its state, None if it has none, and what that means."""

SIGNS = {
    NodeState.VIOLATED: "M3 3l8 8M11 3l-8 8",
    NodeState.RUNTIME: "M7 1.5a5.5 5.5 0 1 0 .01 0M7 4v3.3l2.2 1.4",
    NodeState.PROVED: "M2 8l3.5 3.5L12 3",
    NodeState.NOT_ASKED_FOR: "M3 7h8",
}
"""The symbols that are drawn in addition to the colour, in a square of 14 pixels."""


def draw_node(vertex: Vertex, corner: Point, size: Size, look: Look, attributes: str) -> str:
    """Draw a node."""
    state, words = look
    (x, y), (width, height) = corner, size
    middle = x + width / 2
    if vertex.kind is VertexKind.CALL:
        words = "a call of a function, whose nodes are not checked"
    title = f"{vertex.operator} '{vertex.label}': {words}"
    operator, label = shortened(vertex.operator), shortened(vertex.label)
    sign = ""
    if state is not None:
        place = f"translate({x + 5:.1f} {y + 5:.1f})"
        sign = f'<path class="sign" transform="{place}" d="{SIGNS[state]}"/>'
    return (
        f'<g class="vertex node {state or "plain"}" {attributes} role="button" tabindex="-1">'
        f"<title>{to_html(title)}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6"/>{sign}'
        f'<text class="operator" x="{middle:.1f}" y="{y + 17:.1f}">{to_html(operator)}</text>'
        f'<text x="{middle:.1f}" y="{y + 32:.1f}">{to_html(label)}</text></g>'
    )


def draw_value(vertex: Vertex, corner: Point, size: Size, attributes: str) -> str:
    """Draw a value that enters or leaves the graph."""
    (x, y), (width, height) = corner, size
    title = f"{_WORDS[vertex.kind]} '{vertex.label}'"
    return (
        f'<g class="vertex value" {attributes}><title>{to_html(title)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="12"/>'
        f'<text x="{x + width / 2:.1f}" y="{y + 16:.1f}">{to_html(shortened(vertex.label))}</text>'
        "</g>"
    )


def draw_line(line: Line, number: int, origin: Point) -> str:
    """Draw all edges from one vertex.

    The number is that of the vertex; the origin is that of the graph's coordinates.
    """
    right, down = origin
    steps = [
        f"M{x + right:.1f} {top + down:.1f}V{bottom + down:.1f}"
        for (x, top), (_, bottom) in line.passages
        if bottom > top
    ]
    for (x, top), (to, bottom) in line.pieces:
        middle = (top + bottom) / 2 + down
        steps.append(
            f"M{x + right:.1f} {top + down:.1f}C{x + right:.1f} {middle:.1f} "
            f"{to + right:.1f} {middle:.1f} {to + right:.1f} {bottom + down:.1f}"
        )
    heads = (f"M{x + right:.1f} {y + down:.1f}l-3.5 -6h7z" for x, y in line.ends)
    return (
        f'<g class="line" id="l{number}"><path d="{"".join(steps)}"/>'
        f'<path class="head" d="{"".join(heads)}"/></g>'
    )


_PADDING = 10.0
_HEIGHTS = {True: 42.0, False: 24.0}
"""The height of a node, and of a value."""

_HEADER = 34.0
_CAPTION = 20.0
_MARGIN = 12.0
_SIGN = 16.0
_BOLD = 1.1
"""The relative width of bold text."""


_PAPER = 700.0, 900.0
"""The room for a drawing on a sheet of A4, in pixels at full size."""

_LEGIBLE = 0.45
"""The smallest scale at which a label can be read."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn graph.

    Attributes:
        svg: An `svg` element without scripts; all names in it are escaped. Each node is a `g` with
            the class `vertex` and its key in the attribute `data-key`.
        size: Its width and height in pixels.
    """

    svg: str
    size: Size

    @property
    def fits_on_paper(self) -> bool:
        """Whether its labels can be read on one sheet."""
        return all(side * _LEGIBLE <= room for side, room in zip(self.size, _PAPER, strict=True))


def draw(
    graph: GraphOutline, states: Mapping[NodeKey, NodeState], words: Words = STATUS_WORDS
) -> Drawing:
    """Draw a graph with its subgraphs."""
    sheet = _Sheet(without_constants(graph, states))
    width, height = (side + 2 * _MARGIN for side in sheet.size)
    pen = _Pen(states, words)
    pen.draw(sheet, (_MARGIN, _MARGIN))
    svg = (
        f'<svg id="graph" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="group" '
        f'aria-label="the graph of the model">{"".join(pen.strokes)}</svg>'
    )
    return Drawing(svg, (width, height))


def without_constants(graph: GraphOutline, states: Mapping[NodeKey, NodeState]) -> GraphOutline:
    """A graph in which the nodes that read constants stand for them, as they do for initializers.

    A constant stays if it needs attention, or if something other than a node reads it.
    """
    readers: dict[int, list[int]] = {}
    for giver, reader in graph.edges:
        readers.setdefault(giver, []).append(reader)
    left_out = {
        index
        for index, vertex in enumerate(graph.vertices)
        if vertex.operator == "Constant"
        and states.get((vertex.label, graph.path)) not in {NodeState.VIOLATED, NodeState.RUNTIME}
        and index in readers
        and all(graph.vertices[reader].is_node for reader in readers[index])
    }
    constants: dict[int, list[str]] = {}
    for index in sorted(left_out):
        for reader in readers[index]:
            constants.setdefault(reader, []).extend(
                (graph.vertices[index].label, *graph.vertices[index].also)
            )
    kept = [index for index in range(len(graph.vertices)) if index not in left_out]
    position = {index: at for at, index in enumerate(kept)}
    return replace(
        graph,
        vertices=tuple(
            replace(
                graph.vertices[index],
                bodies=tuple(
                    replace(body, graph=without_constants(body.graph, states))
                    for body in graph.vertices[index].bodies
                ),
                also=(*graph.vertices[index].also, *constants.get(index, ())),
            )
            for index in kept
        ),
        edges=tuple((position[a], position[b]) for a, b in graph.edges if a in position),
    )


@dataclass(frozen=True)
class _Sheet:
    """The layout of a graph, with those of its subgraphs."""

    graph: GraphOutline

    @cached_property
    def bodies(self) -> tuple[tuple["_Sheet", ...], ...]:
        """The sheets of the subgraphs of each vertex."""
        return tuple(
            tuple(_Sheet(body.graph) for body in vertex.bodies) for vertex in self.graph.vertices
        )

    @cached_property
    def layout(self) -> Layout:
        """The positions of all vertices and edges."""
        sizes = list(map(_size, self.graph.vertices, self.bodies))
        return lay_out(sizes, self.graph.edges)

    @property
    def size(self) -> Size:
        """The width and height, without a margin."""
        return self.layout.size


def _size(vertex: Vertex, bodies: Sequence[_Sheet]) -> Size:
    """The width and the height of a node's box, which holds the drawings of its bodies."""
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

    def __init__(self, states: Mapping[NodeKey, NodeState], words: Words) -> None:
        self.strokes: list[str] = []
        self._states, self._words = states, words
        self._numbers = count()

    def draw(self, sheet: _Sheet, origin: Point) -> None:
        """Draw the edges first, so that the nodes cover them."""
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
            place = vertex.label, sheet.graph.path
            state = self._states.get(place)
            key = f'data-key="{to_html(node_key(*place))}"'
            also = to_json([name for name in vertex.also if name != vertex.label])
            key += f' data-also="{to_html(also)}"'
            look = state, self._words[state]
            self.strokes.append(draw_node(vertex, corner, size, look, f"{attributes} {key}"))
            self._draw_bodies(vertex, sheet.bodies[index], corner)

    def _draw_bodies(self, vertex: Vertex, sheets: Sequence[_Sheet], corner: Point) -> None:
        x, y = corner[0] + _MARGIN, corner[1] + _HEADER + _MARGIN
        for body, sheet in zip(vertex.bodies, sheets, strict=True):
            width = max(sheet.size[0], text_width(shortened(body.attribute))) + 2 * _MARGIN
            height = sheet.size[1] + _CAPTION + 2 * _MARGIN
            self.strokes.append(
                f'<rect class="body" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}" rx="6"/><text class="caption" x="{x + 8:.1f}" '
                f'y="{y + 15:.1f}">{to_html(shortened(body.attribute))}</text>'
            )
            self.draw(sheet, (x + _MARGIN, y + _CAPTION + _MARGIN))
            x += width + _MARGIN


def node_key(label: str, path: Sequence[str]) -> str:
    """The label and the path of a node as one text: a list in JSON."""
    return to_json([label, *path], separators=(",", ":"))
