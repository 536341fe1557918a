"""The texts of rules and operators, which no verdict reads: `texts/*.toml`, by the rule's id.

A table has the texts of a rule, or of several that say the same, whose ids its name lists. One that
is named for an operator has its description. Any file may have any table; each id has one.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.profile.options import Broadcasting
from sonnx_ort.profile.source import Basis, Source, Standing, Words, draft_of
from sonnx_ort.terms.operand import Operand, broadcast_shape, format_shape

_WRITE_BROADCASTS = Remedy("broadcast", Broadcasting.EXPLICIT.value)
"""The option that lets operands have different shapes, in the open."""

FOLDER = Path(__file__).with_name("texts")
"""The files."""

_OPTION = re.compile(r"\{([a-z_]+)(?:=([a-z]+))?\}")
"""An option that a text advises, such as `{broadcast=explicit}`."""

_NAMES = re.compile(r'^\["?([^"\]\n]+)"?\]$', re.MULTILINE)
"""The names of a table."""

_PLACE = re.compile(r"(?P<section>.*?)(?: \[(?P<tag>[^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Illustration:
    """A node or graph that keeps a rule, one that violates it, and how to fix that, as a clause."""

    kept: str
    broken: str
    remedy: str


@dataclass(frozen=True, slots=True)
class RuleText:
    """What is said of a rule.

    Attributes:
        sentence: What it demands.
        source: Who states it, and where.
        example: What keeps it and breaks it.
        if_absent: How to fix a node without the attributes that it is about; empty if that is the
            remedy of the example.
        unenforced: What ONNX Runtime does where nothing enforces it, in sentences; empty if the
            description of the operator says it.
    """

    sentence: str
    source: Source
    example: Illustration
    if_absent: str = ""
    unenforced: str = ""


@cache
def text_of(rule: str) -> RuleText:
    """The texts of a rule.

    Args:
        rule: Its id.

    Raises:
        KeyError: There are none; the message says where they are to be written.
        ValueError: A table is there twice, lacks an entry, or has an unknown one.
    """
    table = dict(_table_of(rule))
    try:
        found = RuleText(
            sentence=table.pop("sentence"),
            source=_source(rule.partition(".")[0], table),
            example=Illustration(*(advice(table.pop(n)) for n in ("keeps", "breaks", "to_fix"))),
            if_absent=table.pop("if_absent", ""),
            unenforced=table.pop("unenforced", ""),
        )
    except KeyError as error:
        raise ValueError(f"the texts of {rule} lack the entry {error}") from None
    if table:
        raise ValueError(f"the texts of {rule} have an unknown entry: {', '.join(table)}")
    return found


@cache
def description_of(operator: str) -> str:
    """The paragraphs that describe an operator, for readers.

    Raises:
        KeyError: There are none.
        ValueError: A table is there twice.
    """
    return str(_table_of(operator)["description"])


def basis_of(source: Source, *, demanded_of_all: bool, held: bool) -> Basis:
    """What a rule rests on.

    Args:
        source: Who states it, and where.
        demanded_of_all: Whether the general restrictions demand it of every operator.
        held: Whether ONNX Runtime holds it itself.
    """
    if source.standing is Standing.STATED:
        return Basis.CHOSEN if source.contradicted else Basis.STATED
    by_analogy = source.standing is Standing.BY_ANALOGY and demanded_of_all
    return Basis.FOLLOWS if by_analogy or held else Basis.OURS


def hint_to_expand(operands: Sequence[Operand], aligned: Sequence[Operand]) -> str:
    """Name the operand to expand, and its new shape.

    `aligned` are the operands, aligned at their last axes.
    """
    common = broadcast_shape(*(operand.shape for operand in aligned))
    if common is None:
        return Advice("rewrite with ", _WRITE_BROADCASTS, ", which expands the operands")
    if all(operand.shape == common for operand in operands):
        return "remove the attribute broadcast"
    expanded = " and ".join(
        f"{o.name} from {format_shape(o.shape)} to {format_shape(common)}"
        for o in operands
        if o.shape != common
    )
    return Advice("rewrite with ", _WRITE_BROADCASTS, f", which expands {expanded}")


def _source(operator: str, table: dict[str, Any]) -> Source:
    """The source of a rule, from its table, whose entries it takes.

    `stated` is where the operator's draft, or the `document`, states it, with the tag in brackets.
    `like` is the operator of a similar rule. If it has neither, no document states the rule.
    """
    stated, like = table.pop("stated", None), table.pop("like", None)
    document = table.pop("document", None)
    remark = advice(table.pop("remark", ""))
    words = Words(table.pop("words", Words.OURS))
    further: dict[str, Any] = {
        name: table.pop(name) for name in ("later_tag", "contradicted") if name in table
    }
    if stated is not None:
        place = _PLACE.fullmatch(stated)
        section, tag = (stated, None) if place is None else place.group("section", "tag")
        title = document or draft_of(operator).title
        return Source(title, section, tag, Standing.STATED, words, remark, **further)
    title = document or f"SONNX {operator}"
    if like is not None:
        section, standing = f"by analogy with {like}", Standing.BY_ANALOGY
    else:
        section, standing = "none", Standing.OWN
    return Source(title, section, None, standing, words, remark, **further)


def advice(text: str) -> str:
    """A text with the options that it names, such as `{broadcast=explicit}` and `{make_explicit}`.

    It is a plain text if it names none.
    """
    parts, end = list[str | Remedy](), 0
    for found in _OPTION.finditer(text):
        option, value = found.groups()
        parts += [text[end : found.start()], Remedy(option, value or True)]
        end = found.end()
    return Advice(*parts, text[end:]) if parts else text


def _table_of(name: str) -> Mapping[str, Any]:
    path = files().get(name)
    if path is None:
        raise KeyError(f"{name} has no texts: write a table of its name in {FOLDER}")
    return next(table for names, table in _tables(path).items() if name in names.split())


@cache
def files() -> Mapping[str, Path]:
    """The file that has the texts of each rule and operator, found by the names of its tables.

    Reading all tables would take longer than most messages are worth.

    Raises:
        ValueError: There are two tables of a name.
    """
    found: dict[str, Path] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for names in _NAMES.findall(path.read_text("utf-8")):
            for name in names.split():
                if name in found:
                    raise ValueError(f"{name} has texts twice, again in {path.name}")
                found[name] = path
    return MappingProxyType(found)


@cache
def _tables(path: Path) -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(path.read_text("utf-8"))
