"""Follows every step of a model that the checker gives, and keeps in mind what each rests on."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import onnx
import onnx_ir as ir

from sonnx_ort.checker import Model, Rejected, bodies_of
from sonnx_ort.kernel.node import INTEGERS
from sonnx_ort.loading.traversal import every_graph

_MOST_ELEMENTS = 64
"""Longer vectors are no shapes, axes or indices."""

_KINDS = ("type", "shape", "elements", "bounds")

_BOUNDED = INTEGERS | {"bool"}

Step = tuple[str, str]
"""A value, and what is claimed of it."""


def names_of_values(graph: ir.Graph, model: Model) -> dict[ir.Value, str]:
    """The names that the checker gives to the values of the canonical graph."""
    values: dict[str, list[ir.Value]] = {}
    for inner in every_graph(graph):
        own = (*inner.inputs, *inner.initializers.values())
        for value in dict.fromkeys((*own, *(output for node in inner for output in node.outputs))):
            values.setdefault(str(value.name), []).append(value)
    pairs = ((found, model.names.get(name, ())) for name, found in values.items())
    # What an inlined function defines, the checker does not see.
    known = (zip(*pair, strict=True) for pair in pairs if len(pair[0]) == len(pair[1]))
    return dict(chain.from_iterable(known))


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
        yield from ((value, kind) for kind in _KINDS if _may_follow(kind, value, model))


def _may_follow(kind: str, value: str, model: Model) -> bool:
    match kind:
        case "elements":
            return _few(model, value)
        case "bounds":
            return model.knows("type", value) and model.known("type", value) in _BOUNDED
    return True


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
        self.forget()
        try:
            self.follow(*step)
        except Rejected:
            return
        self.steps[step] = set(self._used)

    def needed_for(self, output: str, rule: str) -> set[Step]:
        """The steps on which an obligation rests, but for those of obligations before.

        Raises:
            Rejected: It does not follow.
        """
        self._used = set()
        try:
            self.conclude(output, rule)
        except Rejected:
            self.forget()
            raise
        return self.needed()

    def forget(self) -> None:
        """Forget which steps were used."""
        self._used, self._true = set(), set()

    def needed(self) -> set[Step]:
        """The steps that were used, and those on which they rest."""
        needed: set[Step] = set()
        waiting = set(self._used)
        while waiting:
            step = waiting.pop()
            needed.add(step)
            waiting |= self.steps[step] - needed
        return needed
