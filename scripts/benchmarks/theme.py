"""The colours of a picture, and what a picture needs besides: a title, a description, dark mode."""

from collections.abc import Mapping
from xml.etree import ElementTree as ET

PAPER = "#ffffff"
INK = "#24292f"
RULE = "#8c959f"
GRID = "#e1e4e8"
BLUE = "#0969da"
ORANGE = "#bc4c00"
RED = "#cf222e"
PURPLE = "#8250df"
GREEN = "#1a7f37"

DARK: Mapping[str, str] = {
    PAPER: "#0d1117",
    INK: "#e6edf3",
    RULE: "#6e7681",
    GRID: "#262c36",
    BLUE: "#58a6ff",
    ORANGE: "#f0883e",
    RED: "#ff7b72",
    PURPLE: "#bc8cff",
    GREEN: "#3fb950",
}
"""What stands in the dark for each colour of the light theme."""

_SVG = "http://www.w3.org/2000/svg"
_TITLE_ID, _DESCRIPTION_ID = "title", "description"


def make_accessible(document: str, title: str, description: str) -> str:
    """Name and describe a picture, and let it follow the reader's choice of light or dark.

    Args:
        document: An SVG document in colours of the light theme.
        title: What the picture is, in a few words.
        description: What it shows, in sentences.
    """
    for prefix, space in (("", _SVG), ("xlink", "http://www.w3.org/1999/xlink")):
        ET.register_namespace(prefix, space)
    root = ET.fromstring(document)  # noqa: S314 - our own
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    root.set("role", "img")
    root.set("aria-labelledby", f"{_TITLE_ID} {_DESCRIPTION_ID}")
    elements = (
        _element("title", title, id=_TITLE_ID),
        _element("desc", description, id=_DESCRIPTION_ID),
        _element("style", _style()),
    )
    for place, element in enumerate(elements):
        root.insert(place, element)
    ET.indent(root, " ")
    return ET.tostring(root, encoding="unicode") + "\n"


def _style() -> str:
    # Colours and font stand in style attributes, which nothing but !important overrides.
    rules = [
        f'[style*="{property_}: {light}"] {{ {property_}: {dark} !important }}'
        for light, dark in DARK.items()
        for property_ in ("fill", "stroke")
    ]
    font = "text { font-family: system-ui, sans-serif !important }"
    return "\n".join(["", font, "@media (prefers-color-scheme: dark) {", *rules, "}", ""])


def _element(name: str, text: str, **attributes: str) -> ET.Element:
    element = ET.Element(f"{{{_SVG}}}{name}", attributes)
    element.text = text
    return element
