"""The public function `reduce`: the smallest model that still shows what is asked for."""

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import onnxruntime

from sonnx_ort.analysis.contracts import ContractSource, contract_for
from sonnx_ort.analysis.report import ModelRejected, choose_rules
from sonnx_ort.api.checking import check as check_model
from sonnx_ort.api.rewriting import rewrite
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.errors.arguments import checked_arguments, choose
from sonnx_ort.errors.remedies import Advice, Option, joined
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import ModelSource, read
from sonnx_ort.loading.validity import check_validity
from sonnx_ort.options import PROFILE, OperatorsChoice, choose_operators
from sonnx_ort.ort.feeds import as_tensors, graph_inputs
from sonnx_ort.ort.session import InferenceSession
from sonnx_ort.ort.session_options import FATAL, temporary_folder
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.graph import FINITE, FINITE_OUTPUTS, FINITE_VALUES
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice
from sonnx_ort.runs.audit.audit import audit
from sonnx_ort.runs.derived_models import seed_random_operators, whole
from sonnx_ort.runs.diff.difference import differing
from sonnx_ort.runs.input_shapes import Sizes
from sonnx_ort.runs.inputs import complete, require_within
from sonnx_ort.runs.isolated_run import (
    UNOPTIMIZED,
    Array,
    Failed,
    IsolatedRuns,
    Level,
    LevelChoice,
    Settings,
    types_of_outputs,
)
from sonnx_ort.runs.limits import SECONDS, LimitExceeded, Limits
from sonnx_ort.runs.parts import NewNames, without_names
from sonnx_ort.runs.reduce.shrinking import MOST_TRIES, Feeds, Trial, known_values, shrink

Signs = frozenset[str]
"""What a model shows, as texts; nothing if it does not show what is asked for."""

IN_A_RUN = " in a run"
"""What follows the rule that a run violates, in what a model shows."""

Question = Callable[[Trial], Signs]
"""Asks what a model shows."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A model that was reduced.

    Attributes:
        model: The smallest model that was found.
        inputs: The inputs with which it shows it.
        shows: What it shows, in words.
        before: The number of nodes of the original, with those in subgraphs and functions.
        tried: How many smaller models were tried.
        anonymous: Whether names and texts of the original are replaced, as `anonymous=True` asks.
    """

    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    shows: tuple[str, ...]
    before: int
    tried: int
    anonymous: bool

    @property
    def nodes(self) -> int:
        """The number of its nodes, with those in subgraphs and functions."""
        return len(all_nodes(self.model))


@checked_arguments
def reduce(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    inputs: Mapping[str, Array] | None = None,
    *,
    violates: str | None = None,
    refused: bool = False,
    dies: bool = False,
    differs: bool = False,
    outside: bool = False,
    check: str | None = None,
    level: LevelChoice = "all",
    edition: EditionChoice = "typed",
    broadcast: BroadcastChoice = "reject",
    operators: OperatorsChoice = PROFILE,
    seed: int = 0,
    sizes: Mapping[str, int] = MappingProxyType({}),
    input_shapes: Mapping[str, Sequence[int]] = MappingProxyType({}),
    contract: ContractSource = NO_CONTRACT,
    anonymous: bool = False,
    tries: int = MOST_TRIES,
    time_limit: int | float = SECONDS,
    memory_limit: int | None = None,
) -> Reduced:
    """Find a small model that still shows one thing, which is asked for.

    Nodes, outputs, inputs, attributes and functions are omitted, subgraphs are put in the place of
    their nodes, and axes become shorter, as long as it shows. Values at a cut become inputs, with
    what an unoptimized run of the original gives them. Every model that is tried is valid ONNX, and
    ONNX Runtime loads it, if that is so of the original. What may end a process runs in another.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        inputs: Its inputs by name; those that are omitted are random.
        violates: Asks for the violation of a rule, by its id or the beginning of ids: in every run
            that reaches the node, or else with these inputs.
        refused: Asks whether `rewrite` refuses it, for one of the same rules.
        dies: Asks whether a run ends the process in the same way.
        differs: Asks whether ONNX Runtime's optimizers change bits of the outputs.
        outside: Asks whether `audit` finds results of the same operators outside the admitted
            error.
        check: A command, which gets the path of a model at its end or in the place of `{}`; asks
            whether its exit status is 0.
        level: How far ONNX Runtime optimizes, for `dies`, `differs` and `outside`.
        edition: As for `rewrite`.
        broadcast: As for `rewrite`.
        operators: The operators that are enforced; the whole profile by default.
        seed: The seed of random inputs.
        sizes: The sizes of open dimensions of random inputs, by their names in the model.
        input_shapes: The shapes of random inputs, by name.
        contract: What the inputs of the original may be, as for `check`: random ones are drawn
            within it.
        anonymous: Whether to replace names and texts, and omit metadata, in the end. Operators that
            the model does not define, their domains and attributes keep their names.
        tries: How many smaller models are tried at most.
        time_limit: How many seconds a question about one model may take; a smaller model that
            takes longer, such as one with a loop without an end, does not show it.
        memory_limit: How many MB of memory it may take; three quarters of the machine's if it is
            omitted.

    Raises:
        InvalidModel: It is no readable ONNX model.
        SonnxError: Not one thing is asked for, the model does not show it, an input breaks the
            contract, or an argument or an input cannot be used.
    """
    source = whole(read(model))
    seed_random_operators(source.proto)
    choices = {"edition": edition, "broadcast": broadcast, "operators": operators}
    limits = contract_for(source, contract)
    optimized = Settings(choose(Level, "level", level))
    asked = _only_one(
        {
            "violates": violates is not None,
            "refused": refused,
            "dies": dies,
            "differs": differs,
            "outside": outside,
            "check": check is not None,
        }
    )
    wishes = _Wishes(violates, check, optimized, choices)
    with IsolatedRuns(Limits(time_limit, memory_limit)) as runs:
        question = wishes.question(asked, runs)
        declared = graph_inputs(source.proto)
        arrays = as_tensors(declared, inputs or {})
        feeds: Feeds = {}
        # Inputs that nobody can make up are missed in a run alone.
        with nullcontext() if arrays or asked in _IN_RUNS else suppress(SonnxError):
            chosen = Sizes(sizes, input_shapes)
            drawn = complete(source, arrays, runs, seed=seed, sizes=chosen, contract=limits)
            feeds = drawn.arrays
        require_within(limits, declared, feeds)
        trial = Trial(source.proto, (feeds,))
        return _reduced(trial, question, runs, tries, anonymous=anonymous)


