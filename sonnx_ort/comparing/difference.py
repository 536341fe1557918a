"""`diff`: traces two runs, and finds where their values first differ."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from sonnx_ort.comparing.inputs import UNSAID, Inputs, Sizes, complete
from sonnx_ort.comparing.isolated_run import (
    Array,
    Failed,
    IsolatedRuns,
    Outcome,
    Results,
    seed_random_operators,
    unseeded,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.models.example import differing_elements
from sonnx_ort.pipeline import require_serializable
from sonnx_ort.runtime.feeds import as_tensors, graph_inputs, what_is_wrong


def names_of_results(node: onnx.NodeProto) -> Iterator[str]:
    """The names of the values that a node computes."""
    return filter(None, node.output)


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
        for name in names_of_results(node):
            graph.output.add(name=name)
    seed_random_operators(copy)
    return copy


def count_inner_nodes(model: onnx.ModelProto) -> int:
    """Count the nodes whose values cannot be outputs: those in subgraphs and functions."""
    return sum(1 for _ in all_nodes(model)) - len(model.graph.node)


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run ended early.

    Attributes:
        node: The first node that fails, as text.
        reason: Why it ended.
        violated: Whether a rule of the profile was violated.
    """

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


def trace(model: ReadModel, feeds: Mapping[str, Array], runs: IsolatedRuns) -> Trace:
    """Run a model with all its values as outputs; if it ends early, find the failing node.

    Raises:
        SonnxError: ONNX Runtime rejects the inputs, or a model without nodes.
    """
    nodes = model.proto.graph.node
    outcome = _run(model, len(nodes), feeds, runs)
    stop = None
    if isinstance(outcome, Failed):
        if not (outcome.at_a_node and nodes):
            raise SonnxError(outcome.reason)
        count, outcome, failed = _first_failure(model, feeds, runs, outcome)
        stop = Stop(in_words(nodes[count]), failed.reason, failed.violated)
    names = {name: in_words(node) for node in nodes for name in names_of_results(node)}
    return Trace(names, outcome, stop)


def _first_failure(
    model: ReadModel, feeds: Mapping[str, Array], runs: IsolatedRuns, failed: Failed
) -> tuple[int, Results, Failed]:
    """Find by bisection how many nodes can run, their values, and why the next one fails."""
    able, unable = 0, len(model.proto.graph.node)
    results: Results = {}
    while unable - able > 1:
        middle = (able + unable) // 2
        outcome = _run(model, middle, feeds, runs)
        if isinstance(outcome, Failed):
            unable, failed = middle, outcome
        else:
            able, results = middle, outcome
    return able, results, failed


def _run(model: ReadModel, count: int, feeds: Mapping[str, Array], runs: IsolatedRuns) -> Outcome:
    return runs.run(require_serializable(exposed(model.proto, count)), model.folder, feeds)


def in_words(node: onnx.NodeProto) -> str:
    """The operator and the name of a node."""
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f"{operator} '{node.name or f'(output {node.output[0]})'}'"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A value that two models compute differently.

    Attributes:
        name: The value's name.
        node: The node of the first model that computes it, as text.
        first: The first model's value; None if it is not a tensor.
        second: The second model's value.
        index: The index of the first differing element; None if types or shapes differ.
        count: The number of differing elements; 0 if types or shapes differ.
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
        unshared_outputs: The names of the outputs that only one of the models has.
        stops: Where the run of each model ended early, or None.
        inner_nodes: The number of nodes of each in subgraphs and functions, whose values are not
            compared.
        seeded: The random operators without a seed, which draw from the same one in both if
            their results have the same name.
    """

    inputs: Inputs
    nodes: Mapping[str, str]
    same: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    incomparable: tuple[str, ...]
    only_first: int
    only_second: int
    unshared_outputs: tuple[str, ...]
    stops: tuple[Stop | None, Stop | None]
    inner_nodes: tuple[int, int]
    seeded: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both runs were complete, with the same outputs and no differing value."""
        return self.equal_but_for(())

    def equal_but_for(self, outputs: Iterable[str]) -> bool:
        """Whether they are equal if some outputs may be those of one model alone."""
        unshared = set(self.unshared_outputs).difference(outputs)
        return not (self.mismatches or unshared or any(self.stops))


def compare(
    first: ModelSource | ReadModel,
    second: ModelSource | ReadModel,
    given: Mapping[str, Array],
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
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

    Raises:
        SonnxError: A model cannot be used, or their inputs differ.
    """
    one, other = read(first), read(second)
    for model in (one, other):
        check_external_data(model.proto, model.folder)
    _require_same_inputs(one, other)
    arrays = as_tensors(graph_inputs(one.proto), given)
    with IsolatedRuns() as runs:
        inputs = complete(one, arrays, runs, seed=seed, sizes=sizes)
        if wrong := what_is_wrong(graph_inputs(other.proto), inputs.arrays):
            raise SonnxError(f"the second model does not take the inputs of the first: {wrong}")
        traces = trace(one, inputs.arrays, runs), trace(other, inputs.arrays, runs)
    mismatches, same, incomparable = _compared(*traces)
    both = len(mismatches) + len(same) + len(incomparable)
    return Comparison(
        inputs,
        traces[0].nodes,
        same,
        mismatches,
        incomparable,
        len(traces[0].values) - both,
        len(traces[1].values) - both,
        _unshared_outputs(one, other),
        (traces[0].stop, traces[1].stop),
        (count_inner_nodes(one.proto), count_inner_nodes(other.proto)),
        tuple(dict.fromkeys(map(in_words, (*unseeded(one.proto), *unseeded(other.proto))))),
    )


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


def _unshared_outputs(one: ReadModel, other: ReadModel) -> tuple[str, ...]:
    first, second = ([o.name for o in model.proto.graph.output] for model in (one, other))
    return (*(n for n in first if n not in second), *(n for n in second if n not in first))


def _compared(
    one: Trace, other: Trace
) -> tuple[tuple[Mismatch, ...], tuple[str, ...], tuple[str, ...]]:
    """Common values in three groups: those that differ, those that are equal, and non-tensors."""
    mismatches: list[Mismatch] = []
    same: list[str] = []
    incomparable: list[str] = []
    for name in (name for name in one.values if name in other.values):
        a, b = one.values[name], other.values[name]
        if a is None and b is None:
            incomparable.append(name)
        elif (found := _mismatch(name, one.nodes[name], a, b)) is not None:
            mismatches.append(found)
        else:
            same.append(name)
    return tuple(mismatches), tuple(same), tuple(incomparable)


def _mismatch(name: str, node: str, a: Array | None, b: Array | None) -> Mismatch | None:
    if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape:
        return Mismatch(name, node, a, b, None, 0)
    differing = a != b if a.dtype.kind == "O" else differing_elements(a, b)
    if not differing.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(differing)), differing.shape))
    return Mismatch(name, node, a, b, index, int(np.count_nonzero(differing)))
