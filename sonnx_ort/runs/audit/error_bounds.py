"""Bounds the errors of the values of a run, by SONNX's documents on numerical accuracy.

The error of a value is its distance from the one that exact operators give of exact inputs. It is
at most the propagated error, which operands with errors cause, and the introduced error, that of
the node itself. The documents take both of exact operands. Here they are taken of those of the run:
if x is e away from the exact operand, the exact one is e away from x.

Bounds are computed in double and widened by more than what rounding in double may cost. An element
that has no bound has an infinite one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.errors import SonnxError
from sonnx_ort.meaning import Undefined
from sonnx_ort.meaning.documented import FOLLOWED, meaning_of, moved_operands, moves
from sonnx_ort.meaning.elementwise import bound_of_tangent
from sonnx_ort.meaning.node import ELEMENT_TYPES
from sonnx_ort.meaning.numbers import FLOAT_FORMATS
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.runs.audit.audited_node import OF_SHAPES, Audited
from sonnx_ort.runs.audit.enclosing import Enclosing
from sonnx_ort.runs.bodies import has_bodies
from sonnx_ort.runs.isolated_run import Array
from sonnx_ort.runs.observing import Step
from sonnx_ort.terms.operand import first_index

Doubles = npt.NDArray[np.float64]

_WIDENED = 1 + 2.0**-30

_LARGEST_EXPONENT = 350.0
"""Beyond it the power of `bound_of_tangent` is 0 in double, and its formula no longer changes."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a formula reads: operands of a run as doubles, their errors, and their format."""

    operands: tuple[Doubles, ...]
    errors: tuple[Doubles, ...]
    u: float
    smallest_normal: float

    def rounded(self, result: Doubles) -> Doubles:
        """The error of a result that is rounded once: `accuracy.md`, IEEE-754 implementations."""
        return self.u * np.maximum(np.abs(result), self.smallest_normal)


def _sum(read: _Read, operation: np.ufunc) -> Doubles:
    return sum(read.errors) + read.rounded(operation(*read.operands))


def _mul(read: _Read) -> Doubles:
    a, b = map(np.abs, read.operands)
    ea, eb = read.errors
    propagated: Doubles = b * ea + a * eb + ea * eb
    return propagated + read.rounded(a * b)


def _div(read: _Read) -> Doubles:
    """The propagated error has one B less in its denominator than in the document.

    Where B may be zero there is no bound.
    """
    a, b = map(np.abs, read.operands)
    ea, eb = read.errors
    propagated: Doubles = (b * ea + a * eb) / (b * np.maximum(b - eb, 0))
    return propagated + read.rounded(a / b)


def _mat_mul(read: _Read) -> Doubles:
    """The closed form for each row and column, with the (1 + u)^2 of its derivation.

    It is the sum of (1 + u)^k - 1 for k from 2 to n + 1, and bounds any order of summation: it is
    convex in n, so that no tree of additions has a larger error than the chain.
    """
    a, b = map(np.abs, read.operands)
    ea, eb = read.errors
    powers = np.arange(2, a.shape[1] + 2) * np.log1p(read.u)
    largest = np.outer(a.max(axis=1, initial=0), b.max(axis=0, initial=0))
    introduced = np.expm1(powers).sum() * np.maximum(largest, read.smallest_normal)
    bound: Doubles = ea @ b + a @ eb + ea @ eb + introduced
    return bound


def _tanh(read: _Read) -> Doubles:
    """The error by the steepest slope, 1 / cosh^2, and the bound of the first algorithm."""
    x, ex = np.abs(read.operands[0]), read.errors[0]
    propagated: Doubles = ex / np.cosh(np.maximum(x - ex, 0)) ** 2
    near = np.minimum(x, _LARGEST_EXPONENT)
    doublings = np.maximum(np.frexp(2 * near)[1], 0)
    numbers: Any = np.exp(-2 * near), doublings, np.tanh(near), read.u
    introduced: Any = bound_of_tangent(*numbers)
    bound: Doubles = propagated + introduced + read.u * read.smallest_normal
    return bound


def _where(read: _Read) -> Doubles:
    return np.where(read.operands[0] != 0, read.errors[1], read.errors[2])


