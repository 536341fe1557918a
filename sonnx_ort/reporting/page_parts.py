"""What all HTML pages have in common: assets, data, signs and the name of the model's file."""

import base64
import hashlib
from importlib.resources import files
from pathlib import PurePath

from sonnx_ort.printable import to_html, to_json
from sonnx_ort.reporting.graph_drawing import SIGNS
from sonnx_ort.reporting.verdict import NodeState

_PAGE = files("sonnx_ort.reporting") / "page"


def asset(name: str) -> str:
    """The text of a file of the pages."""
    return (_PAGE / name).read_text(encoding="utf-8")


def digest(content: str) -> str:
    """The hash by which the content security policy of a page allows a script or a style."""
    hashed = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(hashed).decode()}"


def as_data(document: object) -> str:
    """JSON, escaped so that nothing in it can end its element."""
    text = to_json(document, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def sign(state: NodeState) -> str:
    """The sign of a state, as an `svg` element."""
    return (
        f'<svg class="sign" viewBox="0 0 14 14" aria-hidden="true"><path d="{SIGNS[state]}"/></svg>'
    )


def file_and_folder(name: str) -> tuple[str, str]:
    """The name of a file, and the folder that it is in; empty if it is given without one."""
    if name == "-":
        return "standard input", ""
    path = PurePath(name)
    return path.name, "" if path.name == name else str(path.parent)


def folder_line(folder: str) -> str:
    """A line with the folder of the model; nothing for none."""
    return f'<p class="folder">in <bdi>{to_html(folder)}</bdi></p>' if folder else ""
