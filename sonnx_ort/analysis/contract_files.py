"""Reads contracts: TOML files that people write, and what none can say whatever the model is.

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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import type_name
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.errors.arguments import require_fields
from sonnx_ort.facts.sizes import LARGEST, NAME
from sonnx_ort.loading.text_files import toml_of
from sonnx_ort.profile.contract import (
    Contract,
    ShapeContract,
    SizeContract,
    StateContract,
    TypeContract,
    ValueContract,
    is_end,
    is_size,
)

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
        require_form(source)
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
            for name, table in _named_tables(document.get(section, {}), f"'{path}', {section}")
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
        TypeContract(name, _require_dtype(table["dtype"], origin))
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


def _named_tables(section: object, origin: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
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
        found: Any = _require_range(given, origin)
    elif type(axis) is not int or not isinstance(given, list) or not given:
        raise SonnxError(f"{origin}: 'axis' is a number, and has a range for each index: {_RANGES}")
    else:
        found = tuple(_require_range(each, origin) for each in given)
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


def _require_dtype(given: object, origin: str) -> str:
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


def _require_range(given: object, origin: str) -> tuple[float, float]:
    numbers = given if isinstance(given, list) else []
    if len(numbers) != 2 or not all(map(_is_number, numbers)):
        raise SonnxError(
            f"{origin}: 'range' is {given!r}; write two numbers: range = [0, 1]; or for each index "
            f"of an axis: {_RANGES}"
        )
    if not all(map(is_end, numbers)):
        raise SonnxError(f"{origin}: the range has {_BEYOND_DOUBLE}")
    lower, upper = numbers
    if not lower <= upper:
        raise SonnxError(f"{origin}: the range [{lower}, {upper}] is empty; write the least first")
    return lower, upper


_BEYOND_DOUBLE = "an end beyond all numbers of double, 1.8e308; write inf or -inf for no end"


def _is_number(number: object) -> bool:
    return type(number) is int or (isinstance(number, float) and not math.isnan(number))


_TYPED: Mapping[type, Sequence[str]] = {
    ValueContract: ("value", "message", "whole"),
    ShapeContract: ("input", "axes"),
    SizeContract: ("name", "message"),
    StateContract: ("input", "output"),
    TypeContract: ("input", "dtype"),
}
"""The fields of each entry whose types are all that they have to keep to."""


def require_form(contract: Contract) -> None:
    """Reject what no contract can say, whatever the model is.

    Raises:
        SonnxError: A range is no pair of numbers, a size is none, or two entries are for one name.
    """
    entries = (contract.values, contract.shapes, contract.sizes, contract.states, contract.types)
    for each in chain.from_iterable(entries):
        require_fields(each, *_TYPED[type(each)])
    for entry in contract.values:
        _require_ranges(entry)
    for size in contract.sizes:
        _require_size(size, f"contract: the size '{size.name}'")
    for shape in contract.shapes:
        _require_shape(shape.axes, f"contract: the shape of '{shape.input}'")
    for what, names in (
        ("numbers", [entry.value for entry in contract.values]),
        ("the shape", [entry.input for entry in contract.shapes]),
        ("the size", [entry.name for entry in contract.sizes]),
        ("the type", [entry.input for entry in contract.types]),
        ("the state", [entry.input for entry in contract.states]),
    ):
        for name, count in Counter(names).items():
            if count > 1:
                raise SonnxError(f"contract: {count} entries are for {what} of '{name}'; keep one")


def _require_ranges(entry: ValueContract) -> None:
    """Reject an entry whose ranges are no pairs of numbers."""
    given: Any = entry.range
    axis: object = entry.axis
    ranges = given if axis is not None else () if given is None else (given,)
    if axis is not None and type(axis) is not int:
        raise SonnxError(f"contract: '{entry.value}' has axis={axis!r}; give a number, such as 1")
    if not isinstance(ranges, tuple) or (axis is not None and not ranges):
        raise SonnxError(f"contract: '{entry.value}' has axis= without range=; {_RANGES}")
    for ends in ranges:
        if not isinstance(ends, tuple) or len(ends) != 2 or not all(map(_is_number, ends)):
            raise SonnxError(
                f"contract: a range of '{entry.value}' is {ends!r}; give two numbers, or axis= and "
                "two numbers for each of its indices"
            )
        if not all(map(is_end, ends)):
            raise SonnxError(f"contract: a range of '{entry.value}' has {_BEYOND_DOUBLE}")
