"""The type and the shape that are concluded of sparse tensors are those that ONNX Runtime reads."""

import math
import random

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from support.derived import derived, told
from support.graphs import parse
from support.sessions import on_one_thread

SHAPES: list[tuple[int, ...]] = [(1,), (3,), (0,), (2, 3), (1, 1), (0, 4), (2, 1, 3), (70, 2)]
TYPES = ("float32", "float64", "int8", "int32", "int64", "uint8")


def of(shape: tuple[int, ...], dtype: str, held: int, *, as_places: bool) -> onnx.ModelProto:
    """A model that gives a sparse initializer, of so many numbers, as it is."""
    kind = helper.tensor_dtype_to_string(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    name = kind.removeprefix("TensorProto.").lower()
    proto = parse(f"({name} x) => ({name}[] y, {name} z) {{ y = Identity(c) z = Identity(x) }}")
    count = math.prod(shape)
    # ONNX has them in order, once each.
    chosen = sorted(random.Random(f"{shape} {held}").sample(range(count), held))  # noqa: S311
    places = np.array(chosen, np.int64)
    if as_places:
        places = np.array([np.unravel_index(place, shape) for place in chosen], np.int64)
        places = places.reshape(held, len(shape))
    values = numpy_helper.from_array(np.full(held, 7, dtype), "c")
    indices = numpy_helper.from_array(places, "c_indices")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, shape))
    return proto


@pytest.mark.parametrize("as_places", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_sparse_initializer_is_read_as_is_concluded(
    shape: tuple[int, ...], dtype: str, *, as_places: bool
) -> None:
    started = 0
    for held in {0, 1, math.prod(shape) // 2, math.prod(shape)}:
        if held > math.prod(shape):
            continue
        proto = of(shape, dtype, held, as_places=as_places)
        known = derived(proto)
        try:
            session = ort.InferenceSession(proto.SerializeToString(), on_one_thread("none"))
        except Exception:  # noqa: BLE001, S112 - a tensor that ONNX Runtime does not take
            continue
        started += 1
        y, _ = session.run(None, {"x": np.array(0, dtype)})
        assert told(known.known("shape", "c")) == list(y.shape)
        kind = helper.tensor_dtype_to_string(helper.np_dtype_to_tensor_dtype(y.dtype))
        assert known.known("type", "c") == kind.removeprefix("TensorProto.").lower()
        assert not any(known.knows(kind, "c") for kind in ("elements", "bounds", "interval"))
    assert started


def test_sparse_tensor_with_a_negative_size_is_rejected() -> None:
    proto = of((3,), "float32", 1, as_places=False)
    proto.graph.sparse_initializer[0].dims[0] = -3
    with pytest.raises(Exception, match="a size of a sparse tensor is negative"):
        derived(proto)
