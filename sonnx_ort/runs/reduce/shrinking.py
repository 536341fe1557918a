"""Shrinks a model as long as it shows what is asked for: delta debugging over its nodes.

First parts of the graph are omitted, halves before quarters (A. Zeller, R. Hildebrandt:
Simplifying and Isolating Failure-Inducing Input, 2002); values at the cuts become inputs. Then one
thing after the other, until nothing more can be taken away.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import helper, numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.file_traversal import (
    all_graphs,
    all_nodes,
    all_tensors,
    bodies_of,
    names_needed,
)
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import read
from sonnx_ort.runs.derived_models import constants_of, exposed
from sonnx_ort.runs.isolated_run import Array, Failed, IsolatedRuns, Results, types_of_outputs
from sonnx_ort.runs.limits import LimitExceeded
from sonnx_ort.runs.pairs import trace
from sonnx_ort.runs.parts import names_read, part

Feeds = Mapping[str, Array]

_LARGEST_CONSTANT = 1 << 16
"""How many bytes an input has at most that becomes a constant."""

_FEWEST_AXES_OF_DATA = 2
"""Integers of fewer axes may be sizes themselves, as the shape of a Reshape."""

_MOST_SIZES = 8
"""How many different sizes of axes are made smaller, the largest first."""


@dataclass(frozen=True)
class Trial:
    """A model, and what it is run with."""

    model: onnx.ModelProto
    runs: tuple[Feeds, ...]

    def __str__(self) -> str:
        """Give all that is needed to look at it again."""
        shown = "\n".join(
            ", ".join(f"{n} = {a.dtype}{list(a.shape)} {a.tolist()}" for n, a in feeds.items())
            for feeds in self.runs
        )
        return f"{onnx.printer.to_text(self.model)}\n{shown}"


AnyTrial = TypeVar("AnyTrial", bound=Trial)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the values of a graph.

    Attributes:
        runs: The values that each run computed.
        types: The types of values, as far as the runtime tells.
    """

    runs: Sequence[Results] = ()
    types: Mapping[str, onnx.TypeProto] = dataclasses.field(default_factory=dict)

    def declaration(self, name: str) -> onnx.ValueInfoProto | None:
        """The declaration of a value; None if its type is not known."""
        arrays = [array for run in self.runs if (array := run.get(name)) is not None]
        if not arrays or len(arrays) < len(self.runs):
            found = self.types.get(name)
            return None if found is None else onnx.ValueInfoProto(name=name, type=found)
        first, ranks = arrays[0], {array.ndim for array in arrays}
        shape = None
        if len(ranks) == 1:
            sizes = [{array.shape[axis] for array in arrays} for axis in range(first.ndim)]
            shape = [found.pop() if len(found) == 1 else None for found in sizes]
        element_type = helper.np_dtype_to_tensor_dtype(first.dtype)
        return helper.make_tensor_value_info(name, element_type, shape)

    def feeds(self, run: int, given: Feeds, names: Iterable[str]) -> dict[str, Array]:
        """The values of inputs in a run, as far as they are known."""
        known = {**(self.runs[run] if self.runs else {}), **given}
        return {name: array for name in names if (array := known.get(name)) is not None}


def with_nodes(trial: AnyTrial, kept: Sequence[int], known: Known) -> AnyTrial | None:
    """Keep some nodes of the main graph; values that the others compute become inputs.

    What the others read, or nothing, becomes an output, if no other node that is kept reads it.

    `kept` has the positions of the nodes, in their order.

    Returns:
        The smaller one; None if it would have no output, or the type of a value is not known.
    """
    graph = trial.model.graph
    nodes = [graph.node[at] for at in kept]
    inputs = {value.name: value for value in graph.input}
    constants = constants_of(graph)

    def declaration(name: str) -> onnx.ValueInfoProto | None:
        if name in inputs or name in constants:
            return inputs.get(name)
        return known.declaration(name)

    if any(name not in constants and declaration(name) is None for name in names_read(nodes)):
        return None
    final = {value.name: value for value in graph.output}
    read = {name for node in graph.node for name in names_needed(node)} | set(final)
    within = {name for node in nodes for name in names_needed(node)} - set(final)
    ends = (n for node in nodes for n in node.output if n in read and n not in within)
    outputs = [final.get(name) or known.declaration(name) for name in ends]
    typed = [output for output in outputs if output is not None]
    if not typed or len(typed) < len(outputs):
        return None
    model = part(trial.model, nodes, typed, declaration, constants)
    model.functions.extend(trial.model.functions)
    model.metadata_props.extend(trial.model.metadata_props)
    names = [value.name for value in model.graph.input]
    runs = tuple(known.feeds(at, feeds, names) for at, feeds in enumerate(trial.runs))
    return dataclasses.replace(trial, model=model, runs=runs)


