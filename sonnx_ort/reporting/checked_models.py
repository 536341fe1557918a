"""Models that were checked together, and the graphs that their reports are about."""

import enum
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.enforcing.native.record import restore
from sonnx_ort.loading.source import ModelSource, collector_paused
from sonnx_ort.loading.traversal import subgraphs_in
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.obligations.targets import EnforcedNode, label_of, step_into
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import examine, load
from sonnx_ort.profile.options import Demands
from sonnx_ort.profile.rule import Status


class VertexKind(enum.StrEnum):
    """What a vertex of an outline stands for."""

    NODE = "node"
    """A node of the graph."""

    CALL = "call"
    """A node that calls a model-local function, in whose body nothing is checked."""

    INPUT = "input"
    """An input of the graph."""

    OUTPUT = "output"
    """An output of the graph."""

    CAPTURED = "captured"
    """A value of a graph around this one, which a node in it reads."""


@dataclass(frozen=True, slots=True)
class Vertex:
    """A node of a graph, or a value that enters or leaves it.

    Attributes:
        kind: What it stands for.
        label: The name of the value; of a node, the name under which obligations speak of it.
        operator: The node's operator, with its domain in front if that is not the default one;
            empty for a value.
        bodies: The node's subgraphs.
    """

    kind: VertexKind
    label: str
    operator: str = ""
    bodies: tuple["Body", ...] = ()

    @property
    def is_node(self) -> bool:
        """Whether it is a node and no value."""
        return self.kind in {VertexKind.NODE, VertexKind.CALL}


@dataclass(frozen=True, slots=True)
class GraphOutline:
    """A graph without anything that is not drawn: no attributes, types, initializers.

    Attributes:
        name: The graph's name.
        path: The nodes whose subgraphs the graph lies in, outermost first, as in obligations.
        vertices: Inputs and captured values, nodes in their order, outputs.
        edges: Pairs of positions in `vertices`: what gives a value, and what reads it.
    """

    name: str
    path: tuple[str, ...]
    vertices: tuple[Vertex, ...]
    edges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Body:
    """A subgraph, and the name of the attribute that holds it."""

    attribute: str
    graph: GraphOutline


def outline(model: ir.Model, enforced: Sequence[EnforcedNode] = ()) -> GraphOutline:
    """Describe the graph of a model, with all its subgraphs.

    Args:
        model: A canonical model; not modified.
        enforced: Its nodes that are enforced already, of which obligations speak by the names of
            the nodes that they took the place of.
    """
    labels = {known.node: known.label for known in enforced}
    return _Outliner(frozenset(model.functions), labels).outline(model.graph, ())


@dataclass(frozen=True, slots=True)
class _Outliner:
    functions: Container[ir.OperatorIdentifier]
    labels: Mapping[ir.Node, str]

    def outline(self, graph: ir.Graph, path: tuple[str, ...]) -> GraphOutline:
        vertices: list[Vertex] = []
        givers: dict[ir.Value, int] = {}

        def enter(kind: VertexKind, values: Iterable[ir.Value]) -> None:
            for value in values:
                givers[value] = len(vertices)
                vertices.append(Vertex(kind, str(value.name)))

        enter(VertexKind.INPUT, (v for v in graph.inputs if not v.is_initializer()))
        enter(VertexKind.CAPTURED, (v for v in _captured(graph) if not v.is_initializer()))
        edges: list[tuple[int, int]] = []
        for node in graph:
            edges += [(givers[v], len(vertices)) for v in _read_by(node) if v in givers]
            givers |= dict.fromkeys(node.outputs, len(vertices))
            vertices.append(self._vertex(node, path))
        for output in graph.outputs:
            if output in givers:
                edges.append((givers[output], len(vertices)))
            vertices.append(Vertex(VertexKind.OUTPUT, str(output.name)))
        return GraphOutline(str(graph.name), path, tuple(vertices), tuple(dict.fromkeys(edges)))

    def _vertex(self, node: ir.Node, path: tuple[str, ...]) -> Vertex:
        bodies = tuple(
            Body(attribute.name, self.outline(body, (*path, step_into(node, attribute))))
            for attribute in node.attributes.values()
            for body in subgraphs_in(attribute)
        )
        calls = node.op_identifier() in self.functions
        return Vertex(
            VertexKind.CALL if calls else VertexKind.NODE,
            self.labels.get(node) or label_of(node),
            f"{node.domain}::{node.op_type}" if node.domain else node.op_type,
            bodies,
        )


def _read_by(node: ir.Node) -> Iterator[ir.Value]:
    """What a node reads, and what its subgraphs read of the graphs around them."""
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        for body in subgraphs_in(attribute):
            yield from _captured(body)


def _captured(graph: ir.Graph) -> dict[ir.Value, None]:
    """What a graph reads that it does not define, in the order of first use."""
    defined = {*graph.inputs, *graph.initializers.values()}
    defined |= {value for node in graph for value in node.outputs}
    read = [*(value for node in graph for value in _read_by(node)), *graph.outputs]
    return {value: None for value in read if value not in defined}


def check_with_outline(model: ModelSource, demands: Demands) -> tuple[Report, GraphOutline]:
    """Check a model, and describe the graph that the report is about.

    Args:
        model: As for `check`.
        demands: What the model is held to.

    Returns:
        The report, and the graph whose nodes have the names of its obligations.

    Raises:
        SonnxError: As for `check`.
    """
    with collector_paused():
        examined = examine(load(model, Choices(demands)), complete=True)
        graph_model, native = examined.loaded.model.graph_model, examined.loaded.native
        if native is not None:
            restore(graph_model, native.enforcement)
        return examined.examination.report, outline(graph_model, examined.loaded.enforced)


class FailOn(enum.StrEnum):
    """What makes a check fail."""

    VIOLATED = "violated"
    """A rule that fails in every run."""

    RUNTIME = "runtime"
    """Also one that is left to the run."""


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model, and what was found.

    Attributes:
        name: What its user calls it: the path of its file, "-" for standard input.
        report: What was found; None if the model cannot be used.
        error: Why it cannot be used; empty otherwise.
        graph: The graph that the report speaks of; None unless it is to be drawn.
    """

    name: str
    report: Report | None
    error: str = ""
    graph: GraphOutline | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Everything that was checked at once.

    Attributes:
        models: The models, in the order in which they were given.
        fail_on: What makes it fail.
        alone: Whether exactly one model was asked for, so that nothing but it is told of.
    """

    models: tuple[CheckedModel, ...]
    fail_on: FailOn = FailOn.VIOLATED
    alone: bool = True

    @property
    def unusable(self) -> bool:
        """Whether a model cannot be used."""
        return any(model.report is None for model in self.models)

    @property
    def failed(self) -> bool:
        """Whether an obligation of a model fails the check."""
        reports = [model.report for model in self.models if model.report is not None]
        return any(self.fails(o) for report in reports for o in report.enforced)

    def fails(self, obligation: Obligation) -> bool:
        """Whether an obligation fails the check.

        Args:
            obligation: One of an operator that is to be enforced.
        """
        match obligation.status:
            case Status.VIOLATED:
                return not obligation.waived
            case Status.RUNTIME:
                return self.fail_on is FailOn.RUNTIME
            case Status.PROVED:
                return False
