"""What pages say of the code, such as lists and numbers, is what the code has."""

import re
from collections.abc import Set as AbstractSet

import pytest

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.conforming.bounds import Bound, Reference
from sonnx_ort.conforming.decomposing import TEMPLATES
from sonnx_ort.meaning.documented import OPERATIONS
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.graph import CONTRACT
from sonnx_ort.profile.rule import Subject
from sonnx_ort.runs.bodies import MOST_STEPS
from support.graphs import parse
from support.pages import REPOSITORY


def text_of(page: str) -> str:
    """A page on one line."""
    return " ".join((REPOSITORY / page).read_text(encoding="utf-8").split())


def between(page: str, start: str, end: str) -> str:
    """What a page says between two texts, of which the first occurs once."""
    text = text_of(page)
    assert text.count(start) == 1, (page, start)
    return text.partition(start)[2].partition(end)[0]


def quoted(text: str) -> set[str]:
    """What a text has in backticks."""
    return set(re.findall(r"`([^`]+)`", text))


def test_list_for_language_models_has_all_commands_and_the_functions_of_their_names() -> None:
    listed = between("docs/llms.txt", "The commands of `sonnx-ort` are ", ". ")
    assert quoted(listed) == set(COMMANDS)
    functions = between("docs/llms.txt", "In Python there are `sonnx_ort.", "; ")
    named = {name.replace("-", "_") for name in COMMANDS}
    assert quoted("`" + functions) == named & set(sonnx_ort.__all__)


def with_options(*options: str) -> set[str]:
    """The commands that have all of these options."""
    return {
        name
        for name in COMMANDS
        if {*options} <= {option for parameter in load(name).params for option in parameter.opts}
    }


@pytest.mark.parametrize(("page", "start", "end", "options"), [
    ("docs/how-to/compare.md", "## Inputs ", " make up the inputs", ("--seed", "--contract")),
    ("docs/how-to/compare.md", "more memory than there is. So ", " run a model", ("--time-limit",)),
    ("docs/how-to/conform.md", "a certificate without it is rejected. - ", " draw random inputs",
     ("--seed", "--contract")),
    ("docs/how-to/contracts.md", "that is never near zero. With a contract, ", " draw them",
     ("--seed", "--contract")),
    ("docs/how-to/contracts.md", "keeps its contract in its metadata. ", "`InferenceSession`",
     ("--contract",)),
    ("docs/waivers.md", "a list of `Waiver` objects. ", " take a file", ("--waivers",)),
    ("CHANGELOG.md", "- `--time-limit` and `--memory-limit` of ", " end a run",
     ("--memory-limit",)),
])  # fmt: skip
def test_page_names_the_commands_with_an_option(
    page: str, start: str, end: str, options: tuple[str, ...]
) -> None:
    quotations = quoted(between(page, start, end)) - {*options}
    said = {name.removeprefix("sonnx-ort ") for name in quotations}
    assert {name.split()[0] for name in said} == with_options(*options)


def test_page_of_operators_names_the_commands_that_take_the_whole_profile() -> None:
    defaults = {
        name: parameter.default
        for name in COMMANDS
        for parameter in load(name).params
        if "--operators" in parameter.opts
    }
    assert defaults.pop("suite") is None
    assert set(defaults.values()) == {"profile"}
    said = between(
        "docs/how-to/operators.md", "these commands take the whole profile: ", ". In Python"
    )
    assert quoted(said) == defaults.keys()


def test_page_of_waivers_names_each_rule_that_none_covers() -> None:
    said = between("docs/waivers.md", "### Rules that no waiver covers ", " ## ")
    unsaid = (Subject.TYPES, Subject.STORAGE)
    refused = {
        rule.id
        for rule in RULES.values()
        if not rule.waivable and rule.requirement.subject not in unsaid
    }
    assert quoted(said) == {id_ for id_ in refused if not id_.startswith(f"{CONTRACT}.")}


PROVED_NODES = {
    "Div": "(int32[2] x, int32[2] y) => (int32[2] z) { z = Div(x, y) }",
    "Add": "(int32[2] x, int32[2] y) => (int32[2] z) { z = Add(x, y) }",
    "Mul": "(float[2] x, float[2] y) => (float[2] z) { z = Mul(x, y) }",
    "Concat": "(float[2] x, float[2] y) => (float[4] z) { z = Concat<axis = 0>(x, y) }",
    "MatMul": "(float[2, 2] x, float[2, 2] y) => (float[2, 2] z) { z = MatMul(x, y) }",
    "Relu": "(float[2] x) => (float[2] z) { z = Relu(x) }",
}


