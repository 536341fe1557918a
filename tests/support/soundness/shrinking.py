"""Shrinks a model on which a check fails until nothing more can be taken away from it."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy.typing as npt
import onnx
from onnx import numpy_helper

from sonnx_ort.loading.traversal import all_graphs, all_nodes
from support.soundness.isolated import how_it_ends

Feeds = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Sample:
    """A model, and what it is run with.

    Attributes:
        model: The model.
        runs: The feeds of each run.
    """

    model: onnx.ModelProto
    runs: tuple[Feeds, ...]

    def __str__(self) -> str:
        """Give all that is needed to look at it again."""
        shown = "\n".join(
            ", ".join(f"{n} = {a.dtype}{list(a.shape)} {a.tolist()}" for n, a in feeds.items())
            for feeds in self.runs
        )
        return f"{onnx.printer.to_text(self.model)}\n{shown}"


AnySample = TypeVar("AnySample", bound=Sample)


def shrink(
    sample: AnySample, fails: Callable[[AnySample], bool], *, most_tries: int = 3000
) -> AnySample:
    """Take nodes, outputs, inputs, functions and runs away as long as a check fails.

    Args:
        sample: On which it fails.
        fails: Whether it fails on a smaller one, which need not be a valid model.
        most_tries: How many smaller ones are tried at most.
    """
    candidates = _smaller(sample)
    for _ in range(most_tries):
        candidate = next(candidates, None)
        if candidate is None:
            break
        if fails(candidate):
            sample, candidates = candidate, _smaller(candidate)
    return sample


def smallest(sample: AnySample, check: Callable[[AnySample], object]) -> AnySample:
    """Shrink what a check raises an error on, or ends the process, as long as it ends so.

    Args:
        sample: The sample; it comes back as it is where the check does not fail.
        check: The check, which runs in forks of this process.
    """
    wanted = how_it_ends(check, sample)
    return shrink(sample, lambda smaller: wanted != "" and how_it_ends(check, smaller) == wanted)


def _smaller(sample: AnySample) -> Iterator[AnySample]:
    """Samples with one thing less; what takes most away comes first."""
    if len(sample.runs) > 1:
        yield from (dataclasses.replace(sample, runs=(feeds,)) for feeds in sample.runs)
    reductions = (_one_output, _without_unread, _without_claims, _without_node, _in_line)
    for model in chain.from_iterable(reduction(sample.model) for reduction in reductions):
        inputs = {declared.name for declared in model.graph.input}
        runs = tuple({n: a for n, a in feeds.items() if n in inputs} for feeds in sample.runs)
        yield dataclasses.replace(sample, model=model, runs=runs)
    if len(sample.runs) == 1:
        yield from _with_constant(sample)


def _one_output(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Keep one of the outputs."""
    if len(model.graph.output) > 1:
        for output in model.graph.output:
            smaller = deepcopy(model)
            del smaller.graph.output[:]
            smaller.graph.output.append(output)
            yield smaller


