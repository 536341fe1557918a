"""The page of all entries, with what meets them and the tests that show them."""

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from environment import ROOT

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.contract_rules import CONTRACT
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import TEXTS, Standing
from tracing.entries import Document, Entry, all_entries, own_rules

MARKER = "satisfies"
"""The marker's name: `@pytest.mark.satisfies("Div.typed.float.R1")`.

It names entries, several in a text, and rules of this project, also by patterns: `"*.RG1"`.
"""

PROOFS = "tests/proofs/"
"""Where tests are proofs."""

_OWN = """## Rules that no document states

{all} rules have no entry above: {analogous} are demanded by analogy with another operator, and
{own} are this project's own. The source is what the rule itself says, with the reason for it.
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a mark names, and the test that shows it, as pytest names it from the repository on."""

    entry: str
    test: str

    @property
    def is_proof(self) -> bool:
        """Whether the test is a proof."""
        return self.test.startswith(PROOFS)


@cache
def find_marks(folder: Path = ROOT / "tests", root: Path = ROOT) -> tuple[Mark, ...]:
    """Find every mark in the tests of a folder.

    Raises:
        ValueError: A mark is at no test, or names its entries by anything but texts.
    """
    return tuple(
        mark
        for path in sorted(folder.rglob("test_*.py"))
        for mark in _marks_in(path, path.relative_to(root).as_posix())
    )


def by_entry(marks: Iterable[Mark]) -> Mapping[str, list[Mark]]:
    """Sort marks by what they name."""
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.entry, []).append(mark)
    return found


def marks_of(rule: Rule, marks: Mapping[str, Sequence[Mark]]) -> list[Mark]:
    """The marks that name a rule of this project, by its id or by a pattern."""
    return [m for name, named in marks.items() if fnmatchcase(rule.id, name) for m in named]


def _marks_in(path: Path, name: str) -> Iterator[Mark]:
    text = path.read_text(encoding="utf-8")
    if f"mark.{MARKER}" not in text:
        return
    tree = ast.parse(text)
    at_tests = list(_decorating(tree, name))
    everywhere = {id(mark) for mark in _marks_among(ast.walk(tree))}
    if everywhere != {id(call) for call, _ in at_tests}:
        raise ValueError(f"{name}: a mark '{MARKER}' decorates no test")
    for call, test in at_tests:
        for argument in call.args:
            match argument:
                case ast.Constant(value=str() as entries):
                    yield from (Mark(entry, test) for entry in entries.split())
                case _:
                    raise ValueError(f"{test}: a mark '{MARKER}' names an entry by no text")


def _decorating(tree: ast.AST, name: str) -> Iterator[tuple[ast.Call, str]]:
    """The marks that decorate tests, and classes of them, with the tests' names."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef() if node.name.lower().startswith("test"):
                test = f"{name}::{node.name}"
                yield from ((call, test) for call in _marks_among(node.decorator_list))
                if isinstance(node, ast.ClassDef):
                    yield from _decorating(node, test)


def _marks_among(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=attribute)) if attribute == MARKER:
                yield node


def text(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]) -> str:
    """Write what is below the head of the page."""
    lines = [f"{_summary(documents, marks)}\n"]
    for document in documents:
        lines.append(f"## {document.name}\n")
        lines.extend(_state(document.name))
        for entry in document.entries:
            lines.extend(_lines(entry, marks.get(entry.id, ())))
    own = own_rules(documents)
    lines.append(_OWN.format(**_counts(own)))
    for rule in own:
        lines.extend(_own(rule, marks_of(rule, marks)))
    return "\n".join(lines)


def _summary(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]) -> str:
    entries = list(all_entries(documents))
    tests = {mark.test for entry in entries for mark in marks.get(entry.id, ())}
    proofs = sum(test.startswith(PROOFS) for test in tests)
    applicable = sum(not entry.not_applicable for entry in entries)
    shown = f"{len(tests) - proofs} tests" + (f" and {proofs} proofs" if proofs else "")
    return (
        f"{len(documents)} documents, {len(entries)} entries: {applicable} that apply, shown by "
        f"{shown}, and {len(entries) - applicable} that do not."
    )


def _counts(own: Sequence[Rule]) -> Mapping[str, int]:
    analogous = sum(rule.source.standing is Standing.BY_ANALOGY for rule in own)
    return {"all": len(own), "analogous": analogous, "own": len(own) - analogous}


def _state(title: str) -> Iterator[str]:
    if known := TEXTS.get(title):
        checksum = known.sha256 or "not taken, for no clone has the commit"
        yield f"[{known.path}]({known.address}), last changed {known.date}. SHA-256: {checksum}.\n"


def _lines(entry: Entry, marks: Sequence[Mark]) -> Iterator[str]:
    yield f"### {entry.id}\n"
    tag = f" [{entry.tag}]" if entry.tag else ""
    yield f"- **Where:** {'; '.join(entry.places)}{tag}"
    yield f"- **Sentence:** {_quoted(entry.sentence) if entry.sentence else 'all others there'}"
    if entry.also:
        yield f"- **Also:** {'; '.join(map(_quoted, entry.also))}"
    if entry.not_applicable:
        yield f"- **Not applicable:** {entry.not_applicable}"
    yield from map(_rule, entry.rules)
    if entry.met:
        yield f"- **Met:** {entry.met}"
    code = dict.fromkeys((*map(requirement, entry.rules), *entry.code))
    if code:
        yield f"- **Code:** {_listed(code)}"
    yield from _shown(marks)


def _own(rule: Rule, marks: Sequence[Mark]) -> Iterator[str]:
    yield f"### {rule.id}\n"
    yield _rule(rule.id)
    yield f"- **Source:** {rule.source}. {rule.source.remark}"
    yield f"- **Code:** `{requirement(rule.id)}`"
    yield from _shown(marks)


def _rule(rule: str) -> str:
    return f"- **Rule:** [`{rule}`]({page_of(rule)}): {RULES[rule].sentence}"


def _shown(marks: Sequence[Mark]) -> Iterator[str]:
    tests = [mark.test for mark in marks if not mark.is_proof]
    proofs = [mark.test for mark in marks if mark.is_proof]
    if tests:
        yield f"- **Tests:** {_listed(tests)}"
    if proofs:
        yield f"- **Proofs:** {_listed(proofs)}"
    yield ""


def _listed(names: Sequence[str] | Mapping[str, None]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _quoted(sentence: str) -> str:
    # Quotations hold backticks of their own.
    return f"`` {sentence} ``"


def page_of(rule: str) -> str:
    """The section of a rule in the pages of the rules."""
    operator, point, _ = rule.partition(".")
    # What binds the whole graph, or values with a contract, has no operator in its name.
    page = operator.lower() if point and operator != CONTRACT else "graph"
    return f"rules/{page}.md#{rule.lower().replace('.', '')}"


def requirement(rule: str) -> str:
    """Where the procedure is written that decides a rule."""
    kind = type(RULES[rule].requirement)
    path = Path(inspect.getfile(kind)).resolve().relative_to(ROOT)
    return f"{path.as_posix()}:{kind.__name__}"
