"""Two contracts as one, which is nowhere weaker than either."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sonnx_ort.facts.sizes import LARGEST
from sonnx_ort.profile.contract import (
    Contract,
    Limited,
    ShapeContract,
    SizeContract,
    TypeContract,
    ValueContract,
)

Entry = TypeVar("Entry", ValueContract, ShapeContract, SizeContract, TypeContract)

ASSUMED_CONTRACT = "sonnx_ort.assumed_contract"
"""The key of a model's metadata that has the contract by which `conform` changed it."""

DeclaredAxes = Mapping[str, Sequence[int | str | None] | None]
"""The declared axes of all inputs of a graph, by name; None for one of any rank."""


class ContradictionError(ValueError):
    """No contract says what both say; the message says where."""


def both(first: Contract, second: Contract, declared: DeclaredAxes) -> Contract:
    """The contract that demands what both demand.

    What the first one has stays in its order, and what the second one adds follows. A contract
    joined with itself, or with one that it was made of, stays as it is.

    Args:
        first: A contract.
        second: Another one, without states.
        declared: The declared axes of the inputs.

    Raises:
        ContradictionError: They contradict each other, or call the same axes by different names.
    """
    if not second:
        return first
    carried = {each.output for each in first.states if first.keeps(each)}
    made = Contract(
        _joined(
            [entry for entry in first.values if entry.value not in carried],
            [entry for entry in second.values if entry.value not in carried],
            "value",
        ),
        _joined(first.shapes, second.shapes, "input"),
        _joined(first.sizes, second.sizes, "name"),
        first.states,
        _joined(first.types, second.types, "input"),
    )
    # An output of a state may have an entry of its own in the second one.
    made = replace(made, values=_joined(made.values, second.values, "value"))
    _require_axes(made, second, declared)
    return made


def _joined(first: Iterable[Entry], second: Iterable[Entry], key: str) -> tuple[Entry, ...]:
    """The entries of both; those of one name become one."""
    found = {getattr(entry, key): entry for entry in first}
    for entry in second:
        name = getattr(entry, key)
        found[name] = _entry_of_both(found[name], entry) if name in found else entry
    return tuple(found.values())


def _entry_of_both(first: Entry, second: Entry) -> Entry:
    if first == second:
        return first
    if isinstance(first, ValueContract) and isinstance(second, ValueContract):
        return _of_value(first, second)
    if isinstance(first, ShapeContract) and isinstance(second, ShapeContract):
        return _of_shape(first, second)
    if isinstance(first, SizeContract) and isinstance(second, SizeContract):
        return _of_size(first, second)
    raise ContradictionError(f"the type of '{getattr(first, 'input', '')}' is said to be two")


def _of_value(first: ValueContract, second: ValueContract) -> ValueContract:
    message, whole = first.message or second.message, first.whole or second.whole
    found = replace(first, message=message, whole=whole)
    if second.range is None:
        _require_finite(first, second)
        return found
    if first.range is None:
        _require_finite(second, first)
        return replace(found, range=second.range, axis=second.axis)
    if first.axis == second.axis and len(first.ranges) == len(second.ranges):
        pairs = zip(first.ranges, second.ranges, strict=True)
        ranges = tuple(_common_range(first.value, one, other) for one, other in pairs)
        return replace(found, range=ranges if first.axis is not None else ranges[0])
    if first.axis is None or second.axis is None:
        (of_all,), of_each = (
            (first.ranges, second) if first.axis is None else (second.ranges, first)
        )
        ranges = tuple(_common_range(first.value, ends, of_all) for ends in of_each.ranges)
        return replace(found, range=ranges, axis=of_each.axis)
    raise ContradictionError(
        f"'{first.value}' has ranges on axis {first.axis}, and on axis {second.axis}"
    )


def _require_finite(limited: ValueContract, other: ValueContract) -> None:
    """Reject a range that reaches infinity where the other one demands finite numbers."""
    reaches = any(math.isinf(end) for ends in limited.ranges for end in ends)
    if other.range is None and not other.whole and reaches:
        raise ContradictionError(
            f"'{limited.value}' is to be finite, and has a range that reaches infinity; write "
            "the largest number"
        )


def _common_range(value: str, first: Limited, second: Limited) -> Limited:
    lower, upper = max(first[0], second[0]), min(first[1], second[1])
    if not lower <= upper:
        raise ContradictionError(f"no number of '{value}' is in {[*first]} and in {[*second]}")
    return lower, upper


def _of_shape(first: ShapeContract, second: ShapeContract) -> ShapeContract:
    if len(first.axes) != len(second.axes):
        axes = f"{len(first.axes)} and {len(second.axes)} axes"
        raise ContradictionError(f"'{first.input}' is said to have {axes}")
    pairs = zip(first.axes, second.axes, strict=True)
    return replace(first, axes=tuple(two if one is None else one for one, two in pairs))


def _of_size(first: SizeContract, second: SizeContract) -> SizeContract:
    factor = math.lcm(first.multiple_of, second.multiple_of)
    found = SizeContract(
        first.name,
        max(first.least, second.least),
        min(first.most, second.most),
        factor,
        first.message or second.message,
    )
    if factor > LARGEST or not found.sizes:
        raise ContradictionError(f"no size of '{first.name}' is allowed by both")
    return found


def _require_axes(made: Contract, of: Contract, declared: DeclaredAxes) -> None:
    """Reject a contract that demands less of an axis than one that it was made of."""
    for name, axes in declared.items():
        wanted, found = of.axes_of(name, axes), made.axes_of(name, axes)
        for index, axis in enumerate(wanted or ()):
            other = None if found is None or index >= len(found) else found[index]
            kept = not isinstance(axis, int | SizeContract) or (
                isinstance(other, SizeContract) and other.name == axis.name
                if isinstance(axis, SizeContract)
                else other == axis
            )
            if not kept:
                demanded = f"'{axis.name}'" if isinstance(axis, SizeContract) else axis
                called = f"'{other.name}'" if isinstance(other, SizeContract) else other
                raise ContradictionError(
                    f"axis {index} of '{name}' is {demanded}, and {called}; call it the same"
                )
