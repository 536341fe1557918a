"""Trials made of drafts: contracts for their inputs, and runs at the ends of these and between."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from sonnx_ort import Contract, ValueContract
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.canonical import load_canonical
from support.soundness.arrays import Array
from support.soundness.extreme_drafts import OPPOSITE, Draft, Extremes, magnitude
from support.soundness.proof_trials import ALL_WAYS, ENDS, Claims, ProofTrial, Way

RUNS = ("lower", "upper", "ends", "uniform", "alternating")
"""How the elements of inputs are taken from their ranges, run by run.

"blocks" is the upper end once in each block of elements.
"""

_SCALES = 8
"""How many magnitudes of inputs are tried until something is known of the result."""

_LONGEST = 16
"""How long an axis may be whose indices have ranges of their own."""

_Range = tuple[float, float]


@dataclass(frozen=True)
class _Limits:
    """The range of an input, or those of the indices of one of its axes."""

    ranges: tuple[_Range, ...]
    axis: int | None = None

    def entry(self, name: str) -> ValueContract:
        """The entry of a contract."""
        if self.axis is None:
            return ValueContract(name, self.ranges[0])
        return ValueContract(name, self.ranges, axis=self.axis)

    def ends(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> tuple[Array, Array]:
        """The smallest and the largest tensor of a shape."""
        sizes = [1] * len(shape)
        if self.axis is not None:
            sizes[self.axis] = len(self.ranges)
        lower, upper = (
            np.broadcast_to(np.array(each).astype(dtype).reshape(sizes), shape)
            for each in zip(*self.ranges, strict=True)
        )
        return lower, upper


def trial_of(
    draft: Draft,
    outputs: Sequence[str],
    ways: tuple[Way, ...] = ALL_WAYS,
    *,
    runs: Sequence[str] = RUNS,
    magnitude_of_inputs: float | None = None,
    open_sizes: bool = False,
) -> ProofTrial:
    """Finish a draft.

    Args:
        draft: The draft.
        outputs: The values that become outputs.
        ways: How it is enforced.
        runs: How the elements of inputs are taken, for each run.
        magnitude_of_inputs: The magnitude of the inputs; without, several are tried until the
            analysis knows of an output that it is finite.
        open_sizes: Whether inputs are declared with names for sizes, and also run with others.
    """
    model, rng = draft.model(outputs), draft.rng
    if open_sizes:
        _open(rng, model)
    operators = rng.choice(["default,Graph.finite_values"] * 3 + ["Graph.finite_values"])
    divides = any(node.op_type in ("Div", "Sub") for node in draft.nodes)
    if any(node.name == ENDS for node in draft.nodes):
        operators = "default,Graph.finite_values"
    broadcast = "explicit" if divides else rng.choice(["reject", "explicit"])
    limits, contract = _limits(draft, model, outputs, magnitude_of_inputs)
    feeds = [
        {
            name: _elements(rng, how, *each.ends(draft.shape(name), _dtype(model, name)))
            for name, each in limits.items()
        }
        for how in runs
    ]
    if open_sizes:
        feeds += [_of_other_sizes(rng, model, feeds[-1]) for _ in range(3)]
    return ProofTrial(model, tuple(feeds), contract, ways, operators, broadcast)


def _limits(
    draft: Draft, model: onnx.ModelProto, outputs: Sequence[str], fixed: float | None
) -> tuple[Mapping[str, _Limits], Contract]:
    """Ranges for the inputs, and the contract of these."""
    facts = _facts(model)
    once = fixed is not None or not draft.forms or facts is None
    limits: dict[str, _Limits] = {}
    contract = Contract()
    declared = {value.name: value for value in model.graph.input}
    for _ in range(1 if once else _SCALES):
        for name, form in draft.forms.items():
            extreme = 1.0 if draft.which is Extremes.HUGE else 0.7
            chosen = fixed or magnitude(draft.rng, draft.dtype, extreme, OPPOSITE[draft.which])
            limits[name] = _limits_of(draft, declared[name], form, chosen)
        for name, (lower, upper) in draft.ranges.items():
            limits[name] = _Limits(((lower, upper),))
        contract = Contract(tuple(each.entry(name) for name, each in limits.items()))
        if facts is not None and _is_known(Claims.under(facts, contract), outputs):
            break
    return limits, contract


def _limits_of(draft: Draft, declared: onnx.ValueInfoProto, form: _Range, scale: float) -> _Limits:
    """One range, or one for each index of an axis that has a fixed size."""
    sizes = [axis.dim_value for axis in declared.type.tensor_type.shape.dim]
    axes = [axis for axis, size in enumerate(sizes) if 1 < size <= _LONGEST]
    if not axes or draft.rng.random() < 0.85:
        return _Limits((_ends(draft.dtype, form, scale),))
    axis = draft.rng.choice(axes)
    factors = [draft.rng.choice([1.0, 0.5, 1e-3, 0.0, -1.0]) for _ in range(sizes[axis])]
    ends = [sorted(_ends(draft.dtype, form, scale * factor)) for factor in factors]
    return _Limits(tuple((lower, upper) for lower, upper in ends), axis)


def _open(rng: random.Random, model: onnx.ModelProto) -> None:
    """Declare some sizes of inputs by names, equal ones by one name."""
    opened = {size for size in range(1, 100) if rng.random() < 0.6}
    for value in model.graph.input:
        for axis in value.type.tensor_type.shape.dim:
            if axis.dim_value in opened:
                axis.dim_param = f"n{axis.dim_value}"


def _of_other_sizes(
    rng: random.Random, model: onnx.ModelProto, feeds: Mapping[str, Array]
) -> dict[str, Array]:
    """What a model is run with, with other sizes where names are declared."""
    sizes: dict[str, int] = {}
    found = {}
    for value in model.graph.input:
        array = feeds[value.name]
        for axis, declared in enumerate(value.type.tensor_type.shape.dim):
            if name := declared.dim_param:
                size = sizes.setdefault(name, rng.choice([0, 1, array.shape[axis], 2, 5]))
                array = np.take(array, [0] * size, axis)
        found[value.name] = array
    return found


def _facts(model: onnx.ModelProto) -> Facts | None:
    try:
        return Facts(load_canonical(model).graph_model)
    except SonnxError:
        return None


def _is_known(claims: Claims, outputs: Sequence[str]) -> bool:
    """Whether something is known of each output that runs could contradict."""
    found = [claims.intervals.get(name) for name in outputs]
    bounded = [name in claims.bounds for name in outputs]
    return all(b or (i is not None and i.whole.finite) for b, i in zip(bounded, found, strict=True))


def _ends(dtype: str, form: _Range, scale: float) -> _Range:
    """The ends of a range of this form, as their type has them."""
    largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    lower, upper = (
        float(np.asarray(min(max(end * scale, -largest), largest)).astype(dtype)) for end in form
    )
    return lower, upper


def _dtype(model: onnx.ModelProto, name: str) -> np.dtype[np.generic]:
    (value,) = (value for value in model.graph.input if value.name == name)
    return helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)


def _elements(rng: random.Random, how: str, lower: Array, upper: Array) -> Array:
    """Elements between two tensors."""
    generator = np.random.default_rng(rng.getrandbits(32))
    places = np.arange(lower.size).reshape(lower.shape)
    match how:
        case "lower":
            return lower.copy()
        case "upper":
            return upper.copy()
        case "ends":
            return np.asarray(np.where(generator.random(lower.shape) < 0.5, lower, upper))
        case "alternating":
            return np.asarray(np.where(places % 2 == 0, lower, upper))
        case "blocks":
            block = rng.choice([8, 16, 32, 64, 128, 256, 512])
            return np.asarray(np.where(places % block == 0, upper, lower))
    share = generator.uniform(0, 1, lower.shape)
    between = lower.astype(np.float64) * (1 - share) + upper.astype(np.float64) * share
    if lower.dtype.kind in "iu":
        between = np.round(between)
    return np.asarray(np.clip(between.astype(lower.dtype), lower, upper))
