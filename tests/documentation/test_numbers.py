"""Numbers of pages that follow from the code or from records: each is computed again here."""

import csv
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import checks
import pytest
import trusted
import typer
from environment import PYTHONS
from fuzzing.extremes import extremes
from model_builders import writer

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.checker import strict_reading
from sonnx_ort.cli import application
from sonnx_ort.conforming import change, products, verified
from sonnx_ort.facts import accuracy, arithmetic, fatal_shapes
from sonnx_ort.loading import external_data, growth
from sonnx_ort.meaning.domains import _EXACT_IN_DOUBLE
from sonnx_ort.models.example import Classification
from sonnx_ort.profile.catalog import OPERATOR_SET, OPERATORS, OperatorStanding, standing_of
from sonnx_ort.reporting import terminal
from sonnx_ort.runs import bodies, limits, value_files
from sonnx_ort.runs.audit import audited_node, enclosing
from sonnx_ort.runs.diff import deviations
from sonnx_ort.runs.reduce import shrinking
from sonnx_ort.vectors import suite as vectors
from sonnx_ort.versions import TRIED
from support import chosen_cases, time_limits
from support.pages import REPOSITORY
from support.patterns import PATTERNS

DOCUMENTATION = REPOSITORY / "docs"
RECORDS = DOCUMENTATION / "records"
OLDEST, NEWEST = TRIED["onnxruntime"]


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def pinned(package: str) -> str:
    lock = (REPOSITORY / "requirements.lock").read_text("utf-8")
    (version,) = re.findall(rf"^{package}==([\d.]+)", lock, re.MULTILINE)
    return str(version)


def recorded(name: str) -> Any:
    return json.loads((RECORDS / name).read_text("utf-8"))


