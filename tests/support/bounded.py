"""What a bound of a change says of results, in numbers, and whether results keep to it."""

from collections.abc import Iterator, Mapping

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.bounds import Bound, Inputs, Reference
from support.decomposed import Case
from support.extremes import extremes

NOT_FINITE = ("inf", "NaN")
STEEP = (
    *("least", "tiny", "of tiny squares", "of huge squares", "huge", "largest", "lowest"),
    *NOT_FINITE,
)
"""Where a step may overflow or underflow."""
STEEP_IN_SIXTEEN_BITS = (*STEEP, "hundred", "around", "thousandths")
EXCLUDED: Mapping[Inputs, tuple[str, ...]] = {
    Inputs.ALL: (),
    Inputs.NUMBERS: ("NaN",),
    Inputs.FINITE: STEEP,
}
FLOATS = frozenset({"float16", "float", "double"})


def runs_within(
    case: Case, dtype: str, bound: Bound
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Operands at extremes for which a bound holds; those after the first are random."""
    rng = np.random.default_rng(3)
    excluded = EXCLUDED[bound.inputs]
    if bound.inputs is Inputs.FINITE and dtype == "float16":
        excluded = STEEP_IN_SIXTEEN_BITS
    types = [dtype, *(case.others or [dtype] * 2)]
    for size in (1, 2, 33):
        sizes = [
            [size if each in "nm" else int(each) for each in shape.split(",") if each]
            for shape in case.shapes
        ]
        for name, first in extremes(dtype, sizes[0]):
            numbers = first[np.isfinite(first)]
            if any(each in name for each in excluded) or (
                np.abs(numbers).max(initial=0) > bound.largest
            ):
                continue
            others = (
                _random(rng, kind, shape) for kind, shape in zip(types[1:], sizes[1:], strict=False)
            )
            yield f"{name}, size {size}", dict(zip("XYZ", (first, *others), strict=False))


def _random(rng: np.random.Generator, dtype: str, shape: list[int]) -> np.ndarray:
    kind = ir.DataType[dtype.upper()].numpy()
    if dtype in FLOATS:
        return rng.standard_normal(shape).astype(kind)
    return rng.integers(0, 3, shape).astype(kind)


def require_within(
    bound: Bound,
    case: Case,
    feeds: Mapping[str, np.ndarray],
    found: np.ndarray,
    wanted: np.ndarray,
) -> None:
    """Results keep to a bound, have NaN and infinity at the same places, and the same labels."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind != "f":
        most = bound.units if bound.of is Reference.INTEGER else 0
        assert (np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= most).all()
        return
    unlike = (np.isnan(found) != np.isnan(wanted)) | (
        (np.isinf(found) | np.isinf(wanted)) & ~np.isnan(wanted) & (found != wanted)
    )
    assert not unlike.any(), (found[unlike], wanted[unlike])
    kept = np.isfinite(wanted)
    apart = np.abs(found[kept].astype(np.float64) - wanted[kept].astype(np.float64))
    allowed = np.broadcast_to(_allowed(bound, case, feeds, wanted), wanted.shape)[kept]
    beyond = apart > allowed
    assert not beyond.any(), (found[kept][beyond], wanted[kept][beyond], allowed[beyond])


def _allowed(
    bound: Bound, case: Case, feeds: Mapping[str, np.ndarray], wanted: np.ndarray
) -> np.ndarray:
    computed = bound.computed_in and ir.DataType[bound.computed_in.upper()].numpy()
    limits = [np.finfo(each) for each in (wanted.dtype, computed) if each]
    unit = max(float(each.eps) for each in limits)
    least = max(float(each.smallest_subnormal) for each in limits)
    times = terms(feeds) if bound.each else 1
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(_reference(bound.of, case, feeds, wanted))
        return bound.units * times * np.maximum(size * unit, least)


def _reference(
    of: Reference, case: Case, feeds: Mapping[str, np.ndarray], wanted: np.ndarray
) -> np.ndarray:
    result, operand = np.abs(wanted.astype(np.float64)), feeds["X"].astype(np.float64)
    match of:
        case Reference.RESULT:
            return result
        case Reference.ONE:
            return np.maximum(result, 1)
        case Reference.OPERAND:
            return operand
        case Reference.LARGEST:
            return _largest(wanted)
        case Reference.TERMS:
            # At most so many terms as large as the largest, each times a weight of the case.
            return terms(feeds) * WEIGHT * (_largest(*feeds.values()) + 1)
        case Reference.SPREAD:
            sizes = (_largest(each) for each in (wanted, *list(feeds.values())[1:], np.ones(1)))
            return max(sizes) * _spread(operand, case)
        case _:
            raise AssertionError(of)


def _largest(*arrays: np.ndarray) -> np.float64:
    product = np.float64(1)
    for array in arrays:
        numbers = array[np.isfinite(array)].astype(np.float64)
        product *= np.abs(numbers).max(initial=0)
    return product


def _spread(x: np.ndarray, case: Case) -> np.float64:
    """The largest element of a line in deviations from its mean; infinite if it has none."""
    axes, least = NORMALIZED[case.node.partition("= ")[2].partition("(")[0]]
    with np.errstate(all="ignore"):
        found = np.abs(x).max(axis=axes) / np.sqrt(x.var(axis=axes) + least)
        return 1 + np.nan_to_num(found, nan=0, posinf=np.inf).max(initial=0)


NORMALIZED = {
    "InstanceNormalization": ((2, 3), 1e-5),
    "LayerNormalization <axis = -1>": (-1, 1e-5),
    "LayerNormalization": (-1, 1e-5),
    "MeanVarianceNormalization": ((0, 2, 3), 0),
    "MeanVarianceNormalization <axes = [0, -1]>": ((0, -1), 0),
}
"""The axes whose elements are normalized in a case, and what is added to their variance."""

WEIGHT = 4
"""No constant of a case is larger in magnitude, but those that count, and those of trees."""

_MOST_TERMS = 64


def terms(feeds: Mapping[str, np.ndarray]) -> int:
    """How many terms a result has at most, in the cases that are tried."""
    return min(feeds["X"].size, _MOST_TERMS)
