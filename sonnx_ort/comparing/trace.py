"""Runs a model with the values of all nodes as outputs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import onnx

from sonnx_ort.comparing.isolated_run import Array, Failed, IsolatedRuns, Outcome, Results
from sonnx_ort.comparing.random_operators import seed_random_operators
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.pipeline import require_serializable


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
        SonnxError: ONNX Runtime rejects the inputs.
    """
    nodes = model.proto.graph.node
    outcome = _run(model, len(nodes), feeds, runs)
    stop = None
    if isinstance(outcome, Failed):
        if not outcome.at_a_node:
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
