"""Runs of rewritten models in a plain ONNX Runtime, and how they end."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
import onnx

from support.child import ChildResult

Array = npt.NDArray[Any]

_GUARD = r"Name:'(?P<operator>\w+) '(?P<node>.*?)' breaks the SONNX profile; "
_MESSAGE = re.compile(
    rf"{_GUARD}the (?:number at the end tells|last four digits of this message tell) the rule: "
    r"(?P<rules>[^']*)'"
    r".*, got -\d*?(?P<code>\d{1,4})\b",
    re.DOTALL,
)
_REFUSAL = re.compile(rf"{_GUARD}the rule: (?P<rules>(?P<code>\d+) [\w.]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Failure:
    """What the message of a refused run tells: the operator, its original node, and the rule."""

    operator: str
    node: str
    rule: str


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run of a model.

    Attributes:
        name: Its name.
        make: Gives the model, which needs no plugin.
        feeds: The inputs by name.
        expected: The outputs by name, as far as they are known, or how the run is refused.
        optimized: Whether ONNX Runtime may optimize the graph.
    """

    name: str
    make: Callable[[], onnx.ModelProto]
    feeds: Mapping[str, Array]
    expected: Mapping[str, Array] | Failure = field(default_factory=dict)
    optimized: bool = True


@dataclass(frozen=True, slots=True)
class CannotHold:
    """A run was left out: the language has no tensors of an element type, by its numpy name."""

    element_type: str


Outcome = dict[str, Array] | str | CannotHold | ChildResult
"""The outputs by name, the message of the error, or why there is neither: the process ended."""


def failure_in(message: str) -> Failure:
    """Read what a message of ONNX Runtime tells, as anyone can who has nothing but the message.

    Raises:
        ValueError: It is not the message of a guard.
    """
    found = _MESSAGE.search(message) or _REFUSAL.search(message)
    if found is None:
        raise ValueError(f"this message is not a guard's: {message}")
    rules = {int(code): rule for code, rule in re.findall(r"(\d+) ([\w.]+)", found["rules"])}
    return Failure(found["operator"], found["node"], rules[int(found["code"])])
