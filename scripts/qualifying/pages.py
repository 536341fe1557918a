"""The operational requirements, the configuration index and the verification procedures."""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from environment import LOCKS, PYTHONS, ROOT
from traceability.entries import Document, own_rules
from traceability.page import Mark, marks_of, page_of

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.finite import FINITE
from sonnx_ort.profile.graph import GENERAL_RULES
from sonnx_ort.versions import TRIED

FOLDER = ROOT / "docs" / "qualification"
"""The folder of the pages."""

_HERE = Path(__file__).parent
_MADE_BY = "`python3 scripts/qualification.py` writes this page; a test fails if it is outdated."


@dataclass(frozen=True, slots=True)
class Function:
    """What the tool does for its user.

    Attributes:
        number: Its number, which never changes.
        does: What it does, in sentences.
        by: The commands and public names that do it.
        tests: The files and functions of the tests that verify it.
    """

    number: int
    does: str
    by: tuple[str, ...]
    tests: tuple[str, ...]


def read_functions() -> tuple[Function, ...]:
    """Read all functions."""
    content = tomllib.loads((_HERE / "functions.toml").read_text("utf-8"))
    return tuple(
        Function(entry["number"], entry["does"], tuple(entry["by"]), tuple(entry["tests"]))
        for entry in content["function"]
    )


def read_procedures() -> Mapping[str, str]:
    """What the tests of each folder show."""
    return tomllib.loads((_HERE / "procedures.toml").read_text("utf-8"))


def pages(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]) -> dict[str, str]:
    """The pages in Markdown, by their names."""
    return {
        "requirements.md": "\n".join(_requirements(documents, marks)) + "\n",
        "configuration.md": "\n".join(_configuration()) + "\n",
    }


def _requirements(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> Iterator[str]:
    traced = _entries_of_rules(documents, marks)
    yield f"""# Operational requirements

What the tool does for its user, numbered, with the tests that verify it. The numbers never change.
{_MADE_BY}

## Functions

| number | requirement | by | verified by |
| --- | --- | --- | --- |"""
    for function in read_functions():
        cells = (
            f"TOR-F{function.number}",
            function.does,
            *map(_code, (function.by, function.tests)),
        )
        yield _row(*cells)
    yield """
## Commands

Exit status 0: the profile is kept; 1: it is violated, or something differs; 2: unusable input or
arguments. The help of a command has its own.

| command | options |
| --- | --- |"""
    for name in COMMANDS:
        options = [p.opts[0] for p in load(name).params if p.opts[0].startswith("-")]
        yield _row(f"`sonnx-ort {name}`", _code(options))
    yield f"""
## Rules

For each of the {len(RULES)} rules: `check` reports a model that violates it in every run, and
`rewrite` rejects such a model if the rule is enforced and not waived. If a run can violate it, that
run of the rewritten model fails with the rule in the error. A run that keeps all rules passes.
[Design](../design.md#limits) has the limits. The number is the code of the rule, which is in the
last four digits of the dimension in the [error of a plain session](../native.md#how-a-run-fails).

The entries of the [traceability](../traceability.md) name the tests of each rule. Further tests,
mostly in `tests/profile`, verify the procedures that decide rules.
`tests/soundness/test_random_graphs.py` goes through every operator, and
`tests/soundness/test_held_by_runtime.py` through the rules that ONNX Runtime itself holds.

| number | rule | requirement | verified by |
| --- | --- | --- | --- |"""
    for identifier in _in_order():
        rule = RULES[identifier]
        links = [f"[{e}](../traceability.md#{_anchor(e)})" for e in traced.get(identifier, ())]
        link = f"[`{identifier}`](../{page_of(identifier)})"
        yield _row(f"TOR-{rule.code}", link, rule.sentence, ", ".join(links))


def _in_order() -> Iterator[str]:
    """The rules, as the index of their pages has them."""
    yield from dict.fromkeys(
        [rule.id for operator in OPERATORS.values() for rule in operator.all_rules()]
        + [rule.id for rule in (*GENERAL_RULES, FINITE)]
    )


def _entries_of_rules(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> Mapping[str, Sequence[str]]:
    """The entries with a test, by their rules; a rule of this project is its own."""
    found = {r.id: [r.id] for r in own_rules(documents) if marks_of(r, marks)}
    for document in documents:
        for entry in document.entries:
            for rule in entry.rules if marks.get(entry.id) else ():
                found.setdefault(rule, []).append(entry.id)
    return found


def _configuration() -> Iterator[str]:
    yield f"""# Configuration index and verification procedures

What a qualification has to identify, and how the tests are repeated.
{_MADE_BY}

## Versions

sonnx_ort {sonnx_ort.__version__}, with Python {PYTHONS[0]} to {PYTHONS[-1]}. The tests run with the
newest versions of this table, and those of soundness with the oldest ones too. `sonnx-ort
self-check` compares an installation with it.

| package | oldest supported | newest in the tests |
| --- | --- | --- |"""
    for package, (oldest, newest) in TRIED.items():
        yield _row(package, oldest, newest)
    yield """
## Files

The source files of a wheel are identified by the SHA-256 in its RECORD, which `sonnx-ort
self-check` compares with the installed files. These identify the rest:

| file | what it is | SHA-256 |
| --- | --- | --- |"""
    for path, what in _files():
        digest = hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
        yield _row(f"`{path}`", what, f"`{digest}`")
    yield """
## Verification procedures

In a copy of the repository, `python3 scripts/test.py` creates the environment of the lock file and
runs all tests, with some cases of each. These options are for a qualification:

| command | what it runs |
| --- | --- |
| `python3 scripts/test.py --fresh --thorough` | all cases and long tests, in a new environment |
| `python3 scripts/test.py --lowest` | the tests of soundness with the oldest supported packages |
| `python3 scripts/test.py --python 3.13` | any of this with another Python |
| `python3 scripts/test.py --models` | the tests of published models; needs a network |
| `python3 scripts/release.py` | builds the distributions, installs them and tries them |
| `sonnx-ort self-check` | the bundled models on the target machine |

Each command of this table runs one set of verification cases, after `scripts/test.py` has made the
environment. The expected result is always that no test fails.

| command | what the cases show |
| --- | --- |"""
    for folder, shows in read_procedures().items():
        # pytest leaves these out, because they need a network.
        by_script = folder == "real_models"
        command = (
            "python3 scripts/test.py --models" if by_script else f".venv/bin/pytest tests/{folder}"
        )
        yield _row(f"`{command}`", shows)


def _files() -> Iterator[tuple[str, str]]:
    yield "sonnx_ort.cdx.json", "the bill of materials, in CycloneDX 1.6; it is part of the wheel"
    for kind, file in LOCKS.items():
        yield file, f"the {kind} packages of the tests, with their hashes"
    yield "models/manifest.json", "the bundled models and the expected outcome of each case"
    yield "docs/report.schema.json", "the schema of JSON reports"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _anchor(entry: str) -> str:
    return entry.lower().replace(".", "")
