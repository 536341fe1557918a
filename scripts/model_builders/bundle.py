"""A bundled model as code gives it, and short ways to write one down."""

from collections.abc import Iterable, Sequence
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
    Example,
    Expectation,
    Outputs,
    Rejection,
    Source,
    StaticViolation,
)
from sonnx_ort.profile.edition import Edition

Array = npt.NDArray[Any]

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
    name: str, shows: str, model: onnx.ModelProto, cases: Iterable[Case], *sources: Source
) -> Bundle:
    """Put a model and its entry together.

    Args:
        name: The name of the model.
        shows: What it shows, in one sentence.
        model: The model.
        cases: Its cases.
        *sources: Where its numbers come from.
    """
    return Bundle(Example(name, shows, sources, tuple(cases)), model)


def binary(operator: str, operand: Array, *shapes: Dimensions) -> onnx.ModelProto:
    """Make a model of one node: `A, B -> operator -> C`.

    Args:
        operator: "Div" or "Sub".
        operand: Has the element type of all three.
        *shapes: The declared shapes: of A and B, one for all three, or none where it is the
            operand's.
    """
    a, b = shapes if len(shapes) == 2 else (shapes or (operand.shape,)) * 2
    c = a if len(shapes) < 2 else (None,) * max(len(a or ()), len(b or ()))
    made = graphs.binary(operator, element_type_of(operand), (a, b, c))
    made.graph.node[0].name = NODE_NAMES[operator]
    return made


def case(name: str, edition: Edition, expected: Expectation, /, **inputs: Array) -> Case:
    """Make a case that does not ask for explicit broadcasting.

    Args:
        name: Its name.
        edition: The edition that the model is held to.
        expected: What must come of it.
        **inputs: The arrays to feed.
    """
    return Case(name, edition, "reject", inputs, expected)


def explicit(*cases: Case) -> list[Case]:
    """Have cases ask for explicit broadcasting, and say so in their names."""
    return [replace(c, name=f"explicit {c.name}", broadcast="explicit") for c in cases]


def in_both_modes(*cases: Case) -> list[Case]:
    """Give cases, and behind them the same with explicit broadcasting."""
    return [*cases, *explicit(*cases)]


def in_both_editions(expected: Expectation, /, **inputs: Array) -> list[Case]:
    """Make two cases that expect the same, one per edition."""
    return [case(edition.value, edition, expected, **inputs) for edition in Edition]


def runs(operator: str, a: Array, b: Array, what: str = "") -> list[Case]:
    """Make two cases of one node, one per edition, that expect what the oracle says.

    Args:
        operator: "Div" or "Sub".
        a: The operand fed as A.
        b: The operand fed as B.
        what: What the names of the cases begin with.
    """
    return [
        case(f"{what} {edition}".strip(), edition, outcome(operator, a, b, edition), A=a, B=b)
        for edition in Edition
    ]


def explicit_runs(operator: str, a: Array, b: Array, what: str = "") -> list[Case]:
    """Make two cases as `runs` does, with explicit broadcasting."""
    cases = [
        replace(c, expected=explicit_outcome(operator, a, b, c.edition))
        for c in runs(operator, a, b, what)
    ]
    return explicit(*cases)


def rejected(edition: Edition, *rules: str, nodes: Sequence[str] = ()) -> Case:
    """Make a case that is decided before any run.

    Args:
        edition: The edition that the model is held to, which is also the name of the case.
        *rules: The ids of the rules that are broken.
        nodes: The nodes that break them all; those of the rules' operators unless given.
    """
    violations = (
        StaticViolation(rule, node or NODE_NAMES[rule.partition(".")[0]])
        for node in nodes or [""]
        for rule in rules
    )
    return case(edition.value, edition, Rejection(tuple(violations)))


def gives(**values: Array) -> Outputs:
    """Expect outputs, by name."""
    return Outputs(values)


def float32(elements: npt.ArrayLike) -> Array:
    """Make a float32 tensor of elements nested by axis."""
    return np.array(elements, np.float32)


def int32(elements: npt.ArrayLike) -> Array:
    """Make an int32 tensor of elements nested by axis."""
    return np.array(elements, np.int32)
