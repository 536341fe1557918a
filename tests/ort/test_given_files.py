"""External data is taken from where ONNX Runtime takes it: memory, a named folder, files."""

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

import sonnx_ort
from sonnx_ort.loading.external_data import refer
from sonnx_ort.ort.given_initializers import holds_files, read_files
from sonnx_ort.ort.session_options import WEIGHTS_FOLDER
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import quiet

COUNT = 1000
X = np.full(COUNT, 8, np.float32)
FILE = np.full(COUNT, 2, np.float32).tobytes()
MEMORY = np.full(COUNT, 4, np.float32).tobytes()

_ADD = "add_external_initializers_from_files_in_memory"
in_memory = pytest.mark.skipif(
    not hasattr(ort.SessionOptions, _ADD), reason="this version takes no files in memory"
)


def saved(folder: Path) -> Path:
    """A model whose divisors are 2, in a file."""
    model = parse(f"(float[{COUNT}] x) => (float[{COUNT}] y) {{ [d] y = Div(x, w) }}")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[COUNT])
    refer(tensor, "w.bin", 0, len(FILE))
    model.graph.initializer.append(tensor)
    folder.mkdir(exist_ok=True)
    (folder / "w.bin").write_bytes(FILE)
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


SOURCES = {
    "path": lambda path: path,
    "bytes": lambda path: path.read_bytes(),
    "object": lambda path: onnx.load(path, load_external_data=False),
}
on_each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def holding(**files: bytes) -> ort.SessionOptions:
    options = quiet()
    names = [name.replace("_", ".") for name in files]
    getattr(options, _ADD)(names, list(files.values()), list(map(len, files.values())))
    return options


def quotients(session: sonnx_ort.InferenceSession) -> set[float]:
    return set(session.run(None, {"x": X})[0].tolist())


@in_memory
@on_each_source
@BACKENDS
def test_memory_goes_before_files(source, backend, tmp_path) -> None:
    model = source(saved(tmp_path))
    session = sonnx_ort.InferenceSession(model, holding(w_bin=MEMORY), backend=backend)
    assert quotients(session) == {2}


@in_memory
@on_each_source
def test_memory_goes_before_a_folder_of_the_options(source, tmp_path) -> None:
    options = holding(w_bin=MEMORY)
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(tmp_path)
    )
    session = sonnx_ort.InferenceSession(source(saved(tmp_path)), options, backend="native")
    assert quotients(session) == {2}


@on_each_source
@BACKENDS
def test_folder_of_the_options_goes_before_that_of_the_model(source, backend, tmp_path) -> None:
    saved(tmp_path / "other")
    (tmp_path / "other" / "w.bin").write_bytes(MEMORY)
    options = quiet()
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(tmp_path / "other")
    )
    session = sonnx_ort.InferenceSession(source(saved(tmp_path)), options, backend=backend)
    assert quotients(session) == {2}


@BACKENDS
def test_tensor_of_a_node_is_read_from_the_folder_of_the_options(
    backend: str, tmp_path: Path
) -> None:
    path = saved(tmp_path)
    model = onnx.load(path, load_external_data=False)
    constant = onnx.helper.make_node("Constant", [], ["w"], value=model.graph.initializer.pop())
    model.graph.node.insert(0, constant)
    onnx.save(model, path)
    saved(tmp_path / "other")
    (tmp_path / "other" / "w.bin").write_bytes(MEMORY)
    options = quiet()
    options.add_session_config_entry(WEIGHTS_FOLDER, str(tmp_path / "other"))
    session = sonnx_ort.InferenceSession(path, options, backend=backend)
    assert quotients(session) == {2}


@pytest.mark.parametrize("source", [SOURCES["bytes"], SOURCES["object"]])
@BACKENDS
def test_model_without_a_place_is_in_the_working_directory(
    source, backend, tmp_path, monkeypatch
) -> None:
    model = source(saved(tmp_path))
    monkeypatch.chdir(tmp_path)
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend, verify_proofs=True)
    monkeypatch.chdir("/")
    assert quotients(session) == {4}


@in_memory
@on_each_source
@pytest.mark.parametrize("backend", ["native", "compiled"])
def test_proofs_are_verified_with_memory(source, backend, tmp_path) -> None:
    memory = bytearray(MEMORY)
    session = sonnx_ort.InferenceSession(
        source(saved(tmp_path)), holding(w_bin=memory), backend=backend, verify_proofs=True
    )
    memory[:] = FILE
    assert quotients(session) == {2}