def smaller(trial: AnyTrial) -> Iterator[AnyTrial]:
    """Trials with one thing less; what takes most away comes first. Not all are valid."""
    if len(trial.runs) > 1:
        yield from (dataclasses.replace(trial, runs=(feeds,)) for feeds in trial.runs)
    for model in chain.from_iterable(reduction(trial.model) for reduction in _REDUCTIONS):
        inputs = {declared.name for declared in model.graph.input}
        runs = tuple({n: a for n, a in feeds.items() if n in inputs} for feeds in trial.runs)
        yield dataclasses.replace(trial, model=model, runs=runs)
    yield from _with_smaller_sizes(trial)
    if len(trial.runs) == 1:
        yield from _with_constant(trial)


def _one_output(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Keep one of the outputs."""
    if len(model.graph.output) > 1:
        for output in model.graph.output:
            made = deepcopy(model)
            del made.graph.output[:]
            made.graph.output.append(output)
            yield made


def _without_unread(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Omit nodes and values that nothing reads, or functions that nothing calls."""
    read = {name for node in all_nodes(model) for name in node.input}
    read.update(output.name for graph in all_graphs(model) for output in graph.output)
    read.update(output for function in model.functions for output in function.output)
    called = {(node.domain, node.op_type) for node in all_nodes(model)}
    nodes, values, functions = (deepcopy(model) for _ in range(3))
    for each in _node_lists(nodes):
        _keep_wanted(each, lambda node: not read.isdisjoint(node.output))
    _keep_wanted(values.graph.initializer, lambda tensor: tensor.name in read)
    _keep_wanted(values.graph.input, lambda declared: declared.name in read)
    _keep_wanted(functions.functions, lambda function: (function.domain, function.name) in called)
    yield from (made for made in (nodes, values, functions) if made != model)


def _without_claims(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Omit what is said of values between."""
    if any(graph.value_info for graph in all_graphs(model)):
        made = deepcopy(model)
        for graph in all_graphs(made):
            graph.ClearField("value_info")
        yield made


def _without_node(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Leave a node out: who reads its outputs reads one of its inputs instead."""
    for position, nodes in enumerate(_node_lists(model)):
        for index in reversed(range(len(nodes))):
            for instead in dict.fromkeys(nodes[index].input) or [""]:
                made = deepcopy(model)
                removed = _node_lists(made)[position].pop(index)
                names = dict.fromkeys(filter(None, removed.output), instead)
                _rename_inputs(all_nodes(made), names)
                for value in (v for graph in all_graphs(made) for v in graph.output):
                    value.name = names.get(value.name, value.name)
                for function in made.functions:
                    function.output[:] = [names.get(name, name) for name in function.output]
                yield made


def _in_line(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Put the nodes of a subgraph, or of a function that is called, in the place of a node."""
    functions = {(function.domain, function.name): function for function in model.functions}
    for position, nodes in enumerate(_node_lists(model)):
        for index, node in enumerate(nodes):
            for body in bodies_of(node):
                inputs, outputs = ([v.name for v in each] for each in (body.input, body.output))
                yield _replaced(model, position, index, (inputs, body.node, outputs))
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
    made = deepcopy(model)
    nodes = _node_lists(made)[position]
    before, node, after = [*nodes[:index]], nodes[index], [*nodes[index + 1 :]]
    inputs, outputs = inside[0], inside[2]
    wrapped = onnx.ModelProto(graph=onnx.GraphProto(node=inside[1]))
    defined = (name for each in inside[1] for name in each.output if name)
    names = {name: f"{node.name}_{name}" for name in defined}
    # The first output of a Loop's subgraph is none of the node's: whether to go on.
    names |= dict(zip(outputs[-len(node.output) :], node.output, strict=False))
    names |= dict(zip(inputs, node.input, strict=False))
    _rename_inputs(all_nodes(wrapped), names)
    for each in wrapped.graph.node:
        each.output[:] = [names.get(name, "") for name in each.output]
    del nodes[:]
    nodes.extend([*before, *wrapped.graph.node, *after])
    return made


def _without_detail(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """Omit an attribute of a node, or its last input."""
    for position, nodes in enumerate(_node_lists(model)):
        for index, node in enumerate(nodes):
            for at in range(len(node.attribute)):
                made = deepcopy(model)
                del _node_lists(made)[position][index].attribute[at]
                yield made
            if len(node.input) > 1:
                made = deepcopy(model)
                _node_lists(made)[position][index].input.pop()
                yield made


_REDUCTIONS = (
    _one_output,
    _without_unread,
    _without_claims,
    _without_node,
    _in_line,
    _without_detail,
)


def _with_smaller_sizes(trial: AnyTrial) -> Iterator[AnyTrial]:
    """Make all axes of one size smaller, of constants, inputs and outputs together."""
    tensors = list(all_tensors(trial.model))
    shapes = [tuple(tensor.dims) for tensor in tensors]
    shapes += [array.shape for feeds in trial.runs for array in feeds.values()]
    sizes = sorted({size for shape in shapes for size in shape if size > 1}, reverse=True)
    for size in sizes[:_MOST_SIZES]:
        for less in dict.fromkeys((1, size // 2)):
            model = deepcopy(trial.model)
            for tensor in all_tensors(model):
                if size in tensor.dims or len(tensor.dims) < _FEWEST_AXES_OF_DATA:
                    array = _shortened(numpy_helper.to_array(tensor), size, less, counts=True)
                    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
            for graph in all_graphs(model):
                for value in chain(graph.input, graph.output, graph.value_info):
                    for dim in value.type.tensor_type.shape.dim:
                        if dim.dim_value == size:
                            dim.dim_value = less
            runs = tuple(
                {name: _shortened(array, size, less) for name, array in feeds.items()}
                for feeds in trial.runs
            )
            yield dataclasses.replace(trial, model=model, runs=runs)


def _shortened(array: Array, size: int, less: int, *, counts: bool = False) -> Array:
    """The tensor whose axes of a size have fewer elements, the first ones.

    With `counts`, elements of few integers that are the size itself become the smaller one.
    """
    shorter = array[tuple(slice(less if n == size else n) for n in array.shape)]
    cut = np.asarray(shorter, array.dtype)  # an element of no axes is no array
    if counts and cut.ndim < _FEWEST_AXES_OF_DATA and cut.dtype == np.int64:
        return np.where(cut == size, less, cut)
    return cut


def _with_constant(trial: AnyTrial) -> Iterator[AnyTrial]:
    """Make a constant of an input."""
    (feeds,) = trial.runs
    for at, declared in enumerate(trial.model.graph.input):
        name = declared.name
        if name not in feeds or feeds[name].nbytes > _LARGEST_CONSTANT:
            continue
        made = deepcopy(trial.model)
        del made.graph.input[at]
        others = [tensor for tensor in made.graph.initializer if tensor.name != name]
        del made.graph.initializer[:]
        made.graph.initializer.extend([*others, numpy_helper.from_array(feeds[name], name)])
        rest = {other: array for other, array in feeds.items() if other != name}
        yield dataclasses.replace(trial, model=made, runs=(rest,))


def _node_lists(model: onnx.ModelProto) -> list[Any]:
    """The nodes of each graph and function, in lists that can be changed."""
    return [*(graph.node for graph in all_graphs(model)), *(f.node for f in model.functions)]


def _rename_inputs(nodes: Iterable[onnx.NodeProto], names: Mapping[str, str]) -> None:
    for node in nodes:
        node.input[:] = [names.get(name, name) for name in node.input]


def _keep_wanted(values: Any, wanted: Callable[[Any], bool]) -> None:
    kept = [value for value in values if wanted(value)]
    if len(kept) < len(values):
        del values[:]
        values.extend(kept)


MOST_TRIES = 3000
"""How many smaller models are tried at most."""


def shrink(
    trial: AnyTrial,
    shows: Callable[[AnyTrial], bool],
    known: Callable[[AnyTrial], Known],
    *,
    most_tries: int = MOST_TRIES,
) -> AnyTrial:
    """Take away from a model and its runs what is not needed.

    `shows` says whether a smaller one, which need not be valid, does so too; `known` what is known
    of the values of a model.
    """
    remaining = most_tries

    def found(candidate: AnyTrial | None) -> bool:
        """Whether a smaller trial shows it, and takes the place of the smallest."""
        nonlocal trial, remaining
        if candidate is None or remaining <= 0:
            return False
        remaining -= 1
        if shown := shows(candidate):
            trial = candidate
        return shown

    before = None
    while trial is not before and remaining > 0:
        before = trial
        if len(trial.model.graph.node) > 1:
            _leave_out_parts(trial, known(trial), found)
        while any(map(found, takewhile(lambda _: remaining > 0, smaller(trial)))):
            pass
    return trial


def _leave_out_parts(
    whole: AnyTrial, known: Known, found: Callable[[AnyTrial | None], bool]
) -> None:
    """Omit as many nodes at a time as possible."""
    nodes = range(len(whole.model.graph.node))
    least(nodes, lambda kept: found(with_nodes(whole, kept, known)))


def least(items: Sequence[Item], enough: Callable[[list[Item]], bool]) -> list[Item]:
    """The items that remain if as many as possible are omitted: halves, then smaller parts.

    Of parts that can be omitted, the first ones are. All of them are known to be enough, and none
    not to be.
    """
    kept = list(items)
    size = len(kept) // 2
    while size:
        start = 0
        while start < len(kept):
            others = [*kept[:start], *kept[start + size :]]
            if enough(others):
                kept = others
            else:
                start += size
        size = min(size, len(kept)) // 2
    return kept


def known_values(trial: Trial, runs: IsolatedRuns) -> Known:
    """What unoptimized runs of a model compute, as far as they get, and the types of its values."""
    model = read(trial.model)
    try:
        values = [trace(model, feeds, runs).values for feeds in trial.runs]
    except SonnxError:  # ONNX Runtime takes no such inputs
        values = []
    content = require_serializable(exposed(trial.model, len(trial.model.graph.node)))
    types: dict[str, onnx.TypeProto] | Failed = {}
    with suppress(LimitExceeded):
        types = runs.call(types_of_outputs, content)
    return Known(values, {} if isinstance(types, Failed) else types)
