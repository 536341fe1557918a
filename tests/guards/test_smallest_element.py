"""Kernels compute the flag of the smallest element as the proofs about it say."""

from itertools import product

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from sonnx_ort.guards.smallest_element import REDUCED_AS
from sonnx_ort.profile.element_type import ElementType
from support.graphs import parse
from support.sessions import on_one_thread

EXPONENTS = (0, 1, 7, 8, 15, 16, 23, 24, 25, 31, 32, 33, 52, 53, 54, 62, 63)


def extremes(kind: ElementType) -> np.ndarray:
    """The numbers of a type beside powers of two."""
    limits = np.iinfo(kind.dtype)
    near = {sign * 2**n + off for sign, n, off in product((1, -1), EXPONENTS, (-2, -1, 0, 1, 2))}
    return np.array(sorted(x for x in near if limits.min <= x <= limits.max), kind.dtype)


@pytest.mark.parametrize("kind", REDUCED_AS)
def test_no_cast_exchanges_two_elements(kind: ElementType) -> None:
    """And 0, -1 and the smallest integer stay what they are."""
    number = onnx.TensorProto.DataType.Value(REDUCED_AS[kind].upper())
    model = parse(f"({kind}[n] x) => ({REDUCED_AS[kind]}[n] y) {{ y = Cast<to = {number}>(x) }}")
    elements = extremes(kind)
    (carried,) = session(model).run(None, {"x": elements})
    assert (np.diff(carried) >= 0).all()
    for exact in (0, -1, int(np.iinfo(kind.dtype).min)):
        assert int(carried[elements == exact][0]) == exact
        assert (carried[elements <= exact] <= exact).all()


@pytest.mark.parametrize("kind", dict.fromkeys(REDUCED_AS.values()))
def test_smallest_of_one_element_and_of_many_is_the_smallest(kind: ElementType) -> None:
    model = parse(f"({kind}[n] x) => ({kind} y) {{ y = ReduceMin<keepdims = 0>(x) }}")
    elements = extremes(ElementType.INT32).astype(kind.dtype)
    found = session(model)
    for count in (1, 7, 64, len(elements)):
        for first in range(len(elements) - count + 1):
            part = np.roll(elements[first : first + count], first)
            assert found.run(None, {"x": part})[0] == part.min()


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    return ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
