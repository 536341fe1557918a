"""ScatterND: a copy of a tensor with updates in some places, or reduced with them.

No document of SONNX has it: ONNX ScatterND, version 18. Without a reduction elements keep their
bits. ONNX says that no place should be named twice, and leaves the order of updates open: where one
is, the element of any of its updates is admitted. A reduction takes the updates of a place in any
order too. What it makes of bools, and of strings, no document says.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx_ort.meaning.balls import NotFollowedError
from sonnx_ort.meaning.comparison import largest, smallest
from sonnx_ort.meaning.node import ELEMENT_TYPES, BallNode, Node, are_balls, balls
from sonnx_ort.meaning.numbers import Array, Indices, encoded_elements, tensor
from sonnx_ort.meaning.results import NotDefinedError, Result, copied, exactly


def reduces(attributes: Mapping[str, Any]) -> bool:
    """Whether a node computes something of updates and elements."""
    return str(attributes.get("reduction", "none")) != "none"


def scatter(node: Node) -> tuple[Array | Result, ...]:
    """ScatterND: `updates` in the places of `data` that `indices` name.

    Raises:
        NotDefinedError: The shapes do not fit each other, or a place does not exist.
        NotFollowedError: Balls that may be any of several, or bools are reduced.
    """
    data, updates = node.operand(0), node.operand(2)
    if are_balls(data) != are_balls(updates):
        data, updates = balls(data), balls(updates)
    of_updates = updated_places(node)
    flat = updates.ravel()
    if reduces(node.attributes):
        return (_reduced(node, data, of_updates, flat),)
    made = data.copy().reshape(-1)
    made[of_updates] = flat
    others = _further(of_updates, flat)
    if others and isinstance(node, BallNode):
        raise NotFollowedError("two indices name one element, and the order is open")
    return (copied(made.reshape(data.shape), others),)


def updated_places(node: Node) -> Indices:
    """The flat index in the first operand of each element of the updates.

    Raises:
        NotDefinedError: The shapes do not fit each other, or a place does not exist.
    """
    shape, indices = node.operand(0).shape, node.known(1)
    if not shape or not indices.ndim or indices.shape[-1] > len(shape):
        raise NotDefinedError(f"indices {indices.shape} do not fit data {shape}")
    length = indices.shape[-1]
    expected = (*indices.shape[:-1], *shape[length:])
    if node.operand(2).shape != expected:
        raise NotDefinedError(f"updates {node.operand(2).shape} should have the shape {expected}")
    named = np.array(shape[:length], np.int64)
    if ((indices < -named) | (indices >= named)).any():
        raise NotDefinedError(f"an index is not in {list(shape[:length])}")
    size = prod(shape[length:])
    steps = np.array([prod(shape[k + 1 : length]) for k in range(length)], np.int64)
    slices = (np.where(indices < 0, indices + named, indices) @ steps).reshape(-1, 1)
    flat: Indices = (slices * size + np.arange(size)).ravel()
    return flat


def _further(places: Indices, updates: Array) -> dict[int, Array]:
    """Of each place that several unlike updates name, all of them but the last one."""
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order])) + 1
    groups = (group for group in np.split(order, starts) if group.size > 1)
    pairs = ((int(places[group[0]]), updates[group]) for group in groups)
    return {
        place: those[:-1] for place, those in pairs if len({each.tobytes() for each in those}) > 1
    }


def _reduced(node: Node, data: Array, places: Indices, updates: Array) -> Array | Result:
    """The elements, reduced with the updates at their places."""
    reduce = _REDUCTIONS.get(str(node.attributes["reduction"]))
    if reduce is None or data.dtype.kind not in "Oiu":
        raise NotFollowedError("no document says what the reduction makes of these elements")
    elements: list[Any] = data.astype(object).ravel().tolist()
    together: dict[int, list[Any]] = {}
    for place, update in zip(places.tolist(), updates.astype(object).tolist(), strict=True):
        together.setdefault(place, []).append(update)
    for place, those in together.items():
        elements[place] = reduce(node, [elements[place], *those])
    made = tensor(elements, data.shape)
    if are_balls(data):
        return made
    return exactly(encoded_elements(made, ELEMENT_TYPES[data.dtype]))


def _sum(node: Node, line: Sequence[Any]) -> Any:
    total = sum(line)
    if isinstance(line[0], int):
        return total
    return node.rounded(total, len(line) - 2, sum(map(abs, line)))


def _product(node: Node, line: Sequence[Any]) -> Any:
    total = prod(line)
    if isinstance(line[0], int):
        return total
    # A product of some of them that underflows or overflows is multiplied by the others.
    most = prod(abs(each).max(1) for each in line)
    return node.rounded(total, len(line) - 2, abs(total), reach=(most,), underflow=len(line) * most)


def _top(_: Node, line: Sequence[Any]) -> Any:
    return max(line) if isinstance(line[0], int) else largest(*line)


def _bottom(_: Node, line: Sequence[Any]) -> Any:
    return min(line) if isinstance(line[0], int) else smallest(*line)


_REDUCTIONS: Mapping[str, Callable[[Node, Sequence[Any]], Any]] = {
    "add": _sum,
    "max": _top,
    "min": _bottom,
    "mul": _product,
}
"""What a reduction makes of an element and its updates."""
