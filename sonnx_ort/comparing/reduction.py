"""The public function `reduce`: the smallest model that still shows what is asked for."""

import dataclasses
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import onnx
import onnxruntime

from sonnx_ort.api import check as check_model
from sonnx_ort.api import rewrite
from sonnx_ort.arguments import checked_arguments, choose
from sonnx_ort.comparing.anonymity import anonymous as made_anonymous
from sonnx_ort.comparing.inputs import Sizes, complete
from sonnx_ort.comparing.isolated_run import (
    UNOPTIMIZED,
    Array,
    Failed,
    IsolatedRuns,
    Level,
    LevelChoice,
    Settings,
    seed_random_operators,
    types_of_outputs,
)
from sonnx_ort.comparing.measures import differing
from sonnx_ort.comparing.shrinking import MOST_TRIES, known_values, shrink
from sonnx_ort.comparing.smaller_models import Feeds, Trial
from sonnx_ort.errors import ContractViolation, InvalidModel, SonnxError
from sonnx_ort.loading.external_data import (
    check_external_data,
    external_tensors,
    load_external_data,
)
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.loading.validity import check_validity
from sonnx_ort.obligations.report import ModelRejected, choose_rules
from sonnx_ort.options import PROFILE, OperatorsChoice
from sonnx_ort.pipeline import require_serializable
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice
from sonnx_ort.runtime.feeds import as_tensors, graph_inputs
from sonnx_ort.runtime.session import InferenceSession
from sonnx_ort.runtime.session_options import FATAL, temporary_folder

_SECONDS = 60
"""How long a question about one model may take; what takes longer, such as a loop without an end,
does not show it."""

Signs = frozenset[str]
"""What a model shows, as texts; nothing if it does not show what is asked for."""

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
        anonymous: Whether it has none of the original's names.
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
    check: str | None = None,
    level: LevelChoice = "all",
    edition: EditionChoice = "typed",
    broadcast: BroadcastChoice = "reject",
    operators: OperatorsChoice = PROFILE,
    seed: int = 0,
    sizes: Mapping[str, int] = MappingProxyType({}),
    input_shapes: Mapping[str, Sequence[int]] = MappingProxyType({}),
    anonymous: bool = False,
    tries: int = MOST_TRIES,
) -> Reduced:
    """Find a small model that still shows one thing, which is asked for.

    Nodes, outputs, inputs, attributes and functions are left out, subgraphs are put in the place of
    their nodes, and axes become shorter, as long as it shows. Values at a cut become inputs, with
    what an unoptimized run of the original gives them. Every model that is tried is valid ONNX, and
    ONNX Runtime loads it, if that is so of the original. What may end a process runs in another.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        inputs: Its inputs by name; those that are omitted are random.
        violates: Asks for the violation of a rule, by its id or the beginning of ids: in every run,
            or else with these inputs.
        refused: Asks whether `rewrite` refuses it, for one of the same rules.
        dies: Asks whether a run ends the process in the same way.
        differs: Asks whether ONNX Runtime's optimizers change bits of the outputs.
        check: A command, which gets the path of a model at its end or in the place of `{}`; asks
            whether its exit status is 0.
        level: How far ONNX Runtime optimizes, for `dies` and `differs`.
        edition: As for `rewrite`.
        broadcast: As for `rewrite`.
        operators: The operators that are enforced; the whole profile by default.
        seed: The seed of random inputs.
        sizes: The sizes of open dimensions of random inputs, by their names in the model.
        input_shapes: The shapes of random inputs, by name.
        anonymous: Whether to replace names, and leave out texts and metadata, in the end.
        tries: How many smaller models are tried at most.

    Raises:
        InvalidModel: It is no readable ONNX model.
        SonnxError: Not one thing is asked for, the model does not show it, or an argument or an
            input cannot be used.
    """
    source = _complete(read(model))
    choices = {"edition": edition, "broadcast": broadcast, "operators": operators}
    settings = Settings(choose(Level, "level", level))
    with IsolatedRuns(_SECONDS) as runs:
        asked: dict[str, Question] = {}
        if violates is not None:
            asked["violates"] = _Violates(choose_rules(violates), choices, runs)
        if refused:
            asked["refused"] = partial(_refused, choices=choices, runs=runs)
        if dies:
            asked["dies"] = partial(_death, settings=settings, runs=runs)
        if differs:
            asked["differs"] = partial(_difference, settings=settings, runs=runs)
        if check is not None:
            asked["check"] = partial(_passed, command=check)
        if len(asked) != 1:
            raise SonnxError(
                "ask for one thing that the smaller model still has to show: violates=, refused=, "
                "dies=, differs= or check="
            )
        (question,) = asked.values()
        feeds = _inputs(source, inputs or {}, runs, seed, Sizes(sizes, input_shapes), asked)
        return _reduced(Trial(source.proto, (feeds,)), question, runs, tries, anonymous=anonymous)


def _complete(source: ReadModel) -> ReadModel:
    """A copy of a model with its external data inside, and with seeds of random operators."""
    check_external_data(source.proto, source.folder)
    proto = onnx.ModelProto()
    proto.CopyFrom(source.proto)
    if source.folder is not None:
        load_external_data(list(external_tensors(proto)), source.folder)
    seed_random_operators(proto)
    return dataclasses.replace(source, proto=proto, folder=None)


def _inputs(  # noqa: PLR0913, PLR0917 - what inputs follow from
    source: ReadModel,
    given: Mapping[str, Any],
    runs: IsolatedRuns,
    seed: int,
    sizes: Sizes,
    asked: Mapping[str, object],
) -> Feeds:
    arrays = as_tensors(graph_inputs(source.proto), given)
    try:
        return complete(source, arrays, runs, seed=seed, sizes=sizes).arrays
    except SonnxError:
        # Without a run nothing asks for inputs that nobody can make up.
        if given or asked.keys() & {"dies", "differs"}:
            raise
        return {}


