"""Holds what `check` says, and what the enforced model does, against the oracle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.analysis.report import Report
from sonnx_ort.loading.file_traversal import all_graphs, all_nodes
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, RULES
from sonnx_ort.profile.rule import Subject
from sonnx_ort.runs.reduce.shrinking import Feeds, Trial
from support.backends import INSTALLED, RUNS_PYTHON
from support.examined import concluded_by_checker
from support.sessions import LEVELS, on_one_thread, set_for
from support.soundness import exact_results
from support.soundness.arrays import Array
from support.soundness.evaluator import Evaluation, Missing, Value
from support.soundness.judge import Judge, Tally
from support.soundness.leaves import Abandoned

Outcome = Sequence[Array | None] | Exception

_BELIEVED = (
    "Subgraph must have the shape set for all outputs",
    "attempting to re-use buffer",
    "pre-allocated output OrtValues on a model with dynamic output shapes",
)
"""What ONNX Runtime says where it needs a shape that it does not infer, or infers a wrong one.

A Scan needs the shapes of its body's outputs. Memory is given from one tensor to another, and to a
Scan's outputs in advance, by inferred shapes; those of an ArgMax of nothing, and of a PRelu whose
second operand is the larger, are others. A custom operator hides what is inferred.
"""


def refused_for_its_shapes(outcome: Outcome, *, lies: bool) -> bool:
    """Whether ONNX Runtime ended a run for what it believes of shapes, or knows nothing of.

    Args:
        outcome: What the run gave, or raised.
        lies: Whether the model claims what is not so.
    """
    if not isinstance(outcome, Exception) or isinstance(outcome, sonnx_ort.ContractViolation):
        return False
    return lies or any(said in str(outcome) for said in _BELIEVED)


def assert_alike(one: Outcome, other: Outcome, *, uncertain: bool) -> None:
    """Assert that backends agree: both runs fail, or their outputs are of the same bits.

    Where ONNX Runtime may differ from ONNX, it leaves elements as it found them in memory, so that
    no bits can be compared, and nothing that rests on them. What it refuses by itself, it leaves
    out of one session and not of the other where nobody reads the elements.

    Args:
        one: What a run gave with one backend, or raised.
        other: The same with the other one.
        uncertain: Whether ONNX Runtime may differ from ONNX in this run.
    """
    if uncertain and any(_rests_on_elements(o) or _is_its_own(o) for o in (one, other)):
        return
    # Two errors may differ: which of several nodes fails first is open.
    failed = [isinstance(outcome, Exception) for outcome in (one, other)]
    assert failed[0] == failed[1], f"{one!r} and {other!r}"
    if isinstance(one, Exception) or isinstance(other, Exception):
        return
    for index, (first, second) in enumerate(zip(one, other, strict=True)):
        told = f"output {index}: {first!r} and {second!r}"
        if uncertain:
            assert _shape(first) == _shape(second), told
        else:
            assert _bits(first) == _bits(second), told


def _rests_on_elements(outcome: Outcome) -> bool:
    if not isinstance(outcome, sonnx_ort.ContractViolation):
        return False
    return RULES[outcome.rule].requirement.subject is Subject.ELEMENTS


def _is_its_own(outcome: Outcome) -> bool:
    """Whether ONNX Runtime refused, and no guard."""
    violated = isinstance(outcome, sonnx_ort.ContractViolation)
    return isinstance(outcome, Exception) and not violated and "SONNX" not in str(outcome)


def _shape(array: Array | None) -> tuple[int, ...] | None:
    """The shape of a tensor that holds something; ONNX leaves some of others open."""
    return None if array is None or array.size == 0 else array.shape


def _bits(array: Array | None) -> object:
    """Type, shape and bits of a tensor; one NaN is as good as another."""
    # ONNX Runtime gives None for an If whose branch it has folded into an empty constant.
    if array is None or array.size == 0:
        return None
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.dtype, array.shape, array.tobytes()


BACKENDS = tuple(map(str, INSTALLED))

_LOWER_LEVELS = [level for level in LEVELS if level != "all"]
"""Our own sessions are at the highest level, plain ones at these."""


@dataclass(frozen=True)
class Sessions:
    """What a model is run in.

    Attributes:
        own: Our sessions by backend; what kept one from starting, if that was a rule.
        plain: ONNX Runtime's own sessions on what `rewrite` made, by backend and level.
    """

    own: Mapping[str, ort.InferenceSession | sonnx_ort.ContractViolation | None]
    plain: Mapping[tuple[str, str], ort.InferenceSession]


@dataclass(frozen=True)
class DryRun(Trial):
    """What is tried, and how it is enforced.

    Attributes:
        lies: Whether the model claims what is not so.
        edition: The edition.
        broadcast: What becomes of operands of different shapes.
        operators: The names of the operators that are enforced.
    """

    lies: bool
    edition: str
    broadcast: str
    operators: frozenset[str] = DEFAULT_OPERATORS

    def __str__(self) -> str:
        """Give all that is needed to look at it again."""
        names = ", ".join(sorted(self.operators))
        return (
            f"edition {self.edition}, broadcast {self.broadcast}, operators {names}\n"
            f"{super().__str__()}"
        )


def examine(trial: DryRun, tally: Tally) -> None:
    """Check a model, enforce it by each backend, and run it; assert that all and the oracle agree.

    A session that does not start because of a rule stands for runs that all break it, if they reach
    the node.
    """
    tally["graphs"] += 1
    content = trial.model.SerializeToString()
    reports = {
        backend: sonnx_ort.check(content, forecast=False, **_choices(trial, backend))
        for backend in BACKENDS
    }
    enforced = {backend: _enforced(trial, reports[backend], backend, tally) for backend in BACKENDS}
    # A native model also enforces what the installed version of onnxruntime does not need.
    report = reports["native"]
    started = {name: _start(trial, report, name, model, tally) for name, model in enforced.items()}
    plain = {
        (backend, level): session
        for backend, model in enforced.items()
        for level in _LOWER_LEVELS
        if model is not None and isinstance(started[backend], ort.InferenceSession)
        if (session := _plain(trial, model, backend, level, tally)) is not None
    }
    concluded = concluded_by_checker(content, trial.edition, trial.operators)
    for feeds in trial.runs:
        _examine_run(trial, feeds, report, Sessions(started, plain), concluded, tally)


def _choices(trial: DryRun, backend: str) -> dict[str, Any]:
    return {
        "edition": trial.edition,
        "broadcast": trial.broadcast,
        "operators": trial.operators,
        "backend": backend,
    }


def _start(
    trial: DryRun, report: Report, backend: str, enforced: onnx.ModelProto | None, tally: Tally
) -> ort.InferenceSession | sonnx_ort.ContractViolation | None:
    """Start a session of ours; give what kept it from starting, if that was a rule."""
    if enforced is None:
        return None
    # Optimizers that are off for one backend alone would make bits differ.
    options = sonnx_ort.register(on_one_thread())
    try:
        return sonnx_ort.InferenceSession(
            enforced,
            options,
            verify_proofs=RUNS_PYTHON and not trial.lies,
            **_choices(trial, backend),
        )
    except sonnx_ort.ContractViolation as violation:
        Judge(report, tally, trial.operators).compare_with_run(violation)
        tally[f"{backend}: fails when the session starts"] += 1
        return violation
    except sonnx_ort.SonnxError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime refuses
        tally[f"{backend}: refused: {' '.join(str(error).split())[:300]}"] += 1
        tally[f"{backend}: refused, {'lying' if trial.lies else 'honest'}"] += 1
    return None


def _plain(
    trial: DryRun, enforced: onnx.ModelProto, backend: str, level: str, tally: Tally
) -> ort.InferenceSession | None:
    """Start a session of ONNX Runtime's own, where one of ours has started."""
    options = set_for(backend, level)
    try:
        return ort.InferenceSession(enforced.SerializeToString(), options)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime refuses
        refusal = error
    # A node without a kernel may be dead, so that it is gone at the highest level.
    known = trial.lies or "NOT_IMPLEMENTED" in str(refusal)
    assert known, f"{backend}, level {level}: {refusal}"
    tally[f"{backend}, {level}: refused, {'lying' if trial.lies else 'without a kernel'}"] += 1
    return None


