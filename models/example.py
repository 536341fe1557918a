"""A bundled model, what it shows, and its expected results."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.terms.operand import first_index, format_shape

Array = npt.NDArray[Any]


def same_elements(expected: Array, actual: Array) -> bool:
    """Whether two arrays have the same dtype, shape and bits; all NaNs count as equal."""
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return False
    return not differing_elements(expected, actual).any()


def differing_elements(expected: Array, actual: Array) -> npt.NDArray[np.bool_]:
    """Where two arrays of one dtype and shape differ in bits and are not both NaN."""
    differing = np.asarray(_bits(expected) != _bits(actual))
    if expected.dtype.kind not in "biu":
        # ml_dtypes warns about signalling NaNs.
        with np.errstate(invalid="ignore"):
            differing &= ~(np.isnan(expected) & np.isnan(actual))
    return differing


def _bits(array: Array) -> Array:
    return np.asarray(array, order="C").view(f"u{array.dtype.itemsize}")


@dataclass(frozen=True, slots=True)
class Citation:
    """The source of a model's numbers.

    Attributes:
        document: The title of the document, or the citation of the data.
        section: The section or the title of the example; None for the whole document.
        licence: The licence of data that does not belong to this project.
    """

    document: str
    section: str | None = None
    licence: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """The model runs and returns these values, bit for bit; a NaN may be any quiet NaN.

    Attributes:
        values: The expected arrays by output name. Other outputs are not compared.
    """

    values: Mapping[str, Array]


@dataclass(frozen=True, slots=True, order=True)
class StaticViolation:
    """A violated rule of a node.

    Attributes:
        rule: The id of the rule.
        node: The name of the node.
    """

    rule: str
    node: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """The rewrite raises `ModelRejected` with exactly these violations.

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
        index: The index of the first element that violates the rule; None if shapes violate it.
        values: The operands' elements there; None if shapes violate the rule.
    """

    rule: str
    operator: str
    node: str
    shapes: tuple[tuple[int, ...], ...]
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None

    def __post_init__(self) -> None:
        """Make every NaN the same object, because NaN is equal to itself only by identity."""
        if self.values is not None:
            same = tuple(math.nan if math.isnan(value) else value for value in self.values)
            object.__setattr__(self, "values", same)

    def __reduce__(self) -> tuple[type["RunViolation"], tuple[object, ...]]:
        """Unpickle by the constructor, for the same reason."""
        return type(self), tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True, eq=False)
class Classification:
    """The model classifies held-out data, and the rewrite changes no bit.

    Attributes:
        output: The name of the output with the predicted classes, or with a score for each class.
        labels: The true classes, one per row of the input.
        correct: The number of correct predictions, before and after the rewrite.
    """

    output: str
    labels: Array
    correct: int

    def count(self, predictions: Array) -> int:
        """Count the correct predictions.

        Args:
            predictions: The classes; or a score for each class, along a further axis.
        """
        scored = predictions.ndim > self.labels.ndim
        classes = predictions.argmax(axis=-1) if scored else predictions
        return int(np.sum(classes == self.labels))


@dataclass(frozen=True, slots=True, eq=False)
class Approximation:
    """The model returns these values within a tolerance, and the rewrite changes no bit.

    Attributes:
        values: The arrays by output name, computed in double.
        tolerance: The largest admitted difference of an element.
    """

    values: Mapping[str, Array]
    tolerance: float

    def distance(self, name: str, actual: Array) -> float:
        """Give the largest difference of an element; infinity if dtype or shape differ."""
        expected = self.values[name]
        if expected.dtype != actual.dtype or expected.shape != actual.shape:
            return math.inf
        return float(np.max(np.abs(actual - expected), initial=0))


Expectation = Outputs | Rejection | RunViolation | Classification | Approximation
"""The expected result of a case."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One use of a model.

    Attributes:
        name: The name of the case, unique within its model.
        edition: The edition of the profile.
        broadcast: The argument of that name for `rewrite`.
        operators: Likewise: "default", "elementwise", "profile", "all", or names with commas.
        inputs: The input arrays by name; none if the model is rejected.
        expected: The expected result.
        guarded: The violation of a rule against kernels in its place, where that is enforced: by
            the native backend, and with a version of onnxruntime that needs it. None if there is
            none.
    """

    name: str
    edition: Edition
    broadcast: Broadcasting
    operators: str
    inputs: Mapping[str, Array]
    expected: Expectation
    guarded: RunViolation | None = None

    def with_runtime(self, runtime: str | None) -> "Case":
        """The case with what a version of onnxruntime gives; None is any, as for guards in files.

        `expected` is then the violation, if the version needs the rule.
        """
        guarded = self.guarded
        if guarded is None or not RULES[guarded.rule].needed_with(runtime):
            return self
        return replace(self, expected=guarded)


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One bundled model.

    Attributes:
        name: The name of the model; its file is `data/<name>.onnx`.
        shows: What it shows, in one sentence.
        sources: The sources of its numbers; none if they are this project's own.
        cases: Its uses, at least one.
    """

    name: str
    shows: str
    sources: tuple[Citation, ...]
    cases: tuple[Case, ...]


_SHOWN_ELEMENTS = 6
_SHOWN_OUTPUTS = 3


def describe(expected: Expectation) -> str:
    """Describe an expectation, or an actual result in the same terms, in a few words."""
    match expected:
        case Outputs(values):
            return _outputs(values)
        case Rejection(violations):
            return f"rejected: {_grouped(violations)}"
        case RunViolation():
            return f"refused in the run: {expected.rule} at {expected.node}, {_operands(expected)}"
        case Classification(_, labels, correct):
            return f"{correct} of {labels.size} right, before and after"
        case Approximation(values, tolerance):
            return f"{_outputs(values)}, within {tolerance:g}"


def describe_difference(name: str, expected: Array, actual: Array) -> str:
    """Describe the first differing element, or the types and shapes if these differ.

    Returns:
        A few words; empty if nothing differs.
    """
    if same_elements(expected, actual):
        return ""
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        was, now = (f"{a.dtype} {format_shape(a.shape)}" for a in (expected, actual))
        return f"{name} is {now}, not {was}"
    index = first_index(differing_elements(expected, actual))
    at = str(list(index)) if index else ""
    return f"{name}{at} = {_element(actual[index])}, not {_element(expected[index])}"


def _outputs(values: Mapping[str, Array]) -> str:
    shown = [f"{name} = {_elements(value)}" for name, value in values.items()]
    if len(shown) > _SHOWN_OUTPUTS:
        shown[_SHOWN_OUTPUTS:] = [f"... {len(values)} outputs"]
    return "; ".join(shown)


def _elements(array: Array) -> str:
    shown = ", ".join(_element(element) for element in array.ravel()[:_SHOWN_ELEMENTS])
    more = f", ... {array.size} elements" if array.size > _SHOWN_ELEMENTS else ""
    return f"[{shown}{more}]"


def _element(element: np.generic) -> str:
    return str(element) if element.dtype.kind in "biu" else f"{float(element):.6g}"


def _grouped(violations: tuple[StaticViolation, ...]) -> str:
    nodes: dict[str, list[str]] = {}
    for violation in violations:
        nodes.setdefault(violation.rule, []).append(violation.node)
    return "; ".join(f"{rule} at {', '.join(found)}" for rule, found in nodes.items())


def _operands(violation: RunViolation) -> str:
    if violation.index is None or violation.values is None:
        return " against ".join(format_shape(shape) for shape in violation.shapes)
    return f"{' and '.join(map(str, violation.values))} at {list(violation.index)}"
