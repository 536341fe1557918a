"""Makes certificates: steps that the checker follows, for obligations that the analysis proved.

The analysis says what holds; the checker says what follows by its own rules. A certificate has the
obligations of which both are true, and the steps that they need.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import onnx
import onnx_ir as ir

from sonnx_ort.certificates.checker import (
    FORMAT,
    Model,
    Rejected,
    bodies_of,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.source import ReadModel, read
from sonnx_ort.loading.traversal import subgraphs_of
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.options import DEFAULT, Backend, Choices, choose_demands
from sonnx_ort.pipeline import examine, load
from sonnx_ort.profile.rule import Status

_MOST_ELEMENTS = 64
"""Longer vectors are no shapes, axes or indices."""

_KINDS = ("type", "shape", "elements")

Step = tuple[str, str]
"""A value, and what is claimed of it."""


@dataclass(frozen=True, slots=True)
class Uncertified:
    """A proved obligation without a certificate, and why: what the checker says."""

    obligation: Obligation
    reason: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """The certificate of a model.

    Attributes:
        content: The certificate, as `checker` reads it from JSON.
        obligations: The obligations that it proves.
        uncertified: The obligations that are proved without it.
    """

    content: dict[str, Any]
    obligations: tuple[Obligation, ...]
    uncertified: tuple[Uncertified, ...]

    def to_json(self) -> str:
        """The certificate as the text of a file, with a step in a line."""
        head = {k: v for k, v in self.content.items() if not isinstance(v, list)}
        lists = (
            f'"{name}": [\n'
            + ",\n".join(json.dumps(each, ensure_ascii=False) for each in self.content[name])
            + "\n]"
            for name in ("steps", "obligations")
        )
        fields = (f'"{name}": {json.dumps(value)}' for name, value in head.items())
        return "{\n" + ",\n".join((*fields, *lists)) + "\n}\n"


def certify(
    model: str | os.PathLike[str],
    *,
    edition: str = "typed",
    operators: str | Iterable[str] = DEFAULT,
) -> Certificate:
    """Certify the obligations of a model that are proved.

    Args:
        model: The path of the model.
        edition: "typed" or "preliminary".
        operators: The operators whose obligations are certified, as for `rewrite`.

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown, or the model is rewritten: certify the original.
    """
    choices = Choices(choose_demands(edition, "reject", operators), Backend.NATIVE)
    with collector_paused():
        source = read(os.fspath(model))
        loaded = load(source, choices)
        if loaded.native is not None or loaded.enforced:
            raise SonnxError("the model is already rewritten; certify the original")
        nodes = examine(loaded).examination.nodes
    proved = [
        (next(output for output in node.target.node.outputs if output.name), obligation)
        for node in nodes
        for obligation in node.found
        if obligation.status is Status.PROVED
    ]
    return _certified(source, loaded.model.graph_model.graph, proved)


def _certified(
    source: ReadModel, graph: ir.Graph, proved: Sequence[tuple[ir.Value, Obligation]]
) -> Certificate:
    proto = source.proto
    made: dict[str, Any] = {
        "format": FORMAT,
        "model": source.sha256,
        "steps": [],
        "obligations": [],
    }
    certified: list[Obligation] = []
    uncertified: list[Uncertified] = []
    try:
        traced = Traced(proto)
    except Rejected as error:
        return Certificate(made, (), tuple(Uncertified(each, str(error)) for _, each in proved))
    traced.try_all()
    needed: set[Step] = set()
    names = names_of_values(graph, traced)
    for value, obligation in proved:
        try:
            output = names.get(value, str(value.name))
            needed |= traced.needed_for(output, obligation.rule.id)
        except Rejected as error:
            uncertified.append(Uncertified(obligation, str(error.__cause__)))
            continue
        certified.append(obligation)
        made["obligations"].append([output, obligation.rule.id])
    model = Model(proto)
    steps = [step for step in traced.steps if step in needed]
    made["steps"] = [[*step, model.follow(*step)] for step in steps]
    return Certificate(made, tuple(certified), tuple(uncertified))


def names_of_values(graph: ir.Graph, model: Model) -> dict[ir.Value, str]:
    """The names that the checker gives to the values of the canonical graph."""
    values: dict[str, list[ir.Value]] = {}
    for inner in _every_graph(graph):
        own = (*inner.inputs, *inner.initializers.values())
        for value in dict.fromkeys((*own, *(output for node in inner for output in node.outputs))):
            values.setdefault(str(value.name), []).append(value)
    pairs = ((found, model.names.get(name, ())) for name, found in values.items())
    # What an inlined function defines, the checker does not see.
    known = (zip(*pair, strict=True) for pair in pairs if len(pair[0]) == len(pair[1]))
    return dict(chain.from_iterable(known))


def _every_graph(graph: ir.Graph) -> Iterator[ir.Graph]:
    yield graph
    for node in graph:
        for body in subgraphs_of(node):
            yield from _every_graph(body)


def candidates(graph: onnx.GraphProto, model: Model) -> Iterator[Step]:
    """Steps for all values of a graph, those of bodies before those of their nodes.

    Args:
        graph: The graph.
        model: The model in which they are taken, one by one.
    """
    names = [tensor.name for tensor in graph.initializer]
    yield from _steps_of([*(value.name for value in graph.input), *names], model)
    for node in graph.node:
        for body in bodies_of(node):
            yield from candidates(body, model)
        yield from _steps_of(filter(None, node.output), model)


def _steps_of(values: Iterable[str], model: Model) -> Iterator[Step]:
    for value in values:
        yield from ((value, kind) for kind in _KINDS if kind != "elements" or _few(model, value))


def _few(model: Model, value: str) -> bool:
    """Whether a value may be a shape, axes or indices."""
    if not model.knows("type", value) or not model.knows("shape", value):
        return False
    shape = model.known("shape", value)
    size = shape[0] if shape else 1
    integers = model.known("type", value) in ("int32", "int64")
    return integers and len(shape) < 2 and isinstance(size, int) and size <= _MOST_ELEMENTS


class Traced(Model):
    """A model that keeps in mind on which steps each step rests."""

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__(model)
        self.steps: dict[Step, set[Step]] = {}
        self._used: set[Step] = set()

    def known(self, kind: str, value: str) -> Any:
        """What an earlier step has established, which is kept in mind."""
        found = super().known(kind, value)
        self._used.add((value, kind))
        return found

    def try_all(self) -> None:
        """Take every step that follows."""
        for step in candidates(self.proto.graph, self):
            self.try_step(step)

    def try_step(self, step: Step) -> None:
        """Take a step if it follows."""
        self._used = set()
        try:
            self.follow(*step)
        except Rejected:
            return
        self.steps[step] = set(self._used)

    def needed_for(self, output: str, rule: str) -> set[Step]:
        """The steps on which an obligation rests.

        Raises:
            Rejected: It does not follow.
        """
        self._used = set()
        self.conclude(output, rule)
        needed: set[Step] = set()
        waiting = set(self._used)
        while waiting:
            step = waiting.pop()
            needed.add(step)
            waiting |= self.steps[step] - needed
        return needed
