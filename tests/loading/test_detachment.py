"""Large weights of a serialized model become references into its bytes; all else stays."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sonnx_ort.loading.external_data import LARGE, detached
from support.graphs import parse

PLACE = "there"


def made(*initializers: onnx.TensorProto) -> onnx.ModelProto:
    model = parse("(float[n] x) => (float[n] y) { [d] y = Div(x, x) }")
    model.graph.initializer.extend(initializers)
    return model


def tensor(name: str, dtype: str = "float32", elements: int = LARGE // 4) -> onnx.TensorProto:
    return numpy_helper.from_array(np.arange(elements).astype(dtype), name)


def detach(model: onnx.ModelProto) -> onnx.ModelProto | None:
    return detached(model.SerializeToString(), PLACE)


def restored(light: onnx.ModelProto, content: bytes) -> onnx.ModelProto:
    for initializer in light.graph.initializer:
        if initializer.external_data:
            place = {entry.key: entry.value for entry in initializer.external_data}
            assert place["location"] == PLACE
            start = int(place["offset"])
            initializer.raw_data = content[start : start + int(place["length"])]
            initializer.ClearField("external_data")
            initializer.ClearField("data_location")
    return light


@pytest.mark.parametrize(
    ("dtype", "elements"),
    [("float32", LARGE // 4), ("float16", LARGE // 2), ("float64", LARGE), ("float32", 1 << 20)],
)
def test_large_weights_are_left_out_and_found_again(dtype: str, elements: int) -> None:
    model = made(tensor("small", elements=3), tensor("k", dtype, elements), tensor("l"))
    light = detach(model)
    assert light is not None
    assert light.ByteSize() < 1000
    assert restored(light, model.SerializeToString()) == model


@pytest.mark.parametrize("equal", [64, 4096, LARGE - 4])
def test_weights_that_begin_alike_are_told_apart(equal: int) -> None:
    one, other = np.zeros(LARGE // 4, np.float32), np.zeros(LARGE // 4, np.float32)
    one[equal // 4 :], other[equal // 4 :] = 1, 2
    # Bytes that begin like the weights stand in front of them too, in what is too small to go.
    small = numpy_helper.from_array(np.zeros(equal // 8, np.float32), "small")
    model = made(
        small, *(numpy_helper.from_array(a, name) for a, name in ((one, "k"), (other, "l")))
    )
    light = detach(model)
    assert light is not None
    assert restored(light, model.SerializeToString()) == model


def changed(**fields: object) -> onnx.TensorProto:
    found = tensor("k")
    for name, value in fields.items():
        if name == "dims":
            found.dims[:] = [value]
        else:
            setattr(found, name, value)
    return found


def external() -> onnx.TensorProto:
    found = tensor("k")
    found.ClearField("raw_data")
    found.data_location = onnx.TensorProto.EXTERNAL
    found.external_data.add(key="location", value="elsewhere")
    return found


STAYS = {
    "small": made(tensor("k", elements=LARGE // 4 - 1)),
    "integers, on which proofs rest": made(tensor("k", "int32")),
    "elements in a field of their type": made(
        onnx.helper.make_tensor("k", onnx.TensorProto.FLOAT, [LARGE], np.ones(LARGE))
    ),
    "more elements than the sizes say": made(changed(dims=5)),
    "sizes below zero": made(changed(dims=-LARGE // 4)),
    "unknown type": made(changed(data_type=99)),
    "without a name": made(changed(name="")),
    "references beside it": made(tensor("l"), external()),
    "none": made(),
}


@pytest.mark.parametrize("model", STAYS.values(), ids=STAYS)
def test_what_is_not_as_expected_stays(model: onnx.ModelProto) -> None:
    assert detach(model) is None


def test_elements_said_twice_stay() -> None:
    again = onnx.TensorProto(raw_data=b"1234").SerializeToString()
    doubled = tensor("k").SerializeToString() + again
    graph = b"\x2a" + _varint(len(doubled)) + doubled
    assert detached(b"\x3a" + _varint(len(graph)) + graph, PLACE) is None


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def test_cut_off_bytes_are_read_as_the_parser_reads_them() -> None:
    content = made(tensor("k")).SerializeToString()
    for end in [*range(300), *range(len(content) - 60, len(content))]:
        light = detached(content[:end], PLACE)
        if light is not None:
            assert restored(light, content) == onnx.load_model_from_string(content[:end])


def test_any_bytes_raise_nothing() -> None:
    random = np.random.default_rng(0)
    content = made(tensor("k")).SerializeToString()
    for _ in range(300):
        wrong = bytearray(content)
        wrong[random.integers(200)] = random.integers(256)
        light = detached(bytes(wrong), PLACE)
        assert light is None or isinstance(light, onnx.ModelProto)
