"""What was found, at the nodes of a model, for viewers: Netron and model-explorer."""

from collections.abc import Iterator, Mapping, MutableSequence
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import NameFixPass

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.ruled_nodes import step_into
from sonnx_ort.enforcing.metadata import read_enforcement
from sonnx_ort.errors import SonnxError, printable, to_json
from sonnx_ort.loading.file_traversal import bodies_of
from sonnx_ort.loading.serialization import deserialize
from sonnx_ort.loading.source import read
from sonnx_ort.loading.traversal import label_of, subgraphs_in
from sonnx_ort.profile.rule import Status
from sonnx_ort.reporting.checked_models import Check
from sonnx_ort.reporting.graph_drawing import STATUS_WORDS
from sonnx_ort.reporting.verdict import NodeKey, NodeState, node_states, verdict

PREFIX = "sonnx."
"""How the keys of the metadata begin."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A node of a file."""

    node: ir.Node
    proto: onnx.NodeProto
    key: NodeKey
    around: "_Around"


_Around = tuple[tuple[ir.Node, str], ...]


def _places(
    graph: ir.Graph, proto: onnx.GraphProto, path: tuple[str, ...] = (), around: _Around = ()
) -> Iterator[_Place]:
    """Every node of a graph and its subgraphs, as the file has them."""
    for node, written in zip(graph, proto.node, strict=True):
        yield _Place(node, written, (label_of(node), path), around)
        bodies = iter(bodies_of(written))
        for attribute in node.attributes.values():
            for body in subgraphs_in(attribute):
                inner = (*path, step_into(node, attribute))
                yield from _places(body, next(bodies), inner, (*around, (node, attribute.name)))


def annotated(proto: onnx.ModelProto, report: Report) -> onnx.ModelProto:
    """A model with what a report says of each node in the metadata of the node.

    It computes what the given one does. What is said of no node of the file, such as a rule on the
    whole graph or a node of a function, is in the metadata of the model.

    Raises:
        SonnxError: It is enforced, and would not be recognized as that with other metadata.
    """
    if read_enforcement({entry.key: entry.value for entry in proto.metadata_props}) is not None:
        raise SonnxError(
            "the model is enforced already, which its metadata tells; annotate the model that it "
            "was made from"
        )
    model = onnx.ModelProto()
    model.CopyFrom(proto)
    states, found = node_states(report), _found(report)
    standings = {coverage.operator: coverage.words for coverage in report.coverage}
    for place in _places(deserialize(model).graph, model.graph):
        node, (label, path) = place.node, place.key
        operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        notes = {
            f"{PREFIX}standing": standings.get(operator, ""),
            f"{PREFIX}state": STATUS_WORDS[states.get(place.key)],
        }
        values = ((True, str(value.name), path) for value in node.outputs)
        for subject in ((False, label, path), *values):
            _add(notes, found.pop(subject, {}))
        _note(place.proto.metadata_props, notes)
    result = verdict(report)
    notes = {f"{PREFIX}verdict": f"{result.word}: {result.detail}".replace("`", "")}
    for (_, name, _), notes_of_rules in found.items():
        _add(notes, {key: f"{name}: {evidence}" for key, evidence in notes_of_rules.items()})
    _note(model.metadata_props, notes)
    return model


_Subject = tuple[bool, str, tuple[str, ...]]
"""Whether it is a value, its name, and its path."""


def _found(report: Report) -> dict[_Subject, dict[str, str]]:
    """What is not proved, as entries of metadata."""
    found: dict[_Subject, dict[str, str]] = {}
    for obligation in report.enforced:
        if obligation.status is not Status.PROVED:
            subject = obligation.operator == "value", obligation.node, obligation.path
            note = {f"{PREFIX}{obligation.status}": _evidence(obligation)}
            _add(found.setdefault(subject, {}), note)
    return found


def _add(notes: dict[str, str], more: Mapping[str, str]) -> None:
    """Add notes after those of the same key."""
    for key, note in more.items():
        notes[key] = f"{notes[key]}; {note}" if key in notes else note


def _evidence(obligation: Obligation) -> str:
    waived = f" ({obligation.waiver_standing} {obligation.waiver})" if obligation.waiver else ""
    value = f"{obligation.place}: " if obligation.operator == "value" else ""
    return printable(f"{obligation.rule.id}: {value}{obligation.evidence}{waived}")


def _note(metadata: MutableSequence[onnx.StringStringEntryProto], notes: Mapping[str, str]) -> None:
    """Write notes in place of those of an earlier report."""
    kept = [entry for entry in metadata if not entry.key.startswith(PREFIX)]
    kept += [onnx.StringStringEntryProto(key=k, value=v) for k, v in notes.items() if v]
    del metadata[:]
    metadata.extend(kept)


_COLOURS = {
    NodeState.VIOLATED: "#b3261e",
    NodeState.RUNTIME: "#0b57d0",
    NodeState.PROVED: "#146c2e",
    NodeState.NOT_ASKED_FOR: "#545c66",
    None: "#ffffff",
}
"""The colours of states, as in pages."""


def overlay(check: Check) -> str:
    """The state of each node, and the rules that it violates, as node data of model-explorer.

    The nodes have the ids that its adapter for ONNX gives them: their names, and those in branches
    of an If also its name and that of the branch. Other bodies are graphs of their own.

    Raises:
        SonnxError: It is a check of several models, or of standard input.
    """
    model = check.models[0]
    if len(check.models) > 1 or model.report is None or model.name == "-":
        raise SonnxError(
            "--format overlay is for one model, given as a file; write an overlay for each, or "
            "choose another format"
        )
    states, violated = node_states(model.report), _violated_rules(model.report)
    proto = read(Path(model.name)).proto
    file = deserialize(proto)
    places = list(_places(file.graph, proto.graph))
    # The adapter names what has no name in the same way.
    NameFixPass()(file)
    graphs: dict[str, dict[str, object]] = {}
    for place in places:
        state = states.get(place.key)
        rules = violated.get(place.key, ())
        words = f"violated: {', '.join(rules)}" if rules else STATUS_WORDS[state]
        graph, node = _ids(place, str(file.graph.name))
        graphs.setdefault(graph, {})[node] = {"value": words, "bgColor": _COLOURS[state]}
    document = {
        graph: {"name": "SONNX profile", "hideInAggregatedStatsTable": True, "results": results}
        for graph, results in graphs.items()
    }
    return to_json(document, indent=2)


def _violated_rules(report: Report) -> Mapping[NodeKey, list[str]]:
    rules: dict[NodeKey, list[str]] = {}
    for obligation in report.enforced:
        if obligation.status is Status.VIOLATED:
            rules.setdefault((obligation.node, obligation.path), []).append(obligation.rule.id)
    return rules


def _ids(place: _Place, main: str) -> tuple[str, str]:
    """The ids of a node's graph and of the node itself."""
    graph, prefix = main, ""
    for node, attribute in place.around:
        if node.op_type == "If":
            prefix += f"{node.name}/{attribute}/"
        else:
            graph, prefix = f"{prefix}{node.name}/{attribute}", ""
    return graph, f"{prefix}{place.node.name}"
