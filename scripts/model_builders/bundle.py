"""A bundled model as code gives it, and short ways to write one down."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from model_builders.expected import ORACLES, quotients, spread
from sonnx_ort.models import (
    Case,
    Example,
    Expectation,
    Outputs,
    Rejection,
    RunViolation,
    Source,
    StaticViolation,
)
from sonnx_ort.profile.options import Edition

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


def case(name: str, edition: Edition, expected: Expectation, /, **inputs: Array) -> Case:
    """Make a case that does not ask for explicit broadcasting.

    Args:
        name: Its name.
        edition: The edition that the model is held to.
        expected: What must come of it.
        **inputs: The arrays to feed.
    """
    return Case(name, edition, "reject", inputs, expected)


def in_both_editions(expected: Expectation, /, **inputs: Array) -> list[Case]:
    """Make two cases that expect the same, one per edition.

    Args:
        expected: What must come of both.
        **inputs: The arrays to feed.
    """
    return [case(edition.value, edition, expected, **inputs) for edition in Edition]


def explicit(name: str, edition: Edition, expected: Expectation, /, **inputs: Array) -> Case:
    """Make a case that asks for explicit broadcasting.

    Args:
        name: Its name, before which "explicit" is put.
        edition: The edition that the model is held to.
        expected: What must come of it.
        **inputs: The arrays to feed.
    """
    return Case(f"explicit {name}", edition, "explicit", inputs, expected)


def broadcast_cases(operator: str, a: Array, b: Array) -> list[Case]:
    """Make two cases of explicit broadcasting, one per edition, with the oracle's results.

    Args:
        operator: "Div" or "Sub".
        a: The operand fed as A.
        b: The operand fed as B, of another shape.
    """
    first, second = spread(a, b)
    return [
        explicit(
            edition.value,
            edition,
            gives(C=ORACLES[operator](first, second, edition)),
            A=a,
            B=b,
        )
        for edition in Edition
    ]


def in_both_modes(expected: Expectation, /, **inputs: Array) -> list[Case]:
    """Make two cases that expect the same, whatever becomes of operands of different shapes.

    Args:
        expected: What must come of both.
        **inputs: The arrays to feed.
    """
    return [
        case(TYPED.value, TYPED, expected, **inputs),
        explicit(TYPED.value, TYPED, expected, **inputs),
    ]


def zero_divisor_cases(a: Array, b: Array) -> list[Case]:
    """Make two cases of a float division by zeros, which the editions decide differently.

    Args:
        a: The dividends, fed as A.
        b: The divisors, fed as B.
    """
    infinity = quotients(a, b, PRELIMINARY)
    return [
        case(TYPED.value, TYPED, gives(C=quotients(a, b)), A=a, B=b),
        case(PRELIMINARY.value, PRELIMINARY, gives(C=infinity), A=a, B=b),
    ]


def gives(**values: Array) -> Outputs:
    """Expect outputs.

    Args:
        **values: The expected arrays by output name.
    """
    return Outputs(values)


def breaks(
    rule: str, node: str, a: Array, b: Array, index: tuple[int, ...] | None = None
) -> RunViolation:
    """Expect a rule to be broken in the run.

    Args:
        rule: The id of the rule.
        node: The name of the node.
        a: The operand A of that node in that run.
        b: Its operand B.
        index: Where the first offending element stands; None where shapes offend.
    """
    values = None if index is None else (a[index].item(), b[index].item())
    return RunViolation(rule, rule.partition(".")[0], node, (a.shape, b.shape), index, values)


def clashes(node: str, *tensors: Array) -> RunViolation:
    """Expect the run to find tensors that have no common shape.

    Args:
        node: The name of the node.
        *tensors: The tensors that it broadcasts in that run.
    """
    shapes = tuple(tensor.shape for tensor in tensors)
    return RunViolation("Broadcast.E1", "Broadcast", node, shapes)


def rejected(edition: Edition, *violations: tuple[str, str]) -> Case:
    """Make a case that is decided before any run.

    Args:
        edition: The edition that the model is held to, which is also the name of the case.
        *violations: Pairs of a rule's id and a node's name.
    """
    return case(edition.value, edition, _rejection(violations))


def rejected_even_explicitly(edition: Edition, *violations: tuple[str, str]) -> Case:
    """Make a case that is decided before any run, though it asks for explicit broadcasting.

    Args:
        edition: The edition that the model is held to, which ends the name of the case.
        *violations: Pairs of a rule's id and a node's name.
    """
    return explicit(edition.value, edition, _rejection(violations))


def _rejection(violations: Iterable[tuple[str, str]]) -> Rejection:
    return Rejection(tuple(StaticViolation(rule, node) for rule, node in violations))


def float32(elements: npt.ArrayLike) -> Array:
    """Make a float32 tensor.

    Args:
        elements: Its elements, nested by axis.
    """
    return np.array(elements, np.float32)


def int32(elements: npt.ArrayLike) -> Array:
    """Make an int32 tensor.

    Args:
        elements: Its elements, nested by axis.
    """
    return np.array(elements, np.int32)
