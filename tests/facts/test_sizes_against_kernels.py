"""What a Slice selects, a window spans and a Split gives: held against ONNX Runtime alone.

The rules of the kernel, the oracle and the changes of `conform` share these three functions, so
that a fault of one would be in all of them. The runs are made in a child process, which some
numbers of a Slice or a window could end.
"""

import functools
import json
import sys
from collections.abc import Iterator
from itertools import chain, product
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from sonnx_ort.facts.sizes import END_OF_ALL, equal_parts, reach, selected
from support.child import run_python
from support.sessions import on_one_thread
from support.soundness.leaves import places

Cut = tuple[int, int, int, int]
"""The size of an axis, the start, the end and the step."""

_EXTREMES = (
    *(-(2**63), 1 - 2**63, -(2**31), 1 - 2**31),
    *(2**31 - 2, 2**31 - 1, 2**31, 2**63 - 2, 2**63 - 1),
)
_NEAR = range(-6, 7)
_SIZES = range(12)
_COUNTS = range(1, 7)

_WINDOWS = [*product((1, 2, 3, 4), (1, 2, 3)), (1, 2**31 - 1), (1, 2**63 - 1), (2, 2**62)]
"""Kernels and dilations."""


def _cuts() -> Iterator[Cut]:
    """Small numbers in all combinations, and the ends of int32 and int64 among small ones."""
    numbers = (*_EXTREMES, -2, 0, 2)
    small = product(range(5), _NEAR, _NEAR, (-3, -2, -1, 1, 2, 3))
    return chain(small, product((0, 1, 3), numbers, numbers, (*_EXTREMES, -1, 1)))


def run(purpose: str) -> None:
    """Print what ONNX Runtime gives for each case of a purpose; of a refused one None."""
    ort.set_default_logger_severity(4)
    made = {"cuts": _runs_of_cuts, "windows": _runs_of_windows, "parts": _runs_of_parts}[purpose]
    json.dump([*made()], sys.stdout)


@functools.cache
def _results(purpose: str) -> list[Any]:
    module = "facts.test_sizes_against_kernels"
    child = run_python(f"from {module} import run", f"run({purpose!r})")
    assert child.exit_status == 0, child
    found: list[Any] = json.loads(child.stdout)
    return found


def _session(version: int, graph: str) -> ort.InferenceSession:
    text = f'<ir_version: 9, opset_import: ["": {version}]> g {graph}'
    model = onnx.parser.parse_model(text)
    return ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))


def _outputs(session: ort.InferenceSession, **feeds: np.ndarray) -> list[np.ndarray] | None:
    try:
        return [*session.run(None, feeds)]
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return None


def _runs_of_cuts() -> Iterator[list[int]]:
    session = _session(
        13,
        """(int64[n] x, int64[1] start, int64[1] end, int64[1] axis, int64[1] step) => (int64[k] y)
        { y = Slice(x, start, end, axis, step) }""",
    )
    for size, *numbers in _cuts():
        start, end, step = np.array(numbers, np.int64).reshape(3, 1)
        axis = np.array([0])
        outputs = _outputs(session, x=np.arange(size), start=start, end=end, axis=axis, step=step)
        assert outputs is not None
        yield outputs[0].tolist()


def _runs_of_windows() -> Iterator[list[int | None]]:
    """The sizes of the results for each size of an axis, by the window and the operator."""
    for (kernel, dilation), operator in product(_WINDOWS, ("MaxPool", "AveragePool", "Conv")):
        weights = np.ones((1, 1, kernel), np.float32)
        given = {"w": weights} if operator == "Conv" else {}
        session = _session(
            19,
            f"""(float[1,1,n] x{f", float[1,1,{kernel}] w" if given else ""}) => (float[1,1,m] y)
            {{ y = {operator}<kernel_shape = [{kernel}], dilations = [{dilation}]>
            (x{", w" if given else ""}) }}""",
        )
        every = [_outputs(session, x=np.ones((1, 1, n), np.float32), **given) for n in _SIZES]
        yield [None if outputs is None else outputs[0].shape[-1] for outputs in every]


def _runs_of_parts() -> Iterator[list[int] | None]:
    for count in _COUNTS:
        names = [f"y{number}" for number in range(count)]
        declared = ", ".join(f"float[?] {name}" for name in names)
        graph = f"{', '.join(names)} = Split<num_outputs = {count}>(x)"
        session = _session(18, f"(float[n] x) => ({declared}) {{ {graph} }}")
        for size in _SIZES:
            outputs = _outputs(session, x=np.ones(size, np.float32))
            yield None if outputs is None else [output.size for output in outputs]


def test_slice_selects_what_the_kernel_selects() -> None:
    results = dict(zip(_cuts(), _results("cuts"), strict=True))
    told = {cut: [*selected(*cut)] for cut in results if not _is_open(cut)}
    assert told == {cut: results[cut] for cut in told}


def test_slice_of_the_soundness_tests_selects_what_the_kernel_selects() -> None:
    results = dict(zip(_cuts(), _results("cuts"), strict=True))
    told = {cut: places(*cut) for cut in results if not _is_open(cut)}
    assert told == {cut: results[cut] for cut in told}


def test_kernel_takes_an_end_of_all_for_all_of_the_axis_in_negative_steps_too() -> None:
    """Where it does no longer, `selected` holds for such ends as well."""
    results = {c: r for c, r in zip(_cuts(), _results("cuts"), strict=True) if _is_open(c)}
    assert results == {
        (n, s, e, step): [*selected(n, s, -n - 1, step)] for n, s, e, step in results
    }
    assert any(results.values())


def _is_open(cut: Cut) -> bool:
    *_, end, step = cut
    return step < 0 and end in END_OF_ALL


@pytest.mark.parametrize("place", range(3), ids=["MaxPool", "AveragePool", "Conv"])
def test_window_fits_where_the_kernel_gives_results(place: int) -> None:
    results = _results("windows")[place::3]
    told = [[max(0, size - reach(*window) + 1) for size in _SIZES] for window in _WINDOWS]
    # Where no window fits, some give nothing and others end with an error.
    assert told == [[size or 0 for size in sizes] for sizes in results]


def test_parts_of_a_split_are_those_of_the_kernel_which_refuses_negative_ones() -> None:
    told = [equal_parts(size, count) for count, size in product(_COUNTS, _SIZES)]
    assert [parts if parts[-1] >= 0 else None for parts in told] == _results("parts")