@in_memory
@BACKENDS
def test_violation_with_memory_has_its_fields(backend, tmp_path) -> None:
    path = saved(tmp_path)
    model = onnx.load(path, load_external_data=False)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, path)
    session = sonnx_ort.InferenceSession(path, holding(w_bin=MEMORY), backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": X[:1]})
    assert (caught.value.node, caught.value.shapes) == ("d", ((1,), (COUNT,)))


@in_memory
@on_each_source
@BACKENDS
def test_session_on_memory_starts_anew(source, backend, tmp_path) -> None:
    model = source(saved(tmp_path))
    session = sonnx_ort.InferenceSession(model, holding(w_bin=MEMORY), backend=backend)
    session.set_providers(["CPUExecutionProvider"])
    assert quotients(session) == {2}


@in_memory
@pytest.mark.parametrize("files", [{"v_bin": MEMORY}, {"w_bin": MEMORY[:-1]}, {"w_bin": b""}])
@on_each_source
@BACKENDS
def test_memory_with_a_part_of_the_data_starts_no_session(files, source, backend, tmp_path) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(source(saved(tmp_path)), holding(**files), backend=backend)
    assert str(caught.value).startswith(
        f"the session options hold files in memory ({_ADD}), but not all external data of the "
        "model: "
    )


@in_memory
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("with_length", [True, False])
def test_memory_of_every_type_is_read(dtype, with_length) -> None:
    elements = np.array([1, 0, 1], dtype)
    name = onnx.helper.np_dtype_to_tensor_dtype(elements.dtype)
    text = TensorProto.DataType.Name(name).lower()
    model = parse(f"(bool c) => ({text}[3] y, {text}[0] z) {{ y = Identity(w) z = Identity(v) }}")
    for value, size in (("w", 3), ("v", 0)):
        tensor = TensorProto(name=value, data_type=name, dims=[size])
        refer(tensor, "w.bin", 5, size * elements.itemsize)
        if not with_length:
            del tensor.external_data[2]
        model.graph.initializer.append(tensor)
    # ONNX Runtime does not keep the memory alive.
    memory = b"-----" + elements.tobytes()
    options = holding(w_bin=memory)
    session = sonnx_ort.InferenceSession(model, options, backend="native")
    y, z = session.run_with_ort_values(
        None, {"c": ort.OrtValue.ortvalue_from_numpy(np.array(True))}
    )
    assert (y.shape(), z.shape()) == ([3], [0])
    if dtype is not ml_dtypes.bfloat16:
        np.testing.assert_array_equal(y.numpy(), elements)


@in_memory
def test_memory_of_a_node_and_of_a_branch_is_read() -> None:
    model = parse("""(float[2] x, bool c) => (float[2] y) {
        k = Constant<value = float[2] {9, 9}>()
        d = Div(x, k)
        y = If(c) <
            then_branch = a () => (float[2] t) <float[2] w = {9, 9}> { t = Div(d, w) },
            else_branch = b () => (float[2] e) { e = Identity(d) }
        >
    }""")
    outside = [model.graph.node[0].attribute[0].t]
    outside.append(model.graph.node[2].attribute[0].g.initializer[0])
    for tensor in outside:
        tensor.ClearField("float_data")
        tensor.ClearField("raw_data")
        refer(tensor, "w.bin", 0, 8)
    session = sonnx_ort.InferenceSession(model, holding(w_bin=MEMORY), backend="native")
    feeds = {"x": np.full(2, 32, np.float32), "c": np.array(True)}
    np.testing.assert_array_equal(session.run(None, feeds)[0], [2, 2])


@in_memory
@BACKENDS
def test_options_with_memory_serve_a_model_without_external_data(backend) -> None:
    model = parse("(float[2] x) => (float[2] y) <float[2] w = {2, 2}> { y = Div(x, w) }")
    session = sonnx_ort.InferenceSession(model, holding(w_bin=MEMORY), backend=backend)
    np.testing.assert_array_equal(session.run(None, {"x": X[:2]})[0], [4, 4])


@on_each_source
def test_file_that_changes_meanwhile_starts_no_session(source, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = source(saved(tmp_path))
    start = ort.InferenceSession.__init__

    def changing(*args: object, **kwargs: object) -> None:
        start(*args, **kwargs)
        os.utime(tmp_path / "w.bin", (0, 0))

    monkeypatch.setattr(ort.InferenceSession, "__init__", changing)
    with pytest.raises(sonnx_ort.SonnxError, match="has changed since the model was read"):
        sonnx_ort.InferenceSession(model, backend="native")


@in_memory
def test_folder_that_options_name_is_no_file_in_memory(tmp_path: Path) -> None:
    options = quiet()
    options.add_session_config_entry(WEIGHTS_FOLDER, str(tmp_path))
    assert not holds_files(options)


@in_memory
def test_bytes_in_memory_belong_to_their_tensors_where_one_has_none() -> None:
    options = quiet()
    getattr(options, _ADD)(["w"], [b"ab"], [2])
    places = ((0, 0), (0, 1), (1, 1))
    tensors = [TensorProto(data_type=TensorProto.UINT8, dims=[length]) for _, length in places]
    for tensor, (offset, length) in zip(tensors, places, strict=True):
        refer(tensor, "w", offset, length)
    assert read_files(options, tensors) == [b"", b"a", b"b"]
