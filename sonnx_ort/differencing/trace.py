"""What a model computes on the way, and where it stops if it does."""

from collections.abc import Mapping
from dataclasses import dataclass

import onnx

from sonnx_ort.differencing.exposure import exposed, names_of_results
from sonnx_ort.differencing.isolated_run import Failed, IsolatedRuns, Outcome, Results
from sonnx_ort.differencing.tensors import Array
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.rewriting.rewrite import require_serializable


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run ended early.

    Attributes:
        node: The first node without which it does not end, in words.
        reason: What ended it.
        violated: Whether a rule of the profile was broken.
    """

    node: str
    reason: str
    violated: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """What a model computed.

    Attributes:
        nodes: The nodes in words, by the names of the values they compute, in their order.
        values: The values that were computed; None for what is no tensor.
        stop: Where it ended early; None if it did not.
    """

    nodes: Mapping[str, str]
    values: Results
    stop: Stop | None


def trace(model: ReadModel, feeds: Mapping[str, Array], runs: IsolatedRuns) -> Trace:
    """Run a model with all its values as outputs; if it ends early, find the node where.

    Args:
        model: The model.
        feeds: Its inputs by name.
        runs: Does the runs.

    Raises:
        SonnxError: ONNX Runtime refuses the inputs.
    """
    nodes = model.proto.graph.node
    outcome = _run(model, len(nodes), feeds, runs)
    stop = None
    if isinstance(outcome, Failed):
        if not outcome.at_a_node:
            raise SonnxError(outcome.reason)
        count, outcome, failed = _first_failure(model, feeds, runs, outcome)
        stop = Stop(_in_words(nodes[count]), failed.reason, failed.violated)
    names = {name: _in_words(node) for node in nodes for name in names_of_results(node)}
    return Trace(names, outcome, stop)


def _first_failure(
    model: ReadModel, feeds: Mapping[str, Array], runs: IsolatedRuns, failed: Failed
) -> tuple[int, Results, Failed]:
    """Find by halves how many nodes can run, what they compute, and what ends one more."""
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


def _in_words(node: onnx.NodeProto) -> str:
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f"{operator} '{node.name or f'(output {node.output[0]})'}'"
