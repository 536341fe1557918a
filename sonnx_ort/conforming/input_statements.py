"""What is said of the inputs of a model, as far as options can state it in a file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sonnx_ort.conforming.stated import OPEN, Stated, is_fixed
from sonnx_ort.errors.remedies import Remedy
from sonnx_ort.ort.feeds import GraphInput
from sonnx_ort.profile.contract import Contract, SizeContract
from sonnx_ort.runs.input_shapes import Sizes


def stated_by(
    inputs: Sequence[GraphInput],
    runs: Sequence[Mapping[str, Any]],
    sizes: Sizes,
    contract: Contract,
) -> Stated:
    """What inputs are in every run, as far as it is said.

    An input of several shapes in the runs has none to state.

    Args:
        inputs: The inputs of the model.
        runs: Inputs of runs, by name; each may lack some.
        sizes: What a user says of shapes.
        contract: What the inputs may be.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    values: dict[str, bool | int | float] = {}
    varying: set[str] = set()
    for each in inputs:
        # What is no array is refused where it is used.
        given = (run.get(each.name) for run in runs)
        arrays = [array for array in given if isinstance(array, np.ndarray)]
        found = {array.shape for array in arrays}
        if len(found) > 1:
            varying.add(each.name)
        elif found:
            shapes[each.name] = found.pop()
        elif (shape := _stated_shape(each, sizes, contract)) is not None:
            shapes[each.name] = shape
        if (value := _only_number(arrays)) is not None:
            values[each.name] = value
    values = fixed_numbers(inputs, contract) | values
    return Stated(shapes, values, frozenset(varying))


def _stated_shape(each: GraphInput, sizes: Sizes, contract: Contract) -> tuple[int, ...] | None:
    """The shape of an input, with 1 for axes of which nothing is said; None if nothing is."""
    if each.name in sizes.shapes:
        return tuple(sizes.shapes[each.name])
    found = _sizes(each, sizes.named, contract)
    return None if found is None else tuple(OPEN if size is None else size for size in found)


def _sizes(
    each: GraphInput, named: Mapping[str, int], contract: Contract
) -> tuple[int | None, ...] | None:
    """The sizes of an input that the model leaves open and something else says; None if nothing."""
    axes = contract.axes_of(each.name, each.shape)
    declared = (None,) * len(axes or ()) if each.shape is None else each.shape
    pairs = zip(declared, axes or declared, strict=True)
    found = tuple(_size(size, axis, named) for size, axis in pairs)
    opened = [size for size, own in zip(found, declared, strict=True) if not is_fixed(own)]
    return found if any(size is not None for size in opened) else None


def _size(declared: object, axis: object, named: Mapping[str, int]) -> int | None:
    """The size by its declaration, its name or the contract; None if none has it."""
    match declared, axis:
        case (int() as size, _) if size >= 0:
            return size
        case (str() as name, _) if name in named:
            return named[name]
        case _, SizeContract() as entry if len(entry.sizes) == 1:
            return entry.sizes[0]
        case _, int() as size if size >= 0:
            return size
        case _:
            return None


def _only_number(arrays: Sequence[Any]) -> bool | int | float | None:
    """The whole number or boolean that is the only element of each array."""
    numbers = {array.item() for array in arrays if array.size == 1 and array.dtype.kind in "biu"}
    same = len(numbers) == 1 and all(array.size == 1 for array in arrays)
    return numbers.pop() if same else None


def fixed_numbers(inputs: Iterable[GraphInput], contract: Contract) -> dict[str, int]:
    """The whole numbers that a contract fixes all elements of inputs to."""
    found: dict[str, int] = {}
    for each in inputs:
        entry = contract.of(each.name)
        whole = (each.dtype or "").startswith(("int", "uint"))
        if entry is not None and whole and entry.axis is None and len(entry.ranges) == 1:
            least, most = entry.ranges[0]
            if least == most and float(least).is_integer():
                found[each.name] = int(least)
    return found


def without_assumed(
    contract: Contract, inputs: Iterable[GraphInput], assumed: Mapping[str, Any]
) -> Contract:
    """The contract without what it says of inputs that are assumed to be what it fixes."""
    fixed = fixed_numbers(inputs, contract)
    gone = {name for name, value in assumed.items() if name in fixed and value == fixed[name]}
    return replace(
        contract,
        values=tuple(entry for entry in contract.values if entry.value not in gone),
        shapes=tuple(entry for entry in contract.shapes if entry.input not in gone),
        types=tuple(entry for entry in contract.types if entry.input not in gone),
    )


OPEN_SIZES = (1, 32, 640)
"""What open sizes are taken as that are not said, one after the other, as long as none helps."""


def open_shapes(
    inputs: Iterable[GraphInput], stated: Stated, size_of_others: int
) -> tuple[Remedy, ...]:
    """The options that fix the shape of each input of known rank with open sizes."""
    declared = ((each.name, each.shape) for each in inputs if each.shape is not None)
    return stated.fixing_shapes(declared, size_of_others)


def open_size_of(
    remedies: Iterable[Remedy], inputs: Sequence[GraphInput], stated: Stated
) -> int | None:
    """What options take open sizes as that nothing says; None if there is none."""
    chosen = {
        each
        for each in remedies
        if each.option == "assume_shapes" and each.value and each.name not in stated.shapes
    }
    if not chosen:
        return None
    return next(size for size in OPEN_SIZES if chosen <= {*open_shapes(inputs, stated, size)})
