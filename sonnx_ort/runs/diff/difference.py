"""`diff`: how far the values of two runs are apart, and where they first differ.

Two forms of a model are compared stepwise, each value from those that the first one computed: where
the second model computes a value that the first one has too, all that reads it reads that of the
first. So a difference is that of the nodes after these values alone, and none is passed on.

Of values that may be rounded otherwise, half of the digits of their type have to agree with the
first, in parts of the largest number. Where the oracle follows the nodes within its limit, they
have to be within 2^8 units of the largest number, too, of what the nodes mean exactly. NaN and
infinities of the first are not compared, and integers may be 1 apart.
"""

import enum
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import helper

from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice, Option, Remedy
from sonnx_ort.loading.file_traversal import nodes_needed
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.meaning.node import ELEMENT_TYPES
from sonnx_ort.meaning.numbers import FLOAT_FORMATS
from sonnx_ort.meaning.results import apart, places
from sonnx_ort.models.example import differing_elements
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.runs.audit.enclosing import Enclosing
from sonnx_ort.runs.derived_models import constants_of, seed_random_operators, whole
from sonnx_ort.runs.input_shapes import UNSAID, Sizes
from sonnx_ort.runs.inputs import Inputs
from sonnx_ort.runs.isolated_run import Array, IsolatedRuns, Results
from sonnx_ort.runs.limits import DEFAULT, Limits
from sonnx_ort.runs.pairs import Pair, Runs, Stop, run_both, trace
from sonnx_ort.runs.parts import names_read, part
from sonnx_ort.terms.operand import first_index


class Measure(enum.StrEnum):
    """How the difference of two elements is measured; that of two NaN is 0.

    Attributes:
        BITS: 1 if their bits differ.
        ULP: How many steps from one number of the type to the next are between them.
        ABSOLUTE: The magnitude of their difference.
        RELATIVE: The same, divided by the magnitude of the first.
    """

    BITS = "bits"
    ULP = "ulp"
    ABSOLUTE = "absolute"
    RELATIVE = "relative"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """By how much two elements may differ.

    Attributes:
        most: The largest difference that is tolerated; in bits it is 0.

    Raises:
        SonnxError: Differences of bits are to be tolerated.
    """

    measure: Measure = Measure.BITS
    most: float = 0

    def __post_init__(self) -> None:
        """Check that there is something to tolerate."""
        if self.measure is Measure.BITS and self.most:
            raise SonnxError(
                Advice(
                    Remedy("tolerance", self.most),
                    ": bits are the same or not; name another ",
                    Option("measure"),
                )
            )


EXACT = Tolerance()
"""Tolerates nothing."""


def comparable(one: Array | None, other: Array | None) -> bool:
    """Whether two values can be compared by elements: tensors of one type and shape."""
    if one is None or other is None:
        return False
    return one.dtype == other.dtype and one.shape == other.shape


def distances(one: Array, other: Array, measure: Measure = Measure.BITS) -> Array:
    """The difference of each two elements of tensors that are alike.

    Infinite if one element is NaN. Where the measure needs numbers, text has that of its bits.
    """
    differing = (
        np.asarray(one != other) if one.dtype.kind == "O" else differing_elements(one, other)
    )
    if measure is Measure.BITS or one.dtype.kind in "Ob":
        return np.asarray(differing, np.float64)
    with np.errstate(all="ignore"):
        found = _ulps(one, other) if measure is Measure.ULP else _absolute(one, other)
        if measure is Measure.RELATIVE:
            found = np.where(found == 0, 0, found / np.abs(one.astype(np.float64)))
    # What is not a number stands for a NaN beside another element.
    return np.where(differing, np.where(np.isnan(found), np.inf, found), 0)


def _ulps(one: Array, other: Array) -> Array:
    nan = np.isnan(one) | np.isnan(other)
    return np.where(nan, np.inf, apart(places(one), places(other)))


def _absolute(one: Array, other: Array) -> Array:
    if one.dtype.kind in "iu":
        return np.asarray(apart(one, other), np.float64)
    return np.abs(one.astype(np.float64) - other.astype(np.float64))


def largest(one: Array | None, other: Array | None, measure: Measure = Measure.BITS) -> float:
    """The difference of two values: that of the elements that are farthest apart.

    In bits it is the number of elements that differ. It is infinite if the values are not alike,
    and 0 if neither is a tensor.
    """
    if one is None and other is None:
        return 0
    if one is None or other is None or not comparable(one, other):
        return np.inf
    found = distances(one, other, measure)
    return float(found.sum() if measure is Measure.BITS else found.max(initial=0))


