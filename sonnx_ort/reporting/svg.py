"""Elements of the drawing: nodes, values and lines in SVG, with every name escaped."""

from html import escape

from sonnx_ort.analysis.graph_outline import Vertex, VertexKind
from sonnx_ort.reporting.label import shortened
from sonnx_ort.reporting.layout.layered import Line, Point, Size
from sonnx_ort.reporting.node_state import NodeState

_TOLD = {
    NodeState.VIOLATED: "violated in every run",
    NodeState.RUNTIME: "decided in each run",
    NodeState.PROVED: "proved",
    NodeState.NOT_ASKED_FOR: "in the profile, not asked for",
    None: "no rule speaks of it",
}

_WORDS = {
    VertexKind.INPUT: "input",
    VertexKind.OUTPUT: "output",
    VertexKind.CAPTURED: "from outside",
}

SIGNS = {
    NodeState.VIOLATED: "M3 3l8 8M11 3l-8 8",
    NodeState.RUNTIME: "M7 1.5a5.5 5.5 0 1 0 .01 0M7 4v3.3l2.2 1.4",
    NodeState.PROVED: "M2 8l3.5 3.5L12 3",
    NodeState.NOT_ASKED_FOR: "M3 7h8",
}
"""What is drawn besides the colour, in a square of 14 pixels."""


def draw_node(
    vertex: Vertex, corner: Point, size: Size, state: NodeState | None, attributes: str
) -> str:
    """A node of the graph.

    Args:
        vertex: The node.
        corner: Its upper left corner.
        size: Its width and height.
        state: What is known of it; None where no rule speaks of it.
        attributes: Further attributes of the element.
    """
    (x, y), (width, height) = corner, size
    middle = x + width / 2
    told = f"{vertex.operator} '{vertex.label}': {_told(vertex, state)}"
    operator, label = shortened(vertex.operator), shortened(vertex.label)
    sign = ""
    if state is not None:
        place = f"translate({x + 5:.1f} {y + 5:.1f})"
        sign = f'<path class="sign" transform="{place}" d="{SIGNS[state]}"/>'
    return (
        f'<g class="vertex node {state or "plain"}" {attributes} role="button" tabindex="-1">'
        f"<title>{escape(told)}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6"/>{sign}'
        f'<text class="operator" x="{middle:.1f}" y="{y + 17:.1f}">{escape(operator)}</text>'
        f'<text x="{middle:.1f}" y="{y + 32:.1f}">{escape(label)}</text></g>'
    )


def _told(vertex: Vertex, state: NodeState | None) -> str:
    if vertex.kind is VertexKind.CALL:
        return "a call; nothing in the function is checked"
    return _TOLD[state]


def draw_value(vertex: Vertex, corner: Point, size: Size, attributes: str) -> str:
    """A value that enters or leaves the graph.

    Args:
        vertex: The value.
        corner: Its upper left corner.
        size: Its width and height.
        attributes: Further attributes of the element.
    """
    (x, y), (width, height) = corner, size
    told = f"{_WORDS[vertex.kind]} '{vertex.label}'"
    return (
        f'<g class="vertex value" {attributes}><title>{escape(told)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="12"/>'
        f'<text x="{x + width / 2:.1f}" y="{y + 16:.1f}">{escape(shortened(vertex.label))}</text>'
        "</g>"
    )


def draw_line(line: Line, number: int, origin: Point) -> str:
    """All edges from one vertex.

    Args:
        line: Their way.
        number: The number of the vertex in the drawing.
        origin: Where the graph's own coordinates begin.
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
