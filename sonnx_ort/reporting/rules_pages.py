"""Writes the pages of the rules: `python -m sonnx_ort.reporting.rules_pages docs`.

There is an index, a page for each operator, and one for the rules of whole graphs.
"""

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.finite import FINITE
from sonnx_ort.profile.graph import GENERAL_RULES
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule
from sonnx_ort.reporting.explanation import (
    Explanation,
    alike,
    describe_operator,
    explanation_of,
    explanations,
)

_INDEX = "rules.md"
_FOLDER = "rules"
_GRAPH = "graph"

_MADE_BY = "Made by `python -m sonnx_ort.reporting.rules_pages docs`."

_AGAINST_KERNELS = "\n".join(
    textwrap.wrap(
        f"{', '.join(f'`{r.id}`' for r in RULES.values() if r.needed_before)} are no rules of the "
        "profile: they exist only because kernels of ONNX Runtime were wrong, and say before "
        "which version. With the python backend, and in `check` for it, such a rule is proved "
        "where no older version is installed, and its kernels let the results pass. A model that "
        "the native backend enforces is a file that any version may run: its guards stay. "
        "`needed_before` in JSON reports tells these rules apart.",
        100,
    )
)

_HEAD = f"""\
# The rules

Each operator has a page. It says what the operator computes and what ONNX Runtime does today where
nothing enforces its rules, as measured; and of each rule what it demands, where that is written,
whose rule and whose words it is, the permanent tag of the same demand in the later drafts of the
SONNX working group, why it matters, what keeps and what breaks it, and how to mend that.
`sonnx-ort explain RULE` tells of one rule; JSON reports carry where it is written, under `rules`.

{_MADE_BY}

## Where the documents leave something open

- Typed `Div` on floats states that B contains no null values, and a formula that gives inf and
  NaN for them. The formula is followed, with the signs of IEEE 754, as the later drafts say too:
  a zero divisor of floats is a result, no violation.
- The typed section on integers is still to be completed. What is enforced there is `Div.int.*`.
- What the smallest value divided by -1 is, no document and no later draft says. ONNX Runtime ends
  the process at int32 and int64; here it is a violation, `Div.int.C2`.
- A size of 0 against a size of 1 cannot be broadcast: by the given document and the working
  group's draft it is neither the largest nor 1. The October drafts of Add, Sub and Mul admit it.
- The October drafts of Add, Sub and Mul admit operands that can be broadcast to a common shape; the
  working group's drafts, and every draft of Div, do not. Broadcasting is rejected, unless
  `broadcast="explicit"` writes it out: that satisfies both.

## Rules against kernels

{_AGAINST_KERNELS}

## By operator

| operator | rules |
| --- | --- |
"""

_GRAPH_HEAD = f"""\
# The whole graph

What binds a graph rather than one operator. A model that breaks `GR1` is rejected in any case, and
one that breaks another of these rules if they are asked for, by `operators="profile"` or by the
name `Graph` beside those of operators. Otherwise some of them are told as findings, and change no
verdict. `{FINITE.id}` is none of them: it has names of its own, and runs decide it.

[All rules](../{_INDEX}). {_MADE_BY}
"""


def rules_pages() -> dict[str, str]:
    """All pages in Markdown, by their paths in the documentation."""
    of_graph = [rule.id for rule in GENERAL_RULES]
    bound = dict.fromkeys(of_graph, "every graph, in both editions")
    bound[FINITE.id] = "where it is asked for, in both editions"
    graph = [_section(group, bound) for group in alike(map(explanation_of, bound))]
    pages = {_path(name): _operator_page(operator) for name, operator in OPERATORS.items()}
    pages[_path(_GRAPH)] = "\n".join([_GRAPH_HEAD, *graph])
    rows = [_row(name, _ids(operator)) for name, operator in OPERATORS.items()]
    rows.append(_row(_GRAPH, [*of_graph, FINITE.id], "the whole graph"))
    return {_INDEX: _HEAD + "".join(rows), **pages}


def write_rules_pages(folder: Path) -> None:
    """Write all pages into the documentation's folder, and remove those of former operators."""
    pages = rules_pages()
    (folder / _FOLDER).mkdir(parents=True, exist_ok=True)
    for page in (folder / _FOLDER).glob("*.md"):
        if page.relative_to(folder).as_posix() not in pages:
            page.unlink()
    for path, text in pages.items():
        (folder / path).write_text(text, encoding="utf-8")


def _path(name: str) -> str:
    return f"{_FOLDER}/{name.lower()}.md"


def _anchor(identifier: str) -> str:
    """The anchor that Markdown renderers generate for a heading that is an id."""
    return identifier.lower().replace(".", "")


def _ids(operator: Operator) -> list[str]:
    return [rule.id for rule in operator.all_rules()]


def _row(name: str, identifiers: Iterable[str], shown: str | None = None) -> str:
    page = _path(name)
    links = ", ".join(f"[`{rule}`]({page}#{_anchor(rule)})" for rule in identifiers)
    return f"| [{shown or name}]({page}) | {links} |\n"


def _operator_page(operator: Operator) -> str:
    description = describe_operator(operator.name)
    head = [f"# {operator.name}", description.summary, *description.paragraphs]
    versions = ", ".join(map(str, operator.versions))
    named = f"Versions of the operator: {versions}. [All rules](../{_INDEX}). {_MADE_BY}"
    bound = {rule.id: _bound(operator, rule) for rule in operator.all_rules()}
    sections = (_section(group, bound) for group in explanations(operator.name))
    return "\n".join([*(f"{text}\n" for text in (*head, named)), *sections])


def _bound(operator: Operator, rule: Rule) -> str:
    """The editions and families of types for which a rule applies."""
    families = {
        edition: ", ".join(family for family, rules in contract.items() if rule in rules)
        for edition, contract in operator.contracts.items()
    }
    if len(families) > 1 and len(set(families.values())) == 1:
        return f"both editions, {families[Edition.TYPED]}"
    return "; ".join(f"{edition} edition, {names}" for edition, names in families.items() if names)


def _section(group: Sequence[Explanation], bound: Mapping[str, str]) -> str:
    """What rules demand that share their words, and where each is written."""
    first, *others = group
    anchors = "".join(f'<a id="{_anchor(each.id)}"></a>' for each in group)
    # The heading of a single rule is its anchor.
    anchors = f"{anchors}\n\n" if others else ""
    shared = {
        "Keeps it": f"`{first.example.kept}`",
        "Breaks it": f"`{first.example.broken}`",
        "To mend it": first.example.mended,
        "Why": first.why,
        "Against kernels": first.kernels,
    }
    rows = "".join(f"- **{name}:** {text}\n" for name, text in shared.items() if text)
    for each in group:
        later = f" In later drafts: `{each.later}`." if each.later else ""
        name = f"`{each.id}`" if others else "Source"
        stated = each.stated.removesuffix(".")
        rows += f"- **{name}:** {bound[each.id]}. {each.source}; {stated}.{later}\n"
    ids = ", ".join(each.id for each in group)
    return f"## {ids}\n\n{anchors}{first.sentence}\n\n{rows}"


if __name__ == "__main__":
    write_rules_pages(Path(sys.argv[1]))
