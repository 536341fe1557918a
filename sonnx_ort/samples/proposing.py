"""The public function `propose_contract`: a first contract for a model, from what samples show.

What it proposes is for a person to judge: a sample shows what was, and a contract says what may be.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.contracts import (
    ContractSource,
    has_checked_sizes,
    is_tensor,
    read_contract,
    require_inputs,
    require_values,
)
from sonnx_ort.analysis.premises import premises_of
from sonnx_ort.analysis.values.declarations import declared_axes, declared_type
from sonnx_ort.analysis.values.derived import Derived
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.errors.arguments import checked_arguments
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.facts.node import FLOATS
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.source import ModelSource, read
from sonnx_ort.profile.contract import (
    NO_CONTRACT,
    Contract,
    SizeContract,
    TypeContract,
    ValueContract,
)
from sonnx_ort.profile.contract_rules import contract_requirement
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.runs.inputs import complete
from sonnx_ort.runs.isolated_run import IsolatedRuns
from sonnx_ort.runs.limits import SECONDS, Limits
from sonnx_ort.runs.pairs import trace
from sonnx_ort.runs.value_files import read_samples
from sonnx_ort.samples.seen import Seen, largest_sizes, numbers_in, widened
from sonnx_ort.samples.writing import ProposedContract

_GROWN = 4.0
"""From this factor on between what may be and what was seen, an operand gets a checkpoint."""


@checked_arguments
def propose_contract(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    *,
    data: str | os.PathLike[str] | None = None,
    contract: ContractSource = NO_CONTRACT,
    margin: int | float = 0.25,
    axes: Mapping[str, int] = MappingProxyType({}),
    checkpoints: bool = False,
    time_limit: int | float = SECONDS,
    memory_limit: int | None = None,
) -> ProposedContract:
    """Propose what the inputs of a model may be, and where values inside of it are to be checked.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`.
        data: A folder of samples: `NAME.npy` or `input_0.pb` for each input, in it or in a folder
            for each sample.
        contract: What is known already: its entries are taken over.
        margin: What is added at each end, as a share of the largest of the seen range and the
            magnitudes of its ends. No end changes its sign or leaves the type. Sizes of axes with a
            name get no margin.
        axes: The axis of an input, by its name, each index of which gets a range of its own.
        checkpoints: Whether to look for the few values inside of the model whose range, if it is
            checked, keeps all other values finite. Without samples one run with random inputs
            within the contract is seen.
        time_limit: How many seconds a run of the model may take.
        memory_limit: How many MB of memory a run of it may take; three quarters of the machine's if
            it is omitted.

    Raises:
        InvalidModel: The model is not a readable, valid ONNX model.
        SonnxError: A sample cannot be read or run, or the contract does not fit the model.
    """
    if not 0 <= margin <= sys.float_info.max:
        raise SonnxError(
            Advice(
                Remedy("margin", margin),
                " is no share; give a number of 0 or more, such as ",
                Remedy("margin", 0.25),
            )
        )
    source = read(model)
    loaded = load_canonical(source, frozenset()).graph_model
    given = premises_of(source.proto).with_contract(read_contract(contract))
    require_inputs(loaded.graph, given)
    facts = Facts(loaded, replace(given, values=()))
    # A state may have no entry yet.
    require_values(loaded, replace(given, states=()), facts)
    names = [str(value.name) for value in loaded.graph.inputs]
    for name in axes:
        if name not in names:
            raise SonnxError(f"there is no input '{name}'{did_you_mean(name, names)}")
    with IsolatedRuns(Limits(time_limit, memory_limit)) as runs:
        named = {} if data is None else read_samples(Path(data), names)
        samples = list(named.values())
        feeds = samples
        if not samples and checkpoints:
            feeds = [dict(complete(source, {}, runs, contract=given).arrays)]
        computed = [{**trace(source, each, runs).values, **each} for each in feeds]
    seen = numbers_in(computed)
    of_inputs = _with_states(computed, given) if samples else []
    sampled = numbers_in(of_inputs)
    entries = [
        given.of(str(value.name))
        or _of_axis(value, facts, of_inputs, axes, margin)
        or _of_input(value, facts, sampled, margin)
        for value in loaded.graph.inputs
    ]
    known = {*names, *(state.output for state in given.states)}
    inside = (entry for entry in given.values if entry.value not in known)
    found = Contract(
        (*filter(None, entries), *inside),
        given.shapes,
        _sizes(loaded.graph, given, samples),
        given.states,
        tuple(_types(loaded.graph)),
    )
    require_values(loaded, found, facts)
    facts = Facts(loaded, replace(found, values=()))
    ranges = facts.numbers_under(found)
    if checkpoints:
        found, ranges = _with_checkpoints(loaded, facts, found, ranges, seen, margin)
    floats = [v for v in _computed(loaded) if facts.element_type(v) in FLOATS]
    sizes = largest_sizes(computed)
    return ProposedContract(
        found,
        len(samples),
        {e.value: sizes.get(e.value, 0) for e in found.values if e.value not in known},
        sum(_is_finite(value, ranges) for value in floats),
        len(floats),
        tuple(str(v.name) for v in _first_open(loaded, facts, ranges)),
        dict(_remarks(loaded.graph, given, sampled, named)),
    )


def _with_states(
    runs: Sequence[Mapping[str, Any]], given: Contract
) -> Sequence[Mapping[str, Sequence[Any]]]:
    """The values of runs, and those of states also under the names of their inputs.

    What a contract says of a state, it demands of the output too, so that one range holds both.
    """
    results = {state.input: state.output for state in given.states}
    carried = [
        {name: run[output] for name, output in results.items() if run.get(output) is not None}
        for run in runs
    ]
    return [*runs, *filter(None, carried)]


def _remarks(
    graph: ir.Graph,
    given: Contract,
    seen: Seen,
    samples: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, str]]:
    """What is to be said of inputs: numbers that no range has, and entries that samples break."""
    for value in graph.inputs:
        name = str(value.name)
        entry = given.of(name)
        if not is_tensor(value):
            yield name, "no tensor; a contract has no entry for it"
        elif entry is None:
            if name in seen and seen[name].remark:
                yield name, seen[name].remark
        elif breaking := _breaking(entry, samples):
            yield name, f"the given entry refuses {breaking} of {len(samples)} samples"


def _breaking(entry: ValueContract, samples: Mapping[str, Mapping[str, Any]]) -> int:
    """How many samples are not within an entry."""
    name, requirements = entry.value, list(map(contract_requirement, entry.demands))
    arrays = [np.asarray(values[name]) for values in samples.values() if name in values]
    return sum(any(each.violation_of((name,), (a,)) for each in requirements) for a in arrays)


def _types(graph: ir.Graph) -> Iterator[TypeContract]:
    """The element type of each input."""
    for value in graph.inputs:
        kind = declared_type(value)
        if kind is not None and is_tensor(value):
            yield TypeContract(str(value.name), kind)


def _sizes(
    graph: ir.Graph, given: Contract, samples: Sequence[Mapping[str, Any]]
) -> tuple[SizeContract, ...]:
    """The given sizes, and those of other names that all axes agree in, as samples had them."""
    sizes = [_sizes_of_names(graph, given, sample) for sample in samples]
    known = {entry.name for entry in given.sizes} | _sizes_of_others(graph)
    found = []
    for name in {name: None for each in sizes for name in each if name not in known}:
        seen = [size for each in sizes for size in each.get(name, ())]
        if all(len(each.get(name, ())) <= 1 for each in sizes):
            found.append(SizeContract(name, min(seen), max(seen)))
    return (*given.sizes, *found)


def _sizes_of_others(graph: ir.Graph) -> frozenset[str]:
    """The names of axes whose sizes no backend checks, such as those of a sequence."""
    others = {str(value.name) for value in graph.inputs if not has_checked_sizes(value)}
    named = (axes or () for name, axes in declared_axes(graph) if name in others)
    return frozenset(axis for axes in named for axis in axes if isinstance(axis, str))


def _sizes_of_names(
    graph: ir.Graph, given: Contract, sample: Mapping[str, Any]
) -> Mapping[str, set[int]]:
    """The sizes that the axes of each name have in one sample."""
    found: dict[str, set[int]] = {}
    for name, declared in declared_axes(graph):
        if name not in sample:
            continue
        axes = given.axes_of(name, declared) or declared or ()
        for axis, size in zip(axes, np.shape(sample[name]), strict=False):
            named = axis.name if isinstance(axis, SizeContract) else axis
            if isinstance(named, str):
                found.setdefault(named, set()).add(size)
    return found


def _of_input(value: ir.Value, facts: Facts, seen: Seen, margin: float) -> ValueContract | None:
    """What is proposed for an input: the seen range, or that it is finite; nothing beside NaN."""
    name, kind = str(value.name), ElementType.named(facts.element_type(value))
    if kind not in NUMERIC_TYPES or not is_tensor(value):
        return None
    if name in seen:
        found = seen[name]
        return None if found.with_nan else ValueContract(name, widened(found, margin, kind))
    return ValueContract(name) if kind in FLOATS else None


def _of_axis(
    value: ir.Value,
    facts: Facts,
    samples: Sequence[Mapping[str, Any]],
    axes: Mapping[str, int],
    margin: float,
) -> ValueContract | None:
    """The seen range of each index of an axis, if that is asked for."""
    name, kind = str(value.name), ElementType.named(facts.element_type(value))
    arrays = [np.asarray(sample[name]) for sample in samples if name in sample]
    if name not in axes or not arrays or kind not in NUMERIC_TYPES:
        return None
    axis = axes[name]
    if not all(-array.ndim <= axis < array.ndim for array in arrays):
        raise SonnxError(f"the input '{name}' has no axis {axis} in a sample")
    counts = {array.shape[axis] for array in arrays}
    parts = [{str(k): part for k, part in enumerate(np.moveaxis(a, axis, 0))} for a in arrays]
    seen = numbers_in(parts)
    known = [each for each in seen.values() if not each.with_nan]
    if len(counts) > 1 or len(known) < max(counts):
        raise SonnxError(
            f"axis {axis} of the input '{name}' has other sizes in other samples, or an index "
            "without numbers or with NaN; propose one range for all elements"
        )
    ranges = [widened(seen[str(k)], margin, kind) for k in range(*counts)]
    return ValueContract(name, tuple(ranges), axis=axis)


def _computed(model: ir.Model) -> Iterator[ir.Value]:
    """The values that the nodes of the main graph compute, without constants."""
    for node in model.graph:
        if node.op_type != "Constant":
            yield from (output for output in node.outputs if output.name)


def _is_finite(value: ir.Value, ranges: Derived) -> bool:
    found = ranges.range(value)
    return found is not None and found.finite


def _first_open(model: ir.Model, facts: Facts, ranges: Derived) -> Iterator[ir.Value]:
    """The float values that may not be finite, although all floats that their nodes read are."""
    for value in _computed(model):
        if facts.element_type(value) not in FLOATS or _is_finite(value, ranges):
            continue
        node = value.producer()
        operands = [] if node is None else [each for each in node.inputs if each is not None]
        floats = [each for each in operands if facts.element_type(each) in FLOATS]
        if all(_is_finite(each, ranges) for each in floats):
            yield value


def _with_checkpoints(  # noqa: PLR0913, PLR0917 - a contract, and all that is known of it
    model: ir.Model,
    facts: Facts,
    contract: Contract,
    ranges: Derived,
    seen: Seen,
    margin: float,
) -> tuple[Contract, Derived]:
    """Add checkpoints until each value is finite that can be kept so; and what follows then.

    The first value that may not be finite is as far as the checkpoints before it reach. What it
    reads gets the next one, where that has grown most beyond what was seen, or it itself.
    """
    while True:
        possible = _first_open(model, facts, ranges)
        value = next((each for each in possible if _may_be_checked(each, contract, seen)), None)
        if value is None:
            return contract, ranges
        grown = _grown_operand(value, contract, ranges, seen)
        for checked in filter(None, (grown, value)):
            kind = facts.element_type(checked)
            tried = _extended(contract, checked, kind, seen, margin)
            following = facts.numbers_under(tried)
            if checked is value or _is_finite(value, following):
                contract, ranges = tried, following
                break


def _may_be_checked(value: ir.Value, contract: Contract, seen: Seen) -> bool:
    name = str(value.name)
    return name in seen and seen[name].is_finite and contract.of(name) is None


def _extended(
    contract: Contract, value: ir.Value, kind: str | None, seen: Seen, margin: float
) -> Contract:
    """The contract with one more range: what was seen of a value, with a margin."""
    name, element_type = str(value.name), ElementType.named(kind) or ElementType.DOUBLE
    checked = ValueContract(name, widened(seen[name], margin, element_type))
    return replace(contract, values=(*contract.values, checked))


def _grown_operand(
    value: ir.Value, contract: Contract, ranges: Derived, seen: Seen
) -> ir.Value | None:
    """The operand whose interval has grown most beyond what was seen."""
    node, best, most = value.producer(), None, _GROWN
    for operand in () if node is None else node.inputs:
        if operand is None or operand.producer() is None:
            continue
        found = ranges.range(operand)
        if found is None or not _may_be_checked(operand, contract, seen):
            continue
        ends = seen[str(operand.name)]
        largest = max(abs(ends.lower), abs(ends.upper))
        factor = max(abs(found.lower), abs(found.upper)) / max(largest, 1e-30)
        if factor > most:
            best, most = operand, factor
    return best
