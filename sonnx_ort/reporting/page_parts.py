"""The page that all reports share: the verdict, the graph of the model, and a list beside it.

It loads nothing. Its content security policy allows only its own script and style, so that a name
in a model stays harmless even if escaping fails.
"""

import base64
import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import count
from pathlib import PurePath
from string import Template

from sonnx_ort.errors import to_html, to_json
from sonnx_ort.reporting.checked_models import GraphOutline
from sonnx_ort.reporting.graph_drawing import SIGNS, Words, draw, node_key
from sonnx_ort.reporting.verdict import NodeKey, NodeState

_PAGE = files("sonnx_ort.reporting") / "page"


@dataclass(frozen=True, slots=True)
class Worst:
    """The node to look at first, and why."""

    place: str
    key: NodeKey
    why: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The list beside the graph.

    Attributes:
        script: The file of the script that fills or filters it; it defines `items` and `show`.
        statuses: What an entry can be, by the value of the filter.
        columns: The heads of its columns.
        rows: Its rows, if the script does not make them, in HTML.
        filters: Further filters, in HTML.
        placeholder: What can be searched for.
        symbols: What is to be explained above the table, in HTML.
    """

    script: str
    title: str
    statuses: Mapping[str, str]
    columns: tuple[str, ...]
    placeholder: str
    rows: str = ""
    filters: str = ""
    symbols: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A page of text alone, without a graph and without a script.

    Attributes:
        kind: What it is.
        name: What it is of.
        state: The state that determines how the verdict is shown.
        verdict: The verdict; the first line is the largest.
        counts: How many entries are in which state.
        facts: What was looked at and with what, by name.
        sections: What follows, in HTML, by its title.
    """

    kind: str
    name: str
    state: NodeState
    verdict: tuple[str, ...]
    counts: Iterable[tuple[NodeState | None, str]]
    facts: Mapping[str, str]
    sections: Mapping[str, str]

    def render(self) -> str:
        """The page in one file."""
        style = _asset("page.css")
        return Template(_asset("document.html")).substitute(
            title=to_html(f"{self.verdict[0]}: {self.name}"),
            kind=self.kind,
            name=to_html(self.name),
            style=style,
            style_digest=_digest(style),
            verdict=_lines_of(self.verdict),
            verdict_state=self.state,
            verdict_sign=sign(self.state),
            counts="".join(_signed_item(state, text) for state, text in self.counts),
            facts=_facts(self.facts),
            sections=_sections(self.sections),
        )


def _lines_of(verdict: tuple[str, ...]) -> str:
    first, *others = verdict
    return "".join(
        (f'<p class="word">{prose(first)}</p>', *(f"<p>{prose(other)}</p>" for other in others))
    )


def _facts(facts: Mapping[str, str]) -> str:
    """The facts that there are, as a list of definitions."""
    return "".join(
        f"<div><dt>{to_html(name)}</dt><dd><bdi>{to_html(value)}</bdi></dd></div>"
        for name, value in facts.items()
        if value
    )


def _sections(sections: Mapping[str, str]) -> str:
    return "".join(f"<section><h2>{title}</h2>{html}</section>" for title, html in sections.items())


