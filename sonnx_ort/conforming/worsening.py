"""No change is kept after which more is violated than before, or the model has another interface.

A change is judged by what is violated at the nodes that are there instead of its node, by its own
doing and by that of the changes that followed at the nodes that it added. If that is more than was
violated at the node, all changes are made anew without it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.conforming.fixpoint import ConformedGraph, Examine, conform_graph
from sonnx_ort.conforming.rounds import Key, Selection
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.canonical import SPARSE
from sonnx_ort.loading.traversal import every_node, label_of

_BODIES = ("then_branch", "else_branch", "body")
"""The attributes that are graphs of a node, as steps of a path end."""

Interface = tuple[tuple[tuple[str, str], ...], ...]
"""The names and types of the inputs and of the outputs of a model, in their order."""


@dataclass(frozen=True, slots=True)
class Start:
    """A canonical graph that no change was made in.

    Attributes:
        model: The graph, which is changed in place.
        examination: What is known of it.
        examine: Examines it as it is then.
    """

    model: ir.Model
    examination: Examination
    examine: Examine


def conform_without_worsening(starts: Iterator[Start], selection: Selection) -> ConformedGraph:
    """Make all changes but those after which more is violated.

    Args:
        starts: The graph as often as it is wanted; of all but the first one everything is examined.
        selection: Which changes are to be made.

    Raises:
        SonnxError: As for `conform_graph`; or the interface would change.
    """
    start = next(starts)
    interface, before, refused = interface_of(start.model), start.examination, dict[Key, str]()
    held_back: set[Key] = set()
    while True:
        graph = conform_graph(*_as_arguments(start), replace(selection, worsening=refused))
        graph.held_back |= held_back
        held_back = graph.held_back
        keeps = interface_of(graph.model)[0] == interface[0] and (
            interface_of(graph.model)[1][: len(interface[1])] == interface[1]
        )
        if keeps and not worsening(before, graph):
            return graph
        start = next(starts)
        # The first one may be examined for fewer operators.
        before = start.examination
        found = worsening(before, graph)
        if not keeps:
            found |= {
                change.key: "it would change the inputs or outputs of the model"
                for change in graph.made
                if change.values
            }
        elif not found:
            return graph
        if found.keys() <= refused.keys():
            if keeps:
                return graph
            raise SonnxError("the changes would give the model other inputs or outputs")
        refused |= found


def _as_arguments(start: Start) -> tuple[ir.Model, Examination, Examine]:
    return start.model, start.examination, start.examine


def interface_of(model: ir.Model) -> Interface:
    """What whoever runs a model has to know of it; a sparse initializer is no input."""
    inputs = (value for value in model.graph.inputs if SPARSE not in value.meta)
    return tuple(
        tuple((str(value.name), str(value.type)) for value in values)
        for values in (inputs, model.graph.outputs)
    )


def worsening(before: Examination, graph: ConformedGraph) -> dict[Key, str]:
    """The changes after which more is violated, each with the reason, as a clause."""
    own = Counter((o.path, o.node) for o in before.report.violations)
    values = {change.key: change.values for change in graph.made}
    producers = {
        value.name: label_of(node)
        for node in every_node(graph.model.graph)
        for value in node.outputs
    }
    now: dict[Key, list[Obligation]] = {}
    for obligation in graph.examination.report.violations:
        label = producers.get(obligation.node, obligation.node)
        origin = graph.origins.get((obligation.path, label))
        if origin is not None:
            now.setdefault(origin, []).append(obligation)
    found: dict[Key, str] = {}
    for key, violated in now.items():
        # Changes may have moved its node out of a branch, or copied it for a step of a loop.
        node, path = graph.moved.get(key, key[1:])
        names = {node, *values.get(key, ())}
        inside = tuple(f" '{node}' {body}" for body in _BODIES)
        count = sum(
            number
            for (steps, name), number in own.items()
            if (steps == path and name in names)
            or (steps[: len(path)] == path and any(s.endswith(inside) for s in steps[len(path) :]))
        )
        if len(violated) > count:
            found[key] = _reason(violated, count)
    return found


def _reason(violated: list[Obligation], count: int) -> str:
    rules = ", ".join(sorted({o.rule.id for o in violated}))
    return f"a change would lead to {len(violated)} violations instead of {count}: {rules}"
