"""The public function `propose_contract`: a first contract for a model, from what samples show.

What it proposes is for a person to judge: a sample shows what was, and a contract says what may be.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir

from sonnx_ort.arguments import checked_arguments
from sonnx_ort.comparing.inputs import complete
from sonnx_ort.comparing.isolated_run import IsolatedRuns
from sonnx_ort.comparing.limits import SECONDS, Limits
from sonnx_ort.comparing.runs import trace
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.kernel.node import FLOATS
from sonnx_ort.knowledge.declarations import declared_axes, declared_type
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.knowledge.number_ranges import NumberRanges
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.source import ModelSource, read
from sonnx_ort.obligations.contracts import (
    ContractSource,
    read_contract,
    require_inputs,
    require_values,
)
from sonnx_ort.obligations.premises import premises_of
from sonnx_ort.profile.contract import (
    NO_CONTRACT,
    Contract,
    ShapeContract,
    SizeContract,
    TypeContract,
    ValueContract,
)
from sonnx_ort.value_files import read_samples

_DIGITS = 3
"""The significant digits of proposed ends, which are rounded outward."""

_GROWN = 4.0
"""From this factor on between what may be and what was seen, an operand gets a checkpoint."""

Seen = Mapping[str, tuple[float, float]]
"""The smallest and the largest number that each value had in all samples."""


@dataclass(frozen=True, slots=True)
class ProposedContract:
    """A contract, and what it is made of.

    Attributes:
        contract: The contract.
        samples: How many samples were run; 0 if none was given.
        checkpoints: The number of elements that a run checks at each value inside of the model.
        finite: How many float values are finite for every input within the contract.
        floats: How many float values the nodes of the graph compute.
        open: The values that are not, although all that their nodes read is finite.
    """

    contract: Contract
    samples: int
    checkpoints: Mapping[str, int]
    finite: int
    floats: int
    open: tuple[str, ...]

    @property
    def toml(self) -> str:
        """The contract as a file."""
        return "\n".join(_lines(self))


def _lines(proposed: ProposedContract) -> Iterator[str]:
    yield "# What the values of the model may be. Judge each range before you use it."
    contract = proposed.contract
    sections: dict[str, list[str]] = {}
    for typed in contract.types:
        sections.setdefault(typed.input, []).append(f"dtype = {_quoted(typed.dtype)}")
    carried = {state.output for state in contract.states}
    for entry in (each for each in contract.values if each.value not in carried):
        sections.setdefault(entry.value, []).extend(_number_lines(entry))
    for shape in contract.shapes:
        sections.setdefault(shape.input, []).append(_shape_line(shape))
    for name, lines in sections.items():
        section = "values" if name in proposed.checkpoints else "inputs"
        yield from ("", f"[{section}.{_quoted(name)}]", *lines)
    if contract.sizes:
        yield from ("", "[sizes]", *map(_size_line, contract.sizes))
    if contract.states:
        states = (f"{_quoted(each.input)} = {_quoted(each.output)}" for each in contract.states)
        yield from ("", "[states]", *states)
    yield ""


def _number_lines(entry: ValueContract) -> Iterator[str]:
    ranges = [f"[{_number(lower)}, {_number(upper)}]" for lower, upper in entry.ranges]
    if entry.axis is not None:
        yield from (f"axis = {entry.axis}", f"range = [{', '.join(ranges)}]")
    elif ranges:
        yield f"range = {ranges[0]}"
    if entry.whole:
        yield "whole = true"
    elif not ranges:
        yield "finite = true"
    if entry.message:
        yield f"message = {_quoted(entry.message)}"


def _shape_line(entry: ShapeContract) -> str:
    axes = (str(axis) if isinstance(axis, int) else _quoted(axis or "?") for axis in entry.axes)
    return f"shape = [{', '.join(axes)}]"


def _size_line(entry: SizeContract) -> str:
    parts = [f"range = [{entry.least}, {entry.most}]"]
    if entry.multiple_of > 1:
        parts.append(f"multiple_of = {entry.multiple_of}")
    if entry.message:
        parts.append(f"message = {_quoted(entry.message)}")
    if len(parts) > 1:
        return f"{entry.name} = {{ {', '.join(parts)} }}"
    sizes = str(entry.least) if entry.least == entry.most else parts[0].removeprefix("range = ")
    return f"{entry.name} = {sizes}"


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    plain = "".join(
        f"\\u{ord(letter):04x}" if ord(letter) < ord(" ") or letter in '"\\\x7f' else letter
        for letter in text
    )
    return f'"{plain}"'


def _number(end: float) -> str:
    return str(end) if isinstance(end, int) or not end.is_integer() else f"{end:.1f}"


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
        margin: The share of a seen range that is added at each end. Sizes of axes with a name get
            none.
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
    if not margin >= 0 or not math.isfinite(margin):
        raise SonnxError(f"margin={margin} is no share; give a number of 0 or more, such as 0.25")
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
        samples = [] if data is None else list(read_samples(Path(data), names).values())
        feeds = samples
        if not samples and checkpoints:
            feeds = [dict(complete(source, {}, runs, contract=given).arrays)]
        seen, sizes = _seen([{**trace(source, each, runs).values, **each} for each in feeds])
    sampled = seen if samples else {}
    entries = [
        given.of(str(value.name))
        or _of_axis(value, facts, samples, axes, margin)
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
    return ProposedContract(
        found,
        len(samples),
        {e.value: sizes.get(e.value, 0) for e in found.values if e.value not in known},
        sum(_is_finite(value, ranges) for value in floats),
        len(floats),
        tuple(str(v.name) for v in _first_open(loaded, facts, ranges)),
    )


def _types(graph: ir.Graph) -> Iterator[TypeContract]:
    """The element type of each input."""
    for value in graph.inputs:
        kind = declared_type(value)
        if kind is not None:
            yield TypeContract(str(value.name), kind)


def _seen(runs: Sequence[Mapping[str, Any]]) -> tuple[Seen, dict[str, int]]:
    """The ranges of all numbers in some runs, and the sizes of the tensors; without NaN."""
    ranges: dict[str, tuple[float, float]] = {}
    sizes: dict[str, int] = {}
    for values in runs:
        for name, value in values.items():
            if not isinstance(value, np.ndarray) or value.size == 0 or value.dtype.kind in "OSU":
                continue
            numbers = value.astype(np.float64) if value.dtype.kind not in "iu" else value
            lower, upper = numbers.min().item(), numbers.max().item()
            sizes[name] = max(sizes.get(name, 0), value.size)
            before = ranges.get(name, (lower, upper))
            ranges[name] = min(before[0], lower), max(before[1], upper)
    return {name: ends for name, ends in ranges.items() if all(map(math.isfinite, ends))}, sizes


def _sizes(
    graph: ir.Graph, given: Contract, samples: Sequence[Mapping[str, Any]]
) -> tuple[SizeContract, ...]:
    """The given sizes, and those of other names that all axes agree in, as samples had them."""
    sizes = [_sizes_of_names(graph, given, sample) for sample in samples]
    known = {entry.name for entry in given.sizes}
    found = []
    for name in {name: None for each in sizes for name in each if name not in known}:
        seen = [size for each in sizes for size in each.get(name, ())]
        if all(len(each.get(name, ())) <= 1 for each in sizes):
            found.append(SizeContract(name, min(seen), max(seen)))
    return (*given.sizes, *found)


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
    """What is proposed for an input: the seen range, or that it is finite."""
    name, kind = str(value.name), facts.element_type(value)
    if name in seen and kind is not None and kind != "bool":
        return ValueContract(name, _widened(seen[name], margin, whole=kind not in FLOATS))
    return ValueContract(name) if kind in FLOATS else None


def _of_axis(
    value: ir.Value,
    facts: Facts,
    samples: Sequence[Mapping[str, Any]],
    axes: Mapping[str, int],
    margin: float,
) -> ValueContract | None:
    """The seen range of each index of an axis, if that is asked for."""
    name, whole = str(value.name), facts.element_type(value) not in FLOATS
    if name not in axes or not samples:
        return None
    axis, arrays = axes[name], [np.asarray(sample[name]) for sample in samples]
    if not all(-array.ndim <= axis < array.ndim for array in arrays):
        raise SonnxError(f"the input '{name}' has no axis {axis} in a sample")
    counts = {array.shape[axis] for array in arrays}
    parts = [{str(k): part for k, part in enumerate(np.moveaxis(a, axis, 0))} for a in arrays]
    seen, _ = _seen(parts)
    if len(counts) > 1 or len(seen) < max(counts):
        raise SonnxError(
            f"axis {axis} of the input '{name}' has other sizes in other samples, or an index "
            "without finite numbers; propose one range for all elements"
        )
    ranges = [_widened(seen[str(k)], margin, whole=whole) for k in range(*counts)]
    return ValueContract(name, tuple(ranges), axis=axis)


def _widened(
    seen: tuple[float, float], margin: float, *, whole: bool = False
) -> tuple[float, float]:
    """A range with a margin at each end that does not change a sign."""
    lower, upper = seen
    more = margin * max(upper - lower, abs(upper), abs(lower))
    ends = (
        max(lower - more, 0) if lower >= 0 else lower - more,
        min(upper + more, 0) if upper <= 0 else upper + more,
    )
    if whole:
        return math.floor(ends[0]), math.ceil(ends[1])
    return _outward(ends[0], math.floor), _outward(ends[1], math.ceil)


def _outward(end: float, to_whole: Any) -> float:
    """A number of few digits, in the direction of a function to whole numbers."""
    if end == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(end))) - _DIGITS + 1)
    return float(f"{to_whole(end / step) * step:.{_DIGITS + 1}g}")


def _computed(model: ir.Model) -> Iterator[ir.Value]:
    """The values that the nodes of the main graph compute, without constants."""
    for node in model.graph:
        if node.op_type != "Constant":
            yield from (output for output in node.outputs if output.name)


def _is_finite(value: ir.Value, ranges: NumberRanges) -> bool:
    found = ranges.range(value)
    return found is not None and found.finite


def _first_open(model: ir.Model, facts: Facts, ranges: NumberRanges) -> Iterator[ir.Value]:
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
    ranges: NumberRanges,
    seen: Seen,
    margin: float,
) -> tuple[Contract, NumberRanges]:
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
            tried = _extended(contract, checked, seen, margin)
            following = facts.numbers_under(tried)
            if checked is value or _is_finite(value, following):
                contract, ranges = tried, following
                break


def _may_be_checked(value: ir.Value, contract: Contract, seen: Seen) -> bool:
    return str(value.name) in seen and contract.of(str(value.name)) is None


def _extended(contract: Contract, value: ir.Value, seen: Seen, margin: float) -> Contract:
    name = str(value.name)
    checked = ValueContract(name, _widened(seen[name], margin))
    return replace(contract, values=(*contract.values, checked))


def _grown_operand(
    value: ir.Value, contract: Contract, ranges: NumberRanges, seen: Seen
) -> ir.Value | None:
    """The operand whose interval has grown most beyond what was seen."""
    node, best, most = value.producer(), None, _GROWN
    for operand in () if node is None else node.inputs:
        if operand is None or operand.producer() is None:
            continue
        found = ranges.range(operand)
        if found is None or not _may_be_checked(operand, contract, seen):
            continue
        largest = max(map(abs, seen[str(operand.name)]))
        factor = max(abs(found.lower), abs(found.upper)) / max(largest, 1e-30)
        if factor > most:
            best, most = operand, factor
    return best