def same(one: Array | None, other: Array | None) -> bool:
    """Whether two values have the same bits; all NaNs are equal, and all that are no tensors."""
    return largest(one, other) == 0


def differing(found: Results, expected: Results) -> tuple[str, ...]:
    """The names of the values that have other bits; all NaNs are equal."""
    return tuple(name for name, array in expected.items() if not same(found.get(name), array))


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A value that two models compute differently.

    Attributes:
        node: The node of the first model that computes it, as text.
        first: The first model's value; None if it is not a tensor.
        index: The index of the first element that differs by more than is tolerated; None if types
            or shapes differ.
        count: The number of such elements; 0 if types or shapes differ.
    """

    name: str
    node: str
    first: Array | None
    second: Array | None
    index: tuple[int, ...] | None
    count: int

    @property
    def elements(self) -> tuple[Any, Any]:
        """The first elements that differ; valid only if there is an index."""
        if self.index is None or self.first is None or self.second is None:
            raise ValueError(f"'{self.name}' has no elements that can be set side by side")
        return self.first[self.index], self.second[self.index]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs of two models on the same inputs.

    Attributes:
        inputs: The inputs of both, and where they come from.
        nodes: The nodes of the first model as text, by the values that they compute, in its order.
        same: The names of the values with the same bits in both, in the order of the first model;
            all NaNs count as equal.
        mismatches: The values that differ, in that order.
        incomparable: The names of the common values that are not tensors.
        only_first: The number of values that only the first model computes.
        only_second: The number of values that only the second model computes.
        stops: Where the run of each model ended early, or None.
        pair: What the models are to each other.
        differences: The largest difference of each common value that is a tensor in both, in the
            order of the first model.
    """

    inputs: Inputs
    nodes: Mapping[str, str]
    same: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    incomparable: tuple[str, ...]
    only_first: int
    only_second: int
    stops: tuple[Stop | None, Stop | None]
    pair: Pair
    differences: Mapping[str, float] = field(default_factory=dict)
    measure: Measure = Measure.BITS

    @property
    def equal(self) -> bool:
        """Whether both runs were complete, with the same outputs and no differing value."""
        return self.equal_but_for(())

    def equal_but_for(self, outputs: Iterable[str]) -> bool:
        """Whether they are equal if some outputs may be those of one model alone."""
        unshared = set(self.pair.unshared_outputs).difference(outputs)
        return not (self.mismatches or unshared or any(self.stops))


@dataclass(frozen=True, slots=True)
class Survey:
    """Comparisons of two models on many samples, of which the numbers are kept.

    Attributes:
        differences: The largest difference of each value, by the names of the samples in which both
            models computed it.
        unequal: The names of those that differ.
        shown: The name of the first of these, or of the first sample, and its comparison.
    """

    differences: Mapping[str, Mapping[str, float]]
    samples: tuple[str, ...]
    unequal: tuple[str, ...]
    shown: tuple[str, Comparison]


def survey(comparisons: Iterable[tuple[str, Comparison]]) -> Survey:
    """Gather comparisons, at least one, by the names of their samples."""
    differences: dict[str, dict[str, float]] = {}
    shown: tuple[str, Comparison] | None = None
    samples: dict[str, bool] = {}
    for name, comparison in comparisons:
        samples[name] = comparison.equal
        if shown is None or (shown[1].equal and not comparison.equal):
            shown = name, comparison
        for value, difference in comparison.differences.items():
            differences.setdefault(value, {})[name] = difference
    if shown is None:
        raise ValueError("there is no sample")
    unequal = tuple(name for name, equal in samples.items() if not equal)
    return Survey(differences, tuple(samples), unequal, shown)


def compared(runs: Runs, tolerance: Tolerance) -> Comparison:
    """Compare the values that two models computed of the same inputs."""
    traces, pair = runs.traces, runs.pair
    names = {b: a for a, b in pair.positions.items()}
    first = traces[0].values
    second = {names.get(name, name): value for name, value in traces[1].values.items()}
    common = [name for name in first if name in second]
    tensors = [name for name in common if not (first[name] is None and second[name] is None)]
    differences = {name: largest(first[name], second[name], tolerance.measure) for name in tensors}
    return Comparison(
        runs.inputs,
        traces[0].nodes,
        tuple(name for name in tensors if differences[name] <= tolerance.most),
        tuple(
            _mismatch(name, traces[0].nodes[name], (first[name], second[name]), tolerance)
            for name in tensors
            if differences[name] > tolerance.most
        ),
        tuple(name for name in common if name not in differences),
        len(first) - len(common),
        len(second) - len(common),
        (traces[0].stop, traces[1].stop),
        pair,
        differences,
        tolerance.measure,
    )


