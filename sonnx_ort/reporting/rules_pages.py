"""Writes the pages of the rules: `python -m sonnx_ort.reporting.rules_pages docs`.

There is an index, a page for each operator, and one for the rules of whole graphs.
"""

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sonnx_ort.meaning.documented import SIGNS
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.contract_rules import CONTRACT_RULES
from sonnx_ort.profile.graph import FINITE, GENERAL_RULES
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule
from sonnx_ort.reporting.explanation import (
    Explanation,
    describe_operator,
    explanation_of,
    explanations,
    grouped,
)

_INDEX = "rules.md"
_FOLDER = "rules"
_GRAPH = "graph"

_MADE_BY = "Made by `python -m sonnx_ort.reporting.rules_pages docs`."

_AGAINST_KERNELS = "\n".join(
    textwrap.wrap(
        f"{', '.join(f'`{r.id}`' for r in RULES.values() if r.needed_before)} are not rules of "
        "the profile. They exist only because kernels of ONNX Runtime were wrong, and each names "
        "the version before which it is needed. For the python backend, such a rule is proved if "
        "no older version is installed, and its kernels do not check it. The native backend "
        "always guards these rules, because any version may run its models. JSON reports mark "
        "them with `needed_before`.",
        100,
    )
)

_HEAD = f"""\
# The rules

Each operator has a page. It says what the operator computes, and what ONNX Runtime was measured to
do without enforcement. Each rule has

- the demand, its source and whose words it has;
- the tag of the same demand in later drafts of the SONNX working group;
- an example that keeps it, one that breaks it, and a remedy;
- the reason why it matters.

`sonnx-ort explain RULE` shows one rule. JSON reports give the source of each rule under `rules`.

{_MADE_BY}

## Where the documents leave something open

- Typed `Div` on floats states that B contains no null values, but also a formula that gives inf and
  NaN for them. sonnx_ort follows the formula, with the signs of IEEE 754, as the later drafts do.
  So a zero divisor of floats gives a result, and is no violation.
- The typed section on integers is still to be completed. `Div.int.*` is enforced there.
- No document and no later draft defines the smallest value divided by -1. ONNX Runtime ends the
  process for int32 and int64. Here it is a violation, `Div.int.C2`.
- A size of 0 cannot be broadcast with a size of 1. By the given document and the working group's
  draft it is neither the largest nor 1. The October drafts of Add, Sub and Mul allow it.
- The October drafts of Add, Sub and Mul allow operands that can be broadcast to a common shape. The
  working group's drafts, and every draft of Div, do not. Broadcasts are rejected, unless
  `broadcast="explicit"` makes them explicit, which satisfies both.

## Rules against kernels

{_AGAINST_KERNELS}

## By operator

| operator | rules |
| --- | --- |
"""

_GRAPH_HEAD = f"""\
# The whole graph

These rules apply to a whole graph instead of one operator. A model that breaks `GR1` is always
rejected. The other rules are enforced if `operators` is "profile" or has the name `Graph`. Else
violations of some of them are findings, which change no verdict. `{FINITE.id}` is selected by names
of its own, and runs check it. The rules of contracts bind the values that a
[contract](../how-to/contracts.md) names.

[All rules](../{_INDEX}). {_MADE_BY}
"""


def rules_pages() -> dict[str, str]:
    """All pages in Markdown, by their paths in the documentation."""
    of_graph = [rule.id for rule in GENERAL_RULES]
    bound = dict.fromkeys(of_graph, "every graph, in both editions")
    own = [FINITE.id, *(rule.id for rule in CONTRACT_RULES)]
    bound[FINITE.id] = "where it is selected, in both editions"
    bound |= dict.fromkeys(own[1:], "values with a contract, in both editions")
    graph = [_section(group, bound) for group in grouped(map(explanation_of, bound))]
    pages = {_path(name): _operator_page(operator) for name, operator in OPERATORS.items()}
    pages[_path(_GRAPH)] = "\n".join([_GRAPH_HEAD, *graph])
    rows = [_row(n, [r.id for r in operator.all_rules()]) for n, operator in OPERATORS.items()]
    rows.append(_row(_GRAPH, [*of_graph, *own], "the whole graph"))
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


def _row(name: str, identifiers: Iterable[str], shown: str | None = None) -> str:
    page = _path(name)
    links = ", ".join(f"[`{rule}`]({page}#{_anchor(rule)})" for rule in identifiers)
    return f"| [{shown or name}]({page}) | {links} |\n"


def _operator_page(operator: Operator) -> str:
    description = describe_operator(operator.name)
    head = [f"# {operator.name}", description.summary, *description.paragraphs]
    if operator.name in SIGNS:
        signs = f"Signs of zeros: {SIGNS[operator.name]}."
        head.append(f"{signs} The [audit](../audit.md) judges them so.")
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
    anchors = anchors if others else ""
    shared = {
        "Keeps it": f"`{first.example.kept}`. **Breaks it:** `{first.example.broken}`",
        "To fix it": first.example.remedy,
        "Why": first.why,
        "Against kernels": first.kernels,
    }
    rows = "".join(f"- **{name}:** {text}\n" for name, text in shared.items() if text)
    for each in group:
        later = f" In later drafts: `{each.later}`." if each.later else ""
        name = f"`{each.id}`" if others else "Source"
        stated = each.stated.removesuffix(".")
        rows += f"- **{name}:** {bound[each.id]}. {_linked(each)}; stated: {stated}.{later}\n"
    ids = ", ".join(each.id for each in group)
    return f"## {ids}\n\n{anchors}{first.sentence}\n\n{rows}"


def _linked(rule: Explanation) -> str:
    """The source of a rule, with a link to the state of the text that is followed."""
    # Brackets around a tag would end the link's words.
    words = rule.source.replace("[", "").replace("]", "")
    return f"[{words}]({rule.text})" if rule.text else rule.source


if __name__ == "__main__":
    write_rules_pages(Path(sys.argv[1]))
