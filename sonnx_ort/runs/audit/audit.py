"""`audit`: compares a run with the exact meaning of every operator, on the values it was given."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
import onnxruntime
from onnx import inliner

from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.analysis.progress import followed
from sonnx_ort.errors import BackendUnavailable, SonnxError
from sonnx_ort.errors.arguments import checked_arguments, choose
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.file_traversal import nodes_within
from sonnx_ort.loading.saving import new_whole_folder
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import in_words
from sonnx_ort.options import PROFILE, OperatorsChoice, choose_demands
from sonnx_ort.ort.feeds import as_tensors, graph_inputs
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice
from sonnx_ort.runs.audit.audited_node import Audited
from sonnx_ort.runs.audit.enclosing import EnclosedOutput, enclose
from sonnx_ort.runs.audit.error_bounds import BoundedValue, ErrorBounds, errors_of_inputs
from sonnx_ort.runs.audit.judging import judge
from sonnx_ort.runs.audit.signed_results import signed_results
from sonnx_ort.runs.audit.verdicts import NodeAudit, Sampling, Verdict
from sonnx_ort.runs.bodies import NotRepeatedError, has_bodies, repeated
from sonnx_ort.runs.derived_models import (
    contract_for_runs,
    enforced_natively,
    seed_random_operators,
    whole,
)
from sonnx_ort.runs.given_values import GivenValues, SavedValues
from sonnx_ort.runs.input_shapes import Sizes
from sonnx_ort.runs.inputs import Inputs, complete_within, require_seed, require_within
from sonnx_ort.runs.isolated_run import (
    CPU,
    Array,
    IsolatedRuns,
    Level,
    LevelChoice,
    Settings,
    available,
)
from sonnx_ort.runs.limits import SECONDS, LimitExceeded, Limits
from sonnx_ort.runs.observing import Observation, ObservedGraph, Step


@dataclass(frozen=True, slots=True)
class Audit:
    """A run, compared with what its operators mean.

    Attributes:
        nodes: The audit of every node that ran, in order; nodes of bodies come before the node that
            has them.
        demands: The edition, what becomes of broadcasting, and the contract of the inputs.
        sampling: Which elements were audited.
        source: What computed the values, as text.
        inputs: The SHA-256 of the elements of each input, in row-major order.
        seed: The seed of the inputs that were not given; None if all were.
        random: The dtypes and shapes of these inputs.
        open_sizes: The sizes of theirs that were chosen, by name or axis.
        note: These sizes, and how others are set; empty if there are none.
        not_run: The nodes in bodies that the run did not reach.
        unlike: The outputs for which the observed run gave other bits than the run itself.
        outputs: Where the exact results over the reals lie, if that was asked for.
        seeded: The random operators without a seed, which got one, so that all runs draw the same.
        errors: The largest errors of inputs that were said; None if no errors were asked for.
        bounded: The bounds of the errors of the float values, if they were asked for.
        settings: The settings file from which options were read; empty if there is none.
    """

    nodes: tuple[NodeAudit, ...]
    demands: Demands
    sampling: Sampling
    source: str
    inputs: Mapping[str, str]
    seed: int | None = None
    random: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    open_sizes: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    not_run: int = 0
    unlike: tuple[str, ...] = ()
    outputs: tuple[EnclosedOutput, ...] = ()
    seeded: tuple[str, ...] = ()
    errors: Mapping[str, float] | None = None
    bounded: tuple[BoundedValue, ...] = ()
    settings: str = ""

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """How many nodes have each verdict."""
        counts = Counter(node.verdict for node in self.nodes)
        return {verdict: counts[verdict] for verdict in Verdict}

    @property
    def outside(self) -> tuple[NodeAudit, ...]:
        """The nodes with results outside the admitted error."""
        return tuple(node for node in self.nodes if node.verdict is Verdict.OUTSIDE)

    @property
    def ok(self) -> bool:
        """Whether nothing is outside the admitted error."""
        return not self.outside


@checked_arguments
def audit(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    feeds: Mapping[str, Array] | None = None,
    *,
    values: str | os.PathLike[str] | None = None,
    save_values: str | os.PathLike[str] | None = None,
    level: LevelChoice = "none",
    providers: Iterable[str] = CPU,
    edition: EditionChoice = "typed",
    broadcast: BroadcastChoice = "reject",
    operators: OperatorsChoice = PROFILE,
    seed: int = 0,
    samples: int | None = 100,
    exhaustive: bool = False,
    enclose_outputs: bool = False,
    errors: Mapping[str, float] | None = None,
    sizes: Mapping[str, int] = MappingProxyType({}),
    input_shapes: Mapping[str, Sequence[int]] = MappingProxyType({}),
    contract: ContractSource = NO_CONTRACT,
    time_limit: int | float = SECONDS,
    memory_limit: int | None = None,
) -> Audit:
    """Run a model once, and hold every node to what its operator means.

    Each node is compared with the exact result for the very operands that it was given, so that
    errors of other nodes do not count. The model runs in a process of its own, as it is: what its
    optimizer fuses is compared as one. Nodes in bodies of If, Loop and Scan are audited too.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`, enforced or
            not; it is not modified.
        feeds: Its inputs by name; those that are omitted are random.
        values: A folder with the values of a run of another implementation, as .npy files that have
            the names of the values; then nothing is run.
        save_values: A folder to which the values of the run are written as such files; it is made
            if need be, and must be empty.
        level: How far ONNX Runtime optimizes: "none", "basic", "extended" or "all".
        providers: Its execution providers, in order.
        edition: "typed" or "preliminary".
        broadcast: "reject", or "explicit" if operands of different shapes break no rule.
        operators: The operators whose rules are looked at, as for `check`; the whole profile by
            default.
        seed: The seed of random inputs and of samples.
        samples: How many elements of each result are audited at most. Of operators that only move
            elements all are.
        exhaustive: Whether all elements are audited, and all steps of loops. Those of more than
            1,000 steps are not followed.
        enclose_outputs: Whether to follow the exact values over the reals from the inputs to the
            outputs, for models of up to ten million operations.
        errors: Asks for a bound of the error of each float value, for models of as many operations:
            the largest absolute errors of inputs, by name; those that are omitted are exact.
        sizes: The sizes of open dimensions of random inputs, by their names in the model. Others
            are chosen so that the model runs.
        input_shapes: The shapes of random inputs, by name.
        contract: What the inputs may be, as for `check`: random ones are drawn within it.
        time_limit: How many seconds a run of the model may take.
        memory_limit: How many MB of memory a run of it may take; three quarters of the machine's if
            it is omitted.

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown, the model does not run, an input or a value is missing or
            has a wrong type or shape, a size contradicts the model, an error is none of a float
            input, an input breaks the contract, or the model is too large to enclose its outputs
            or errors.
    """
    if samples is not None and samples < 1:
        raise SonnxError(
            Advice(
                Remedy("samples", samples),
                " is too few; choose 1 or more, or ",
                Remedy("exhaustive"),
            )
        )
    require_seed(seed)
    sampling = Sampling(seed, None if exhaustive else samples)
    source = read(model)
    demands = choose_demands(edition, broadcast, operators, contract_for_runs(source, contract))
    proto = _without_functions(source)
    seeded = tuple(map(in_words, seed_random_operators(proto)))
    said = Sizes(sizes, input_shapes)
    with IsolatedRuns(Limits(time_limit, memory_limit)) as runs, ExitStack() as written:
        if values is None:
            choices = _RunChoices(feeds or {}, level, tuple(providers), seed, said)
            observed = _run(source, proto, demands, choices, runs)
        elif sizes or input_shapes:
            raise SonnxError("sizes and input shapes are for random inputs; values has none")
        else:
            observed = _values_in(values, proto, feeds or {}, demands, runs)
        graph, made = observed.graph, observed.inputs
        saved = None
        if save_values is not None:
            place = written.enter_context(new_whole_folder(Path(save_values)))
            saved = SavedValues(proto, place)
        bounds = None
        if errors is not None:
            errors = errors_of_inputs(errors, graph.feeds)
            bounds = ErrorBounds(proto, graph.feeds, errors)
        auditor = _Auditor(demands, sampling, saved, bounds)
        with _sizes_named(made):
            auditor.audit(graph)
        arrays = {name: array for name, array in graph.outputs.items() if array is not None}
        enclosed = enclose(proto, graph.feeds, arrays) if enclose_outputs else ()
    return Audit(
        tuple(auditor.nodes.values()),
        demands,
        sampling,
        observed.source,
        {name: _digest(array) for name, array in graph.feeds.items()},
        seed if made.random else None,
        {
            name: (str(made.arrays[name].dtype), tuple(made.arrays[name].shape))
            for name in made.random
        },
        made.chosen,
        made.note,
        len(nodes_within(proto.graph.node)) - len(auditor.nodes),
        graph.unlike,
        enclosed,
        seeded if values is None else (),
        errors,
        () if bounds is None else tuple(bounds.values),
    )


@dataclass(frozen=True, slots=True)
class _RunChoices:
    """How the run is made whose values are audited; the attributes are arguments of `audit`."""

    feeds: Mapping[str, Array]
    level: LevelChoice
    providers: Sequence[str]
    seed: int
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class _Observed:
    """The values that are audited.

    Attributes:
        graph: The values themselves.
        inputs: The inputs of the run; none if no run was made.
        source: What computed the values, as text.
    """

    graph: Observation
    inputs: Inputs
    source: str


def _run(
    source: ReadModel,
    proto: onnx.ModelProto,
    demands: Demands,
    choices: _RunChoices,
    runs: IsolatedRuns,
) -> _Observed:
    """Values of a run that is made now, of a model whose functions are written out."""
    made = complete_within(
        source,
        choices.feeds,
        runs,
        contract=demands.contract,
        seed=choices.seed,
        sizes=choices.sizes,
    )
    chosen = available(choices.providers)
    level = choose(Level, "level", choices.level)
    settings = Settings(level, chosen, enforced_natively(proto))
    graph = ObservedGraph(proto, made.arrays, settings, runs)
    runtime = f"onnxruntime {onnxruntime.__version__}"
    return _Observed(graph, made, f"{runtime}, level {level}, {', '.join(chosen)}")


def _values_in(
    folder: str | os.PathLike[str],
    proto: onnx.ModelProto,
    feeds: Mapping[str, Array],
    demands: Demands,
    runs: IsolatedRuns,
) -> _Observed:
    """Values that another implementation left in a folder."""
    graph = GivenValues(proto, Path(folder), as_tensors(graph_inputs(proto), feeds), runs)
    require_within(demands.contract, graph_inputs(proto), graph.feeds)
    return _Observed(graph, Inputs({}), f"the files in '{folder}'")


@contextmanager
def _sizes_named(made: Inputs) -> Iterator[None]:
    """Say of a run that fails which sizes were chosen for it."""
    try:
        yield
    except SonnxError as error:
        if made.able or isinstance(error, BackendUnavailable | LimitExceeded):
            raise
        *lines, last = error.args
        raise SonnxError(*lines, Advice(last, "; open sizes: ", made.note)) from error


def _digest(array: Array) -> str:
    if array.dtype.kind == "O":
        return hashlib.sha256(repr(array.tolist()).encode()).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _without_functions(source: ReadModel) -> onnx.ModelProto:
    """The model with all tensors inside it and calls of functions written out."""
    load_canonical(source)
    model = whole(source).proto
    if not model.functions:
        return model
    try:
        inlined: onnx.ModelProto = inliner.inline_local_functions(model)
    except Exception as error:
        raise SonnxError(f"the functions of the model cannot be written out: {error}") from error
    return inlined


class _Auditor:
    """Audits graphs and the bodies inside them."""

    def __init__(
        self,
        demands: Demands,
        sampling: Sampling,
        saved: SavedValues | None,
        bounds: ErrorBounds | None,
    ) -> None:
        self._demands, self._sampling = demands, sampling
        self._saved, self._bounds = saved, bounds
        self.nodes: dict[tuple[tuple[str, ...], str], NodeAudit] = {}

    def audit(self, graph: Observation) -> None:
        """Audit each node of a graph; one whose zeros get their signs behind it, by that result."""
        last = signed_results(graph.model.graph.node, (v.name for v in graph.model.graph.output))
        waiting: dict[str, Step] = {}
        steps: Iterable[Step] = graph.steps()
        if not graph.path:
            steps = followed(steps, "auditing nodes", len(graph.model.graph.node))
        for step in steps:
            if self._saved is not None and not graph.path:
                self._saved.save(step)
            if self._bounds is not None and not graph.path:
                self._bounds.follow(step)
            outputs = step.audited.node.output
            if outputs and outputs[0] in last:
                waiting[last[outputs[0]]] = step
                continue
            signless = waiting.pop(outputs[0], None) if outputs else None
            if signless is not None:
                made = replace(signless.audited, results=step.audited.results)
                signed = replace(signless, audited=made, unobserved=step.unobserved)
                self._add(signed, self._audited(signed, graph))
            self._add(step, self._audited(step, graph))

    def _audited(self, step: Step, graph: Observation) -> NodeAudit:
        audited = step.audited
        if has_bodies(audited.node):
            return self._audit_of_bodies(step, graph)
        if step.unobserved:
            return audited.not_known(
                "the run has no value for its result: the optimizer joined it with the node that "
                "reads it, or left it out"
            )
        return judge(audited, self._demands, self._sampling)

    def _audit_of_bodies(self, step: Step, graph: Observation) -> NodeAudit:
        audited = step.audited
        try:
            for body in repeated(step, graph, every=self._sampling.samples is None):
                self.audit(body.observed(graph))
        except NotRepeatedError as error:
            return audited.not_known(str(error))
        except LimitExceeded:
            raise  # as each further body would take as long
        except SonnxError as error:
            return audited.not_known(f"its body could not be observed: {error}")
        made = audited.not_known("")
        return replace(made, verdict=Verdict.EXACT, audited=made.elements, bound="of its body")

    def _add(self, step: Step, made: NodeAudit) -> None:
        """Add what a step shows of a node to what earlier steps did."""
        key = _key(step.audited)
        earlier = self.nodes.get(key)
        self.nodes[key] = made if earlier is None else earlier.merged(made)
        if made.verdict in (Verdict.EXACT, Verdict.ADMITTED):
            self._judge_with(made, step.audited.recomputed.values())

    def _judge_with(self, reader: NodeAudit, joined: Iterable[Audited]) -> None:
        """Give nodes that were joined with another the verdict on that."""
        for audited in joined:
            key = _key(audited)
            self.nodes[key] = replace(
                self.nodes[key],
                verdict=reader.verdict,
                reason=f"the optimizer joined it with {reader.label}; they were judged together",
            )
            self._judge_with(reader, audited.recomputed.values())


def _key(audited: Audited) -> tuple[tuple[str, ...], str]:
    """A key of a node, of which there may be several without names or with the same one."""
    output = next(filter(None, audited.node.output), "")
    return audited.path, f"{audited.operator} {audited.name} {output}"
