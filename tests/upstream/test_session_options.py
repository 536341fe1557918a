"""What session options change without a word: constants, weights, optimizers."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

from sonnx_ort.loading.external_data import refer
from support.changes import INSTALLED
from support.graphs import parse
from support.sessions import on_one_thread, quiet

CONSTANT = parse("() => (float[2] y) <float[2] w = {2, 2}> { y = Identity(w) }")


@pytest.mark.skipif(INSTALLED < (1, 32), reason="its Identity refuses to copy the other type")
def test_tensor_of_another_type_takes_the_place_of_an_initializer() -> None:
    """R56: bytes of int32 are read as float. Remove nothing: a tensor of the right type counts."""
    value = ort.OrtValue.ortvalue_from_numpy(np.array([1, 2], np.int32))
    options = on_one_thread("none")
    options.add_initializer("w", value)
    session = ort.InferenceSession(CONSTANT.SerializeToString(), options)
    np.testing.assert_array_equal(session.run(None, {})[0].view(np.int32), [1, 2])


def test_tensor_of_another_shape_takes_the_place_of_an_initializer() -> None:
    """R56, where a Div then broadcasts."""
    model = parse("(float[2] x) => (float[2] y) <float[2] w = {2, 2}> { y = Div(x, w) }")
    value = ort.OrtValue.ortvalue_from_numpy(np.array([4], np.float32))
    options = quiet()
    options.add_initializer("w", value)
    session = ort.InferenceSession(model.SerializeToString(), options)
    np.testing.assert_array_equal(session.run(None, {"x": np.full(2, 8, np.float32)})[0], [2, 2])


@pytest.mark.skipif(
    not hasattr(ort.SessionOptions, "add_external_initializers_from_files_in_memory"),
    reason="this version takes no files in memory",
)
def test_options_of_a_session_lack_the_files_in_memory(tmp_path) -> None:
    """R57: without this, sonnx_ort need not read them beforehand (`_copied_from_memory`)."""
    model = parse("() => (float[2] y) { y = Identity(w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    refer(tensor, "w.bin", 0, 8)
    model.graph.initializer.append(tensor)
    onnx.save(model, tmp_path / "model.onnx")
    (tmp_path / "w.bin").write_bytes(np.full(2, 2, np.float32).tobytes())
    memory = np.full(2, 4, np.float32).tobytes()
    options = quiet()
    options.add_external_initializers_from_files_in_memory(["w.bin"], [memory], [len(memory)])
    first = ort.InferenceSession(tmp_path / "model.onnx", options)
    second = ort.InferenceSession(tmp_path / "model.onnx", first.get_session_options())
    np.testing.assert_array_equal(first.run(None, {})[0], [4, 4])
    np.testing.assert_array_equal(second.run(None, {})[0], [2, 2])


@pytest.mark.parametrize(("arguments", "left"), [({}, 2), ({"disabled_optimizers": {"Other"}}, 1)])
def test_argument_switches_on_what_the_options_switch_off(arguments, left, tmp_path) -> None:
    """R58: without this, `disabled_optimizers` in `session_options.py` can go."""
    model = parse("""(float[n] x, int64[1] s) => (float[2, 2] y) <int64[2] t = {2, 2}> {
        [first] r = Reshape(x, s)
        [second] y = Reshape(r, t)
    }""")
    options = quiet()
    options.add_session_config_entry("optimization.disable_specified_optimizers", "ReshapeFusion")
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    ort.InferenceSession(model.SerializeToString(), options, **arguments)
    assert len(onnx.load(tmp_path / "optimized.onnx").graph.node) == left
