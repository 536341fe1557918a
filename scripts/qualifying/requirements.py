"""The operational requirements, of functions and of rules, with the tests that verify them."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracing.entries import Document, all_entries, own_rules
from tracing.marks import Mark, marks_of
from tracing.page import page_of

from qualifying.markdown import code, table
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.contract_rules import CONTRACT_RULES
from sonnx_ort.profile.graph import FINITE, GENERAL_RULES


@dataclass(frozen=True, slots=True)
class Requirement:
    """An operational requirement, about a function of the tool or about a rule.

    Attributes:
        number: Its number, such as "TOR-F1", which never changes.
        rule: The rule that it is about; empty for one about a function.
        tests: The tests that verify it: files, or names in them.
        does: What the function does for its user, in sentences.
        by: The commands and public names that do it.
        entries: The entries of the traceability that have the rule and a test.
    """

    number: str
    rule: str
    tests: tuple[str, ...]
    does: str = ""
    by: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


def requirements(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> tuple[Requirement, ...]:
    """All requirements, in the order of their page."""
    return (*functions(), *_of_rules(documents, marks))


def functions() -> Iterator[Requirement]:
    """The requirements about functions."""
    content = tomllib.loads(Path(__file__).with_name("functions.toml").read_text("utf-8"))
    for one in content["function"]:
        tests, by = tuple(one["tests"]), tuple(one["by"])
        yield Requirement(f"TOR-F{one['number']}", "", tests, one["does"], by)


def _of_rules(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> Iterator[Requirement]:
    """Those about rules, as the index of their pages has them."""
    # A rule of this project is its own entry.
    entries = {rule.id: {rule.id: marks_of(rule, marks)} for rule in own_rules(documents)}
    for entry in all_entries(documents):
        for rule in entry.rules if marks.get(entry.id) else ():
            entries.setdefault(rule, {})[entry.id] = list(marks[entry.id])
    ordered = [rule.id for operator in OPERATORS.values() for rule in operator.all_rules()]
    for rule in dict.fromkeys(
        [*ordered, *(rule.id for rule in (*GENERAL_RULES, FINITE, *CONTRACT_RULES))]
    ):
        named = entries.get(rule, {})
        tests = dict.fromkeys(mark.test for found in named.values() for mark in found)
        number = f"TOR-{RULES[rule].code}"
        yield Requirement(number, rule, tuple(tests), entries=tuple(named))


def tables(demanded: Sequence[Requirement]) -> dict[str, str]:
    """The tables of the page, in Markdown."""
    return {
        "functions": table(
            ("number", "requirement", "by", "verified by"),
            ((r.number, r.does, code(r.by), code(r.tests)) for r in demanded if not r.rule),
        ),
        "commands": table(("command", "options"), map(_command, COMMANDS)),
        "rules": table(
            ("number", "rule", "requirement", "verified by"), (_rule(r) for r in demanded if r.rule)
        ),
    }


def _command(name: str) -> tuple[str, str]:
    options = [p.opts[0] for p in load(name).params if p.opts[0].startswith("-")]
    return f"`sonnx-ort {name}`", code(options)


def _rule(one: Requirement) -> tuple[str, ...]:
    anchors = {entry: entry.lower().replace(".", "") for entry in one.entries}
    links = [f"[{entry}](../traceability.md#{anchor})" for entry, anchor in anchors.items()]
    link = f"[`{one.rule}`](../{page_of(one.rule)})"
    return one.number, link, RULES[one.rule].sentence, ", ".join(links)
