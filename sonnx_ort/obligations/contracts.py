"""Reads contracts: TOML files that people write.

    [inputs.image]
    range = [0, 1]
    message = "scale the camera's bytes by 1/255"

    [values."backbone.out"]
    range = [-200, 200]

    [inputs.ids]
    dtype = "int64"
    range = [0, 30521]
    shape = ["batch", "length"]

    [sizes]
    batch = 1
    length = [1, 512]
    height = { range = [32, 640], multiple_of = 32 }

`docs/how-to/contracts.md` documents the file.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.kernel.sizes import LARGEST, NAME
from sonnx_ort.knowledge.declarations import declared_axes, declared_type, type_name
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.profile.contract import (
    Contract,
    ShapeContract,
    SizeContract,
    StateContract,
    TypeContract,
    ValueContract,
    is_size,
)
from sonnx_ort.profile.element_type import CARRIERS, NUMERIC_TYPES, ElementType
from sonnx_ort.reading import toml_of
from sonnx_ort.terms.operand import Shape, contradict, format_shape

ContractSource = str | os.PathLike[str] | Contract
"""A contract as a caller gives it: a TOML file, or a `Contract`."""

_SECTIONS = ("inputs", "values", "sizes", "states")
_KEYS = ("range", "finite", "whole", "axis", "message")
_KEYS_OF_INPUTS = (*_KEYS, "shape", "dtype")
_KEYS_OF_SIZES = ("range", "multiple_of", "message")


def read_contract(source: ContractSource) -> Contract:
    """Read a contract from a TOML file; return a given one unchanged.

    Raises:
        SonnxError: The file cannot be read, or it says something that no contract has.
    """
    if isinstance(source, Contract):
        for entry in source.values:
            _require_form(entry)
        return source
    path = Path(source)
    document = toml_of(path)
    for name in document:
        if name not in _SECTIONS:
            raise SonnxError(
                f"'{path}': '{name}' is unknown{did_you_mean(name, _SECTIONS)}; write "
                "[inputs.NAME], [values.NAME], [sizes] or [states]"
            )
    inputs, values = (
        {
            name: (table, f"'{path}', {section}.{name}")
            for name, table in _tables(document.get(section, {}), f"'{path}', {section}")
        }
        for section in ("inputs", "values")
    )
    for name in inputs.keys() & values.keys():
        raise SonnxError(f"'{path}': '{name}' stands in [inputs] and in [values]; remove one")
    entries = [
        *(_entry(name, *each, _KEYS_OF_INPUTS) for name, each in inputs.items()),
        *(_entry(name, *each, _KEYS) for name, each in values.items()),
    ]
    shapes = [
        ShapeContract(name, _axes(table["shape"], origin))
        for name, (table, origin) in inputs.items()
        if "shape" in table
    ]
    types = [
        TypeContract(name, _dtype(table["dtype"], origin))
        for name, (table, origin) in inputs.items()
        if "dtype" in table
    ]
    sizes = document.get("sizes", {})
    if not isinstance(sizes, Mapping):
        raise SonnxError(f"'{path}', sizes: it is not a table of sizes; write [sizes]")
    states = document.get("states", {})
    if not isinstance(states, Mapping) or not all(isinstance(o, str) for o in states.values()):
        raise SonnxError(f"'{path}', states: write the output of each state: h = \"h_out\"")
    return Contract(
        tuple(filter(None, entries)),
        tuple(shapes),
        tuple(_size(name, given, f"'{path}', sizes.{name}") for name, given in sizes.items()),
        tuple(StateContract(*names) for names in states.items()),
        tuple(types),
    )


def _tables(section: object, origin: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(section, Mapping):
        raise SonnxError(f"{origin}: it is not a table of values; write [inputs.NAME]")
    for name, table in section.items():
        if not isinstance(table, Mapping):
            raise SonnxError(f"{origin}.{name}: it is not a table; write [inputs.{name}]")
        yield name, table


def _entry(
    value: str, table: Mapping[str, Any], origin: str, keys: Sequence[str]
) -> ValueContract | None:
    """What is said of the elements of a value; None if nothing is."""
    message = _message(table, origin, keys)
    flags = {key: table.get(key, False) for key in ("finite", "whole")}
    for key, flag in flags.items():
        if not isinstance(flag, bool):
            raise SonnxError(f"{origin}: '{key}' is {flag!r}; write true or false")
    finite, whole = flags.values()
    if "range" not in table:
        if "axis" in table:
            raise SonnxError(f"{origin}: 'axis' is for a range of each index; write {_RANGES}")
        if not finite and not whole:
            if "shape" in table or "dtype" in table:
                return None
            raise SonnxError(f"{origin}: it demands nothing; write range = [0, 1] or finite = true")
        return ValueContract(value, None, message, whole=whole)
    given: Any = table["range"]
    axis: Any = table.get("axis")
    if axis is None:
        found: Any = _range(given, origin)
    elif type(axis) is not int or not isinstance(given, list) or not given:
        raise SonnxError(f"{origin}: 'axis' is a number, and has a range for each index: {_RANGES}")
    else:
        found = tuple(_range(each, origin) for each in given)
    entry = ValueContract(value, found, message, axis, whole)
    if finite and not all(map(math.isfinite, chain(*entry.ranges))):
        raise SonnxError(f"{origin}: 'finite' contradicts a range that reaches infinity")
    return entry


_RANGES = "axis = 1, range = [[0, 1], [-1, 1]]"


def _message(table: Mapping[str, Any], origin: str, keys: Sequence[str]) -> str:
    """The message of an entry that has no other keys than these."""
    for key in table:
        if key not in keys:
            raise SonnxError(
                f"{origin}: '{key}' is unknown{did_you_mean(key, keys)}; an entry has "
                f"{', '.join(keys)}"
            )
    message = table.get("message", "")
    if not isinstance(message, str):
        raise SonnxError(f"{origin}: 'message' is not a string")
    return message


_TYPES = tuple(map(type_name, ir.DataType))[1:]
"""The ONNX names of element types; the first one is for none."""


def _dtype(given: object, origin: str) -> str:
    if isinstance(given, str) and given in _TYPES:
        return given
    hint = did_you_mean(given, _TYPES) if isinstance(given, str) else ""
    raise SonnxError(f"{origin}: 'dtype' is {given!r}{hint}; write a type of ONNX, such as float")


def _axes(given: object, origin: str) -> tuple[int | str | None, ...]:
    """The axes of an input: sizes, names, and `?` for any size."""
    if not isinstance(given, list):
        raise SonnxError(f"{origin}: 'shape' is {given!r}; write one entry for each axis")
    axes = tuple(None if axis == _ANY else axis for axis in given)
    _require_shape(axes, f"{origin}: 'shape'")
    return axes


_ANY = "?"


def _require_shape(axes: Sequence[object], what: str) -> None:
    for axis in axes:
        named = isinstance(axis, str) and NAME.fullmatch(axis)
        if axis is not None and not named and not is_size(axis):
            raise SonnxError(
                f"{what} has {axis!r}; an axis is a size, a name of letters, digits and "
                "underscores, or '?' for any size"
            )


def _size(name: str, given: object, origin: str) -> SizeContract:
    """What is said of the axes of a name: a size, the least and the largest, or a table."""
    table = given if isinstance(given, Mapping) else {"range": given}
    message, ends = _message(table, origin, _KEYS_OF_SIZES), table.get("range", [0, LARGEST])
    ends = [ends, ends] if is_size(ends) else ends
    if not isinstance(ends, list) or len(ends) != 2 or not all(map(is_size, ends)):
        raise SonnxError(
            f"{origin}: 'range' is {ends!r}; write a size, or the least and the largest: [1, 8]"
        )
    factor: Any = table.get("multiple_of", 1)
    found = SizeContract(name, ends[0], ends[1], factor, message)
    _require_size(found, origin)
    return found


def _require_size(size: SizeContract, what: str) -> None:
    factor: object = size.multiple_of
    if not is_size(factor) or factor == 0:
        raise SonnxError(f"{what}: 'multiple_of' is {factor!r}; write a number such as 32")
    if not is_size(size.least) or not is_size(size.most) or not size.sizes:
        raise SonnxError(f"{what}: there is no such size; write the least first")


def _range(given: object, origin: str) -> tuple[float, float]:
    numbers = given if isinstance(given, list) else []
    if len(numbers) != 2 or not all(_is_number(number) for number in numbers):
        raise SonnxError(
            f"{origin}: 'range' is {given!r}; write two numbers: range = [0, 1]; or for each index "
            f"of an axis: {_RANGES}"
        )
    lower, upper = numbers
    if not lower <= upper:
        raise SonnxError(f"{origin}: the range [{lower}, {upper}] is empty; write the least first")
    return lower, upper


def _require_form(entry: ValueContract) -> None:
    """Reject an entry whose ranges are no pairs of numbers."""
    given: Any = entry.range
    ranges = given if entry.axis is not None else () if given is None else (given,)
    if not isinstance(ranges, tuple) or (entry.axis is not None and not ranges):
        raise SonnxError(f"contract: '{entry.value}' has axis= without range=; {_RANGES}")
    for ends in ranges:
        if not isinstance(ends, tuple) or len(ends) != 2 or not all(map(_is_number, ends)):
            raise SonnxError(
                f"contract: a range of '{entry.value}' is {ends!r}; give two numbers, or axis= and "
                "two numbers for each of its indices"
            )


def _is_number(number: object) -> bool:
    return type(number) is int or (isinstance(number, float) and not math.isnan(number))


def contract_for(model: ReadModel, source: ContractSource) -> Contract:
    """Read a contract for a model.

    Raises:
        InvalidModel: The model is not valid ONNX.
        SonnxError: The contract cannot be read, or does not fit the model.
    """
    contract = read_contract(source)
    if contract:
        graph_model = load_canonical(model, frozenset()).graph_model
        require_inputs(graph_model.graph, contract)
        facts = Facts(graph_model, replace(contract, values=()))
        require_values(graph_model, contract, facts)
    return contract


def require_values(model: ir.Model, contract: Contract, facts: Facts) -> None:
    """Reject a contract for values that the graph does not have, or whose type has no numbers.

    Args:
        model: A canonical model.
        contract: The contract.
        facts: What is known of the values.

    Raises:
        SonnxError: There is such a value.
    """
    if not contract:
        return
    values = _values_by_name(model.graph)
    for entry in contract.values:
        name = entry.value
        value = _the_only(name, values)
        kind = facts.element_type(value) or declared_type(value)
        found = ElementType.named(kind)
        if kind is None:
            raise SonnxError(f"contract: the type of '{name}' is not known; declare it")
        if found not in NUMERIC_TYPES:
            raise SonnxError(f"contract: '{name}' is of type {kind}, which has no range")
        if (entry.range is None or entry.whole) and found.dtype.kind in "iu":
            remedy = "remove 'whole'" if entry.whole else "write a range"
            always = "whole" if entry.whole else "finite"
            raise SonnxError(
                f"contract: '{name}' is of type {kind}, whose numbers are all {always}; {remedy}"
            )
        if entry.whole and found in CARRIERS and value.producer() is not None:
            raise SonnxError(
                f"contract: '{name}' is a {kind} that a node computes, which ONNX Runtime may "
                "leave unrounded; of this type only inputs can be said to be whole"
            )
        _require_ranges(entry, kind, found.dtype)
        if entry.axis is not None:
            _require_axis(entry, entry.axis, facts.shape(value))
    for state in contract.states:
        _require_state(model.graph, contract, state, facts)


def _values_by_name(graph: ir.Graph) -> Mapping[str, Sequence[ir.Value]]:
    """The inputs of a graph, and what nodes compute, in subgraphs too: several may have a name."""
    found: dict[str, list[ir.Value]] = {}
    computed = (value for node in every_node(graph) for value in node.outputs)
    for value in filter(lambda each: each.name, (*graph.inputs, *computed)):
        found.setdefault(str(value.name), []).append(value)
    return found


def _the_only(name: str, values: Mapping[str, Sequence[ir.Value]]) -> ir.Value:
    if name not in values:
        raise SonnxError(
            f"contract: the graph has no input or value '{name}'{did_you_mean(name, values)}; "
            "inputs of subgraphs and values of functions cannot have a contract"
        )
    if len(values[name]) > 1:
        raise SonnxError(f"contract: several subgraphs have a value '{name}'; rename one of them")
    return values[name][0]


def _require_state(graph: ir.Graph, contract: Contract, state: StateContract, facts: Facts) -> None:
    """Reject a state that one call does not give to the next, or of which nothing is demanded."""
    inputs = {str(value.name): value for value in graph.inputs}
    outputs = {str(value.name): value for value in graph.outputs}
    for name, known, what in ((state.input, inputs, "input"), (state.output, outputs, "output")):
        if name not in known:
            raise SonnxError(
                f"contract: there is no {what} '{name}' of a state{did_you_mean(name, known)}"
            )
    given, result = inputs[state.input], outputs[state.output]
    if not contract.keeps(state):
        own = contract.of(state.input) is not None
        raise SonnxError(
            f"contract: the state '{state.input}' "
            + (
                f"has one entry, and its output '{state.output}' another; remove that"
                if own
                else f"has no entry; write [inputs.{state.input}] range = [-1, 1]"
            )
        )
    kinds = [facts.element_type(value) or declared_type(value) for value in (given, result)]
    shapes = [facts.shape(value) for value in (given, result)]
    if kinds[0] != kinds[1] or contradict(*shapes):
        raise SonnxError(
            f"contract: the output '{state.output}' cannot be the state '{state.input}' of the "
            f"next call: it is {_typed(kinds[1], shapes[1])}, and not {_typed(kinds[0], shapes[0])}"
        )


def _typed(kind: str | None, shape: Shape | None) -> str:
    return f"{kind} {format_shape(shape)}"


def _require_ranges(entry: ValueContract, kind: str, dtype: np.dtype[Any]) -> None:
    """Reject ranges that have no number of the type of the value."""
    for ends, (lower, upper) in zip(entry.ranges, entry.limits(dtype), strict=False):
        if entry.whole and not all(map(math.isfinite, ends)):
            raise SonnxError(
                f"contract: '{entry.value}' is of whole numbers, and its range reaches infinity; "
                "write the largest number"
            )
        if not lower <= upper or (entry.whole and math.floor(upper) < lower):
            which = f"the range {[*ends]}" if entry.axis is not None else "the range"
            what = "whole number" if entry.whole else "number"
            raise SonnxError(f"contract: {which} of '{entry.value}' has no {what} of type {kind}")


def _require_axis(entry: ValueContract, axis: int, shape: Shape | None) -> None:
    """Reject ranges for another number of indices than the axis is known to have."""
    rank = 0 if shape is None else len(shape)
    if shape is None or not -rank <= axis < rank or shape[axis] != len(entry.ranges):
        known = "its rank is not known" if shape is None else f"it is {format_shape(shape)}"
        raise SonnxError(
            f"contract: '{entry.value}' has {len(entry.ranges)} ranges on axis {axis}, and {known};"
            ' its size has to be known: [inputs.NAME] shape = ["batch", 3] says that of an input'
        )


def _require_types(graph: ir.Graph, contract: Contract) -> None:
    declared = {str(value.name): declared_type(value) for value in graph.inputs}
    for entry in contract.types:
        name = entry.input
        if name not in declared:
            raise SonnxError(f"contract: there is no input '{name}'{did_you_mean(name, declared)}")
        if declared[name] != entry.dtype:
            raise SonnxError(
                f"contract: the type of '{name}' is declared as {declared[name]}, and the contract "
                f"says {entry.dtype}; correct the contract, or convert the input in the model"
            )


def require_inputs(graph: ir.Graph, contract: Contract) -> None:
    """Reject a contract that says other types or axes of inputs than the graph declares.

    Raises:
        SonnxError: It does, or there is no such input, axis or size.
    """
    _require_types(graph, contract)
    declared = dict(declared_axes(graph))
    for size in contract.sizes:
        _require_size(size, f"contract: the size '{size.name}'")
    for entry in contract.shapes:
        name, axes = entry.input, entry.axes
        if name not in declared:
            raise SonnxError(f"contract: there is no input '{name}'{did_you_mean(name, declared)}")
        _require_shape(axes, f"contract: the shape of '{name}'")
        stated = declared[name]
        if stated is None:
            continue
        if len(stated) != len(axes) or contradict(stated, axes):
            raise SonnxError(
                f"contract: the shape of '{name}' is declared as {format_shape(stated)}, and the "
                f"contract says {format_shape(axes)}"
            )
    stated_axes = (
        axis for name, axes in declared.items() for axis in contract.axes_of(name, axes) or ()
    )
    used = {axis.name for axis in stated_axes if isinstance(axis, SizeContract)}
    for size in contract.sizes:
        if size.name not in used:
            names = {a for axes in declared.values() for a in axes or () if isinstance(a, str)}
            raise SonnxError(
                f"contract: no axis of an input is named '{size.name}'"
                f"{did_you_mean(size.name, used | names)}; name the axes of an input: "
                '[inputs.NAME] shape = ["batch", 3]'
            )
