"""What `reduce` asks of each model: with which options, and what counts as an answer."""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.runs.isolated_run import UNOPTIMIZED, Failed, IsolatedRuns, Level, Settings
from sonnx_ort.runs.limits import LimitExceeded, Limits
from sonnx_ort.runs.parts import NewNames
from sonnx_ort.runs.reduce import reduction
from sonnx_ort.runs.reduce.shrinking import Trial
from support.graphs import parse

NEG = "(float[n] x) => (float[n] z) { z = Neg(x) }"
RATIO = "(int32[1] x, int32[1] y) => (int32[1] z) { z = Div(x, y) }"
NOT_SHOWN = "the model does not show this; there is nothing to reduce"
LEAST = np.iinfo(np.int32).min


def floats(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


def integers(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


def refusal(model: onnx.ModelProto | str, given: Any = None, **asked: Any) -> str:
    """What is said of what `reduce` refuses; without it the test fails."""
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.reduce(parse(model) if isinstance(model, str) else model, given, **asked)
    return str(caught.value)


class Noted(IsolatedRuns):
    """Notes its limits, and how far what it runs is optimized."""

    limits_of_all: list[Limits]
    levels: set[Level]

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.limits_of_all.append(limits)

    def run(self, *args: Any, **options: Any) -> Any:
        self.levels.add(args[2].level)
        return super().run(*args, **options)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> type[Noted]:
    monkeypatch.setattr(Noted, "limits_of_all", [], raising=False)
    monkeypatch.setattr(Noted, "levels", set(), raising=False)
    monkeypatch.setattr(reduction, "IsolatedRuns", Noted)
    return Noted


def test_limits_are_those_of_each_run(noted: type[Noted]) -> None:
    sonnx_ort.reduce(parse(NEG), check="true", tries=0, time_limit=1234, memory_limit=56789)
    assert noted.limits_of_all == [Limits(1234, 56789)]


def test_nodes_of_branches_are_counted() -> None:
    text = """(float[2] x, bool c) => (float[2] z) {
        z = If(c) <then_branch = t () => (float[2] u) { u = Abs(x) },
                   else_branch = e () => (float[2] w) { w = Neg(x) }> }"""
    found = sonnx_ort.reduce(parse(text), check="true", tries=0)
    assert (found.before, found.nodes) == (3, 3)


def test_inputs_have_the_new_names() -> None:
    found = sonnx_ort.reduce(parse(NEG), check="true", tries=0, anonymous=True)
    assert [*found.inputs] == [value.name for value in found.model.graph.input] != ["x"]


def test_time_limit_is_that_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []
    monkeypatch.setattr(reduction, "_status", lambda _, limit: seconds.append(limit) or 0)
    sonnx_ort.reduce(parse(NEG), check="true", tries=0, time_limit=1234)
    assert set(seconds) == {1234}


@pytest.mark.parametrize(("asked", "levels"), [
    ({"dies": True}, {Level.ALL}),
    ({"dies": True, "level": "basic"}, {Level.BASIC}),
    ({"differs": True}, {Level.NONE, Level.ALL}),
    ({"differs": True, "level": "extended"}, {Level.NONE, Level.EXTENDED}),
])  # fmt: skip
def test_runs_are_optimized_as_far_as_the_level_says(
    asked: Mapping[str, Any], levels: set[Level], noted: type[Noted]
) -> None:
    assert refusal(NEG, **asked) == NOT_SHOWN
    assert noted.levels == levels


@pytest.mark.parametrize(("chosen", "shape"), [
    ({"sizes": {"n": 5}}, (5,)), ({"input_shapes": {"x": (4,)}}, (4,)), ({}, (3,)),
])  # fmt: skip
def test_random_inputs_have_the_sizes_that_are_asked_for(
    chosen: Mapping[str, Any], shape: tuple[int, ...]
) -> None:
    found = sonnx_ort.reduce(parse(NEG), check="true", tries=0, **chosen)
    assert found.inputs["x"].shape == shape


def test_random_inputs_are_those_of_the_seed() -> None:
    drawn = [
        sonnx_ort.reduce(parse(NEG), check="true", tries=0, seed=seed).inputs["x"].tolist()
        for seed in (0, 1, 1)
    ]
    assert drawn[0] != drawn[1] == drawn[2]


def test_random_operators_have_seeds() -> None:
    model = parse("() => (float[2] z) { z = RandomUniform<shape = [2]>() }")
    (node,) = sonnx_ort.reduce(model, check="true", tries=0).model.graph.node
    assert "seed" in [attribute.name for attribute in node.attribute]


def undeclared() -> onnx.ModelProto:
    """Give a model with an input of which no random one can be made."""
    model = parse("(float[] x, float[2] y, float[1] w) => (float[2] v) { v = Div(y, w) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    return model


@pytest.mark.parametrize("asked", [
    {"refused": True}, {"violates": "Div.float.R1"}, {"check": "true"},
], ids=str)  # fmt: skip
def test_inputs_that_nobody_can_make_up_are_not_missed_without_a_run(
    asked: Mapping[str, Any],
) -> None:
    assert sonnx_ort.reduce(undeclared(), **asked, tries=0).nodes == 1


@pytest.mark.parametrize(("asked", "given"), [
    ({"dies": True}, {}), ({"differs": True}, {}), ({"outside": True}, {}),
    ({"refused": True}, {"y": floats(1, 2)}),
], ids=["dies", "differs", "outside", "others are given"])  # fmt: skip
def test_inputs_that_nobody_can_make_up_are_asked_for(
    asked: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    assert refusal(undeclared(), given, **asked) == (
        "the input 'x' has no declared shape; give it with inputs=, or its shape with input_shapes="
    )


def test_results_are_held_to_the_edition() -> None:
    model = parse("(float[1] x, float[1] y) => (float[1] z) { z = Div(x, y) }")
    given = {"x": floats(-1), "y": floats(0)}
    assert refusal(model, given, outside=True, edition="typed") == NOT_SHOWN
    found = sonnx_ort.reduce(model, given, outside=True, edition="preliminary", tries=0)
    assert found.shows == ("Div outside the admitted error",)


@pytest.mark.parametrize("asked", [{"refused": True}, {"violates": "Div.float.R1"}], ids=str)
@pytest.mark.parametrize(
    "chosen", [{"operators": "Sub"}, {"broadcast": "explicit"}], ids=["operators", "broadcast"]
)
def test_models_are_asked_with_the_choices_of_the_caller(
    asked: Mapping[str, Any], chosen: Mapping[str, Any]
) -> None:
    text = "(float[2] x, float[1] y) => (float[2] z) { z = Div(x, y) }"
    assert sonnx_ort.reduce(parse(text), **asked, tries=0).nodes == 1
    assert refusal(text, **asked, **chosen) == NOT_SHOWN


def test_error_that_names_no_rule_is_the_reason_of_a_refusal() -> None:
    model = parse("(float[2] x) => (float[2] z) { z = sonnx.Own(x) }", domains={"sonnx": 1})
    assert sonnx_ort.reduce(model, refused=True, tries=0).shows == ("InvalidModel",)


@pytest.mark.parametrize("asked", ["Div.int.C1", "Sub"])
def test_violation_of_another_rule_is_none_of_those_asked_for(asked: str) -> None:
    given = {"x": integers(LEAST), "y": integers(-1)}
    assert refusal(RATIO, given, violates=asked) == NOT_SHOWN
    assert sonnx_ort.reduce(parse(RATIO), given, violates="Div.int", tries=0).shows == (
        "Div.int.C2 in a run",
    )


def test_model_that_is_refused_for_other_operators_is_run_for_the_rule_that_is_asked() -> None:
    text = """(float[2] f, float[1] g, int32[1] x, int32[1] y) => (int32[1] z, float[2] h) {
        z = Div(x, y) h = Sub(f, g) }"""
    given = {"f": floats(1, 2), "g": floats(1), "x": integers(1), "y": integers(0)}
    found = sonnx_ort.reduce(parse(text), given, violates="Div.int.C1", tries=0)
    assert (found.shows, found.nodes) == (("Div.int.C1 in a run",), 2)


OVERFLOW = """(float[2] x) => (float[2] z) { a = Exp(x) z = Neg(a) }"""
INSIDE = """(float[2] x) => (float[2] z) <float zero = {0}> { a = Exp(x) z = Min(a, zero) }"""


@pytest.mark.parametrize(("text", "asked", "operators", "shows"), [
    (OVERFLOW, "Graph.finite", "profile", True),
    (OVERFLOW, "Graph.finite", "Graph.finite", True),
    (OVERFLOW, "Graph", "Graph.finite", True),
    (OVERFLOW, "Graph", "Div", False),
    (INSIDE, "Graph.finite", "Graph.finite", False),
    (INSIDE, "Graph.finite", "Graph.finite_values", True),
], ids=str)  # fmt: skip
def test_numbers_that_are_not_finite_are_found_in_a_run(
    text: str, asked: str, operators: str, shows: bool
) -> None:
    given = {"x": floats(1000, 1)}
    if shows:
        found = sonnx_ort.reduce(parse(text), given, violates=asked, operators=operators, tries=0)
        assert found.shows == ("Graph.finite in a run",)
        return
    assert refusal(text, given, violates=asked, operators=operators) == NOT_SHOWN


def test_warnings_of_models_are_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    model = parse(RATIO, constants={"unread": np.zeros(1, np.float32)})
    given = {"x": integers(1), "y": integers(0)}
    rules = frozenset({"Div.int.C1"})
    found = reduction.violations(model.SerializeToString(), given, rules, {})
    assert found == {"Div.int.C1 in a run"}
    assert capfd.readouterr() == ("", "")


def test_model_that_cannot_be_analyzed_violates_nothing() -> None:
    model = parse("(float[2] x) => (float[2] z) { z = sonnx.Own(x) }", domains={"sonnx": 1})
    assert refusal(model, violates="Div") == NOT_SHOWN


@pytest.mark.parametrize(("text", "form"), [
    (NEG, {"is valid", "is consistent", "loads"}),
    ("(double[1] x) => (double[1] z) { z = Acosh(x) }", {"is valid", "is consistent"}),
    ("(float[1] x) => (float[2] z) { z = Neg(x) }", {"is valid", "loads"}),
    ("(float[1] x) => (int32[1] z) { z = Neg(x) }", {"is valid"}),
    ("(float[1] x) => (float[1] z) { y = Neg(x) }", set()),
])  # fmt: skip
def test_form_says_whether_a_model_is_valid_and_consistent_and_loads(
    text: str, form: set[str]
) -> None:
    with IsolatedRuns() as runs:
        assert reduction._form(Trial(parse(text), ({},)), runs) == form


class FakeRuns(IsolatedRuns):
    """Calls functions here, and gives the outcomes of runs by the settings."""

    def __init__(self, outcomes: Mapping[Settings, Any] | None = None) -> None:
        super().__init__()
        self._outcomes = outcomes or {}

    def run(self, *args: Any, **_: Any) -> Any:
        return self._outcomes[args[2]]

    def call(self, function: Any, *_: Any) -> Any:
        del function
        return {}


X = floats(1, 2)
CHAIN = Trial(parse("(float[2] x) => (float[2] z) { a = Abs(x) z = Neg(a) }"), ({"x": X},))
OPTIMIZED = Settings(Level.ALL)


@pytest.mark.parametrize(("plain", "other", "signs"), [
    ({"z": X}, {"z": X * 2}, {"outputs differ"}),
    ({"z": X}, {"z": X}, set()),
    (Failed("a"), {"z": X}, set()),
    ({"z": X}, Failed("a"), set()),
    (Failed("a"), Failed("b"), set()),
])  # fmt: skip
def test_outputs_differ_only_if_both_runs_have_some(
    plain: Any, other: Any, signs: set[str]
) -> None:
    runs = FakeRuns({UNOPTIMIZED: plain, OPTIMIZED: other})
    assert reduction._difference(CHAIN, runs, OPTIMIZED) == signs


@pytest.mark.parametrize(("outcome", "signs"), [
    ({"z": X}, set()),
    (Failed("refused"), set()),
    (Failed("the process is killed by SIGFPE", died=True), {"the process is killed by SIGFPE"}),
])  # fmt: skip
def test_death_is_told_by_its_reason(outcome: Any, signs: set[str]) -> None:
    assert reduction._death(CHAIN, FakeRuns({OPTIMIZED: outcome}), OPTIMIZED) == signs


def reduced_by(answers: Mapping[int, set[str]]) -> reduction.Reduced:
    """Reduce two nodes by a question that is answered by the number of nodes that are left."""

    def question(trial: Trial) -> frozenset[str]:
        return frozenset(answers.get(len(trial.model.graph.node), ()))

    with IsolatedRuns() as runs:
        return reduction._reduced(CHAIN, question, runs, 3, anonymous=False)


@pytest.mark.parametrize(("smaller", "shows", "nodes"), [
    ({"a", "b"}, ("a", "b"), 1), ({"b", "c"}, ("b",), 1), ({"c"}, ("a", "b"), 2),
    (set(), ("a", "b"), 2),
])  # fmt: skip
def test_smaller_model_shows_one_of_the_same_things(
    smaller: set[str], shows: tuple[str, ...], nodes: int
) -> None:
    found = reduced_by({2: {"b", "a"}, 1: smaller})
    assert (found.shows, found.nodes) == (shows, nodes)


def test_smaller_model_that_takes_too_long_does_not_show_it() -> None:
    def question(trial: Trial) -> frozenset[str]:
        if len(trial.model.graph.node) < 2:
            raise LimitExceeded("a run of the model takes longer")
        return frozenset({"a"})

    with IsolatedRuns() as runs:
        assert reduction._reduced(CHAIN, question, runs, 3, anonymous=False).nodes == 2


def test_names_stay_if_the_model_without_them_does_not_show_it() -> None:
    def question(trial: Trial) -> frozenset[str]:
        return frozenset({"a"} if trial.model.graph.output[0].name == "z" else ())

    found = reduction._reduced(CHAIN, question, FakeRuns(), 0, anonymous=True)
    assert not found.anonymous
    assert [value.name for value in found.model.graph.input] == ["x"] == [*found.inputs]


@pytest.mark.parametrize("texts", [
    np.array(["b", "a"]), np.array([b"b", b"a"]), np.array(["b", "a"], object),
    np.array([b"b", b"a"], object),
], ids=lambda texts: f"{texts.dtype} {type(texts[0]).__name__}")  # fmt: skip
def test_new_texts_are_those_of_the_same_bytes(texts: Any) -> None:
    names = NewNames(CHAIN.model)
    expected = [names.text(text).decode() for text in (b"b", b"a")]
    assert reduction._renamed(texts, names).tolist() == expected
    assert "b" not in expected


NOT_READ = (
    "the command of check= cannot be read: no closing quotation: grep 'a; end what it quotes, as "
    "in grep -q 'two words' {}"
)


@pytest.mark.parametrize(("command", "message"), [
    ("grep 'a", NOT_READ),
    ("  ", "the command of check= is empty; give one, such as python fails.py {}"),
    ("a\0b", "the command of check= cannot be run: embedded null byte"),
])  # fmt: skip
def test_command_that_cannot_be_run_is_refused(command: str, message: str) -> None:
    assert refusal(NEG, check=command) == message


def passed(command: str, seconds: float = 60) -> frozenset[str]:
    return reduction._passed(CHAIN, command, seconds)


def test_place_of_the_model_may_be_within_a_word() -> None:
    assert passed("sh -c 'test $# = 0 && grep -q Neg {}' name")
    assert not passed("sh -c 'test $# = 0 && grep -q Tanh {}' name")


def test_place_of_the_model_follows_a_command_that_does_not_name_it() -> None:
    assert passed("""sh -c 'test $# = 1 && grep -q Neg "$1"' name""")


def test_command_that_takes_too_long_shows_nothing() -> None:
    started = time.monotonic()
    assert passed("sh -c 'sleep 100'", 0.1) == set()
    assert time.monotonic() - started < 50


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells the state of a process")
def test_what_a_command_started_ends_with_it(tmp_path: Path) -> None:
    line = ["sh", "-c", f"sleep 100 & echo $! > {tmp_path}/number"]
    assert reduction._status(line, 60) == 0
    status = Path("/proc", (tmp_path / "number").read_text(encoding="utf-8").strip(), "status")
    with suppress(FileNotFoundError, ProcessLookupError):
        for _ in range(200):
            if "\nState:\tZ" in status.read_text(encoding="utf-8"):
                return
            time.sleep(0.05)
        pytest.fail("the process goes on")


def test_command_reads_and_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert passed("sh -c 'cat; echo out; echo err >&2'") == {"exit status 0"}
    assert capfd.readouterr() == ("", "")
