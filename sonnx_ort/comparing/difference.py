"""`diff`: finds where the values of two runs first differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from sonnx_ort.comparing.inputs import UNSAID, Inputs, Sizes, complete
from sonnx_ort.comparing.isolated_run import Array, IsolatedRuns
from sonnx_ort.comparing.random_operators import unseeded
from sonnx_ort.comparing.trace import Stop, Trace, count_inner_nodes, in_words, trace
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.models.example import differing_elements
from sonnx_ort.runtime.feeds import as_tensors, graph_inputs, what_is_wrong


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A value that two models compute differently.

    Attributes:
        name: The value's name.
        node: The node of the first model that computes it, as text.
        first: The first model's value; None if it is not a tensor.
        second: The second model's value.
        index: The index of the first differing element; None if types or shapes differ.
        count: The number of differing elements; 0 if types or shapes differ.
    """

    name: str
    node: str
    first: Array | None
    second: Array | None
    index: tuple[int, ...] | None
    count: int

    @property
    def elements(self) -> tuple[Any, Any]:
        """The first elements that differ; valid only if there is an index."""
        if self.index is None or self.first is None or self.second is None:
            raise ValueError(f"'{self.name}' has no elements that can be set side by side")
        return self.first[self.index], self.second[self.index]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs of two models on the same inputs.

    Attributes:
        inputs: The inputs of both, and where they come from.
        nodes: The nodes of the first model as text, by the values that they compute, in its order.
        same: The names of the values with the same bits in both, in the order of the first model;
            all NaNs count as equal.
        mismatches: The values that differ, in that order.
        incomparable: The names of the common values that are not tensors.
        only_first: The number of values that only the first model computes.
        only_second: The number of values that only the second model computes.
        unshared_outputs: The names of the outputs that only one of the models has.
        stops: Where the run of each model ended early, or None.
        inner_nodes: The number of nodes of each in subgraphs and functions, whose values are not
            compared.
        seeded: The random operators without a seed, which draw from the same one in both if
            their results have the same name.
    """

    inputs: Inputs
    nodes: Mapping[str, str]
    same: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    incomparable: tuple[str, ...]
    only_first: int
    only_second: int
    unshared_outputs: tuple[str, ...]
    stops: tuple[Stop | None, Stop | None]
    inner_nodes: tuple[int, int]
    seeded: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both runs were complete, with the same outputs and no differing value."""
        return not (self.mismatches or self.unshared_outputs or any(self.stops))


def compare(
    first: ModelSource | ReadModel,
    second: ModelSource | ReadModel,
    given: Mapping[str, Array],
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
) -> Comparison:
    """Run two models on the same inputs, and compare every value with the same name.

    Each model runs without optimizations in a separate process, so that a crash is a result too. If
    a run ends early, the values computed before are compared. Random operators without a seed draw
    the same numbers in both, if their results have the same name.

    Args:
        first: A model, in any form that `check` takes.
        second: Another model with the same inputs.
        given: Inputs by name; the others are random.
        seed: The seed of the random inputs.
        sizes: Their sizes, where the first model leaves them open.

    Raises:
        SonnxError: A model cannot be used, or their inputs differ.
    """
    one, other = read(first), read(second)
    for model in (one, other):
        check_external_data(model.proto, model.folder)
    _require_same_inputs(one, other)
    arrays = as_tensors(graph_inputs(one.proto), given)
    with IsolatedRuns() as runs:
        inputs = complete(one, arrays, runs, seed=seed, sizes=sizes)
        if wrong := what_is_wrong(graph_inputs(other.proto), inputs.arrays):
            raise SonnxError(f"the second model does not take the inputs of the first: {wrong}")
        traces = trace(one, inputs.arrays, runs), trace(other, inputs.arrays, runs)
    mismatches, same, incomparable = _compared(*traces)
    both = len(mismatches) + len(same) + len(incomparable)
    return Comparison(
        inputs,
        traces[0].nodes,
        same,
        mismatches,
        incomparable,
        len(traces[0].values) - both,
        len(traces[1].values) - both,
        _unshared_outputs(one, other),
        (traces[0].stop, traces[1].stop),
        (count_inner_nodes(one.proto), count_inner_nodes(other.proto)),
        tuple(dict.fromkeys(map(in_words, (*unseeded(one.proto), *unseeded(other.proto))))),
    )


def _require_same_inputs(one: ReadModel, other: ReadModel) -> None:
    first, second = _inputs(one), _inputs(other)
    if sorted(first) != sorted(second):
        texts = [", ".join(found) or "none" for found in (first, second)]
        raise SonnxError(f"the two models have other inputs: {texts[0]}; {texts[1]}")


def _inputs(model: ReadModel) -> list[str]:
    """The inputs that a run requires, with their types."""
    constant = {tensor.name for tensor in model.proto.graph.initializer}
    inputs = (value for value in model.proto.graph.input if value.name not in constant)
    return [f"{_type(value)} '{value.name}'" for value in inputs]


def _type(value: onnx.ValueInfoProto) -> str:
    if not value.type.HasField("tensor_type"):
        return str(value.type.WhichOneof("value"))
    name: str = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
    return name.lower()


def _unshared_outputs(one: ReadModel, other: ReadModel) -> tuple[str, ...]:
    first, second = ([o.name for o in model.proto.graph.output] for model in (one, other))
    return (*(n for n in first if n not in second), *(n for n in second if n not in first))


def _compared(
    one: Trace, other: Trace
) -> tuple[tuple[Mismatch, ...], tuple[str, ...], tuple[str, ...]]:
    """Common values in three groups: those that differ, those that are equal, and non-tensors."""
    mismatches: list[Mismatch] = []
    same: list[str] = []
    incomparable: list[str] = []
    for name in (name for name in one.values if name in other.values):
        a, b = one.values[name], other.values[name]
        if a is None and b is None:
            incomparable.append(name)
        elif (found := _mismatch(name, one.nodes[name], a, b)) is not None:
            mismatches.append(found)
        else:
            same.append(name)
    return tuple(mismatches), tuple(same), tuple(incomparable)


def _mismatch(name: str, node: str, a: Array | None, b: Array | None) -> Mismatch | None:
    if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape:
        return Mismatch(name, node, a, b, None, 0)
    differing = a != b if a.dtype.kind == "O" else differing_elements(a, b)
    if not differing.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(differing)), differing.shape))
    return Mismatch(name, node, a, b, index, int(np.count_nonzero(differing)))
