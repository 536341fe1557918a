"""Runs the bodies of If, Loop and Scan again, to observe the values inside.

A body is run as a model of its own, with the values that it had in the run. Only if it gives the
results of its node, bit by bit, are its values those of the run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from sonnx_ort.facts.attributes import plain_value
from sonnx_ort.loading.file_traversal import bodies_of
from sonnx_ort.runs.diff.difference import same
from sonnx_ort.runs.isolated_run import Array, Failed
from sonnx_ort.runs.observing import Observation, ObservedGraph, Step
from sonnx_ort.runs.parts import body_as_model

MOST_STEPS = 1000
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
            yield from _runs_of_branch(step, outer)
        case "Loop":
            yield from _chosen(_runs_of_loop(step, outer), every=every)
        case "Scan":
            yield from _chosen(_runs_of_scan(step, outer), every=every)
        case other:
            raise NotRepeatedError(f"the bodies of {other} are not run again")


def _chosen(bodies: list[Body], *, every: bool) -> list[Body]:
    """All bodies, or some that are spread evenly."""
    if every or len(bodies) <= _AUDITED_STEPS:
        return bodies
    places = np.linspace(0, len(bodies) - 1, _AUDITED_STEPS).astype(int)
    return [bodies[place] for place in places]


def _require_scope(step: Step) -> dict[str, Array]:
    missing = [name for name, array in step.scope.items() if array is None]
    if missing:
        raise NotRepeatedError(f"the run has no value for '{missing[0]}', which it reads")
    return {name: array for name, array in step.scope.items() if array is not None}


def _body_of(step: Step, name: str) -> onnx.GraphProto:
    found = next(a.g for a in step.audited.node.attribute if a.name == name)
    graph: onnx.GraphProto = found
    return graph


def _run_body(body: Body, outer: Observation) -> list[Array]:
    observed = body.observed(outer)
    outcome = outer.runs.run(observed.model, observed.feeds, outer.settings)
    if isinstance(outcome, Failed):
        raise NotRepeatedError(f"its body does not run alone: {outcome.reason}")
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


def _runs_of_branch(step: Step, outer: Observation) -> Iterator[Body]:
    condition = step.audited.operands[0]
    if condition is None:
        raise NotRepeatedError("the run has no value for its condition")
    name = "then_branch" if bool(condition.ravel()[0]) else "else_branch"
    body = Body(_body_of(step, name), f"{step.audited.label} {name}", _require_scope(step))
    _require_results(step, list(_run_body(body, outer)))
    yield body


def _runs_of_loop(step: Step, outer: Observation) -> list[Body]:
    limit, condition, *state = step.audited.operands
    steps = _Steps(step, outer, [each for each in state if each is not None])
    most = None if limit is None else int(limit.ravel()[0])
    goes_on = True if condition is None else bool(condition.ravel()[0])
    # Where the results tell how many steps there are, too many are refused before the first.
    for stacked in step.audited.results[len(steps.states) :]:
        if stacked is not None:
            _require_few(len(stacked))
    while goes_on and (most is None or len(steps.bodies) < most):
        number = np.array(len(steps.bodies), np.int64)
        goes_on = bool(steps.run([number, np.array(goes_on)], [], own=1)[0].ravel()[0])
    return steps.ended()


def _require_few(steps: int) -> None:
    if steps > MOST_STEPS:
        raise NotRepeatedError(f"it has more than {MOST_STEPS} steps")


def _runs_of_scan(step: Step, outer: Observation) -> list[Body]:
    attributes = {a.name: plain_value(a) for a in step.audited.node.attribute}
    own = ("body", "num_scan_inputs")
    others = [name for name, each in attributes.items() if name not in own and any(each)]
    if others:
        raise NotRepeatedError(f"a Scan with {others[0]} is not run again")
    if step.audited.version < 9:
        raise NotRepeatedError("a Scan before version 9 is not run again")
    operands = [each for each in step.audited.operands if each is not None]
    count = int(attributes["num_scan_inputs"])
    steps, sequences = _Steps(step, outer, operands[:-count]), operands[-count:]
    _require_few(len(sequences[0]))
    for number in range(len(sequences[0])):
        steps.run([], [each[number] for each in sequences], own=0)
    return steps.ended()


class _Steps:
    """The steps of a loop, which are run one after the other."""

    def __init__(self, step: Step, outer: Observation, states: list[Array]) -> None:
        self.states, self.bodies = states, list[Body]()
        self._step, self._outer, self._scanned = step, outer, list[list[Array]]()
        self._graph, self._scope = _body_of(step, "body"), _require_scope(step)

    def run(self, before: list[Array], after: list[Array], *, own: int) -> list[Array]:
        """Run the body on inputs before and after its states; give its results before them."""
        _require_few(len(self.bodies) + 1)
        names = [value.name for value in self._graph.input]
        given = dict(zip(names, [*before, *self.states, *after], strict=False))
        body = Body(self._graph, f"{self._step.audited.label} body", {**self._scope, **given})
        found = _run_body(body, self._outer)
        end = own + len(self.states)
        self.states = found[own:end]
        self._scanned.append(found[end:])
        self.bodies.append(body)
        return found[:own]

    def ended(self) -> list[Body]:
        """The bodies, if they give the results of the node."""
        # Without a step, the shapes of scanned results are those that are declared.
        scanned = [np.stack(each) for each in zip(*self._scanned, strict=True)]
        _require_results(self._step, [*self.states, *scanned])
        return self.bodies
