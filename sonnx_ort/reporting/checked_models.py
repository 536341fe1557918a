"""The result of a check: models, their reports, and the graphs that the reports refer to."""

import enum
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

import onnx_ir as ir

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.ruled_nodes import step_into
from sonnx_ort.enforcing.metadata import restore
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.loading.traversal import label_of, subgraphs_in
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import Loaded, examine, load, with_forecast
from sonnx_ort.profile.rule import Status
from sonnx_ort.reporting.next_steps import GivenOptions


class VertexKind(enum.StrEnum):
    """The kinds of vertices of an outline."""

    NODE = "node"
    """A node of the graph."""

    CALL = "call"
    """A node that calls a model-local function, whose body is not checked."""

    INPUT = "input"
    """An input of the graph."""

    OUTPUT = "output"
    """An output of the graph."""

    CAPTURED = "captured"
    """A value of an outer graph that a node in this graph reads."""


@dataclass(frozen=True, slots=True)
class Vertex:
    """A node of a graph, or a value that enters or leaves it.

    Attributes:
        label: The name of the value, or the node's name in obligations.
        operator: The node's operator, with a domain that is not the default; empty for a value.
        bodies: The node's subgraphs.
        also: The names of what it stands for besides: its outputs, and constants that it reads and
            that are not drawn.
    """

    kind: VertexKind
    label: str
    operator: str = ""
    bodies: tuple["Body", ...] = ()
    also: tuple[str, ...] = ()

    @property
    def is_node(self) -> bool:
        """Whether it is a node."""
        return self.kind in {VertexKind.NODE, VertexKind.CALL}


@dataclass(frozen=True, slots=True)
class GraphOutline:
    """The part of a graph that is drawn: no attributes, types or initializers.

    Attributes:
        path: The nodes whose subgraphs contain the graph, outermost first, as in obligations.
        vertices: Inputs and captured values, nodes in their order, outputs.
        edges: Pairs of indices of `vertices`: the producer of a value, and a reader.
    """

    name: str
    path: tuple[str, ...]
    vertices: tuple[Vertex, ...]
    edges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Body:
    """A subgraph, and the name of its attribute."""

    attribute: str
    graph: GraphOutline


def outline(model: ir.Model) -> GraphOutline:
    """Describe the graph of a canonical model, with all its subgraphs."""
    return _Outliner(frozenset(model.functions)).outline(model.graph, ())


@dataclass(frozen=True, slots=True)
class _Outliner:
    functions: Container[ir.OperatorIdentifier]

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
            label_of(node),
            f"{node.domain}::{node.op_type}" if node.domain else node.op_type,
            bodies,
            tuple(str(value.name) for value in node.outputs if value.name),
        )


def _read_by(node: ir.Node) -> Iterator[ir.Value]:
    """The values that a node reads, including those that its subgraphs capture."""
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        for body in subgraphs_in(attribute):
            yield from _captured(body)


def _captured(graph: ir.Graph) -> dict[ir.Value, None]:
    """The values that a graph reads but does not define, in the order of first use."""
    defined = {*graph.inputs, *graph.initializers.values()}
    defined |= {value for node in graph for value in node.outputs}
    read = [*(value for node in graph for value in _read_by(node)), *graph.outputs]
    return {value: None for value in read if value not in defined}


def check_with_outline(
    model: ModelSource, choices: Choices, *, forecast: bool = True
) -> tuple[Report, GraphOutline]:
    """Check a model, and describe its graph.

    Returns:
        The report, and the graph, whose nodes have the same names as in the obligations.

    Raises:
        SonnxError: As for `check`.
    """
    with collector_paused():
        examined = examine(load(model, choices, to_examine=True), complete=True)
        drawn = _outline_of_original(examined.loaded)
        return (with_forecast(examined) if forecast else examined.examination.report), drawn


def outline_of(model: ModelSource, choices: Choices) -> GraphOutline:
    """Describe the graph of a model whose report is known already.

    Raises:
        SonnxError: As for `check`.
    """
    with collector_paused():
        return _outline_of_original(load(model, choices, to_examine=True))


def _outline_of_original(loaded: Loaded) -> GraphOutline:
    """The graph of a model, or of its original; what is enforced is undone in place."""
    graph_model, made = loaded.model.graph_model, loaded.made
    if made is not None:
        restore(graph_model, made.enforcement)
    return outline(graph_model)


class FailOn(enum.StrEnum):
    """Which statuses make a check fail."""

    VIOLATED = "violated"
    """Violated rules."""

    RUNTIME = "runtime"
    """Also rules that each run checks."""


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model and the result of checking it.

    Attributes:
        name: The path of its file; "-" for standard input.
        report: The report; None if the model cannot be used.
        error: Why it cannot be used; empty otherwise.
        graph: The graph of the report; None unless it will be drawn.
    """

    name: str
    report: Report | None
    error: str = ""
    graph: GraphOutline | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """The results of one `check` command.

    Attributes:
        models: The models, in the given order.
        fail_on: Which statuses make the check fail.
        alone: Whether exactly one model was requested, so that the report needs no list of models.
        given: The options of the command line.
    """

    models: tuple[CheckedModel, ...]
    fail_on: FailOn = FailOn.VIOLATED
    alone: bool = True
    given: GivenOptions = field(default_factory=dict)

    @property
    def unusable(self) -> bool:
        """Whether a model cannot be used."""
        return any(model.report is None for model in self.models)

    @property
    def failed(self) -> bool:
        """Whether an enforced obligation of a model fails the check."""
        reports = [model.report for model in self.models if model.report is not None]
        return any(self.fails(o) for report in reports for o in report.enforced)

    def fails(self, obligation: Obligation) -> bool:
        """Whether an obligation of an enforced operator fails the check."""
        match obligation.status:
            case Status.VIOLATED:
                return not obligation.waived
            case Status.RUNTIME:
                return self.fail_on is FailOn.RUNTIME
            case Status.PROVED:
                return False