def table(name: str) -> list[dict[str, str]]:
    with (RECORDS / "real_models" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def numbers(cell: str) -> list[int]:
    """The numbers of a cell, such as `1,461 / 230 / 45` or `111 -> 99`."""
    return [int(number) for number in re.findall(r"\d+", cell.replace(",", ""))]


def sums(rows: list[dict[str, str]], column: str) -> list[int]:
    """The sums of the numbers that stand at the same place of a column's cells."""
    cells = (numbers(row[column]) for row in rows if row[column] != "-")
    return [sum(column) for column in zip(*cells, strict=True)]


def versions() -> Iterator[tuple[str, str]]:
    supported = f"Python {PYTHONS[0]} to {PYTHONS[-1]}"
    runtimes = f"ONNX Runtime {minor(OLDEST)} to {minor(NEWEST)}"
    yield "CHANGELOG.md", f"It supports {supported} and {runtimes}."
    yield "README.md", f"needs {supported}"
    yield "docs/start.md", f"Python {PYTHONS[0]} or later"
    yield "CONTRIBUTING.md", f"It needs only Python {PYTHONS[0]} or newer."
    yield "docs/native.md", runtimes
    yield "docs/native.md", f"the libraries of ONNX Runtime {OLDEST} and {NEWEST} for x86-64 show"
    yield "docs/bounds.md", f"measured with ONNX Runtime {minor(NEWEST)}."
    yield (
        "docs/campaigns.md",
        f"The newest supported version of ONNX Runtime, {NEWEST}, and the oldest, {OLDEST},",
    )
    yield (
        "docs/findings.md",
        (
            f"with onnxruntime {NEWEST}, "
            f"onnxruntime-extensions {TRIED['onnxruntime-extensions'][1]}, "
            f"onnx {TRIED['onnx'][1]} and numpy {TRIED['numpy'][1]} on"
        ),
    )
    yield (
        "docs/proofs.md",
        f"z3-solver {pinned('z3-solver')} and bitwuzla {pinned('bitwuzla')}",
    )


def limits_of_the_code() -> Iterator[tuple[str, str]]:
    audit, conform = "docs/audit.md", "docs/how-to/conform.md"
    standings = (
        standing_of(OPERATORS[name].domain if name in OPERATORS else "", name)
        for name in OPERATORS.keys() | OPERATOR_SET
    )
    operators = sum(standing is not OperatorStanding.OUTSIDE for standing in standings)
    yield audit, f"More than {audited_node._MOST_READS:,} of them are not computed."
    yield audit, f"Loops of more than {bodies.MOST_STEPS:,} steps"
    assert bodies._AUDITED_STEPS == 4
    yield audit, "Of a loop, four steps are audited"
    assert enclosing.LIMIT == 10_000_000
    yield audit, "the model may have ten million operations"
    yield "docs/how-to/audit.md", f"A name of more than {value_files._LONGEST} characters"
    samples = inspect.signature(sonnx_ort.audit).parameters["samples"].default
    yield "docs/how-to/audit.md", f"By default at most {samples} elements of each result"
    margin = inspect.signature(sonnx_ort.propose_contract).parameters["margin"].default
    yield "docs/how-to/contracts.md", f"`--margin {margin}`, the default,"
    yield "docs/how-to/contracts.md", f"is at most {arithmetic.SLACK} units of its type away"
    yield "models/README.md", f"tensors of more than {writer.LARGEST_IN_JSON} elements"
    yield "docs/report.md", f"for people, in {terminal.WIDTH} columns"
    seconds = f"| {limits.SECONDS}; {vectors.SECONDS} for `suite` |"
    yield "docs/how-to/compare.md", seconds
    yield "docs/how-to/vectors.md", f"takes {vectors.SECONDS} seconds (`--time-limit`)"
    yield (
        "docs/how-to/compare.md",
        f"more than {growth.MOST_NODES:,} nodes then, and more than {growth._MOST_TIMES} times its",
    )
    yield conform, f"at most {change.MOST_STEPS} or as `--unroll` says"
    yield conform, f"MatMul of batches of up to {products.MOST_MATRICES} matrices"
    yield conform, f"(up to opset {verified.NEWEST['']})"
    yield conform, f"| {len(deviations.SCALES)} random |"
    yield conform, f"The profile has {operators} operators."
    yield "docs/how-to/reduce.md", f"it ended after {shrinking.MOST_TRIES // 2:,} tries"
    yield "docs/native.md", f"from {external_data.LARGE >> 10} KiB on"
    assert fatal_shapes.MOST_AXES == 2**19
    yield "docs/findings.md", "results of more than 2^19 axes"
    assert _EXACT_IN_DOUBLE == 2**53
    yield "docs/exhaustive.md", "exact up to 2^53"
    known = strict_reading.VERSIONS
    yield "docs/certificates.md", f"for versions {known[0]} to {known[-1]} of the opset"
    assert accuracy.SAFETY == 4
    yield "docs/design.md", "by four times the largest error"
    yield (
        "docs/design.md",
        (
            f"by {arithmetic.SLACK} units of the type; - "
            f"for a sum of n terms by {arithmetic._OF_SUMS} (n + {arithmetic._OF_SUMS}) units"
        ),
    )
    yield "docs/campaigns.md", f"the rules count every error {accuracy.SAFETY} times"


def constant(file: str, name: str) -> int:
    """A number that a file of the tests defines."""
    text = (REPOSITORY / "tests" / file).read_text("utf-8")
    (number,) = re.findall(rf"^{name} = (\d+)$", text, re.MULTILINE)
    return int(number)


def sizes_of_tests() -> Iterator[tuple[str, str]]:
    parts = chosen_cases.PARTS
    assert (checks._CASES, parts) == (2, 10)  # "two", "a tenth"
    yield "CONTRIBUTING.md", f"two cases of each, or a tenth if a test has more than {2 * parts}"
    integration = (REPOSITORY / ".ci" / "run").read_text("utf-8").replace("\\\n", "")
    (cases,) = re.findall(r"--cases +(\d+) --durations", integration)
    graphs, splices, runs, examples = re.findall(r"SONNX_ORT_\w+=(\d+)", integration)
    yield "CONTRIBUTING.md", f"the long tests too, with {cases} cases of each test or a tenth"
    trials = f"{graphs} random graphs, {splices} splices, {runs} runs of each operator"
    yield "CONTRIBUTING.md", f"{trials} and {examples} examples of hypothesis"
    # What only concerns this run, such as its files, is not on the page.
    called = r"^[^#\n]*?(scripts/(?:\w+\.py|emulated\.sh).*)"
    for command in re.findall(called, integration, re.MULTILINE):
        said = re.split(r" (?:--durations|build|dist)", command)[0]
        yield "CONTRIBUTING.md", f"`{' '.join(said.split())}`"
    yield "CONTRIBUTING.md", f"The cases of a test are in {parts} parts"
    (often,) = checks._RUNS_OF_NUMBERS.values()
    yield "CONTRIBUTING.md", f"`--lowest` runs each operator {often} times"
    runs = chosen_cases.runs_that_reach_all(0.99)
    yield "CONTRIBUTING.md", f"{runs} commits have all parts with a probability of 99 %"
    yield "CONTRIBUTING.md", "runs all of them each week, by `SONNX_ORT_PART`"
    yield "CONTRIBUTING.md", f"A test that takes longer than {time_limits.SECONDS:g} seconds fails"
    longest = time_limits.THOROUGH_SECONDS
    yield "CONTRIBUTING.md", f"one of the long tests after {longest:g}"
    examples = (REPOSITORY / "tests" / "conftest.py").read_text("utf-8")
    (default,) = re.findall(r'"SONNX_ORT_EXAMPLES", "(\d+)"', examples)
    yield "docs/mutants.md", f"examples are {checks._SHARE['SONNX_ORT_EXAMPLES']}, not {default}"
    text = (REPOSITORY / "tests" / "soundness" / "test_proofs_against_runs.py").read_text("utf-8")
    (counts,) = re.findall(r"^DEFAULTS = \{(.*)\}$", text, re.MULTILINE)
    yield "docs/campaigns.md", f"The tests of `--thorough` try {sum(numbers(counts))} such graphs"
    graphs = constant("soundness/test_random_graphs.py", "DEFAULT")
    yield "docs/design.md", f"{graphs} random graphs are"
    optimizers = {pattern.optimizer for pattern in PATTERNS.values()}
    yield "docs/design.md", f"a model for each of {len(optimizers)} optimizers"
    alone = constant("conformance/test_every_element.py", "MOST_ALONE")
    yield "docs/exhaustive.md", f"at most {alone:,} of them"


def records() -> Iterator[tuple[str, str]]:
    page, units = "docs/exhaustive.md", recorded("units.json")
    yield page, f"what ONNX Runtime {units['made_by']['onnxruntime']} does on x86-64"
    for operator, worst, floats in (("Log", (3, 2), "positive floats"), ("Acos", (4, 3), "floats")):
        counted = units["operators"][operator]
        first, second = (f"{counted['units'][str(number)]:,}" for number in worst)
        of_all = f"of all {counted['floats']:,} {floats}"
        between = " between -1 and 1" if operator == "Acos" else ""
        yield page, f"{worst[0]} units at {first} {of_all}{between}, {worst[1]} at {second}"


def campaigns() -> Iterator[tuple[str, str]]:
    page = "docs/campaigns.md"
    forged = sum(part["forged"] for part in recorded("forged_certificates.json")["parts"])
    yield "docs/certificates.md", f"Of {forged:,} such forgeries none was accepted"
    counts: Counter[str] = Counter()
    for part in recorded("changes.json")["parts"]:
        counts.update(part["counts"])
    yield (
        page,
        (
            f"Of {counts['models']:,} models with {counts['changes']:,} changes, "
            f"{counts['runs that are refused']:,} of {counts['runs']:,} runs were refused"
        ),
    )
    yield page, f"Of {len(list(extremes())):,} extremes,"
    newest = recorded("accuracy.json")[NEWEST]["sweeps"]
    for element_type in ("float", "float16", "double"):
        number = f"{newest[f'Exp {element_type}']['of']:,}"
        of_all = "" if element_type == "double" else "all "
        yield page, f"| {element_type} | {of_all}{number}"
    own = len(recorded("fuzzing.json")["runtimes_own"])
    yield page, f"ends the process or does not finish: {own},"
    benchmarks = (DOCUMENTATION / "benchmarks.md").read_text("utf-8")
    (added,) = re.findall(r"^\| float32, in the run \| ([\d.]+) /", benchmarks, re.MULTILINE)
    yield "README.md", f"{float(added):.1f} us for a float Div"


def bundled_models() -> Iterator[tuple[str, str]]:
    found = {
        example.name: case.expected
        for example in models.examples()
        for case in example.cases
        if isinstance(case.expected, Classification)
    }
    digits, convolutional = found["digits"], found["digits_convolutional"]
    images = len(digits.labels)
    yield "docs/real_models.md", f"{digits.correct} of the {images} images of its test set"
    yield (
        "models/README.md",
        f"{digits.correct} of the {images} right before the rewrite and after it",
    )
    yield "models/README.md", f"and gets {convolutional.correct} right."


def published_models() -> Iterator[tuple[str, str]]:
    page, conformed = "docs/real_models.md", table("conforming")
    (before,) = sums(conformed, "before")
    shares = {}
    for column, row in {
        "safe": "safe",
        "rounding": "with `--rounding`",
        "with outputs named": "with `--rounding` and `--name-outputs`",
    }.items():
        left = [numbers(each[column])[0] for each in conformed]
        shares[column] = f"{100 * (1 - sum(left) / before):.1f} %"
        yield page, f"| {row} | {sum(left):,} | {left.count(0)} |"
    yield (
        page,
        (
            f"fixes {shares['safe']} of the {before:,} violations in these models by safe "
            f"changes, and {shares['rounding']} with `--rounding`"
        ),
    )
    yield page, f"models without any, of {len(conformed)} |"
    profile = table("profile")
    (nodes,) = sums(profile, "nodes")
    yield page, f"{len(profile)} models with {nodes:,} nodes"
    for column in ("draft", "general", "outside"):
        (count,) = sums(profile, column)
        yield page, f"| {count:,} | {100 * count / nodes:.1f} % |"
    for column in ("default", "profile"):
        counts = " | ".join(f"{count:,}" for count in sums(profile, column))
        yield page, f'| `operators="{column}"` | {counts} |'
    for level, column in (("Unoptimized", "unoptimized"), ("ORT_ENABLE_ALL", "ORT_ENABLE_ALL")):
        counts = sums(table("audits"), column)
        kinds = ("exact", "admitted", "outside", "not known")
        told = (
            f"{count:,} {kind} ({100 * count / sum(counts):.1f}%)"
            for count, kind in zip(counts, kinds, strict=True)
        )
        yield page, f"{level}: {', '.join(told)}."
    contract = table("contract")
    finite = Counter(len(set(numbers(row["finite"]))) for row in contract)
    yield page, f"proves of {len(contract)} of the published models"
    yield page, f"Every float of {finite[1]} models is proved finite"
    without, within = sums(contract, "checked")
    yield page, f"Of checks of any kind it is {without:,} and {within:,}."
    divided = table("div_and_sub")
    yield page, f"all {len(divided)} models in the packages"
    used = sum(row["Div and Sub"] != "0" for row in divided)
    yield page, f"over the {used} models with a Div or Sub"


STATED = [
    *versions(),
    *limits_of_the_code(),
    *sizes_of_tests(),
    *records(),
    *campaigns(),
    *bundled_models(),
    *published_models(),
]
"""Pages, each with what it has to say."""


@pytest.mark.parametrize(("page", "said"), STATED)
def test_page_says_what_follows(page: str, said: str) -> None:
    assert said in " ".join((REPOSITORY / page).read_text("utf-8").split())


def test_pages_say_how_many_lines_have_to_be_trusted() -> None:
    alone, limited, both, checked = (trusted.measured(what) for what in trusted.LOADED)
    rows = {
        "a certificate of one model": alone,
        "a certificate under a contract": limited,
        "a certificate of an enforced model": both,
        "without a certificate, a check that is proved": checked,
    }
    for what, size in rows.items():
        lines, code = round(size.lines, -2), round(size.code, -2)
        row = f"| {what} | {size.files} | {lines:,} | {code:,} |"
        test_page_says_what_follows("docs/certificates.md", row)
    test_page_says_what_follows(
        "README.md", f"rests on some {round(alone.lines, -2):,} lines of Python"
    )
    test_page_says_what_follows(
        "docs/qualification/safety_manual.md",
        f"rests on some {round(checked.lines, -2):,} lines of Python, and with a certificate of "
        f"both models on {round(both.lines, -2):,}:",
    )


PAGES = [
    *(page for page in DOCUMENTATION.rglob("*.md") if page.parent.name != "rules"),
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "models/README.md")),
]