def _enforced(trial: DryRun, report: Report, backend: str, tally: Tally) -> onnx.ModelProto | None:
    """Rewrite a model, and what comes of it once more, unless it is refused."""
    refusal, choices = None, _choices(trial, backend)
    try:
        enforced = sonnx_ort.rewrite(trial.model.SerializeToString(), **choices)
    except sonnx_ort.SonnxError as error:
        refusal = error
    if isinstance(refusal, sonnx_ort.ModelRejected):
        assert not report.ok
        assert list(map(str, refusal.report.enforced)) == list(map(str, report.enforced))
        tally[f"{backend}: rejected"] += 1
        return None
    assert report.ok
    if refusal is not None:
        # The standard operators differ by type, which may follow from nothing.
        assert "needs to know the element type" in str(refusal)
        tally[f"{backend}: refused, type unknown"] += 1
        return None
    assert sonnx_ort.rewrite(enforced, **choices) == enforced, f"{backend}: rewritten twice"
    return enforced


def _examine_run(  # noqa: PLR0917 - what is looked at, and where it is counted
    trial: DryRun,
    feeds: Feeds,
    report: Report,
    sessions: Sessions,
    concluded: frozenset[tuple[str, str]],
    tally: Tally,
) -> None:
    refusals = [s for s in sessions.own.values() if isinstance(s, sonnx_ort.ContractViolation)]
    refused = frozenset((refusal.node, refusal.rule) for refusal in refusals)
    judge = Judge(
        report,
        tally,
        trial.operators,
        declared_sizes(trial.model),
        # A lie about a Shape's own shape may make its guard refuse what keeps the rule.
        broken_at_the_start=frozenset() if trial.lies else refused,
        concluded=concluded,
    )
    evaluation = Evaluation(trial.model, judge.decide)
    try:
        with np.errstate(all="ignore"):
            expected = evaluation.outputs(feeds)
    except Abandoned:
        tally["abandoned"] += 1
        return
    tally["evaluated"] += 1
    judge.visited -= evaluation.left
    own = {n: s for n, s in sessions.own.items() if isinstance(s, ort.InferenceSession)}
    outcomes = {name: _run(session, feeds) for name, session in own.items()}
    for backend, outcome in outcomes.items():
        tally[f"{backend}: runs"] += 1
        what = _judge_run(trial, judge, outcome, expected, uncertain=evaluation.uncertain)
        tally[f"{backend}: {what}"] += 1
    for (backend, level), session in sessions.plain.items():
        outcome = _run(session, feeds)
        where = f"{backend}, {level}"
        what = _judge_plain_run(
            trial, judge, outcome, expected, uncertain=evaluation.uncertain, where=where
        )
        tally[f"{where}: {what}"] += 1
    if not trial.lies and not evaluation.uncertain:
        _compare_empty_results(trial, feeds, "all", outcomes, tally)
        for level in _LOWER_LEVELS:
            at_level = {b: _run(s, feeds) for (b, at), s in sessions.plain.items() if at == level}
            _compare_empty_results(trial, feeds, level, at_level, tally)
    if len(outcomes) == len(BACKENDS):
        reference, *others = (outcomes[backend] for backend in BACKENDS)
        if not any(refused_for_its_shapes(o, lies=trial.lies) for o in (reference, *others)):
            for other in others:
                assert_alike(reference, other, uncertain=evaluation.uncertain)