_BOUNDS: Mapping[str, tuple[Callable[[_Read], Doubles], str]] = MappingProxyType(
    {
        "Add": (partial(_sum, operation=np.add), "accuracy.md"),
        "Sub": (partial(_sum, operation=np.subtract), "accuracy.md"),
        "Mul": (_mul, "accuracy.md, examples 1 and 4"),
        "Div": (_div, "div_acc.md, corrected: finding S27"),
        "MatMul": (_mat_mul, "matmul_acc.md, corrected: finding S25"),
        "Tanh": (_tanh, "tanh_acc.md"),
        "Where": (_where, "where_acc.md"),
    }
)
"""The operators whose error the documents bound, and which do."""

_BROADCASTS_LIKE_NUMPY = 7
"""The first version in which these operators broadcast without attributes."""

_MOVES = "only moves elements: ours"


@dataclass(frozen=True, slots=True)
class BoundedValue:
    """A float value of a run, and how far it may be from the exact one.

    Attributes:
        node: The operator and the name of its node.
        bound: The largest bound of an element by the documents; None if there is none.
        source: The document of the node's formula; empty if there is no bound.
        reason: Why there is no bound; empty if there is one.
        enclosed: The largest error of an element that the enclosure allows; None if there is no
            enclosure.
        exceeded: The index of an element that is certainly further away than its bound; None if
            there is none.
    """

    name: str
    node: str
    bound: float | None
    source: str = ""
    reason: str = ""
    enclosed: float | None = None
    exceeded: tuple[int, ...] | None = None


def errors_of_inputs(
    errors: Mapping[str, float], feeds: Mapping[str, Array]
) -> Mapping[str, float]:
    """The largest errors of the inputs of a run, by name.

    Raises:
        SonnxError: One is negative or no number, or its input is not there or has no floats.
    """
    for name, error in errors.items():
        if name not in feeds:
            raise SonnxError(f"the model has no input '{name}'; choose from {', '.join(feeds)}")
        if not 0 <= error <= _LARGEST:
            raise SonnxError(f"the error {error} of '{name}' is no number of at least 0")
        if error and not _is_float(feeds[name]):
            raise SonnxError(f"the error of '{name}' has to be 0, because it has no floats")
    return {name: float(error) for name, error in errors.items()}


_LARGEST = float(np.finfo(np.float64).max)


class _NoBoundError(ValueError):
    """No document bounds the error of a value; the message is a clause that says why."""


class ErrorBounds:
    """The bounds of the float values of a run, node by node."""

    def __init__(
        self, model: onnx.ModelProto, feeds: Mapping[str, Array], errors: Mapping[str, float]
    ) -> None:
        """Start with the inputs of a run, and with the largest errors of some by name.

        Raises:
            SonnxError: python-flint is not installed.
        """
        self.values: list[BoundedValue] = []
        self._enclosing = Enclosing(model, feeds, errors)
        self._bounds: dict[str, Doubles | float | str] = dict(errors)

    def follow(self, step: Step) -> None:
        """Bound the results of a node, whose operands are bounded.

        Raises:
            SonnxError: The model is too large to be enclosed.
        """
        audited = step.audited
        self._enclosing.follow(audited.node)
        for position, (name, found) in enumerate(
            zip(audited.node.output, audited.results, strict=True)
        ):
            if not name:
                continue
            source, reason = "", ""
            try:
                if step.unobserved or found is None:
                    raise _NoBoundError(f"the run has no value '{name}'")
                self._bounds[name], source = self._bound(audited, position, found)
            except ValueError as error:
                self._bounds[name] = reason = str(error)
            if found is not None and _is_float(found):
                self._add_bound(audited, name, found, source, reason)

    def _bound(self, audited: Audited, position: int, found: Array) -> tuple[Doubles, str]:
        """The bounds of the elements of a result, and what document states them."""
        if has_bodies(audited.node):
            raise _NoBoundError(f"the bodies of {audited.label} are not followed")
        if _reads_no_elements(audited, position):
            return np.zeros(found.shape), _MOVES
        errors = [
            self._error(*pair) for pair in zip(audited.node.input, audited.operands, strict=True)
        ]
        if not any(map(np.any, errors)) and _computes_exactly(audited, found):
            return np.zeros(found.shape), _MOVES
        with np.errstate(all="ignore"):
            made, source = _bound_of_node(audited, position, found, errors)
            made = np.where(np.isfinite(found.astype(np.float64)), made * _WIDENED, np.inf)
        return np.where(np.isnan(made), np.inf, made), source

    def _error(self, name: str, operand: Array | None) -> Doubles:
        """The bounds of the elements of an operand."""
        bound = self._bounds.get(name, 0.0)
        if isinstance(bound, str):
            raise _NoBoundError(bound)
        if operand is None and name:
            raise _NoBoundError(f"the run has no value '{name}'")
        return np.broadcast_to(bound, () if operand is None else operand.shape)

    def _add_bound(
        self, audited: Audited, name: str, found: Array, source: str, reason: str
    ) -> None:
        elements = self._bounds[name]
        distances = self._enclosing.distances(name, found)
        bound, enclosed, exceeded = None, None, None
        if distances is not None:
            farthest = float(distances[1].max(initial=0))
            enclosed = farthest if np.isfinite(farthest) else None
        if not isinstance(elements, str):
            bound = float(np.max(elements, initial=0))
            if distances is not None:
                beyond = distances[0] > elements
                exceeded = first_index(beyond) if beyond.any() else None
        if bound == np.inf:
            bound, reason = None, "an element is not finite, or its divisor may be zero"
        bounded = audited.label, bound, "" if reason else source, reason
        self.values.append(BoundedValue(name, *bounded, enclosed, exceeded))


