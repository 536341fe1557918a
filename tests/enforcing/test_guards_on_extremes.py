"""What guards let pass at the ends of types and of blocks, by each backend, against numpy."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import sonnx_ort
from support.graphs import parse
from support.sessions import quiet

Array = npt.NDArray[Any]

BACKENDS = ("python", "native", "compiled")

SIZES = (1, 4095, 4096, 4097, 8193)
"""The blocks of compiled guards have 4,096 elements."""


def session_of(text: str, operators: str, backend: str, opset: int = 18) -> Any:
    model = parse(text, opset=opset)
    return sonnx_ort.InferenceSession(model, quiet(), backend=backend, operators=operators)


def broken_rule(session: Any, feeds: dict[str, Array]) -> str | None:
    """The rule that a run violates."""
    try:
        session.run(None, feeds)
    except sonnx_ort.ContractViolation as error:
        return error.rule
    return None


# The python backend does not check this rule where the installed kernels need no check.
@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_integers_pass_within_int32(backend: str, opset: int) -> None:
    text = "(int64[n] x, int64[m] z) => (int64[k] y) { [most] y = Max(x, z) }"
    session, end = session_of(text, "Max", backend, opset), 1 << 31
    elements = [0, -1, end - 1, end, end + 1, -end, -end - 1, 2 * end, -2 * end, 1 << 53]
    elements += [2 * end - 1, (1 << 53) + 1, (1 << 63) - 1, -(1 << 63)]
    ones = np.ones(max(SIZES), np.int64)
    for element, size, first in itertools.product(elements, SIZES, (True, False)):
        array = ones[:size].copy()
        array[0 if first else -1] = element
        expected = None if -end <= element < end else "Max.int.C1"
        for feeds in ({"x": array, "z": ones[:size]}, {"x": ones[:size], "z": array}):
            assert broken_rule(session, feeds) == expected, (element, size, first)
    nothing = np.ones(0, np.int64)
    assert broken_rule(session, {"x": nothing, "z": nothing}) is None


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
@pytest.mark.parametrize("backend", BACKENDS)
@np.errstate(all="ignore")
def test_nan_passes_a_clip_unless_its_bounds_are_crossed(backend: str, kind: str) -> None:
    text = f"({kind}[n] x, {kind} lo, {kind} hi) => ({kind}[n] y) {{ [clip] y = Clip(x, lo, hi) }}"
    session = session_of(text, "Clip", backend)
    dtype = np.dtype({"float": "float32", "double": "float64"}.get(kind, kind))
    info: np.finfo[Any] = np.finfo(dtype)
    bounds = [-math.inf, info.min, -0.0, 0.0, info.smallest_subnormal, math.inf, math.nan]
    arrays = [[], [math.nan], [1, math.inf], [-0.0, info.smallest_subnormal], [math.nan, 1]]
    arrays += [[1] * (size - 1) + [math.nan] for size in SIZES]
    for low, high in itertools.product(np.array(bounds, dtype), repeat=2):
        for elements in arrays:
            array = np.array(elements, dtype)
            broken = low > high and np.isnan(array).any()
            feeds = {"x": array, "lo": np.array(low), "hi": np.array(high)}
            expected = "Clip.float.C3" if broken else None
            assert broken_rule(session, feeds) == expected, (low, high, elements[:3])


@pytest.mark.parametrize("backend", BACKENDS)
def test_slice_of_half_precision_copies_elements_as_numpy_does(backend: str) -> None:
    text = (
        "(float16[n] x, int64[1] s, int64[1] e) => (float16[k] y) "
        "<int64[1] a = {0}, int64[1] t = {1}> { [cut] y = Slice(x, s, e, a, t) }"
    )
    session = session_of(text, "Slice", backend)
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    numbers = every[~np.isnan(every)]
    size = len(numbers)
    for start, end in itertools.product((0, 1, size - 1, -1, -size), (0, size, -1, -size, 5)):
        feeds = {"x": numbers, "s": np.array([start]), "e": np.array([end])}
        first, last = (place + size * (place < 0) for place in (start, end))
        if first > last:
            assert broken_rule(session, feeds) == "Slice.R6"
        else:
            (result,) = session.run(None, feeds)
            assert result.tobytes() == numbers[start:last].tobytes()
