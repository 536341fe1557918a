"""Compares what ONNX Runtime made of an enforced model with what it was to keep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

import onnx_ir as ir

from sonnx_ort.runtime.optimization.data_flow import (
    VARYING,
    Dependencies,
    ValueNumbering,
    live_nodes,
)
from sonnx_ort.runtime.optimization.kept_nodes import KeptNode, enforced_nodes, matched


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of the enforced nodes.

    Attributes:
        losses: What is wrong, a phrase for each: "Div 'd' is gone".
        guards: The guards' names by the names that their nodes have now, where those differ.
    """

    losses: tuple[str, ...]
    guards: Mapping[str, str]


def compare(expected: ir.Model, optimized: ir.Model, guards: Mapping[str, str]) -> Comparison:
    """Find the enforced nodes of a model again in what an optimizer made of it.

    Each has to be there, unless no output needs it, another one computes the same, or a guard's
    outcome is known. An operand that passed a guard still has to pass it, one that was constant has
    to be constant, and the model's outputs still have to depend on what they depended on.

    Args:
        expected: The model with the nodes to keep.
        optimized: The optimized model.
        guards: The names of the guards by their outputs.
    """
    wanted = [node for node in enforced_nodes(expected, guards) if not _is_decided(node)]
    pairs = matched(wanted, list(enforced_nodes(optimized, guards)))
    losses: list[str] = []
    every_node_is_there = len(pairs) == len(wanted)
    if every_node_is_there:
        losses = _losses(expected, optimized, pairs, _told_apart(wanted))
    if losses or not every_node_is_there:
        # One that computes the same may have taken the place of another.
        losses = _losses(expected, optimized, pairs, _classes(expected, wanted))
    renamed = {
        now.node.name: now.guard
        for now in pairs.values()
        if now.guard is not None and now.node.name and now.node.name != now.guard
    }
    return Comparison(tuple(losses), renamed)


def _losses(
    expected: ir.Model,
    optimized: ir.Model,
    pairs: Mapping[KeptNode, KeptNode],
    classes: Mapping[KeptNode, int],
) -> list[str]:
    """What is wrong, if nodes with the same bit may stand for each other."""
    live = live_nodes(expected)
    kept = {classes[node] for node in pairs}
    before = Dependencies(expected, {node.node: bit for node, bit in classes.items()})
    after = Dependencies(optimized, {now.node: classes[node] for node, now in pairs.items()})
    # A node that no output needs may be the one that stays of several that compute the same.
    gone = (n for n in classes if n.node in live and classes[n] not in kept)
    losses = [f"{node.label} is gone" for node in gone]
    judge = _Judge(before, after, {bit: node for node, bit in classes.items() if node in pairs})
    for node, now in pairs.items():
        losses.extend(judge.operands(node, now))
    losses.extend(judge.outputs(expected.graph, optimized.graph))
    return losses


class _Judge:
    """Says what a value no longer depends on."""

    def __init__(
        self, before: Dependencies, after: Dependencies, kept: Mapping[int, KeptNode]
    ) -> None:
        self._before = before
        self._after = after
        self._kept = kept
        self._kept_bits = reduce(or_, kept, 0)

    def operands(self, node: KeptNode, now: KeptNode) -> Iterator[str]:
        for name, old, new in zip(node.operand_names, node.operands, now.operands, strict=True):
            whose = f"{node.label}: its operand {name}" if node.guard is None else node.label
            yield from self._bypassed(whose, old, new)
            if self._after[new] & VARYING and not self._before[old] & VARYING:
                yield f"{whose} is no longer the constant '{old.name}'"

    def outputs(self, before: ir.Graph, after: ir.Graph) -> Iterator[str]:
        for old, new in zip(before.outputs, after.outputs, strict=True):
            yield from self._bypassed(f"output '{old.name}'", old, new)

    def _bypassed(self, whose: str, old: ir.Value, new: ir.Value) -> Iterator[str]:
        missing = self._before[old] & self._kept_bits & ~self._after[new]
        if not missing:
            return
        for bit, node in self._kept.items():
            if bit & missing:
                yield f"{whose} no longer depends on {node.label}"


def _is_decided(node: KeptNode) -> bool:
    """Whether a guard lets everything through: its shape is a constant and no code."""
    if node.guard is None:
        return False
    shape = node.operands[1]
    constant = None if shape.is_graph_input() else shape.const_value
    return constant is not None and bool((constant.numpy() >= -1).all())


def _told_apart(nodes: list[KeptNode]) -> dict[KeptNode, int]:
    """A bit of its own for each node."""
    return {node: VARYING << (place + 1) for place, node in enumerate(nodes)}


def _classes(model: ir.Model, nodes: list[KeptNode]) -> dict[KeptNode, int]:
    """The bit of each node; nodes of one graph that compute the same share it."""
    numbers = ValueNumbering(model)
    bits: dict[tuple[object, int], int] = {}
    classes: dict[KeptNode, int] = {}
    for node in nodes:
        key = (node.node.graph, numbers[node.node.outputs[0]])
        classes[node] = bits.setdefault(key, VARYING << (len(bits) + 1))
    return classes