_IN_RUNS = {"dies", "differs", "outside"}
"""What only a run shows."""


def _only_one(asked: Mapping[str, bool]) -> str:
    """The one argument of `reduce` that asks for something; the names of all are in order."""
    found = [name for name, value in asked.items() if value]
    if len(found) != 1:
        *first, last = asked
        raise SonnxError(
            Advice(
                "ask for one thing that the smaller model still has to show: ",
                joined(", ", map(Option, first)),
                " or ",
                Option(last),
            )
        )
    return found[0]


class _Wishes:
    """What a smaller model may be asked to show; the arguments are those of `reduce`."""

    def __init__(
        self,
        violates: str | None,
        check: str | None,
        optimized: Settings,
        choices: Mapping[str, Any],
    ) -> None:
        self._rules = frozenset[str]() if violates is None else choose_rules(violates)
        self._check, self._optimized, self._choices = check or "", optimized, choices
        if check is not None:
            _words(check)

    def question(self, asked: str, runs: IsolatedRuns) -> Question:
        """The question whether a model shows what an argument of `reduce` asks for."""
        rules, choices, optimized = self._rules, self._choices, self._optimized
        questions: Mapping[str, Question] = {
            "violates": lambda trial: _called(runs, violations, trial, rules, choices),
            "refused": lambda trial: _called(runs, refusals, trial, choices),
            "dies": lambda trial: _death(trial, runs, optimized),
            "differs": lambda trial: _difference(trial, runs, optimized),
            "outside": lambda trial: _called(
                runs, results_outside, trial, optimized.level, choices
            ),
            "check": lambda trial: _passed(trial, self._check, runs.limits.seconds),
        }
        return questions[asked]


def _reduced(
    trial: Trial, question: Question, runs: IsolatedRuns, tries: int, *, anonymous: bool
) -> Reduced:
    """Shrink a trial as long as it shows a sign; then take its names away, if asked to."""
    wanted, form = question(trial), _form(trial, runs)
    if not wanted:
        raise SonnxError("the model does not show this; there is nothing to reduce")
    tried = 0

    def shows(candidate: Trial) -> bool:
        nonlocal tried
        tried += 1
        try:
            return form <= _form(candidate, runs) and not wanted.isdisjoint(question(candidate))
        except LimitExceeded:
            return False

    found = shrink(trial, shows, lambda each: known_values(each, runs), most_tries=tries)
    if anonymous:
        nameless = _nameless(found)
        anonymous = shows(nameless)
        found = nameless if anonymous else found
    signs = tuple(sorted(wanted & question(found)))
    before = len(all_nodes(trial.model))
    return Reduced(found.model, found.runs[0], signs, before, tried, anonymous)


def _nameless(trial: Trial) -> Trial:
    names = NewNames(trial.model)
    made = without_names(trial.model, names)
    inputs = zip(trial.model.graph.input, made.graph.input, strict=True)
    new = {before.name: after.name for before, after in inputs}
    runs = tuple({new[name]: _renamed(a, names) for name, a in f.items()} for f in trial.runs)
    return Trial(made, runs)


def _renamed(array: Array, names: NewNames) -> Array:
    """An array with new texts, if it has texts."""
    if array.dtype.kind not in "OUS":
        return array
    made = np.empty(array.shape, object)
    for index, text in np.ndenumerate(array):
        made[index] = names.text(text if isinstance(text, bytes) else str(text).encode()).decode()
    return made


