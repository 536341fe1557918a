"""`diff`: traces two runs, and finds where their values first differ."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from sonnx_ort.comparing.input_shapes import UNSAID, Sizes
from sonnx_ort.comparing.inputs import Inputs, complete, require_within
from sonnx_ort.comparing.isolated_run import (
    UNOPTIMIZED,
    Array,
    Failed,
    IsolatedRuns,
    Outcome,
    Results,
    Settings,
)
from sonnx_ort.comparing.matching import by_position
from sonnx_ort.comparing.measures import EXACT, Measure, Tolerance, comparable, distances, largest
from sonnx_ort.comparing.prepared_model import contract_for_runs, seed_random_operators, unseeded
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.obligations.contracts import ContractSource
from sonnx_ort.pipeline import require_serializable
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.runtime.feeds import as_tensors, graph_inputs, what_is_wrong


def exposed(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """Copy a model's first nodes, with every value that they compute as an output.

    Random operators without a seed get one. Values inside subgraphs and functions cannot be
    outputs.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    del graph.node[count:]
    # Declarations may be wrong; ONNX Runtime infers the types itself.
    graph.ClearField("value_info")
    graph.ClearField("output")
    for node in graph.node:
        for name in filter(None, node.output):
            graph.output.add(name=name)
    seed_random_operators(copy)
    return copy


def count_inner_nodes(model: onnx.ModelProto) -> int:
    """Count the nodes whose values cannot be outputs: those in subgraphs and functions."""
    return sum(1 for _ in all_nodes(model)) - len(model.graph.node)


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run ended early."""

    node: str
    reason: str
    violated: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """The values that a model computed.

    Attributes:
        nodes: The nodes as text, by the names of the values they compute, in their order.
        values: The values that were computed; None for a value that is not a tensor.
        stop: Where the run ended early; None if it did not.
    """

    nodes: Mapping[str, str]
    values: Results
    stop: Stop | None


def trace(
    model: ReadModel,
    feeds: Mapping[str, Array],
    runs: IsolatedRuns,
    settings: Settings = UNOPTIMIZED,
) -> Trace:
    """Run a model with all its values as outputs; if it ends early, find the failing node.

    Raises:
        SonnxError: ONNX Runtime rejects the inputs, or a model without nodes.
    """
    nodes = model.proto.graph.node

    def run(count: int) -> Outcome:
        content = require_serializable(exposed(model.proto, count))
        return runs.run(content, model.folder, feeds, settings)

    outcome = run(len(nodes))
    stop = None
    if isinstance(outcome, Failed):
        if not (outcome.at_a_node and nodes):
            raise SonnxError(outcome.reason)
        count, outcome, failed = _first_failure(run, len(nodes), outcome)
        stop = Stop(in_words(nodes[count]), failed.reason, failed.violated)
    names = {name: in_words(node) for node in nodes for name in filter(None, node.output)}
    return Trace(names, outcome, stop)


def _first_failure(
    run: Callable[[int], Outcome], unable: int, failed: Failed
) -> tuple[int, Results, Failed]:
    """Find by bisection how many nodes can run, their values, and why the next one fails."""
    able = 0
    results: Results = {}
    while unable - able > 1:
        middle = (able + unable) // 2
        outcome = run(middle)
        if isinstance(outcome, Failed):
            unable, failed = middle, outcome
        else:
            able, results = middle, outcome
    return able, results, failed


def in_words(node: onnx.NodeProto) -> str:
    """The operator and the name of a node."""
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f"{operator} '{node.name or f'(output {node.output[0]})'}'"


@dataclass(frozen=True, slots=True)
class Pair:
    """What two models are to each other, apart from any run.

    Attributes:
        unshared_outputs: The names of the outputs that only one of them has.
        inner_nodes: The number of nodes of each in subgraphs and functions, whose values are not
            compared.
        seeded: The random operators without a seed, which draw from the same one in both if their
            results have the same name.
        positions: The names of values in the second model, by those in the first, that are compared
            because they stand at the same place.
    """

    unshared_outputs: tuple[str, ...]
    inner_nodes: tuple[int, int]
    seeded: tuple[str, ...] = ()
    positions: Mapping[str, str] = field(default_factory=dict)


def pair_of(one: onnx.ModelProto, other: onnx.ModelProto, positions: Mapping[str, str]) -> Pair:
    """What two models are to each other, some of whose values are matched by their positions."""
    first = [positions.get(output.name, output.name) for output in one.graph.output]
    second = [output.name for output in other.graph.output]
    unshared = (*(n for n in first if n not in second), *(n for n in second if n not in first))
    seeded = dict.fromkeys(map(in_words, (*unseeded(one), *unseeded(other))))
    inner = count_inner_nodes(one), count_inner_nodes(other)
    return Pair(unshared, inner, tuple(seeded), positions)


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of two models on the same inputs."""

    inputs: Inputs
    traces: tuple[Trace, Trace]
    pair: Pair


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A value that two models compute differently.

    Attributes:
        node: The node of the first model that computes it, as text.
        first: The first model's value; None if it is not a tensor.
        index: The index of the first element that differs by more than is tolerated; None if types
            or shapes differ.
        count: The number of such elements; 0 if types or shapes differ.
    """

    name: str
    node: str
    first: Array | None
    second: Array | None
    index: tuple[int, ...] | None
    count: int

    @property
    def elements(self) -> tuple[Any, Any]:
        """The first elements that differ; valid only if there is an index."""
        if self.index is None or self.first is None or self.second is None:
            raise ValueError(f"'{self.name}' has no elements that can be set side by side")
        return self.first[self.index], self.second[self.index]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs of two models on the same inputs.

    Attributes:
        inputs: The inputs of both, and where they come from.
        nodes: The nodes of the first model as text, by the values that they compute, in its order.
        same: The names of the values with the same bits in both, in the order of the first model;
            all NaNs count as equal.
        mismatches: The values that differ, in that order.
        incomparable: The names of the common values that are not tensors.
        only_first: The number of values that only the first model computes.
        only_second: The number of values that only the second model computes.
        stops: Where the run of each model ended early, or None.
        pair: What the models are to each other.
        differences: The largest difference of each common value that is a tensor in both, in the
            order of the first model.
    """

    inputs: Inputs
    nodes: Mapping[str, str]
    same: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    incomparable: tuple[str, ...]
    only_first: int
    only_second: int
    stops: tuple[Stop | None, Stop | None]
    pair: Pair
    differences: Mapping[str, float] = field(default_factory=dict)
    measure: Measure = Measure.BITS

    @property
    def equal(self) -> bool:
        """Whether both runs were complete, with the same outputs and no differing value."""
        return self.equal_but_for(())

    def equal_but_for(self, outputs: Iterable[str]) -> bool:
        """Whether they are equal if some outputs may be those of one model alone."""
        unshared = set(self.pair.unshared_outputs).difference(outputs)
        return not (self.mismatches or unshared or any(self.stops))


