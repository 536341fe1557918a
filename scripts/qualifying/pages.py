"""The operational requirements, the configuration index and the verification procedures."""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from environment import LOCKS, PYTHONS, ROOT
from traceability.entries import Document, all_entries, own_rules
from traceability.page import Mark, marks_of, page_of

import sonnx_ort
from qualifying.markdown import code, row
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


@dataclass(frozen=True, slots=True)
class Requirement:
    """An operational requirement.

    Attributes:
        number: Its number, such as "TOR-F1".
        rule: The rule that it is about; empty for one about a function.
        tests: The tests that verify it: files, or names in them.
    """

    number: str
    rule: str
    tests: tuple[str, ...]


def read_functions() -> tuple[Function, ...]:
    """Read all functions."""
    content = tomllib.loads((_HERE / "functions.toml").read_text("utf-8"))
    return tuple(
        Function(entry["number"], entry["does"], tuple(entry["by"]), tuple(entry["tests"]))
        for entry in content["function"]
    )


def read_procedures() -> Mapping[str, str]:
    """What each set of verification cases shows, by its name."""
    return tomllib.loads((_HERE / "procedures.toml").read_text("utf-8"))


TOP = "test_*.py"
"""The name of the set of tests that lie in no folder of `tests/`."""


def set_of(file: str) -> str:
    """The set of verification cases that a file of tests belongs to."""
    _, *folders, _ = Path(file).parts
    return folders[0] if folders else TOP


def command_of(name: str) -> str:
    """The command that runs a set of verification cases."""
    # pytest leaves these out, because they need a network.
    by_script = name == "real_models"
    return "python3 scripts/test.py --models" if by_script else f".venv/bin/pytest tests/{name}"


def requirements(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> tuple[Requirement, ...]:
    """All requirements, in the order of their page."""
    traced = _marks_of_rules(documents, marks)
    of_functions = (Requirement(f"TOR-F{f.number}", "", f.tests) for f in read_functions())
    of_rules = (
        Requirement(
            f"TOR-{RULES[rule].code}",
            rule,
            tuple(dict.fromkeys(m.test for named in traced[rule].values() for m in named)),
        )
        for rule in _in_order()
    )
    return (*of_functions, *of_rules)


def pages(documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]) -> dict[str, str]:
    """The pages in Markdown, by their names."""
    return {
        "requirements.md": "\n".join(_requirements(documents, marks)) + "\n",
        "configuration.md": "\n".join(_configuration()) + "\n",
    }


def _requirements(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> Iterator[str]:
    traced = _marks_of_rules(documents, marks)
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
            *map(code, (function.by, function.tests)),
        )
        yield row(*cells)
    yield """
## Commands

Exit status 0: the profile is kept; 1: it is violated, or something differs; 2: unusable input or
arguments. The help of a command has its own.

| command | options |
| --- | --- |"""
    for name in COMMANDS:
        options = [p.opts[0] for p in load(name).params if p.opts[0].startswith("-")]
        yield row(f"`sonnx-ort {name}`", code(options))
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
        links = [f"[{e}](../traceability.md#{_anchor(e)})" for e in traced[identifier]]
        link = f"[`{identifier}`](../{page_of(identifier)})"
        yield row(f"TOR-{rule.code}", link, rule.sentence, ", ".join(links))


def _in_order() -> Iterator[str]:
    """The rules, as the index of their pages has them."""
    yield from dict.fromkeys(
        [rule.id for operator in OPERATORS.values() for rule in operator.all_rules()]
        + [rule.id for rule in (*GENERAL_RULES, FINITE)]
    )


def _marks_of_rules(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> Mapping[str, Mapping[str, Sequence[Mark]]]:
    """The marks of the entries of each rule; a rule of this project is its own entry."""
    found: dict[str, dict[str, Sequence[Mark]]] = {rule: {} for rule in RULES}
    for rule in own_rules(documents):
        found[rule.id][rule.id] = marks_of(rule, marks)
    for entry in all_entries(documents):
        for identifier in entry.rules if marks.get(entry.id) else ():
            found[identifier][entry.id] = marks[entry.id]
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
        yield row(package, oldest, newest)
    yield """
## Files

The source files of a wheel are identified by the SHA-256 in its RECORD, which `sonnx-ort
self-check` compares with the installed files. These identify the rest:

| file | what it is | SHA-256 |
| --- | --- | --- |"""
    for path, what in _files():
        digest = hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
        yield row(f"`{path}`", what, f"`{digest}`")
    yield """
## Verification procedures

In a copy of the repository, `python3 scripts/test.py` creates the environment of the lock file and
runs all tests, with some cases of each. These options are for a qualification:

| command | what it runs |
| --- | --- |
| `python3 scripts/test.py --fresh --thorough` | all cases and long tests, in a new environment |
| `python3 scripts/test.py --lowest` | the tests of soundness and kernels with the oldest packages |
| `python3 scripts/test.py --python 3.13` | any of this with another Python |
| `python3 scripts/test.py --models` | the tests of published models; needs a network |
| `python3 scripts/test.py --junit-xml FILE` | any of this, and writes its results to a file |
| `python3 scripts/release.py` | builds the distributions, installs them and tries them |
| `sonnx-ort self-check` | the bundled models on the target machine |

To repeat the results of a commit, check it out and run `python3 scripts/test.py --junit-xml FILE
tests`, which takes all cases but the long ones; `--thorough` takes these too. Then `python3
scripts/qualification.py results FILE` writes [the page of results](results.md), also from several
files. The exit status is 1 if a test failed, or if one of a requirement did not run.

Each command of this table runs one set of verification cases, after `scripts/test.py` has made the
environment. The expected result is always that no test fails.

| command | what the cases show |
| --- | --- |"""
    for name, shows in read_procedures().items():
        yield row(f"`{command_of(name)}`", shows)


def _files() -> Iterator[tuple[str, str]]:
    yield "sonnx_ort.cdx.json", "the bill of materials, in CycloneDX 1.6; it is part of the wheel"
    for kind, file in LOCKS.items():
        whose = "demo" if kind == "runtime" else "tests"
        yield file, f"the {kind} packages of the {whose}, with their hashes"
    yield "models/manifest.json", "the bundled models and the expected outcome of each case"
    yield "docs/report.schema.json", "the schema of JSON reports"


def _anchor(entry: str) -> str:
    return entry.lower().replace(".", "")