def _compare_empty_results(
    trial: DryRun, feeds: Feeds, level: str, outcomes: Mapping[str, Outcome], tally: Tally
) -> None:
    """Assert that results without elements have the shapes that the original model gives.

    The original runs only where enforced models do, because what they check may end the process.
    """
    given = {b: o for b, o in outcomes.items() if not isinstance(o, Exception)}
    if not any(array is not None and array.size == 0 for o in given.values() for array in o):
        return
    try:
        session = ort.InferenceSession(trial.model.SerializeToString(), on_one_thread(level))
    except Exception:  # noqa: BLE001 - a Broadcast, or whatever ONNX Runtime refuses
        return
    original = _run(session, feeds)
    if isinstance(original, Exception):
        return
    for backend, outcome in given.items():
        for index, (array, wanted) in enumerate(zip(outcome, original, strict=True)):
            if array is not None and wanted is not None and array.size == 0:
                told = f"{backend}, {level}, output {index}: {array.shape}, not {wanted.shape}"
                assert array.shape == wanted.shape, told
                tally["empty results of the original's shape"] += 1


def _judge_run(
    trial: DryRun,
    judge: Judge,
    outcome: Sequence[Array | None] | Exception,
    expected: Sequence[Value],
    *,
    uncertain: bool,
) -> str:
    """Assert that a run did what the oracle says, and tell what that was."""
    if isinstance(outcome, sonnx_ort.ContractViolation):
        judge.compare_with_run(outcome, uncertain=uncertain)
        if RULES[outcome.rule].requirement.subject is Subject.HELD:
            # The oracle leaves these to ONNX Runtime, whose refusal the session names.
            return "runs that ONNX Runtime held to a rule"
        if outcome.node in judge.visited or not (judge.possible or uncertain):
            broken = (outcome.node, outcome.rule)
            assert broken in judge.possible, f"{broken} is broken: {outcome}"
        # Else ONNX Runtime went on behind a violation where nothing but a known shape is needed.
        return "runs that broke a rule"
    assert not (judge.needed and not isinstance(outcome, Exception)), f"not broken: {judge.needed}"
    if uncertain:
        return "uncertain"
    if isinstance(outcome, Exception):
        # ONNX Runtime is stricter than onnx.reference here and there, but never about our nodes.
        assert trial.lies or "SONNX" not in str(outcome), outcome
        return f"refused in the run, {'lying' if trial.lies else 'honest'}"
    if trial.lies:
        return "runs of a lying model"
    _assert_equal(trial.model, outcome, expected)
    return "runs that gave the oracle's results"