def compare(  # noqa: PLR0913 - one for each choice
    first: ModelSource | ReadModel,
    second: ModelSource | ReadModel,
    given: Mapping[str, Array],
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    tolerance: Tolerance = EXACT,
    contract: ContractSource = NO_CONTRACT,
) -> Comparison:
    """Run two models on the same inputs, and compare every value with the same name.

    Each model runs without optimizations in a separate process, so that a crash is a result too. If
    a run ends early, the values computed before are compared. Random operators without a seed draw
    the same numbers in both, if their results have the same name.

    Args:
        first: A model, in any form that `check` takes.
        second: Another model with the same inputs.
        given: Inputs by name; the others are random.
        seed: The seed of the random inputs.
        sizes: Their sizes, where the first model leaves them open.
        tolerance: By how much values may differ.
        contract: What the inputs may be.

    Raises:
        SonnxError: A model cannot be used, or their inputs differ.
    """
    runs = run_both(first, second, [(given, seed)], sizes, contract=contract)
    return compared(next(runs), tolerance)


def run_both(  # noqa: PLR0913 - one for each choice
    first: ModelSource | ReadModel,
    second: ModelSource | ReadModel,
    samples: Iterable[tuple[Mapping[str, Array], int]],
    sizes: Sizes = UNSAID,
    *,
    contract: ContractSource = NO_CONTRACT,
    match_positions: bool = False,
) -> Iterator[Runs]:
    """Run two models as `compare` does, on the inputs and the seed of each sample.

    With `match_positions`, values with other names are compared if they stand at the same place.

    Raises:
        SonnxError: A model or the contract cannot be used, their inputs differ, or one breaks the
            contract.
    """
    one, other = read(first), read(second)
    for model in (one, other):
        check_external_data(model.proto, model.folder)
    _require_same_inputs(one, other)
    limits = contract_for_runs(one, contract, other)
    declared = graph_inputs(one.proto)
    positions = by_position(one.proto, other.proto) if match_positions else {}
    pair = pair_of(one.proto, other.proto, positions)
    with IsolatedRuns() as runs:
        for given, seed in samples:
            arrays = as_tensors(declared, given)
            inputs = complete(one, arrays, runs, seed=seed, sizes=sizes, contract=limits)
            require_within(limits, declared, inputs.arrays)
            if wrong := what_is_wrong(graph_inputs(other.proto), inputs.arrays):
                raise SonnxError(f"the second model does not take the inputs of the first: {wrong}")
            traces = trace(one, inputs.arrays, runs), trace(other, inputs.arrays, runs)
            yield Runs(inputs, traces, pair)