def _reduced(
    trial: Trial, question: Question, runs: IsolatedRuns, tries: int, *, anonymous: bool
) -> Reduced:
    wanted = question(trial)
    if not wanted:
        raise SonnxError("the model does not show what is asked for; there is nothing to reduce")
    tried = 0
    well_formed = [each for each in (_is_valid, partial(_loads, runs=runs)) if each(trial)]

    def shows(candidate: Trial) -> bool:
        nonlocal tried
        tried += 1
        formed = all(each(candidate) for each in well_formed)
        return formed and not wanted.isdisjoint(question(candidate))

    found = shrink(trial, shows, lambda each: known_values(each, runs), most_tries=tries)
    if anonymous:
        nameless = _nameless(found)
        anonymous = shows(nameless)
        found = nameless if anonymous else found
    signs = sorted(wanted & question(found))
    before = len(all_nodes(trial.model))
    return Reduced(found.model, found.runs[0], tuple(signs), before, tried, anonymous)


def _nameless(trial: Trial) -> Trial:
    made = made_anonymous(trial.model)
    names = zip(trial.model.graph.input, made.graph.input, strict=True)
    new = {before.name: after.name for before, after in names}
    runs = tuple({new[name]: a for name, a in feeds.items()} for feeds in trial.runs)
    return Trial(made, runs)


def _is_valid(trial: Trial) -> bool:
    try:
        check_validity(trial.model)
    except InvalidModel:
        return False
    return True


def _loads(trial: Trial, runs: IsolatedRuns) -> bool:
    """Whether ONNX Runtime loads it without optimizing it."""
    content = require_serializable(trial.model)
    return not isinstance(runs.call(types_of_outputs, content), Failed)


class _Violates:
    """Asks whether a rule is violated: in every run, or else, of the first model, in its run."""

    def __init__(self, rules: Signs, choices: Mapping[str, Any], runs: IsolatedRuns) -> None:
        self._rules, self._choices, self._runs = rules, choices, runs
        named = {rule.partition(".")[0] for rule in rules}
        # Enforced for more, the model may be refused for what is not asked.
        self._in_run = {**choices, "operators": named & OPERATORS.keys()}
        self._in_every_run: bool | None = None

    def __call__(self, trial: Trial) -> Signs:
        content = require_serializable(trial.model)
        found: Signs = frozenset()
        if self._in_every_run is not False:
            found = self._signs(violated_rules, content, self._choices)
        if self._in_every_run is None:
            self._in_every_run = bool(found)
        if not self._in_every_run:
            found = self._signs(violated_in_run, content, trial.runs[0], self._in_run)
        return found

    def _signs(self, function: Callable[..., Signs], *arguments: object) -> Signs:
        found = self._runs.call(function, *arguments)
        return frozenset() if isinstance(found, Failed) else found & self._rules


def violated_rules(model: bytes, choices: Mapping[str, Any]) -> Signs:
    """The rules that a model violates in every run.

    Raises:
        SonnxError: It cannot be analyzed.
    """
    return frozenset(each.rule.id for each in check_model(model, **choices).violations)


def violated_in_run(model: bytes, feeds: Feeds, choices: Mapping[str, Any]) -> Signs:
    """The rule that a run of a model violates.

    Raises:
        SonnxError: It is refused.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL
    try:
        InferenceSession(model, options, **choices).run(None, feeds)
    except ContractViolation as violation:
        return frozenset({violation.rule})
    return frozenset()


def reasons_to_refuse(model: bytes, choices: Mapping[str, Any]) -> Signs:
    """Why `rewrite` refuses a model: the rules, or the kind of another error."""
    try:
        rewrite(model, **choices)
    except ModelRejected as error:
        return frozenset(each.rule.id for each in error.report.violations)
    except SonnxError as error:
        return frozenset({type(error).__name__})
    return frozenset()


def _refused(trial: Trial, choices: Mapping[str, Any], runs: IsolatedRuns) -> Signs:
    found = runs.call(reasons_to_refuse, require_serializable(trial.model), choices)
    return frozenset() if isinstance(found, Failed) else found


def _death(trial: Trial, settings: Settings, runs: IsolatedRuns) -> Signs:
    outcome = runs.run(require_serializable(trial.model), None, trial.runs[0], settings)
    if not isinstance(outcome, Failed) or not outcome.died:
        return frozenset()
    return frozenset({outcome.reason})


def _difference(trial: Trial, settings: Settings, runs: IsolatedRuns) -> Signs:
    content = require_serializable(trial.model)
    plain, optimized = (
        runs.run(content, None, trial.runs[0], each) for each in (UNOPTIMIZED, settings)
    )
    if isinstance(plain, Failed) or isinstance(optimized, Failed):
        return frozenset()
    return frozenset({"outputs differ"} if differing(optimized, plain) else ())


def _passed(trial: Trial, command: str) -> Signs:
    with temporary_folder() as folder:
        path = folder / "model.onnx"
        path.write_bytes(require_serializable(trial.model))
        words = [word.replace("{}", str(path)) for word in shlex.split(command)]
        line = words if "{}" in command else [*words, str(path)]
        try:
            ended = subprocess.run(line, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            return frozenset()
        except (OSError, ValueError) as error:
            raise SonnxError(f"the command of check= cannot be run: {error}") from error
    return frozenset({"exit status 0"} if ended.returncode == 0 else ())