def _judge_plain_run(
    trial: DryRun,
    judge: Judge,
    outcome: Sequence[Array | None] | Exception,
    expected: Sequence[Value],
    *,
    uncertain: bool,
    where: str,
) -> str:
    """As `_judge_run`, of a session whose errors tell rules by the names of nodes alone."""
    if isinstance(outcome, Exception):
        ours = "SONNX" in str(outcome)
        assert judge.possible or trial.lies or uncertain or not ours, f"{where}: {outcome}"
        return "runs that broke a rule" if ours else "refused in the run"
    assert not judge.needed, f"{where}: not broken: {judge.needed}"
    if uncertain or trial.lies:
        return "uncertain"
    _assert_equal(trial.model, outcome, expected)
    return "runs that gave the oracle's results"


def _run(session: ort.InferenceSession, feeds: Mapping[str, Array]) -> list[Array] | Exception:
    try:
        outputs: list[Array] = session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime fails with
        return error
    return outputs


def _assert_equal(
    model: onnx.ModelProto, actual: Sequence[Array | None], expected: Sequence[Any]
) -> None:
    for declared, got, wanted in zip(model.graph.output, actual, expected, strict=True):
        # ONNX Runtime gives None for an If whose branch it has folded into an empty constant.
        if isinstance(wanted, exact_results.Enclosed):
            if got is not None:
                wanted.assert_admits(got)
            continue
        if isinstance(wanted, Missing) or (got is None and wanted.size == 0):
            continue
        name = declared.name
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), name
        np.testing.assert_allclose(got, wanted, rtol=1e-5, err_msg=name)


def declared_sizes(proto: onnx.ModelProto) -> dict[str, list[list[int]]]:
    """What a model declares of the sizes of values, in its main graph and in subgraphs.

    Returns:
        The declared sizes by name, one list for each declaration; 0 stands for an open size.
    """
    declared: dict[str, list[list[int]]] = {}
    for graph in all_graphs(proto):
        for value in (*graph.output, *graph.value_info):
            if value.type.tensor_type.HasField("shape"):
                sizes = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
                declared.setdefault(value.name, []).append(sizes)
    # What is declared of a call's output is declared of the function's own. Functions may call
    # others, which are looked at once for each that calls.
    functions = {(function.domain, function.name): function for function in proto.functions}
    for _ in functions:
        for call in all_nodes(proto):
            called = functions.get((call.domain, call.op_type))
            for own, given in zip(called.output if called else (), call.output, strict=False):
                declared.setdefault(own, []).extend(declared.get(given, ()))
    return declared