ELSEWHERE = {"sonnx_ort/analysis", "sonnx_ort/rewriting"}
"""Folders by their names at the time of a record, which the page says."""

BY_THE_READER = {"CONTRIBUTING.md"}
"""Pages that have their reader write files, as `tests/test_contributing.py` does."""

PLACE = re.compile(r"`((?:tests|scripts|sonnx_ort|custom_ops|models|examples)/[\w/.-]*\w)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = set(PLACE.findall(page.read_text("utf-8"))) - ELSEWHERE
    if page.name not in BY_THE_READER:
        assert [file for file in named if not (REPOSITORY / file).exists()] == []


def options_of(command: Any) -> set[str]:
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def options_of_commands() -> set[str]:
    commands = (application.load(name) for name in application.COMMANDS)
    return options_of(typer.main.get_command(application.app)).union(*map(options_of, commands))


@pytest.mark.parametrize(
    ("page", "behind", "option"),
    [
        ("docs/how-to/compare.md", "run a model in a process of its own", "--time-limit"),
        ("docs/how-to/compare.md", "make up the inputs", "--size"),
        ("docs/how-to/conform.md", "draw random inputs within it", "--size"),
    ],
)
def test_page_lists_the_commands_that_have_an_option(page: str, behind: str, option: str) -> None:
    text = " ".join((REPOSITORY / page).read_text("utf-8").split())
    (listed,) = re.findall(rf"((?:`[a-z-]+(?: --[a-z-]+)?`(?:, | and | )?)+){behind}", text)
    assert set(re.findall(r"`([a-z-]+)", listed)) == {
        name for name in application.COMMANDS if option in options_of(application.load(name))
    }


def options_of_scripts() -> set[str]:
    """What scripts take: options by calls, and those of tables and lists of names."""
    scripts = REPOSITORY / "scripts"
    files = (*scripts.rglob("*.py"), REPOSITORY / "tests" / "conftest.py")
    by_calls = {
        option for file in files for option in re.findall(r'"(--[a-z-]+)"', file.read_text("utf-8"))
    }
    by_names = {
        f"--{name}"
        for file in (scripts / "records.py", scripts / "test.py")
        for name in re.findall(r'^ +\(?"([a-z-]+)"[:,]', file.read_text("utf-8"), re.MULTILINE)
    }
    return by_calls | by_names


def test_options_that_pages_name_are_options() -> None:
    known = options_of_commands() | options_of_scripts()
    named = {
        (page.name, option)
        for page in PAGES
        for code in re.findall(r"`([^`\n]*)`", page.read_text("utf-8"))
        if not re.search(r"\bpip |^pytest ", code)
        for option in re.findall(r"(?<!\S)(--[a-z][a-z-]+)", code)
    }
    assert {each for each in named if each[1] not in known} == set()
