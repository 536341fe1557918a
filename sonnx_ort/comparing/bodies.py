"""Runs the bodies of If, Loop and Scan again, to observe the values inside.

A body is run as a model of its own, with the values that it had in the run. Only if it gives the
results of its node, bit by bit, are its values those of the run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from sonnx_ort.comparing.derived_models import body_as_model
from sonnx_ort.comparing.difference import same
from sonnx_ort.comparing.isolated_run import Array, Failed, Results
from sonnx_ort.comparing.observing import Observation, ObservedGraph, Step
from sonnx_ort.loading.traversal import bodies_of
from sonnx_ort.pipeline import require_serializable

_MOST_STEPS = 1000
"""How many steps of a loop are run again at most."""

_AUDITED_STEPS = 4
"""How many steps of a loop are audited, unless all are asked for."""


class NotRepeatedError(Exception):
    """A body cannot be run again, or gives other results than its node."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body with the values of one of its runs.

    `feeds` has the values of its inputs and those that it reads from outside.
    """

    graph: onnx.GraphProto
    label: str
    feeds: Mapping[str, Array]

    def observed(self, outer: Observation) -> ObservedGraph:
        """The body as a graph to observe."""
        model = body_as_model(outer.model, self.graph, self.feeds)
        feeds = {value.name: self.feeds[value.name] for value in model.graph.input}
        path = (*outer.path, self.label)
        return ObservedGraph(model, feeds, outer.settings, outer.runs, path)


def has_bodies(node: onnx.NodeProto) -> bool:
    """Whether a node has bodies."""
    return bool(bodies_of(node))


def repeated(step: Step, outer: Observation, *, every: bool) -> Iterator[Body]:
    """The runs of the bodies of a node that are to be audited.

    With `every`, all steps of a loop are audited, and not some.

    Raises:
        NotRepeatedError: A body cannot be run again with the same results.
    """
    node = step.audited.node
    match node.op_type:
        case "If":
            yield from _branch(step, outer)
        case "Loop":
            yield from _chosen(_loop(step, outer), every=every)
        case "Scan":
            yield from _chosen(_scan(step, outer), every=every)
        case other:
            raise NotRepeatedError(f"the bodies of {other} are not run again")


def _chosen(bodies: list[Body], *, every: bool) -> list[Body]:
    if every or len(bodies) <= _AUDITED_STEPS:
        return bodies
    places = np.linspace(0, len(bodies) - 1, _AUDITED_STEPS).astype(int)
    return [bodies[place] for place in places]


def _scope(step: Step) -> dict[str, Array]:
    missing = [name for name, array in step.scope.items() if array is None]
    if missing:
        raise NotRepeatedError(f"the run has no value for '{missing[0]}', which it reads")
    return {name: array for name, array in step.scope.items() if array is not None}


def _label(step: Step, attribute: str) -> str:
    return f"{step.audited.operator} '{step.audited.name}' {attribute}"


def _graph(step: Step, name: str) -> onnx.GraphProto:
    found = next(a.g for a in step.audited.node.attribute if a.name == name)
    graph: onnx.GraphProto = found
    return graph


def _run(body: Body, outer: Observation) -> list[Array]:
    observed = body.observed(outer)
    content = require_serializable(observed.model)
    outcome = outer.runs.run(content, None, observed.feeds, outer.settings)
    if isinstance(outcome, Failed):
        raise NotRepeatedError(f"its body does not run alone: {outcome.reason}")
    return _tensors(outcome, body)


def _tensors(outcome: Results, body: Body) -> list[Array]:
    found = [outcome.get(value.name) for value in body.graph.output]
    arrays = [array for array in found if array is not None]
    if len(arrays) < len(found):
        raise NotRepeatedError("a result of its body is no tensor")
    return arrays


def _require_results(step: Step, found: list[Array | None]) -> None:
    for name, expected, array in zip(
        step.audited.node.output, step.audited.results, found, strict=False
    ):
        if name and expected is not None and not same(array, expected):
            raise NotRepeatedError(f"its body gives other bits of '{name}' when it is run alone")


def _branch(step: Step, outer: Observation) -> Iterator[Body]:
    condition = step.audited.operands[0]
    if condition is None:
        raise NotRepeatedError("the run has no value for its condition")
    name = "then_branch" if bool(condition.ravel()[0]) else "else_branch"
    body = Body(_graph(step, name), _label(step, name), _scope(step))
    _require_results(step, list(_run(body, outer)))
    yield body


def _loop(step: Step, outer: Observation) -> list[Body]:
    scope, graph = _scope(step), _graph(step, "body")
    limit, condition, *state = step.audited.operands
    states = [each for each in state if each is not None]
    most = None if limit is None else int(limit.ravel()[0])
    goes_on = True if condition is None else bool(condition.ravel()[0])
    for stacked in step.audited.results[len(states) :]:
        if stacked is not None:
            _require_few(len(stacked))
    names = [value.name for value in graph.input]
    bodies: list[Body] = []
    scanned: list[list[Array]] = []
    while goes_on and (most is None or len(bodies) < most):
        _require_few(len(bodies) + 1)
        number = np.array(len(bodies), np.int64)
        given = dict(zip(names, [number, np.array(goes_on), *states], strict=False))
        body = Body(graph, _label(step, "body"), {**scope, **given})
        found = _run(body, outer)
        goes_on = bool(found[0].ravel()[0])
        states, rest = found[1 : 1 + len(states)], found[1 + len(states) :]
        scanned.append(rest)
        bodies.append(body)
    # Without a step, the shapes of scanned results are those that are declared.
    results = [np.stack(each) for each in zip(*scanned, strict=True)] if scanned else []
    _require_results(step, [*states, *results])
    return bodies


def _require_few(steps: int) -> None:
    if steps > _MOST_STEPS:
        raise NotRepeatedError(f"it has more than {_MOST_STEPS} steps")


def _scan(step: Step, outer: Observation) -> list[Body]:
    attributes = {a.name: helper.get_attribute_value(a) for a in step.audited.node.attribute}
    others = [name for name in attributes if name not in ("body", "num_scan_inputs")]
    if any(any(attributes[name]) for name in others):
        raise NotRepeatedError(f"a Scan with {others[0]} is not run again")
    if step.audited.version < 9:
        raise NotRepeatedError("a Scan before version 9 is not run again")
    scope, graph = _scope(step), _graph(step, "body")
    operands = [each for each in step.audited.operands if each is not None]
    count = int(attributes["num_scan_inputs"])
    states, sequences = operands[:-count], operands[-count:]
    names = [value.name for value in graph.input]
    _require_few(len(sequences[0]))
    bodies: list[Body] = []
    scanned: list[list[Array]] = []
    for number in range(len(sequences[0])):
        given = dict(zip(names, [*states, *(s[number] for s in sequences)], strict=True))
        body = Body(graph, _label(step, "body"), {**scope, **given})
        found = _run(body, outer)
        states, rest = found[: len(states)], found[len(states) :]
        scanned.append(rest)
        bodies.append(body)
    stacked = [np.stack(each) for each in zip(*scanned, strict=True)] if scanned else []
    _require_results(step, [*states, *stacked])
    return bodies