@pytest.mark.parametrize(("backend", "named", "becoming"), [
    ("python", "Div, Concat and MatMul, and not Relu", {"Div", "Add", "Mul", "Concat", "MatMul"}),
    ("compiled", "Div and Add of integers, and not Concat and MatMul", {"Div", "Add"}),
    ("native", "none", set()),
])  # fmt: skip
def test_page_of_concepts_says_which_proved_nodes_become_custom_operators(
    backend: str, named: str, becoming: AbstractSet[str]
) -> None:
    assert named in between("docs/concepts.md", f"- `{backend}`: ", " - `")

    def domains(name: str) -> set[str]:
        made = sonnx_ort.rewrite(parse(PROVED_NODES[name]), operators=name, backend=backend)
        return {node.domain for node in made.graph.node}

    assert {name for name in PROVED_NODES if domains(name) != {""}} == becoming


@pytest.mark.parametrize(("start", "end", "subjects"), [
    ("| elements |", "|", {Subject.ELEMENTS}),
    ("| a common shape |", "|", {Subject.COMMON_SHAPE}),
    ("| the shape of one tensor |", "|", {Subject.OWN_SHAPE}),
    ("No run checks these rules about attributes: ", "ONNX", {Subject.ATTRIBUTES}),
    ("ONNX Runtime holds these itself: ", " ## ", {Subject.HELD}),
])  # fmt: skip
def test_page_of_waivers_says_why_none_covers_a_rule(
    start: str, end: str, subjects: AbstractSet[Subject]
) -> None:
    named = quoted(between("docs/waivers.md", start, end))
    assert {RULES[name].requirement.subject for name in named} == subjects


def test_page_of_audits_names_the_reductions_that_are_judged() -> None:
    said = between("docs/audit.md", "So are simple other ones: ", " and more")
    named = set(re.findall(r"\bReduce\w+", said))
    assert named == {name for name in OPERATIONS if name.startswith("Reduce")}


def test_page_and_help_name_the_longest_loop_that_is_audited() -> None:
    most = f"{MOST_STEPS:,}"
    assert f"Loops of more than {most} steps are not followed" in text_of("docs/audit.md")
    (option,) = (each for each in load("audit").params if "--exhaustive" in each.opts)
    assert option.help == f"Audit all elements, and all steps of loops of at most {most}."
    assert f"more than {most} steps" in " ".join((sonnx_ort.audit.__doc__ or "").split())


@pytest.mark.parametrize(("operators", "most"), [
    ("Tan, Sinh, Cosh, Mean, Softsign", Bound(4)),
    ("Elu, Selu, Celu, Cos", Bound(16, Reference.ONE)),
    ("Gelu", Bound(4, Reference.OPERAND, computed_in="float")),
])  # fmt: skip
def test_page_of_conform_has_the_bounds_of_functions(operators: str, most: Bound) -> None:
    row = between("docs/how-to/conform.md", f"| {operators} |", " | |")
    assert str(most).partition(",")[0] in row
    for name in operators.split(", "):
        bound = TEMPLATES[name].bound
        assert bound is not None
        assert (bound.of, bound.computed_in) == (most.of, most.computed_in)
        assert bound.units <= most.units


def test_page_of_reports_has_each_word_in_the_place_of_an_operator() -> None:
    model = parse(
        "(float[n] x, float[2] unused) => (float[n] y) <float[1] unread = {1}> "
        "{ a = com.microsoft.FastGelu(x) y = Neg(a) }",
        domains={"com.microsoft": 1},
    )
    model.training_info.add()
    contract = sonnx_ort.Contract((sonnx_ort.ValueContract("x", (0, 1)),))
    report = sonnx_ort.check(model, contract=contract)
    found = {each.operator for each in report.obligations} - {"", "Neg", "FastGelu"}
    said = between("docs/report.md", "| `operator` | `node` is the name of |", "For several models")
    assert found == {word for word in quoted(said) if word not in RULES} - {"training_info"}