@dataclass(frozen=True, slots=True)
class Page:
    """What one page shows. Texts are escaped here, except where HTML is asked for.

    Attributes:
        kind: What it is a report of.
        file: The file of the model; "-" is standard input.
        title: The verdict in the title of the window.
        state: The state that determines how the verdict is shown.
        verdict: The verdict; the first line is the largest.
        worst: The node to look at first; None if there is none.
        next_command: What to type next; empty if nothing is proposed.
        counts: How many entries are in which state; None is that of no state.
        notices: What the verdict does not cover.
        facts: What was looked at and with what, by name.
        states: The states of its nodes.
        words: What the states mean.
        listing: The list beside the graph.
        sections: What follows, in HTML, by its title.
        data: Documents for scripts and readers, by id.
        without_script: What a reader without JavaScript sees besides, in HTML.
    """

    kind: str
    file: str
    title: str
    state: NodeState
    verdict: tuple[str, ...]
    worst: Worst | None
    next_command: str
    counts: Iterable[tuple[NodeState | None, str]]
    notices: Iterable[str]
    facts: Mapping[str, str]
    graph: GraphOutline
    states: Mapping[NodeKey, NodeState]
    words: Words
    listing: Listing
    sections: Mapping[str, str]
    data: Mapping[str, object]
    without_script: str = ""

    def render(self) -> str:
        """The page in one file."""
        style = _asset("page.css")
        script = _asset("page.js") + _asset(self.listing.script)
        name, folder = _file_and_folder(self.file)
        in_title = f"{self.title}: {name}{f' in {folder}' if folder else ''}"
        listing = self.listing
        drawing = draw(self.graph, self.states, self.words)
        return Template(_asset("page.html")).substitute(
            title=to_html(in_title),
            kind=self.kind,
            name=to_html(name),
            folder=f'<p class="folder">in <bdi>{to_html(folder)}</bdi></p>' if folder else "",
            style=style,
            script=script,
            style_digest=_digest(style),
            script_digest=_digest(script),
            verdict=self._verdict(),
            verdict_state=self.state,
            verdict_sign=sign(self.state),
            counts="".join(_signed_item(state, text) for state, text in self.counts),
            notices="".join(f'<p class="notice">{prose(text)}</p>' for text in self.notices),
            facts=_facts(self.facts),
            legend="".join(
                _signed_item(state, words if state else f"without a sign: {words}")
                for state, words in self.words.items()
            ),
            drawing=drawing.svg,
            drawing_class="" if drawing.fits_on_paper else ' class="large"',
            unprinted=_UNPRINTED,
            list_title=listing.title,
            filters=_status_filters(listing.statuses),
            more_filters=listing.filters,
            placeholder=listing.placeholder,
            symbols=listing.symbols,
            columns="".join(f'<th scope="col">{column}</th>' for column in listing.columns),
            rows=listing.rows,
            sections=_sections(self.sections),
            data="".join(
                f'<script type="application/json" id="{name}">{_as_data(document)}</script>'
                for name, document in self.data.items()
            )
            + "".join(f'<template id="sign-{s}">{sign(s)}</template>' for s in NodeState),
            without_script=self.without_script,
        )

    def _verdict(self) -> str:
        lines = [_lines_of(self.verdict)]
        if self.worst is not None:
            lines.append(
                f'<p class="worst">Worst: {node_button(self.worst.place, self.worst.key)} '
                f"<bdi>{to_html(self.worst.why)}</bdi></p>"
            )
        if self.next_command:
            lines.append(
                f'<p class="next">Next: <code id="next">{to_html(self.next_command)}</code> '
                '<button type="button" id="copy">Copy</button></p>'
            )
        return "".join(lines)


_UNPRINTED = "The graph is too large for a sheet of paper. The page shows it in a browser."
"""What is printed in the place of a large graph."""


def prose(text: str) -> str:
    """A text in HTML, in which what stands between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", to_html(text))


def sign(state: NodeState) -> str:
    """The sign of a state, as an `svg` element."""
    return (
        f'<svg class="sign" viewBox="0 0 14 14" aria-hidden="true"><path d="{SIGNS[state]}"/></svg>'
    )


def node_button(place: str, key: NodeKey) -> str:
    """A button that leads to a node of the graph."""
    data = to_html(node_key(*key))
    return f'<button type="button" data-key="{data}"><bdi>{to_html(place)}</bdi></button>'


def table(head: Iterable[str], rows: Iterable[Iterable[str]], numbers: Container[int] = ()) -> str:
    """A table of cells in HTML.

    `numbers` has the positions of the columns with numbers.
    """

    def cells(tag: str, row: Iterable[str]) -> str:
        marks = (' class="number"' if at in numbers else "" for at in count())
        return "".join(f"<{tag}{m}>{cell}</{tag}>" for cell, m in zip(row, marks, strict=False))

    heads, body = cells("th", head), "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _signed_item(state: NodeState | None, text: str) -> str:
    if state is None:
        return f"<li>{to_html(text)}</li>"
    return f'<li class="{state}">{sign(state)} {to_html(text)}</li>'


def _status_filters(statuses: Mapping[str, str]) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" name="status" value="{status}" checked> {word}</label>'
        for status, word in statuses.items()
    )
    return f"<fieldset><legend>Status</legend>{boxes}</fieldset>"


def _asset(name: str) -> str:
    """The text of a file of the pages."""
    return (_PAGE / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    """The hash by which the content security policy of a page allows a script or a style."""
    hashed = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(hashed).decode()}"


def _as_data(document: object) -> str:
    """JSON, escaped so that nothing in it can end its element."""
    text = to_json(document, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _file_and_folder(name: str) -> tuple[str, str]:
    """The name of a file, and the folder that it is in; empty if it is given without one."""
    if name == "-":
        return "standard input", ""
    path = PurePath(name)
    return path.name, "" if path.name == name else str(path.parent)