def _is_float(array: Array) -> bool:
    return ELEMENT_TYPES.get(array.dtype) in FLOAT_FORMATS


def _reads_no_elements(audited: Audited, position: int) -> bool:
    """Whether a result is a shape; a kernel that checks operands gives one after its result."""
    return audited.computed_operator in OF_SHAPES or (
        audited.node.domain == DOMAIN and position > 0
    )


def _computes_exactly(audited: Audited, found: Array) -> bool:
    """Whether a result has no error if no operand has one: integers of integers, and bools."""
    if audited.computed_operator not in FOLLOWED:
        return False
    operands = [operand for operand in audited.operands if operand is not None]
    return found.dtype == np.bool_ or not any(map(_is_float, (found, *operands)))


def _bound_of_node(
    audited: Audited, position: int, found: Array, errors: list[Doubles]
) -> tuple[Doubles, str]:
    operator, operands = audited.computed_operator, [o for o in audited.operands if o is not None]
    if operator in _BOUNDS and _is_float(found):
        if audited.version < _BROADCASTS_LIKE_NUMPY:
            raise _NoBoundError(f"{audited.label} is of a version before 7")
        if operator == "MatMul" and any(operand.ndim != 2 for operand in operands):
            raise _NoBoundError(f"matmul_acc.md is about matrices, unlike {audited.label}")
        compute, source = _BOUNDS[operator]
        binary = FLOAT_FORMATS[ELEMENT_TYPES[found.dtype]]
        doubles = tuple(operand.astype(np.float64) for operand in operands)
        # Below 2^-1010 a bound of doubles could be rounded to 0.
        smallest = max(2.0**binary.smallest_exponent, 2.0**-1010)
        return compute(_Read(doubles, tuple(errors), 2.0**-binary.precision, smallest)), source
    if moves(operator, audited.applied.attributes) and any(map(_is_float, operands)):
        places = moved_operands(operator, audited.operands)
        pairs = zip(audited.operands, errors, strict=True)
        moved = [error if k in places else operand for k, (operand, error) in enumerate(pairs)]
        if any(error.any() for k, error in enumerate(errors) if k not in places):
            raise _NoBoundError(f"where {audited.label} takes its elements from may be off")
        made = meaning_of(operator, replace(audited.applied, operands=tuple(moved)))
        if isinstance(made, Undefined):
            raise _NoBoundError(f"{audited.label} has no result: {made.reason}")
        if not made[position].is_single:
            raise _NoBoundError(f"it is open which elements {audited.label} takes")
        return made[position].nearest, _MOVES
    raise _NoBoundError(f"no document bounds the error of {audited.label}")
