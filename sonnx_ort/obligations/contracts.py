"""Reads contracts: TOML files that people write.

    [inputs.image]
    range = [0, 1]
    message = "scale the camera's bytes by 1/255"

    [values."backbone.out"]
    range = [-200, 200]

    [inputs.ids]
    range = [0, 30521]

`docs/how-to/contracts.md` documents the file.
"""

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx_ir as ir

from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.knowledge.declarations import declared_type
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.profile.contract import Contract, ValueContract
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.reading import toml_of

ContractSource = str | os.PathLike[str] | Contract
"""A contract as a caller gives it: a TOML file, or a `Contract`."""

_SECTIONS = ("inputs", "values")
_KEYS = ("range", "finite", "message")


def read_contract(source: ContractSource) -> Contract:
    """Read a contract from a TOML file; return a given one unchanged.

    Raises:
        SonnxError: The file cannot be read, or says something that no contract has.
    """
    if isinstance(source, Contract):
        return source
    path = Path(source)
    document = toml_of(path)
    for name in document:
        if name not in _SECTIONS:
            raise SonnxError(
                f"'{path}': '{name}' is unknown{did_you_mean(name, _SECTIONS)}; write "
                "[inputs.NAME] or [values.NAME]"
            )
    entries = [
        _entry(name, table, f"'{path}', {section}.{name}")
        for section in _SECTIONS
        for name, table in _tables(document.get(section, {}), f"'{path}', {section}")
    ]
    names = [entry.value for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise SonnxError(f"'{path}': '{name}' stands in [inputs] and in [values]; remove one")
    return Contract(tuple(entries))


def _tables(section: object, origin: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(section, Mapping):
        raise SonnxError(f"{origin}: it is not a table of values; write [inputs.NAME]")
    for name, table in section.items():
        if not isinstance(table, Mapping):
            raise SonnxError(f"{origin}.{name}: it is not a table; write [inputs.{name}]")
        yield name, table


def _entry(value: str, table: Mapping[str, Any], origin: str) -> ValueContract:
    for key in table:
        if key not in _KEYS:
            raise SonnxError(
                f"{origin}: '{key}' is unknown{did_you_mean(key, _KEYS)}; an entry has "
                f"{', '.join(_KEYS)}"
            )
    message = table.get("message", "")
    if not isinstance(message, str):
        raise SonnxError(f"{origin}: 'message' is not a string")
    finite = table.get("finite", False)
    if not isinstance(finite, bool):
        raise SonnxError(f"{origin}: 'finite' is {finite!r}; write true or false")
    if "range" not in table:
        if not finite:
            raise SonnxError(f"{origin}: it demands nothing; write range = [0, 1] or finite = true")
        return ValueContract(value, None, message)
    lower, upper = _range(table["range"], origin)
    if finite and not (math.isfinite(lower) and math.isfinite(upper)):
        raise SonnxError(f"{origin}: 'finite' contradicts a range that reaches infinity")
    return ValueContract(value, (lower, upper), message)


def _range(given: object, origin: str) -> tuple[float, float]:
    numbers = given if isinstance(given, list) else []
    if len(numbers) != 2 or not all(_is_number(number) for number in numbers):
        raise SonnxError(f"{origin}: 'range' is {given!r}; write two numbers: range = [0, 1]")
    lower, upper = numbers
    if not lower <= upper:
        raise SonnxError(f"{origin}: the range [{lower}, {upper}] is empty; write the least first")
    return lower, upper


def _is_number(number: object) -> bool:
    return type(number) is int or (isinstance(number, float) and not math.isnan(number))


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
    computed = (value for node in model.graph for value in node.outputs)
    values = {str(v.name): v for v in (*model.graph.inputs, *computed) if v.name}
    for entry in contract.values:
        name = entry.value
        if name not in values:
            raise SonnxError(
                f"contract: the graph has no input or value '{name}'{did_you_mean(name, values)}; "
                "values of subgraphs and of functions cannot have a contract"
            )
        kind = facts.element_type(values[name]) or declared_type(values[name])
        found = ElementType.named(kind)
        if kind is None:
            raise SonnxError(f"contract: the type of '{name}' is not known; declare it")
        if found not in NUMERIC_TYPES:
            raise SonnxError(f"contract: '{name}' is of type {kind}, which has no range")
        if entry.range is None and found.dtype.kind in "iu":
            raise SonnxError(
                f"contract: '{name}' is of type {kind}, whose numbers are all finite; write a range"
            )
        lower, upper = entry.limits(found.dtype)
        if not lower <= upper:
            raise SonnxError(f"contract: the range of '{name}' has no number of type {kind}")