def _without_unread(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Leave out nodes and values that nothing reads, or functions that nothing calls."""
    read = {name for node in all_nodes(model) for name in node.input}
    read.update(output.name for graph in all_graphs(model) for output in graph.output)
    read.update(output for function in model.functions for output in function.output)
    called = {(node.domain, node.op_type) for node in all_nodes(model)}
    nodes, values, functions = (deepcopy(model) for _ in range(3))
    for each in _node_lists(nodes):
        _keep(each, lambda node: not read.isdisjoint(node.output))
    _keep(values.graph.initializer, lambda tensor: tensor.name in read)
    _keep(values.graph.input, lambda declared: declared.name in read)
    _keep(functions.functions, lambda function: (function.domain, function.name) in called)
    yield from (smaller for smaller in (nodes, values, functions) if smaller != model)


def _without_claims(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Leave out what is said of values between."""
    if any(graph.value_info for graph in all_graphs(model)):
        smaller = deepcopy(model)
        for graph in all_graphs(smaller):
            graph.ClearField("value_info")
        yield smaller


def _without_node(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Leave a node out: who reads its outputs reads one of its inputs instead."""
    for position, nodes in enumerate(_node_lists(model)):
        for index in reversed(range(len(nodes))):
            for instead in dict.fromkeys(nodes[index].input) or [""]:
                smaller = deepcopy(model)
                removed = _node_lists(smaller)[position].pop(index)
                names = dict.fromkeys(removed.output, instead)
                _rename(all_nodes(smaller), names)
                for value in (v for graph in all_graphs(smaller) for v in graph.output):
                    value.name = names.get(value.name, value.name)
                for function in smaller.functions:
                    function.output[:] = [names.get(name, name) for name in function.output]
                yield smaller


def _in_line(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Put the nodes of a subgraph, or of a function that is called, in the place of a node."""
    functions = {(function.domain, function.name): function for function in model.functions}
    for position, nodes in enumerate(_node_lists(model)):
        for index, node in enumerate(nodes):
            for graph in (a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH):
                inputs, outputs = ([v.name for v in each] for each in (graph.input, graph.output))
                yield _replaced(model, position, index, (inputs, graph.node, outputs))
            called = functions.get((node.domain, node.op_type))
            if called is not None:
                inside = (called.input, called.node, called.output)
                yield _replaced(model, position, index, inside)


def _replaced(
    model: onnx.ModelProto,
    position: int,
    index: int,
    inside: tuple[Sequence[str], Sequence[onnx.NodeProto], Sequence[str]],
) -> onnx.ModelProto:
    """The model with the inputs, nodes and outputs of something in the place of a node."""
    smaller = deepcopy(model)
    nodes = _node_lists(smaller)[position]
    before, node, behind = [*nodes[:index]], nodes[index], [*nodes[index + 1 :]]
    inputs, copies, outputs = inside[0], [deepcopy(each) for each in inside[1]], inside[2]
    names = {name: f"{node.name}_{name}" for each in copies for name in each.output}
    # The first output of a Loop's subgraph is none of the node's: whether to go on.
    names |= dict(zip(outputs[-len(node.output) :], node.output, strict=False))
    names |= dict(zip(inputs, node.input, strict=False))
    wrapped = onnx.ModelProto(graph=onnx.GraphProto(node=copies))
    _rename(all_nodes(wrapped), names)
    for each in wrapped.graph.node:
        each.output[:] = [names[name] for name in each.output]
    del nodes[:]
    nodes.extend([*before, *wrapped.graph.node, *behind])
    return smaller


def _with_constant(sample: AnySample) -> Iterator[AnySample]:
    """Make a constant of an input."""
    (feeds,) = sample.runs
    for declared in sample.model.graph.input:
        if declared.name not in feeds:
            continue
        smaller = deepcopy(sample.model)
        smaller.graph.input.remove(declared)
        _keep(smaller.graph.initializer, lambda tensor, name=declared.name: tensor.name != name)
        smaller.graph.initializer.append(
            numpy_helper.from_array(feeds[declared.name], declared.name)
        )
        others = {name: array for name, array in feeds.items() if name != declared.name}
        yield dataclasses.replace(sample, model=smaller, runs=(others,))


def _node_lists(model: onnx.ModelProto) -> list[Any]:
    """The nodes of each graph and function, in lists that can be changed."""
    return [*(graph.node for graph in all_graphs(model)), *(f.node for f in model.functions)]


def _rename(nodes: Iterator[onnx.NodeProto], names: Mapping[str, str]) -> None:
    for node in nodes:
        node.input[:] = [names.get(name, name) for name in node.input]


def _keep(values: Any, wanted: Callable[[Any], bool]) -> None:
    kept = [value for value in values if wanted(value)]
    if len(kept) < len(values):
        del values[:]
        values.extend(kept)
