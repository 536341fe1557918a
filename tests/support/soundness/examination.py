"""Holds what `check` says, and what the enforced model does, against the oracle."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.analysis.report import Report
from sonnx_ort.loading.traversal import all_graphs, all_nodes
from sonnx_ort.profile.judgement import Status
from support.conformity import assert_admitted
from support.sessions import on_one_thread
from support.soundness import exact_results, rules, single_operands
from support.soundness.arrays import Array
from support.soundness.evaluator import Evaluation, Missing, Value, Visit
from support.soundness.leaves import Abandoned
from support.soundness.outcomes import assert_alike, refused_for_its_shapes
from support.soundness.shrinking import Feeds, Sample

Violation = tuple[str, str]
"""The label of a node, and the id of the first rule that it breaks."""

E1 = "Broadcast.E1"

BACKENDS = ("python", "native")


Tally = Counter[str]
"""What a test has looked at, so that it cannot pass by looking at nothing."""


@dataclass
class Judge:
    """Judges every visit to a node by the rules, and the report by that.

    A rule of an operator that is not to be enforced changes no run, and is judged all the same.

    Attributes:
        report: What `check` says.
        tally: Counts.
        operators: Those that are to be enforced.
        declared: The sizes that the model declares of values by their names; 0 where one is open.
        needed: The violations that an output of the model depends on.
        possible: These, and those of dead nodes, which a runtime may leave out.
        visited: The labels of the nodes that were reached.
        broken_at_the_start: What kept a session from starting.
    """

    report: Report
    tally: Tally
    operators: frozenset[str] = rules.DEFAULT_OPERATORS
    declared: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    needed: set[Violation] = field(default_factory=set)
    possible: set[Violation] = field(default_factory=set)
    visited: set[str] = field(default_factory=set)
    broken_at_the_start: frozenset[Violation] = frozenset()
    _statuses: dict[tuple[str, str], Status] = field(init=False)
    _enforced: dict[str, set[bool]] = field(init=False)

    def __post_init__(self) -> None:
        """Index the report."""
        self._statuses = {(o.node, o.rule.id): o.status for o in self.report.obligations}
        self._enforced = {}
        for o in self.report.obligations:
            self._enforced.setdefault(o.node, set()).add(o.enforced)

    def decide(self, visit: Visit) -> Sequence[Value] | Missing:
        """Compute a node that keeps all rules, or that nothing keeps from breaking them."""
        enforced = visit.operator in self.operators
        if not enforced and visit.node not in self._enforced:
            # The report tells of a node in a function only where that is inlined.
            self.tally["not told of"] += 1
            return visit.standard(visit.operands)
        assert self._enforced.get(visit.node) == {enforced}, visit.node
        operands, rule = self._judged(visit, enforced=enforced)
        self.tally[f"{visit.operator}: {'broken' if rule else 'kept'}"] += 1
        if not enforced:
            return visit.standard(visit.operands) if rule else self._computed(visit, operands)
        self.visited.add(visit.node)
        if rule:
            return self._violation(visit, rule)
        match visit.operator:
            case rules.BROADCAST:
                return [np.array(operand) for operand in operands]
            case "Div" | "Sub":
                edition = self.report.edition.value
                return [rules.divide_or_subtract(visit.operator, *operands, edition)]
        return self._computed(visit, operands)

    def _computed(self, visit: Visit, operands: Sequence[Array]) -> Sequence[Value]:
        """What the oracle gives of operands that keep the rules, or else onnx.reference."""
        if visit.operator in exact_results.OPERATORS:
            rest = iter(operands)
            places = [None if place is None else next(rest) for place in visit.places]
            found = exact_results.exact_result(visit.operator, places, visit.attributes)
            if found is not None:
                self.tally[f"{visit.operator}: by the oracle"] += 1
                return [found]
        return visit.standard(operands)

    def _judged(self, visit: Visit, *, enforced: bool) -> tuple[Sequence[Array], str]:
        """The operands that a node computes of, and the first rule that it breaks, if any."""
        operands: Sequence[Array] = visit.operands
        if visit.operator == rules.BROADCAST or (visit.node, E1) in self._statuses:
            common = rules.common_shape([operand.shape for operand in operands])
            self._compare(visit.node, E1, broken=common is None)
            if common is None:
                return operands, E1
            operands = [np.broadcast_to(operand, common) for operand in operands]
        if visit.operator == rules.BROADCAST:
            return operands, ""
        edition = self.report.edition.value
        if visit.operator in single_operands.OPERATORS:
            decided = single_operands.decided_rules(visit.operator, visit.places, visit.attributes)
        else:
            decided = rules.decided_rules(visit.operator, operands, edition, visit.attributes)
        shape_rules = rules.same_shape_rules(visit.operator, operands, edition)
        if enforced and self._declared_alike(visit):
            self.possible.add((visit.node, next(iter(decided))))
        for rule, broken in decided.items():
            refused = self._refused_before(visit.node, rule) if broken else set()
            if refused:
                self.needed |= refused if visit.live else set()
                continue
            shape = operands[0].shape
            declared = rule in shape_rules and self._declared_to_break(visit, rule, shape)
            self._compare(visit.node, rule, broken=broken or declared)
        return operands, next((rule for rule, broken in decided.items() if broken), "")

    def _refused_before(self, node: str, rule: str) -> set[Violation]:
        """What a node before must have been refused for, on which the proof of a rule rests."""
        proofs = (o for o in self.report.obligations if (o.node, o.rule.id) == (node, rule))
        evidence = next((o.evidence for o in proofs if o.status is Status.PROVED), "")
        return {(n, r) for n, r in self.possible if f"'{n}', which comes before" in evidence}

    def _declared_to_break(self, visit: Visit, rule: str, shape: tuple[int, ...]) -> bool:
        """Whether what the model declares of the result is why a rule about shapes is violated."""
        if self._statuses.get((visit.node, rule)) is not Status.VIOLATED:
            return False
        return any(
            len(sizes) != len(shape)
            or any(size not in (0, own) for size, own in zip(sizes, shape, strict=True))
            for sizes in self.declared.get(visit.result, ())
        )

    def _declared_alike(self, visit: Visit) -> bool:
        """Whether an operand is not expanded for its symbols, which the run does not keep to."""
        shape_rules = rules.same_shape_rules(
            visit.operator, visit.operands, self.report.edition.value
        )
        statuses = [self._statuses.get((visit.node, rule)) for rule in (E1, *shape_rules)]
        unequal = len({operand.shape for operand in visit.operands}) > 1
        return unequal and None not in statuses and Status.PROVED not in statuses

    def compare_with_run(
        self, violation: sonnx_ort.ContractViolation, *, uncertain: bool = False
    ) -> None:
        """A rule that a run broke is not proved.

        Args:
            violation: What the run raised.
            uncertain: Whether ONNX Runtime's kernels may differ from the inference by which it
                computes a Shape: a Broadcast makes operands equal as far as their Shapes are right.
        """
        proved = self._statuses.get((violation.node, violation.rule)) is Status.PROVED
        broadcast = self._statuses.get((violation.node, E1)) is Status.RUNTIME
        if uncertain and proved and broadcast:
            self.tally["broken behind a wrong Shape"] += 1
            return
        self._compare(violation.node, violation.rule, broken=True)

    def _compare(self, node: str, rule: str, *, broken: bool) -> None:
        status = self._statuses.get((node, rule))
        assert status is not None, f"{node}: no obligation for {rule}"
        self.tally[f"{status} {'broken' if broken else 'kept'}"] += 1
        if self._enforced[node] == {False}:
            self.tally[f"not enforced: {status} {'broken' if broken else 'kept'}"] += 1
        assert not (broken and status is Status.PROVED), f"{node}: {rule} is proved, and broken"
        assert broken or status is not Status.VIOLATED, f"{node}: {rule} is violated, and kept"
        refused = (node, rule) in self.broken_at_the_start
        assert broken or not refused, f"{node}: {rule} kept a session from starting, and is kept"

    def _violation(self, visit: Visit, rule: str) -> Missing:
        self.possible.add((visit.node, rule))
        if visit.live:
            self.needed.add((visit.node, rule))
        return Missing()


@dataclass(frozen=True)
class Trial(Sample):
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
    operators: frozenset[str] = rules.DEFAULT_OPERATORS

    def __str__(self) -> str:
        """Give all that is needed to look at it again."""
        names = ", ".join(sorted(self.operators))
        return (
            f"edition {self.edition}, broadcast {self.broadcast}, operators {names}\n"
            f"{super().__str__()}"
        )


def examine(trial: Trial, tally: Tally) -> None:
    """Check a model, enforce it by each backend, and run it; assert that all and the oracle agree.

    A session that does not start because of a rule stands for runs that all break it, if they reach
    the node.
    """
    tally["graphs"] += 1
    content = trial.model.SerializeToString()
    report = sonnx_ort.check(
        content, edition=trial.edition, broadcast=trial.broadcast, operators=trial.operators
    )
    started = {backend: _start(trial, report, backend, tally) for backend in BACKENDS}
    for feeds in trial.runs:
        _examine_run(trial, feeds, report, started, tally)


def _start(
    trial: Trial, report: Report, backend: str, tally: Tally
) -> ort.InferenceSession | sonnx_ort.ContractViolation | None:
    """Start a session; give what kept it from starting, if that was a rule."""
    choices = {
        "edition": trial.edition,
        "broadcast": trial.broadcast,
        "operators": trial.operators,
        "backend": backend,
    }
    enforced = _enforced(trial.model.SerializeToString(), report, choices, tally)
    if enforced is None:
        return None
    # Optimizers that are off for one backend alone would make bits differ.
    options = sonnx_ort.register(on_one_thread())
    try:
        return sonnx_ort.InferenceSession(
            enforced, options, verify_proofs=not trial.lies, **choices
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


def _enforced(
    content: bytes, report: Report, choices: Mapping[str, Any], tally: Tally
) -> onnx.ModelProto | None:
    """Rewrite a model, and what comes of it once more, unless it is refused."""
    backend = choices["backend"]
    refusal = None
    try:
        enforced = sonnx_ort.rewrite(content, **choices)
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


def _examine_run(
    trial: Trial,
    feeds: Feeds,
    report: Report,
    started: Mapping[str, ort.InferenceSession | sonnx_ort.ContractViolation | None],
    tally: Tally,
) -> None:
    refusals = [s for s in started.values() if isinstance(s, sonnx_ort.ContractViolation)]
    refused = frozenset((refusal.node, refusal.rule) for refusal in refusals)
    judge = Judge(
        report,
        tally,
        trial.operators,
        declared_sizes(trial.model),
        # A lie about a Shape's own shape may make its guard refuse what keeps the rule.
        broken_at_the_start=frozenset() if trial.lies else refused,
    )
    evaluation = Evaluation(trial.model, judge.decide)
    try:
        with np.errstate(all="ignore"):
            expected = evaluation.outputs(feeds)
    except Abandoned:
        tally["abandoned"] += 1
        return
    tally["evaluated"] += 1
    sessions = {n: s for n, s in started.items() if isinstance(s, ort.InferenceSession)}
    outcomes = {name: _run(session, feeds) for name, session in sessions.items()}
    for backend, outcome in outcomes.items():
        tally[f"{backend}: runs"] += 1
        what = _judge_run(trial, judge, outcome, expected, uncertain=evaluation.uncertain)
        tally[f"{backend}: {what}"] += 1
    if len(outcomes) == len(BACKENDS):
        pair = [outcomes[backend] for backend in BACKENDS]
        if not any(refused_for_its_shapes(outcome, lies=trial.lies) for outcome in pair):
            assert_alike(*pair, uncertain=evaluation.uncertain)


def _judge_run(
    trial: Trial,
    judge: Judge,
    outcome: Sequence[Array | None] | Exception,
    expected: Sequence[Value],
    *,
    uncertain: bool,
) -> str:
    """Assert that a run did what the oracle says, and tell what that was."""
    if isinstance(outcome, sonnx_ort.ContractViolation):
        judge.compare_with_run(outcome, uncertain=uncertain)
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
                assert_admitted(got, wanted.admitted)
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
