"""Runs of rewritten models in a plain ONNX Runtime, and how they end."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
import onnx

Array = npt.NDArray[Any]

_MESSAGE = re.compile(
    r"Name:'(?P<operator>\w+) '(?P<node>.*?)' breaks the SONNX profile; the last four digits of "
    r"the dimension below tell the rule: (?P<rules>[^']*)'.*, got -(?P<dimension>\d+)",
    re.DOTALL,
)
_RULE = re.compile(r"(\d+) ([\w.]+)")
_CODES = 10_000


@dataclass(frozen=True, slots=True)
class Failure:
    """What the message of a refused run tells.

    Attributes:
        operator: The operator, for example "Div".
        node: The name of the original node.
        rule: The id of the rule.
    """

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
    """A run was left out: the language has no tensors of an element type.

    Attributes:
        element_type: The numpy name of the type.
    """

    element_type: str


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """There is no outcome: the process ended in this run or in one before it.

    Attributes:
        exit_status: Its exit status; negative for the number of the signal that ended it.
        stderr: What it wrote to standard error.
    """

    exit_status: int
    stderr: str


Outcome = dict[str, Array] | str | CannotHold | ProcessEnded
"""The outputs by name, the message of the error, or why there is neither."""


def failure_in(message: str) -> Failure:
    """Read what a message of ONNX Runtime tells, as anyone can who has nothing but the message.

    Args:
        message: The text of the error.

    Raises:
        ValueError: It is not the message of a guard.
    """
    found = _MESSAGE.search(message)
    if found is None:
        raise ValueError(f"this message is not a guard's: {message}")
    rules = {int(code): rule for code, rule in _RULE.findall(found["rules"])}
    rule = rules[int(found["dimension"]) % _CODES]
    return Failure(found["operator"], found["node"], rule)
