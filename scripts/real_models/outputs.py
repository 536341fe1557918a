"""Whether two runs gave the same."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Outputs = Sequence[Any]
"""What a session gives: arrays; for other types than tensors lists and dicts of them."""


def difference(expected: Any, actual: Any) -> str | None:
    """Find where two outputs are not the same, bit by bit.

    Args:
        expected: An output of one session: an array, a number, a text, or a list or dict of them.
        actual: The same output of the other.

    Returns:
        What differs, in words; None if nothing does. Zeros of different signs differ, and so do
        NaNs of different bits.
    """
    if type(expected) is not type(actual):
        return f"{type(expected).__name__} against {type(actual).__name__}"
    match expected:
        case np.ndarray():
            return _array_difference(expected, actual)
        case list() | tuple():
            return _item_difference(dict(enumerate(expected)), dict(enumerate(actual)))
        case dict():
            return _item_difference(expected, actual)
        case float():
            return _array_difference(np.asarray(expected), np.asarray(actual))
        case _:
            return None if expected == actual else f"{expected!r} against {actual!r}"


def _item_difference(expected: Mapping[Any, Any], actual: Mapping[Any, Any]) -> str | None:
    if expected.keys() != actual.keys():
        return f"items {list(expected)} against {list(actual)}"
    for key, item in expected.items():
        found = difference(item, actual[key])
        if found is not None:
            return f"item {key}: {found}"
    return None


def _array_difference(expected: np.ndarray, actual: np.ndarray) -> str | None:
    if expected.dtype != actual.dtype:
        return f"dtype {expected.dtype} against {actual.dtype}"
    if expected.shape != actual.shape:
        return f"shape {expected.shape} against {actual.shape}"
    if expected.dtype == object:
        return _item_difference(
            dict(enumerate(expected.ravel().tolist())), dict(enumerate(actual.ravel().tolist()))
        )
    if expected.tobytes() == actual.tobytes():
        return None
    flat_expected, flat_actual = expected.ravel(), actual.ravel()
    differing = [
        index
        for index in range(expected.size)
        if flat_expected[index].tobytes() != flat_actual[index].tobytes()
    ]
    first = differing[0]
    place = [int(position) for position in np.unravel_index(first, expected.shape)]
    return (
        f"{len(differing)} of {expected.size} elements; the first at {place}: "
        f"{flat_expected[first]!r} against {flat_actual[first]!r}"
    )