def _mismatch(
    name: str, node: str, values: tuple[Array | None, Array | None], tolerance: Tolerance
) -> Mismatch:
    a, b = values
    if a is None or b is None or not comparable(a, b):
        return Mismatch(name, node, a, b, None, 0)
    beyond = distances(a, b, tolerance.measure) > tolerance.most
    return Mismatch(name, node, a, b, first_index(beyond), int(np.count_nonzero(beyond)))


_COMPUTED = "{} computed anew"
_MOST_ELEMENTS, _MOST_OPERATIONS = 4096, 200_000
"""Of how many elements exact results are computed, and by how many operations on numbers."""

_LOST_DIGITS = 8
"""How many digits of an exact result may be lost: 2^8 units."""


def compare_stepwise(  # noqa: PLR0913 - one for each choice
    first: ReadModel,
    second: ReadModel,
    given: Mapping[str, Array],
    rounding: Collection[str],
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    contract: ContractSource = NO_CONTRACT,
    limits: Limits = DEFAULT,
) -> Comparison:
    """Compare runs of two models; values of the names in `rounding` may differ as above.

    Without such names, or if a run ends early, the whole runs are compared.

    Raises:
        SonnxError: A model cannot be used, or their inputs differ.
    """
    samples = [(given, seed)]
    runs = next(run_both(first, second, samples, sizes, contract=contract, limits=limits))
    one, other = runs.traces
    if not rounding or one.stop or other.stop:
        return compared(runs, EXACT)
    known = {name: value for name, value in one.values.items() if value is not None}
    model = whole(second)
    cut, read = _with_known_inputs(model.proto, known)
    feeds = {**runs.inputs.arrays, **read}
    with IsolatedRuns(limits) as isolated:
        made = trace(replace(model, proto=cut), feeds, isolated)
    values = {name: made.values.get(_COMPUTED.format(name)) for name in read}
    for name in set(rounding).intersection(read):
        old, new = read[name], values[name]
        if new is not None and not same(old, new) and _is_near(cut, feeds, name, old, new):
            values[name] = old
    # What is near enough counts as equal.
    found = {name: values.get(name, value) for name, value in other.values.items()}
    return compared(
        replace(runs, traces=(one, replace(other, values=found, stop=made.stop))), EXACT
    )


def _with_known_inputs(
    model: onnx.ModelProto, known: Mapping[str, Array]
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A copy that reads known values from inputs, and the values of these inputs.

    What computed a known value still does, under another name.
    """
    copy = deepcopy(model)
    seed_random_operators(copy)
    read = {}
    for node in copy.graph.node:
        for index, name in enumerate(node.output):
            if name in known:
                node.output[index] = _COMPUTED.format(name)
                array = read[name] = known[name]
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                copy.graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
    return copy, read


def _is_near(
    cut: onnx.ModelProto, feeds: Mapping[str, Array], name: str, old: Array, new: Array
) -> bool:
    if not comparable(old, new):
        return False
    element_type = ELEMENT_TYPES.get(old.dtype)
    if element_type is None or element_type not in FLOAT_FORMATS:
        return largest(old, new, Measure.ABSOLUTE) <= (old.dtype.kind in "iu")
    digits = FLOAT_FORMATS[element_type].precision
    kept = np.isfinite(old)
    wanted, found = (np.where(kept, each, 0).astype(np.float64) for each in (old, new))
    most = np.abs(wanted).max(initial=0)
    if not (np.abs(found - wanted) <= most * 2.0 ** -(digits // 2)).all():
        return False
    off = _from_exact(cut, feeds, name, new) if old.size <= _MOST_ELEMENTS else None
    admitted = most * 2.0 ** -max(digits - _LOST_DIGITS, digits // 2)
    return off is None or bool((np.where(kept, off, 0) <= admitted).all())


def _from_exact(
    cut: onnx.ModelProto, feeds: Mapping[str, Array], name: str, found: Array
) -> Array | None:
    """How far a value is at least from what the nodes that compute it mean exactly.

    None if the oracle does not follow the nodes, or not within the limit.
    """
    nodes = nodes_needed(cut.graph.node, [_COMPUTED.format(name)])
    wanted = names_read(nodes)
    output = onnx.ValueInfoProto(name=_COMPUTED.format(name))
    model = part(cut, nodes, [output], lambda _: None, constants_of(cut.graph))
    given = {each: array for each, array in feeds.items() if each in wanted}
    try:
        enclosing = Enclosing(model, given, limit=_MOST_OPERATIONS)
        for node in nodes:
            enclosing.follow(node)
    except SonnxError:
        return None
    off = enclosing.distances(output.name, found)
    return None if off is None else off[0]
