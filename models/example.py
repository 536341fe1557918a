"""A bundled model, what it shows, and what it has to give."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def same_elements(expected: Array, actual: Array) -> bool:
    """Whether two arrays have one dtype, one shape and the same bits; any NaN equals any other.

    Args:
        expected: One array.
        actual: The other.
    """
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return False
    return not differing_elements(expected, actual).any()


def differing_elements(expected: Array, actual: Array) -> npt.NDArray[np.bool_]:
    """Where two arrays have different bits and are not both NaN.

    Args:
        expected: One array.
        actual: The other, of the same dtype and shape.
    """
    differing = np.asarray(_bits(expected) != _bits(actual))
    if expected.dtype.kind not in "biu":
        # ml_dtypes warns of a signalling NaN.
        with np.errstate(invalid="ignore"):
            differing &= ~(np.isnan(expected) & np.isnan(actual))
    return differing


def _bits(array: Array) -> Array:
    return np.asarray(array, order="C").view(f"u{array.dtype.itemsize}")


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a model's numbers come from.

    Attributes:
        document: The title of the document, or the citation of the data.
        section: The section or the title of the example; None for the whole document.
        licence: The licence of data that is not this project's own.
    """

    document: str
    section: str | None = None
    licence: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """The model runs and gives these values, bit for bit; a NaN may be any quiet NaN.

    Attributes:
        values: The expected arrays by output name. Outputs that are not named may be anything.
    """

    values: Mapping[str, Array]


@dataclass(frozen=True, slots=True, order=True)
class StaticViolation:
    """One rule that a node breaks in every run.

    Attributes:
        rule: The id of the rule.
        node: The name of the node.
    """

    rule: str
    node: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """The rewrite raises `ModelRejected` with these violations and no others.

    Attributes:
        violations: The violations in any order.
    """

    violations: tuple[StaticViolation, ...]


@dataclass(frozen=True, slots=True)
class RunViolation:
    """The run raises `ContractViolation` with these fields.

    Attributes:
        rule: The id of the rule.
        operator: The operator, for example "Div".
        node: The name of the node in the original model.
        shapes: The shapes of the operands in this run.
        index: Where the first offending element stands; None where shapes offend.
        values: The operands' elements there; None where shapes offend.
    """

    rule: str
    operator: str
    node: str
    shapes: tuple[tuple[int, ...], ...]
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Classification:
    """The model classifies held-out data, and the rewrite changes no bit of any output.

    Attributes:
        output: The name of the output that holds the predicted classes.
        labels: The true classes, one per row of the input.
        correct: How many predictions are right, before the rewrite and after it.
    """

    output: str
    labels: Array
    correct: int


Expectation = Outputs | Rejection | RunViolation | Classification
"""What a case must give."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One use of a model.

    Attributes:
        name: The name of the case, unique within its model.
        edition: The edition of the profile that the model is held to.
        broadcast: The value of `rewrite`'s argument of that name.
        operators: Likewise: "default", "elementwise", "all", or names with commas.
        inputs: The arrays to feed by input name; none where the model is rejected.
        expected: What must come of it.
    """

    name: str
    edition: Edition
    broadcast: str
    operators: str
    inputs: Mapping[str, Array]
    expected: Expectation


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One bundled model.

    Attributes:
        name: The name of the model; its file is `data/<name>.onnx`.
        shows: What it shows, in one sentence.
        sources: Where its numbers come from; none where they are this project's own.
        cases: Its uses; there is at least one.
    """

    name: str
    shows: str
    sources: tuple[Citation, ...]
    cases: tuple[Case, ...]
