"""Encloses what a whole graph means over the reals, and measures a run's distance from it.

Balls go from the inputs and initializers to the outputs, node by node. What balls do not decide
ends there: the outputs that depend on it have a reason instead of an enclosure. Requires
python-flint, the extra `oracle`.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.file_traversal import bodies_of
from sonnx_ort.meaning.balls import NotFollowedError, ball_type, ends, has_flint, precisely
from sonnx_ort.meaning.documented import FOLLOWED, followed, moves, operations
from sonnx_ort.meaning.node import ELEMENT_TYPES, Node, are_balls, balls, is_float, require_finite
from sonnx_ort.meaning.numbers import FLOAT_FORMATS, power_of_two, spacing
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.runs.audit.audited_node import STANDARD_DOMAINS, attributes_of, versions
from sonnx_ort.runs.derived_models import constants_of
from sonnx_ort.runs.isolated_run import Array

Floats = npt.NDArray[np.float64]

LIMIT = 10_000_000
"""The scalar operations that are computed if no other number is given: some seconds."""

_NUMBERS = "fVbiu"
"""The kinds of dtypes that have numbers; those of ml_dtypes are of kind V."""

_ROUND_TO_INTEGERS = frozenset({"QuantizeLinear", "ConvInteger"})
"""The operators whose results are integers even where they are balls."""

_MAKE_FLOATS = frozenset({"Cast", "DequantizeLinear"})
"""The operators whose balls are floats where their operands are integers."""

_TAKE_UNCERTAIN_INTEGERS = frozenset(
    ("ArgMax", "Cast", "ConvInteger", "DequantizeLinear", "Max", "MaxPool", "Min", "Relu")
)
"""The operators that are the same for integers as for the reals, as those that only move them."""


@dataclass(frozen=True, slots=True)
class EnclosedOutput:
    """An output of a graph over the reals, and how far a run is from it.

    Attributes:
        shape: The shape of the run's array.
        lower: No element is below these, rounded down; minus infinity where nothing is known.
        upper: No element is above these, rounded up.
        width: The largest width of an interval.
        distance: The largest distance of an element of the run from its interval, 0 inside.
        units: The same in units in the last place of the output's type, at the larger of both.
        index: The index of that element; None if there is none.
        found: The element of the run there.
        reason: Why it is not enclosed; empty if it is.
    """

    name: str
    shape: tuple[int, ...]
    lower: Floats
    upper: Floats
    width: float
    distance: float = 0.0
    units: float = 0.0
    index: tuple[int, ...] | None = None
    found: Any = None
    reason: str = ""


def enclose(
    model: onnx.ModelProto,
    feeds: Mapping[str, Array],
    outputs: Mapping[str, Array],
    *,
    limit: int = LIMIT,
) -> tuple[EnclosedOutput, ...]:
    """Enclose the outputs of a graph over the reals.

    The model has its external data inside, and no functions; `limit` is the largest number of
    scalar operations.

    Raises:
        SonnxError: There are more operations, or python-flint is not installed.
    """
    values = Enclosing(model, feeds, limit=limit)
    for node in model.graph.node:
        values.follow(node)
    with precisely():
        return tuple(
            values.enclosed(output.name, outputs[output.name])
            for output in model.graph.output
            if output.name in outputs
        )


class Enclosing:
    """The values of a graph that later nodes read, and why others are not known."""

    def __init__(
        self,
        model: onnx.ModelProto,
        feeds: Mapping[str, Array],
        errors: Mapping[str, float] = MappingProxyType({}),
        *,
        limit: int = LIMIT,
    ) -> None:
        """Start with the inputs, which may be off by absolute errors, and the initializers.

        Raises:
            SonnxError: python-flint is not installed.
        """
        if not has_flint():
            raise SonnxError(
                "outputs cannot be enclosed without python-flint: pip install python-flint"
            )
        self._versions = versions(model)
        self._limit = limit
        self._operations = 0
        self._arrays: dict[str, Array] = {}
        self._reasons: dict[str, str] = {}
        self._uncertain: set[str] = set()
        """The integers that are balls."""
        graph = model.graph
        self._readers = Counter(name for node in graph.node for name in _read_by(node))
        self._readers.update(output.name for output in graph.output)
        given: dict[str, Any] = {**constants_of(graph), **feeds}
        for name, value in given.items():
            self._give(name, value)
            if errors.get(name) and name in self._arrays:
                off = balls(self._arrays[name]) + ball_type()(0, errors[name])
                self._arrays[name] = np.asarray(off, object)

    def _give(self, name: str, value: Any) -> None:
        """Take an input or initializer."""
        try:
            stored = isinstance(value, onnx.TensorProto)
            made = numpy_helper.to_array(value) if stored else np.asarray(value)
            require_finite(made)
        except NotFollowedError as error:
            self._reasons[name] = f"{error} in '{name}'"
            return
        except (TypeError, ValueError):
            made = None
        if made is None or made.dtype.kind not in _NUMBERS:
            self._reasons[name] = f"'{name}' is no tensor of numbers"
            return
        self._arrays[name] = made

    def follow(self, node: onnx.NodeProto) -> None:
        """Compute the results of a node, or say why they are not known."""
        names = [name for name in node.output if name]
        try:
            results = self._results(node)
        except NotFollowedError as error:
            self._reasons.update(dict.fromkeys(names, str(error)))
        else:
            for name, result in zip(node.output, results, strict=False):
                self._keep(node, name, result)
            for name in names:
                if name not in self._arrays:
                    self._reasons[name] = f"{_named(node)} is followed without '{name}'"
        for name in _read_by(node):
            self._readers[name] -= 1
            if not self._readers[name]:
                self._arrays.pop(name, None)

    def _keep(self, node: onnx.NodeProto, name: str, result: Array) -> None:
        """Keep a result, and whether its integers are uncertain."""
        if not name:
            return
        self._arrays[name] = result
        first = self._arrays.get(next(iter(node.input), ""))
        of_integers = node.op_type in _ROUND_TO_INTEGERS or (
            node.op_type == "Resize" and first is not None and first.dtype.kind in "iu"
        )
        passed = node.op_type not in _MAKE_FLOATS and self._uncertain.intersection(node.input)
        if are_balls(result) and (of_integers or passed):
            self._uncertain.add(name)

    def _results(self, node: onnx.NodeProto) -> tuple[Array, ...]:
        for name in _read_by(node):
            if name not in self._arrays:
                raise NotFollowedError(self._reasons.get(name, f"'{name}' has no value"))
        named = _named(node)
        if node.domain not in STANDARD_DOMAINS or node.op_type not in FOLLOWED or bodies_of(node):
            raise NotFollowedError(f"{named}: the operator is not followed")
        attributes = attributes_of(node)
        if node.op_type not in _TAKE_UNCERTAIN_INTEGERS and not moves(node.op_type, attributes):
            for name in self._uncertain.intersection(node.input):
                raise NotFollowedError(f"{named}: the integers of '{name}' are not certain")
        operands = tuple(self._arrays[name] if name else None for name in node.input)
        applied = Node(self._versions[STANDARD_DOMAIN], attributes, operands)
        try:
            self._operations += operations(node.op_type, applied)
            if self._operations > self._limit:
                raise SonnxError(
                    f"exact values take {self._operations:,} operations up to {named}, more than "
                    f"the limit of {self._limit:,}; audit it with smaller inputs"
                )
            return followed(node.op_type, applied)
        except NotFollowedError as error:
            raise NotFollowedError(f"{named}: {error}") from error

    def enclosed(self, name: str, found: Array) -> EnclosedOutput:
        """An output, compared with that of a run."""
        found = np.asarray(found)
        known = self._arrays.get(name)
        reason = self._reasons.get(name, "")
        if known is not None and known.shape != found.shape:
            reason = f"it has the shape {known.shape}, and that of the run {found.shape}"
        if known is None or reason:
            endless = np.full(found.shape, np.inf)
            return EnclosedOutput(
                name, found.shape, -endless, endless, math.inf, reason=reason or "it has no value"
            )
        return _compared(name, balls(known), found)

    def distances(self, name: str, found: Array) -> tuple[Floats, Floats] | None:
        """How far the elements of a run are at least and at most from the exact ones.

        Returns:
            None if the value is not enclosed, or has another shape.
        """
        known = self._arrays.get(name)
        if known is None or known.shape != found.shape:
            return None
        with precisely():
            flat = [ends(ball) if ball.is_finite() else None for ball in balls(known).ravel()]
            pairs = [*zip(flat, found.astype(np.float64).ravel().tolist(), strict=True)]
            nearest = [_distance(*pair) for pair in pairs]
            farthest = [_farthest(*pair) for pair in pairs]
        return np.reshape(nearest, found.shape), np.reshape(farthest, found.shape)


def _read_by(node: onnx.NodeProto) -> Iterator[str]:
    return filter(None, node.input)


def _named(node: onnx.NodeProto) -> str:
    """The operator of a node with its name, or with that of an output."""
    own = f" '{node.name}'" if node.name else f" of '{next(filter(None, node.output), '')}'"
    return f"{node.op_type}{own}"


def _compared(name: str, enclosures: Array, found: Array) -> EnclosedOutput:
    """How far the elements that are found are from their enclosures."""
    pairs = [ends(ball) if ball.is_finite() else None for ball in enclosures.ravel()]
    shown = found.astype(np.float64) if is_float(found) else found
    distances = [_distance(*pair) for pair in zip(pairs, shown.ravel().tolist(), strict=True)]
    lower = [-math.inf if pair is None else -_up(-pair[0]) for pair in pairs]
    upper = [math.inf if pair is None else _up(pair[1]) for pair in pairs]
    width = max((math.inf if p is None else _up(p[1] - p[0]) for p in pairs), default=0.0)
    low, high = (np.array(each, np.float64).reshape(found.shape) for each in (lower, upper))
    made = EnclosedOutput(name, found.shape, low, high, width)
    if not distances:
        return made
    worst = max(range(len(distances)), key=distances.__getitem__)
    index = tuple(int(k) for k in np.unravel_index(worst, found.shape))
    distance = distances[worst]
    units = distance / _unit(pairs[worst], float(shown[index]), found.dtype) if distance else 0.0
    return replace(made, distance=distance, units=units, index=index, found=shown[index].item())


Ends = tuple[Fraction, Fraction] | None
"""Both ends of a ball; None for one that is not finite."""


def _up(number: Fraction) -> float:
    """The smallest double that is not below a number."""
    try:
        near = float(number)
    except OverflowError:
        return math.inf if number > 0 else -sys.float_info.max
    return math.nextafter(near, math.inf) if Fraction(near) < number else near


def _distance(pair: Ends, found: float) -> float:
    """The distance of an element from a ball; infinite for one that is not finite."""
    if pair is None:
        return 0.0
    if not math.isfinite(found):
        return math.inf
    return _up(max(pair[0] - Fraction(found), Fraction(found) - pair[1], Fraction(0)))


def _farthest(pair: Ends, found: float) -> float:
    """The largest distance of an element from a number in a ball."""
    if pair is None or not math.isfinite(found):
        return math.inf
    return _up(max(pair[1] - Fraction(found), Fraction(found) - pair[0]))


def _unit(pair: Ends, found: float, dtype: np.dtype[Any]) -> float:
    """A unit in the last place of a type, at an element or the ball around it; 1 for integers."""
    if dtype not in ELEMENT_TYPES or ELEMENT_TYPES[dtype] not in FLOAT_FORMATS:
        return 1.0
    binary = FLOAT_FORMATS[ELEMENT_TYPES[dtype]]
    magnitude = max(map(abs, pair or (Fraction(0),)))
    if math.isfinite(found):
        magnitude = max(magnitude, abs(Fraction(found)))
    largest = power_of_two(binary.largest_exponent)
    return float(spacing(min(magnitude, largest), binary))