@dataclass(frozen=True, slots=True)
class Survey:
    """Comparisons of two models on many samples, of which the numbers are kept.

    Attributes:
        differences: The largest difference of each value, by the names of the samples in which both
            models computed it.
        unequal: The names of those that differ.
        shown: The name of the first of these, or of the first sample, and its comparison.
    """

    differences: Mapping[str, Mapping[str, float]]
    samples: tuple[str, ...]
    unequal: tuple[str, ...]
    shown: tuple[str, Comparison]


def survey(comparisons: Iterable[tuple[str, Comparison]]) -> Survey:
    """Gather comparisons, at least one, by the names of their samples."""
    differences: dict[str, dict[str, float]] = {}
    shown: tuple[str, Comparison] | None = None
    samples: dict[str, bool] = {}
    for name, comparison in comparisons:
        samples[name] = comparison.equal
        if shown is None or (shown[1].equal and not comparison.equal):
            shown = name, comparison
        for value, difference in comparison.differences.items():
            differences.setdefault(value, {})[name] = difference
    if shown is None:
        raise ValueError("there is no sample")
    unequal = tuple(name for name, equal in samples.items() if not equal)
    return Survey(differences, tuple(samples), unequal, shown)


def compared(runs: Runs, tolerance: Tolerance) -> Comparison:
    """Compare the values that two models computed of the same inputs."""
    traces, pair = runs.traces, runs.pair
    names = {b: a for a, b in pair.positions.items()}
    first = traces[0].values
    second = {names.get(name, name): value for name, value in traces[1].values.items()}
    common = [name for name in first if name in second]
    tensors = [name for name in common if not (first[name] is None and second[name] is None)]
    differences = {name: largest(first[name], second[name], tolerance.measure) for name in tensors}
    return Comparison(
        runs.inputs,
        traces[0].nodes,
        tuple(name for name in tensors if differences[name] <= tolerance.most),
        tuple(
            _mismatch(name, traces[0].nodes[name], (first[name], second[name]), tolerance)
            for name in tensors
            if differences[name] > tolerance.most
        ),
        tuple(name for name in common if name not in differences),
        len(first) - len(common),
        len(second) - len(common),
        (traces[0].stop, traces[1].stop),
        pair,
        differences,
        tolerance.measure,
    )


def _mismatch(
    name: str, node: str, values: tuple[Array | None, Array | None], tolerance: Tolerance
) -> Mismatch:
    a, b = values
    if a is None or b is None or not comparable(a, b):
        return Mismatch(name, node, a, b, None, 0)
    beyond = distances(a, b, tolerance.measure) > tolerance.most
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(beyond)), beyond.shape))
    return Mismatch(name, node, a, b, index, int(np.count_nonzero(beyond)))


def _require_same_inputs(one: ReadModel, other: ReadModel) -> None:
    first, second = _inputs(one), _inputs(other)
    if sorted(first) != sorted(second):
        texts = [", ".join(found) or "none" for found in (first, second)]
        raise SonnxError(f"the two models have other inputs: {texts[0]}; {texts[1]}")


def _inputs(model: ReadModel) -> list[str]:
    """The inputs that a run requires, with their types."""
    constant = {tensor.name for tensor in model.proto.graph.initializer}
    inputs = (value for value in model.proto.graph.input if value.name not in constant)
    return [f"{_type(value)} '{value.name}'" for value in inputs]


def _type(value: onnx.ValueInfoProto) -> str:
    if not value.type.HasField("tensor_type"):
        return str(value.type.WhichOneof("value"))
    name: str = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
    return name.lower()
