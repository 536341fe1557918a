"""A wrong kernel is found: of each there is a case, among those of the tests, that refuses it."""

from collections.abc import Callable

import numpy as np
import pytest

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import Applied
from support.meaning_cases import nodes
from support.pages import REPOSITORY

Kernel = Callable[..., np.ndarray]

CASES = 25
FLOAT, DOUBLE, INT32 = ElementType.FLOAT, ElementType.DOUBLE, ElementType.INT32


def normalize(x, *vectors, epsilon=1e-5, root=np.sqrt, shift=True, centre=True):
    along = [-1, *[1] * (x.ndim - 2)]
    scale, bias, mean, variance = (vector.reshape(along) for vector in vectors)
    centred = x - mean if centre else x
    result = scale * centred / root(variance + x.dtype.type(epsilon)) + (bias if shift else 0)
    return result.astype(x.dtype)


def cut(x, starts, ends, axes, steps, *, inclusive=0, step=True, ordered=False):
    slices = [slice(None)] * x.ndim
    columns = (index.tolist() for index in (starts, ends, axes, steps))
    for place, (start, end, named, by) in enumerate(zip(*columns, strict=True)):
        axis = place if ordered else named
        last = None if end == -x.shape[axis] - 1 else end + inclusive
        slices[axis] = slice(start, last, by if step else int(np.sign(by)))
    return x[tuple(slices)]


def clip(x, low, high, *, first=np.maximum, second=np.minimum):
    low, high = (None if b is None or np.isnan(b) else b for b in (low, high))
    x = x if low is None else first(x, low)
    return x if high is None else second(x, high)


def lowest_wins(x, low, high):
    return clip(clip(x, None, high), low, None)


def largest(x, axis=0, keepdims=1, select_last_index=0, *, find=np.argmax):
    found = find(x, axis)
    if select_last_index:
        found = x.shape[axis] - 1 - find(np.flip(x, axis), axis)
    return np.expand_dims(found, axis) if keepdims else found


def cast(x, to, *, before=lambda x: x):
    dtypes = {6: np.int32, 3: np.int8, 10: np.float16, 9: np.bool_}
    return before(x).astype(dtypes[to]) if to in dtypes else None


def towards_zero(x, to):
    nearest = x.astype(np.float16)
    above = abs(nearest.astype(x.dtype)) > abs(x)
    return np.where(above, np.nextafter(nearest, np.float16(0)), nearest) if to == 10 else None


def added_in_half(a, b):
    return (a.astype(np.float16) @ b.astype(np.float16)).astype(a.dtype)


RIGHT = {
    ("MatMul", FLOAT): np.matmul,
    ("MatMul", INT32): np.matmul,
    ("BatchNormalization", FLOAT): normalize,
    ("Clip", FLOAT): clip,
    ("Slice", FLOAT): cut,
    ("ArgMax", FLOAT): largest,
    ("Cast", FLOAT): cast,
    ("Log", FLOAT): np.log,
    ("Log", DOUBLE): np.log,
    ("Acos", FLOAT): np.arccos,
    ("Pow", FLOAT): np.power,
    ("Pow", INT32): lambda x, y: np.power(x.astype(np.float64), y).astype(np.int32),
}

