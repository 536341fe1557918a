"""What the checker of certificates derives of the values of small models, and concludes."""

from collections.abc import Mapping
from math import isinf
from typing import Any

import onnx

from sonnx_ort.checker import Model, Rejected, established
from sonnx_ort.checker.obligations import conclude
from sonnx_ort.facts.established import KINDS
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.facts.sizes import Bounds
from support.graphs import parse

DOMAINS = {"sonnx": 1, "com.example": 1}

Found = list[int | str] | str
"""Sizes or elements, those that a run decides as "?"; or why there are none."""


def alone(node: str, x: str = "float[2, 3] x", stored: str = "") -> str:
    """A model of inputs, initializers and the node of y."""
    return f"({x}) => (float[n] y) {stored and f'<{stored}>'} {{ y = {node} }}"


def derived(model: str | onnx.ModelProto) -> Model:
    """A model, given as it is or by its text, of which all is established that follows."""
    return established(parse(model, domains=DOMAINS) if isinstance(model, str) else model)


def told(found: Any) -> Any:
    """What is established, in what JSON has.

    Open sizes are texts, bounds are two numbers, and an interval is the smallest and the largest
    number of any element, and whether one can be NaN. Infinities are texts.
    """
    if isinstance(found, Bounds):
        return [found.lower, found.upper]
    if isinstance(found, Interval):
        whole = found.whole
        ends = (str(end) if isinf(end) else end for end in (whole.lower, whole.upper))
        return [*ends, whole.nan]
    if isinstance(found, str):
        return found
    return [size if isinstance(size, int) else str(size or "?") for size in found]


def fact(model: Model, value: str, kind: str) -> Any:
    """What is established of a value, after it is derived if it is not yet.

    Raises:
        Rejected: Nothing follows.
    """
    model.derive(value, kind)
    return told(model.known(kind, value))


def facts(model: Model) -> Mapping[tuple[str, str], Any]:
    """All that is established of the values of a model, by their names and by what it is."""
    names = [name for each in model.names.values() for name in each]
    pairs = ((name, kind) for name in names for kind in KINDS if model.knows(kind, name))
    return {(name, kind): told(model.known(kind, name)) for name, kind in pairs}


def followed(model: str | onnx.ModelProto, kind: str, value: str = "y") -> Found:
    """What is established of a value, or why nothing follows.

    Args:
        model: The model, or its text.
        kind: "type", "shape", "elements" or "bounds".
        value: The name of the value.
    """
    try:
        found = fact(derived(model), value, kind)
    except Rejected as reason:
        return _reason(reason)
    if isinstance(found, str):
        return found
    return ["?" if str(size).startswith("?") else size for size in found]


def concluded(model: str | onnx.ModelProto, rule: str) -> str | None:
    """Why a rule of the last node is not concluded, in a sentence; None if it is."""
    known = derived(model)
    try:
        conclude(known, known.proto.graph.node[-1].output[0], rule)
    except Rejected as rejected:
        reason = _reason(rejected)
        if "cannot be followed" in reason:
            raise
        return reason
    return None


def _reason(rejected: Rejected) -> str:
    """The reason behind what does not follow, without the error behind what cannot be followed."""
    place, found, reason = str(rejected).partition(" does not follow: ")
    return reason if found else place.partition(": ")[0].partition(" of ")[2]
