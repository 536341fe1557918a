"""A bundled model as code gives it, and short ways to write one down."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from model_builders import graphs
from model_builders.expected import NODE_NAMES, element_type_of, explicit_outcome, outcome
from model_builders.graphs import Dimensions
from sonnx_ort.models import (
    Case,
    Citation,
    Example,
    Expectation,
    Outputs,
    Rejection,
    StaticViolation,
)
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Compute = Callable[[str, Array, Array, Edition], Expectation]

TYPED = Edition.TYPED
PRELIMINARY = Edition.PRELIMINARY


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A model with its entry in the manifest.

    Attributes:
        example: The entry.
        model: The model.
    """

    example: Example
    model: onnx.ModelProto


def bundle(
    name: str, shows: str, model: onnx.ModelProto, cases: Iterable[Case], *sources: Citation
) -> Bundle:
    """Put a model and its entry together."""
    return Bundle(Example(name, shows, sources, tuple(cases)), model)


def binary(
    operator: str, operand: Array, a: Dimensions = None, b: Dimensions = None
) -> onnx.ModelProto:
    """Make a model of one node: `A, B -> operator -> C`.

    Args:
        operator: "Div" or "Sub".
        operand: Has the element type of all three.
        a: The declared shape of A; the operand's unless given.
        b: That of B; A's, which is also C's, unless given.
    """
    a = operand.shape if a is None else a
    c = a if b is None else (None,) * max(len(a), len(b))
    shapes = a, a if b is None else b, c
    return graphs.binary(operator, element_type_of(operand), shapes, NODE_NAMES[operator])


def case(
    name: str, expected: Expectation | Array, edition: Edition = TYPED, /, **inputs: Array
) -> Case:
    """Make a case of the operators enforced by default, without explicit broadcasting.

    Args:
        name: Its name.
        expected: What must come of it; an array is that of the output C.
        edition: The edition that the model is held to.
        **inputs: The arrays to feed.
    """
    outputs = Outputs({"C": expected}) if isinstance(expected, np.ndarray) else expected
    return Case(name, edition, "reject", "default", inputs, outputs)


def explicit(*cases: Case) -> list[Case]:
    """Have cases ask for explicit broadcasting, and say so in their names."""
    return [replace(c, name=f"explicit {c.name}", broadcast="explicit") for c in cases]


def in_both_modes(*cases: Case) -> list[Case]:
    """Give cases, and behind them the same with explicit broadcasting."""
    return [*cases, *explicit(*cases)]


def in_both_editions(expected: Expectation | Array, /, **inputs: Array) -> list[Case]:
    """Make two cases that expect the same, one per edition; arguments as for `case`."""
    return [case(edition.value, expected, edition, **inputs) for edition in Edition]


def runs(
    operator: str, a: Array, b: Array, what: str = "", compute: Compute = outcome
) -> list[Case]:
    """Make two cases of one node, one per edition, that expect what the oracle says."""
    return [
        case(f"{what} {edition}".strip(), compute(operator, a, b, edition), edition, A=a, B=b)
        for edition in Edition
    ]


def explicit_runs(operator: str, a: Array, b: Array, what: str = "") -> list[Case]:
    """Make two cases as `runs` does, with explicit broadcasting."""
    return explicit(*runs(operator, a, b, what, explicit_outcome))


def rejections(typed: str = "", preliminary: str = "", nodes: Sequence[str] = ("",)) -> list[Case]:
    """Make cases that are decided before any run, one per edition that is given rules.

    Args:
        typed: The ids of the rules that are broken in the typed edition, separated by blanks.
        preliminary: Those in the preliminary edition.
        nodes: The nodes that break them all; those of the rules' operators unless given.
    """
    return [
        case(
            edition.value, Rejection(tuple(_violation(r, n) for n in nodes for r in rules)), edition
        )
        for edition, rules in ((TYPED, typed.split()), (PRELIMINARY, preliminary.split()))
        if rules
    ]


def _violation(rule: str, node: str) -> StaticViolation:
    return StaticViolation(rule, node or NODE_NAMES[rule.partition(".")[0]])


def float32(elements: npt.ArrayLike) -> Array:
    """Make a float32 tensor of elements nested by axis."""
    return np.array(elements, np.float32)


def int32(elements: npt.ArrayLike) -> Array:
    """Make an int32 tensor of elements nested by axis."""
    return np.array(elements, np.int32)