def _called(
    runs: IsolatedRuns, function: Callable[..., Signs], trial: Trial, *more: object
) -> Signs:
    """What a function finds of a model and its inputs in a process of its own."""
    content = require_serializable(trial.model)
    found = runs.call(function, content, dict(trial.runs[0]), *more)
    return frozenset() if isinstance(found, Failed) else found


def _form(trial: Trial, runs: IsolatedRuns) -> Signs:
    """Whether a model is valid ONNX, also to shape inference, and ONNX Runtime loads it.

    It loads it without optimizing it.
    """
    # Of modules that a process imports soon, because many models end it.
    content = require_serializable(trial.model)
    found = {
        "is valid": runs.call(check_validity, trial.model),
        "is consistent": runs.call(onnx.checker.check_model, content, True),
        "loads": runs.call(types_of_outputs, content),
    }
    return frozenset(sign for sign, each in found.items() if not isinstance(each, Failed))


def violations(model: bytes, feeds: Feeds, rules: Signs, choices: Mapping[str, Any]) -> Signs:
    """Which of some rules a model violates before a run; if none, which one in a run.

    Raises:
        SonnxError: It cannot be analyzed, or is refused.
    """
    report = check_model(model, **choices)
    if found := rules & {each.rule.id for each in report.violations}:
        return frozenset(f"{rule} in every run" for rule in found)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    named = _deciding(rules, choices.get("operators", PROFILE))
    try:
        InferenceSession(model, options, **{**choices, "operators": named}).run(None, feeds)
    except ContractViolation as violation:
        return frozenset({f"{violation.rule}{IN_A_RUN}"} if violation.rule in rules else ())
    return frozenset()


def _deciding(rules: Signs, operators: OperatorsChoice) -> frozenset[str]:
    """What is enforced to find violations of rules in a run.

    Enforced for more, the model may be refused for what is not asked.
    """
    named = frozenset(rule.partition(".")[0] for rule in rules) & OPERATORS.keys()
    if FINITE.id not in rules:
        return named
    # Numbers have to be finite only where that is selected, or asked for by itself.
    selected = choose_operators(operators) & {FINITE_OUTPUTS, FINITE_VALUES}
    if not selected and rules == {FINITE.id}:
        return named | {FINITE_OUTPUTS}
    return named | selected


def refusals(model: bytes, feeds: Feeds, choices: Mapping[str, Any]) -> Signs:
    """Why `rewrite` refuses a model: the rules, or the kind of another error."""
    del feeds
    try:
        rewrite(model, **choices)
    except ModelRejected as error:
        return frozenset(each.rule.id for each in error.report.violations)
    except SonnxError as error:
        return frozenset({type(error).__name__})
    return frozenset()


def results_outside(model: bytes, feeds: Feeds, level: Level, choices: Mapping[str, Any]) -> Signs:
    """The operators that give results outside the admitted error, as `audit` says.

    Raises:
        SonnxError: The model does not run.
    """
    found = audit(model, feeds, level=level, **choices)
    return frozenset(f"{node.operator} outside the admitted error" for node in found.outside)


def _death(trial: Trial, runs: IsolatedRuns, optimized: Settings) -> Signs:
    """How the process dies; nothing if it does not."""
    outcome = runs.run(trial.model, trial.runs[0], optimized)
    if not isinstance(outcome, Failed) or not outcome.died:
        return frozenset()
    return frozenset({outcome.reason})


def _difference(trial: Trial, runs: IsolatedRuns, optimized: Settings) -> Signs:
    plain, other = (runs.run(trial.model, trial.runs[0], each) for each in (UNOPTIMIZED, optimized))
    if isinstance(plain, Failed) or isinstance(other, Failed):
        return frozenset()
    return frozenset({"outputs differ"} if differing(other, plain) else ())


def _words(command: str) -> list[str]:
    """The words of a command, as a shell would read it.

    Raises:
        SonnxError: There are none, or a quotation has no end.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        reason = str(error)
        raise SonnxError(
            Advice(
                "the command of ",
                Option("check"),
                f" cannot be read: {reason[:1].lower()}{reason[1:]}: {command}; end what it "
                "quotes, as in grep -q 'two words' {}",
            )
        ) from error
    if not words:
        raise SonnxError(
            Advice(
                "the command of ",
                Option("check"),
                " is empty; give one, such as python fails.py {}",
            )
        )
    return words


def _passed(trial: Trial, command: str, seconds: float) -> Signs:
    """A sign if the user's command ends with status 0 for the model."""
    with temporary_folder() as folder:
        path = folder / "model.onnx"
        path.write_bytes(require_serializable(trial.model))
        words = [word.replace("{}", str(path)) for word in _words(command)]
        line = words if "{}" in command else [*words, str(path)]
        status = _status(line, seconds)
    return frozenset({"exit status 0"} if status == 0 else ())


def _status(line: Sequence[str], seconds: float) -> int | None:
    """The exit status of a command; None if it takes longer than so many seconds."""
    silent = subprocess.DEVNULL
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own command
            line, stdin=silent, stdout=silent, stderr=silent, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise SonnxError(
            Advice("the command of ", Option("check"), f" cannot be run: {error}")
        ) from error
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # A shell may have started others, which nobody would end.
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        process.wait()
