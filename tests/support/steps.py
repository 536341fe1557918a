"""What the checker of certificates concludes of the values of small models."""

import contextlib
from collections.abc import Sequence
from typing import Any

import onnx

from sonnx_ort.checker import Model, Rejected, bodies_of
from sonnx_ort.checker.model import KINDS, as_claim, with_true_assumptions
from sonnx_ort.checker.obligations import conclude
from sonnx_ort.checker.premises import Changing
from support.graphs import parse

DOMAINS = {"sonnx": 1, "com.example": 1}

Found = list[int | str] | str
"""Sizes or elements, those that a run decides as "?"; or why there are none."""


def alone(node: str, x: str = "float[2, 3] x", stored: str = "") -> str:
    """A model of inputs, initializers and the node of y."""
    return f"({x}) => (float[n] y) {stored and f'<{stored}>'} {{ y = {node} }}"


def after_all_steps(model: str | onnx.ModelProto) -> Model:
    """A model, given as it is or by its text, of which all is established that follows."""
    proto = parse(model, domains=DOMAINS) if isinstance(model, str) else model

    def take_steps(changing: Changing) -> Model:
        known = Model(proto, changing=changing)
        _take_all_steps(known.proto.graph, known)
        return known

    return with_true_assumptions(take_steps)


def _take_all_steps(graph: onnx.GraphProto, known: Model) -> None:
    stored = [tensor.name for tensor in graph.initializer]
    _try([*(value.name for value in graph.input), *stored], known)
    for node in graph.node:
        for body in bodies_of(node):
            _take_all_steps(body, known)
        _try([name for name in node.output if name], known)


def _try(values: Sequence[str], known: Model) -> None:
    for value in values:
        for kind in KINDS:
            with contextlib.suppress(Rejected):
                known.derive(value, kind)


def established(model: Model, value: str, kind: str) -> Any:
    """What is established of a value after steps, by a further one if none says it.

    Raises:
        Rejected: Nothing follows.
    """
    if model.knows(kind, value):
        return as_claim(model.known(kind, value))
    return model.derive(value, kind)


def followed(model: str | onnx.ModelProto, kind: str, value: str = "y") -> Found:
    """What is established of a value behind all steps that follow.

    Args:
        model: The model, or its text.
        kind: "type", "shape", "elements" or "bounds".
        value: The name of the value.
    """
    try:
        known = after_all_steps(model)
        found = established(known, value, kind)
    except Rejected as reason:
        return _reason(reason)
    if isinstance(found, str):
        return found
    return ["?" if str(size).startswith("?") else size for size in found]


def concluded(model: str | onnx.ModelProto, rule: str) -> str | None:
    """Why a rule of the last node is not concluded, in a sentence; None if it is."""
    known = after_all_steps(model)
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