WRONG: dict[str, tuple[str, ElementType, Kernel]] = {
    "leaves a summand out": ("MatMul", FLOAT, lambda a, b: a[:, 1:] @ b[1:]),
    "sums up in half precision": ("MatMul", FLOAT, added_in_half),
    "takes magnitudes": ("MatMul", FLOAT, lambda a, b: abs(a) @ abs(b)),
    "is off by one": ("MatMul", INT32, lambda a, b: a @ b + 1),
    "saturates": ("MatMul", INT32,
        lambda a, b: np.clip(a.astype(float) @ b, -(2**31), 2**31 - 1).astype(np.int32)),
    "forgets epsilon": ("BatchNormalization", FLOAT,
        lambda *o, epsilon=0: normalize(*o, epsilon=0 * epsilon)),
    "takes no root": ("BatchNormalization", FLOAT,
        lambda *o, **said: normalize(*o, **said, root=lambda v: v)),
    "does not shift": ("BatchNormalization", FLOAT,
        lambda *o, **said: normalize(*o, **said, shift=False)),
    "does not subtract the mean": ("BatchNormalization", FLOAT,
        lambda *o, **said: normalize(*o, **said, centre=False)),
    "lets the lower bound win": ("Clip", FLOAT, lowest_wins),
    "makes a bound of NaN": ("Clip", FLOAT, lambda *o: clip(*o, first=np.fmax, second=np.fmin)),
    "exchanges the bounds": ("Clip", FLOAT, lambda x, low, high: clip(x, high, low)),
    "clips above alone": ("Clip", FLOAT, lambda x, _, high: clip(x, None, high)),
    "takes the end as well": ("Slice", FLOAT, lambda *o: cut(*o, inclusive=1)),
    "takes single steps": ("Slice", FLOAT, lambda *o: cut(*o, step=False)),
    "takes axes in their order": ("Slice", FLOAT, lambda *o: cut(*o, ordered=True)),
    "finds the smallest": ("ArgMax", FLOAT, lambda x, **said: largest(x, **said, find=np.argmin)),
    "finds the first always": ("ArgMax", FLOAT,
        lambda x, **said: largest(x, **said | {"select_last_index": 0})),
    "leaves the axis": ("ArgMax", FLOAT, lambda x, **said: largest(x, **said | {"keepdims": 1})),
    "rounds to integers": ("Cast", FLOAT, lambda x, to: cast(x, to, before=np.rint)),
    "cuts off bits": ("Cast", FLOAT, towards_zero),
    "has no truth below one": ("Cast", FLOAT, lambda x, to: cast(x, to, before=np.trunc)),
    "goes by the binary logarithm": ("Log", FLOAT,
        lambda x: (np.log2(x) * np.float32(0.693)).astype(np.float32)),
    "is four units off": ("Log", FLOAT, lambda x: (np.log(x).view(np.int32) + 4).view(np.float32)),
    "adds one": ("Log", FLOAT, np.log1p),
    "knows no sign": ("Log", FLOAT, lambda x: np.log(abs(x))),
    "has the bits of float": ("Log", DOUBLE, lambda x: np.log(x.astype(np.float32)).astype(float)),
    "gives sines": ("Acos", FLOAT, np.arcsin),
    "is five units off": ("Acos", FLOAT,
        lambda x: (np.arccos(x).view(np.int32) + 5).view(np.float32)),
    "loses the side": ("Acos", FLOAT, lambda x: np.arccos(abs(x))),
    "goes by logarithms": ("Pow", FLOAT, lambda x, y: np.exp(y * np.log(abs(x)))),
    "exchanges base and exponent": ("Pow", FLOAT, lambda x, y: np.power(y, x)),
    "raises in float": ("Pow", INT32,
        lambda x, y: np.power(x.astype(np.float32), y.astype(np.float32)).astype(np.int32)),
    "raises magnitudes": ("Pow", INT32, lambda x, y: np.power(abs(x), y)),
}  # fmt: skip


def refused(case: Applied, kernel: Kernel) -> bool:
    """Whether the oracle admits some result of a kernel not; one of another shape it never does."""
    with np.errstate(all="ignore"):
        found = kernel(*case.operands, **case.attributes)
    if found is None:
        return False
    try:
        return bool(case.meaning[0].outside(found).any())
    except ValueError:
        return True


@pytest.mark.parametrize(("operator", "element_type"), RIGHT, ids=str)
def test_right_kernel_is_admitted(operator: str, element_type: ElementType) -> None:
    kernel = RIGHT[operator, element_type]
    assert not any(refused(case, kernel) for case in nodes(operator, element_type, CASES))


def test_page_says_how_many_wrong_kernels_are_tried() -> None:
    page = " ".join((REPOSITORY / "docs" / "exhaustive.md").read_text("utf-8").split())
    assert f"It rejects each of {len(WRONG)} faulty kernels." in page


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_kernel_is_refused(fault: str) -> None:
    operator, element_type, kernel = WRONG[fault]
    assert any(refused(case, kernel) for case in nodes(operator, element_type, CASES))


def test_every_operator_has_a_wrong_kernel() -> None:
    assert {name for name, _, _ in WRONG.values()} == {name for name, _ in RIGHT}
