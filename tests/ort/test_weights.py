"""Large weights stay where they are, whatever a session is made of, and runs are the same."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_extensions
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from sonnx_ort.loading.external_data import LARGE
from sonnx_ort.ort.weights import private_copy
from support.backends import on_each_backend
from support.graphs import parse
from support.sessions import quiet

SIZE = 192
W = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)
X = np.random.default_rng(1).standard_normal((3, SIZE)).astype(np.float32)
assert W.nbytes > LARGE


def weighted() -> onnx.ModelProto:
    model = parse(f"""(float[n, {SIZE}] x, float[m, {SIZE}] y) => (float[n, {SIZE}] z) {{
        h = MatMul(x, w)
        s = Neg(h)
        [d] z = Div(s, y)
    }}""")
    model.graph.initializer.append(numpy_helper.from_array(W, "w"))
    return model


def as_file(folder: Path) -> Path:
    onnx.save(weighted(), folder / "whole.onnx")
    return folder / "whole.onnx"


def as_external_data(folder: Path) -> Path:
    onnx.save(weighted(), folder / "apart.onnx", save_as_external_data=True, location="apart.data")
    return folder / "apart.onnx"


SOURCES: dict[str, Callable[[Path], object]] = {
    "file": as_file,
    "file given as text": lambda folder: str(as_file(folder)),
    "external data": as_external_data,
    "bytes": lambda _: weighted().SerializeToString(),
    "object": lambda _: weighted(),
}

on_each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def expected() -> np.ndarray:
    plain = ort.InferenceSession(weighted().SerializeToString(), quiet())
    (result,) = plain.run(None, {"x": X, "y": X})
    return result


@on_each_source
@pytest.mark.parametrize("options", [None, quiet()], ids=["no options", "options"])
@on_each_backend
def test_result_is_that_of_onnxruntime(source, options, tmp_path) -> None:
    session = sonnx_ort.InferenceSession(source(tmp_path), options)
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], expected())


@on_each_source
@pytest.mark.parametrize("options", [None, quiet()], ids=["no options", "options"])
@on_each_backend
def test_graph_is_handed_over_without_weights(source, options, tmp_path) -> None:
    session = sonnx_ort.InferenceSession(source(tmp_path), options)
    assert len(session._content) < W.nbytes // 4


@on_each_source
@on_each_backend
def test_violation_has_its_fields(source, tmp_path) -> None:
    session = sonnx_ort.InferenceSession(source(tmp_path), quiet())
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": X, "y": X[:1]})
    assert caught.value.shapes == ((3, SIZE), (1, SIZE))


@on_each_source
def test_proofs_are_verified(source, tmp_path) -> None:
    session = sonnx_ort.InferenceSession(
        source(tmp_path), quiet(), backend="native", verify_proofs=True
    )
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], expected())


@on_each_source
def test_bound_inputs_give_the_same(source, tmp_path) -> None:
    session = sonnx_ort.InferenceSession(
        source(tmp_path), quiet(), backend="native", verify_proofs=False
    )
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", X)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected())


@on_each_source
def test_options_serve_other_sessions_afterwards(source, tmp_path) -> None:
    """What ONNX Runtime is told of weights cannot be taken back from options."""
    options = quiet()
    kept = [sonnx_ort.InferenceSession(source(tmp_path), options, backend="native")]
    kept.append(sonnx_ort.InferenceSession(source(tmp_path), options, backend="native"))
    plain = ort.InferenceSession(str(as_external_data(tmp_path)), options)
    np.testing.assert_array_equal(plain.run(None, {"x": X, "y": X})[0], expected())


@on_each_source
@on_each_backend
def test_nothing_is_written_to_the_error_stream(source, tmp_path, capfd) -> None:
    sonnx_ort.InferenceSession(source(tmp_path), ort.SessionOptions())
    assert capfd.readouterr().err == ""


@on_each_source
def test_options_are_copied_whole(source, tmp_path) -> None:
    options = quiet()
    options.intra_op_num_threads = 2
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    options.add_free_dimension_override_by_name("n", 3)
    session = sonnx_ort.InferenceSession(source(tmp_path), options, backend="native")
    used = session.get_session_options()
    assert used.intra_op_num_threads == 2
    assert session.get_inputs()[0].shape == [3, SIZE]
    profile = session.end_profiling()
    assert [str(file) for file in tmp_path.glob("profile*")] == [profile]


def test_options_with_operators_of_somebody_else_are_used_as_they_are(tmp_path) -> None:
    model = weighted()
    model.graph.node[1].CopyFrom(
        helper.make_node("Inverse", ["w"], ["s"], domain="ai.onnx.contrib")
    )
    model.graph.node.insert(2, helper.make_node("Div", ["h", "y"], ["t"], name="e"))
    model.graph.node[3].CopyFrom(helper.make_node("MatMul", ["t", "s"], ["z"]))
    model.opset_import.append(helper.make_opsetid("ai.onnx.contrib", 1))
    options = quiet()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    onnx.save(model, tmp_path / "model.onnx")
    session = sonnx_ort.InferenceSession(tmp_path / "model.onnx", options, backend="native")
    result = session.run(None, {"x": X, "y": np.ones_like(X)})[0]
    np.testing.assert_allclose(result, X, atol=0.05)


@on_each_source
def test_optimized_model_that_the_caller_asks_for_has_its_weights(source, tmp_path) -> None:
    options = quiet()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    sonnx_ort.InferenceSession(source(tmp_path), options, backend="native")
    saved = onnx.load(tmp_path / "optimized.onnx")
    assert W.tobytes() in {tensor.raw_data for tensor in saved.graph.initializer}


@on_each_source
@pytest.mark.parametrize("entry", ["weights.bin", "other"])
def test_name_that_the_caller_gives_the_weights_changes_nothing(source, entry, tmp_path) -> None:
    options = quiet()
    key = "session.optimized_model_external_initializers_file_name"
    options.add_session_config_entry(key, entry)
    session = sonnx_ort.InferenceSession(source(tmp_path), options, backend="native")
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], expected())


@pytest.mark.parametrize("entry", ["/elsewhere/weights.bin", "../weights.bin"])
def test_path_that_the_caller_gives_the_weights_is_refused(entry) -> None:
    options = quiet()
    key = "session.optimized_model_external_initializers_file_name"
    options.add_session_config_entry(key, entry)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(weighted(), options, backend="native")
    assert str(caught.value) == (
        f"the session option '{key}' is '{entry}', which is outside the folder of the optimized "
        "model; name a file without a folder"
    )


def test_external_data_of_a_node_is_loaded(tmp_path) -> None:
    model = weighted()
    constant = numpy_helper.from_array(W, "unnamed")
    model.graph.initializer.pop(0)
    model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=constant))
    onnx.save(
        model,
        tmp_path / "model.onnx",
        save_as_external_data=True,
        location="data",
        size_threshold=0,
        convert_attribute=True,
    )
    session = sonnx_ort.InferenceSession(tmp_path / "model.onnx", quiet(), backend="native")
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], expected())


def test_explanation_never_rests_on_weights_that_were_changed(tmp_path) -> None:
    session = sonnx_ort.InferenceSession(as_external_data(tmp_path), quiet(), backend="native")
    os.utime(tmp_path / "apart.data", (0, 0))
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": X, "y": X[:1]})
    assert (caught.value.rule, caught.value.shapes) == ("Div.float.R1", None)


def test_proofs_are_not_verified_with_weights_that_were_changed(tmp_path) -> None:
    session = sonnx_ort.InferenceSession(
        as_external_data(tmp_path), quiet(), backend="native", verify_proofs=True
    )
    os.utime(tmp_path / "apart.data", (0, 0))
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        session.run(None, {"x": X, "y": X})
    assert str(caught.value) == (
        "verify_proofs=True: the python backend cannot run the model: "
        f"'{tmp_path / 'apart.data'}' has changed since the model was read; create a new session"
    )


@on_each_backend
def test_session_on_weights_that_changed_meanwhile_is_refused(tmp_path, monkeypatch) -> None:
    path = as_external_data(tmp_path)
    start = ort.InferenceSession.__init__

    def changing(*args: object, **kwargs: object) -> None:
        start(*args, **kwargs)
        os.utime(tmp_path / "apart.data", (0, 0))

    monkeypatch.setattr(ort.InferenceSession, "__init__", changing)
    with pytest.raises(sonnx_ort.SonnxError, match="has changed since the model was read"):
        sonnx_ort.InferenceSession(path)


@on_each_backend
def test_rejection_tells_of_the_whole_model(tmp_path) -> None:
    model = weighted()
    model.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 1
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.InferenceSession(tmp_path / "model.onnx")
    report = sonnx_ort.check(tmp_path / "model.onnx", operators="default")
    assert caught.value.report.identity == report.identity


@on_each_source
@on_each_backend
def test_session_starts_anew_with_other_providers(source, tmp_path) -> None:
    session = sonnx_ort.InferenceSession(source(tmp_path), quiet())
    session.set_providers(["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], expected())


def test_options_with_providers_of_their_own_are_not_copied() -> None:
    """ONNX Runtime gives a copy back without them."""
    options = quiet()
    assert private_copy(options, weighted()) is not None
    options.add_provider("CPUExecutionProvider", {})
    assert private_copy(options, weighted()) is None


@on_each_backend
def test_session_on_a_relative_path_starts_anew_in_another_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_external_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    session = sonnx_ort.InferenceSession("apart.onnx", quiet())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    session.set_providers(["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": X, "y": X})[0], expected())


@on_each_source
def test_nothing_is_left_in_the_temporary_folder(source, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    sonnx_ort.InferenceSession(source(tmp_path), quiet(), backend="native")
    assert list(folder.iterdir()) == []


def test_temporary_folder_that_is_not_there_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(weighted(), quiet(), backend="native")
    assert str(caught.value).startswith(
        "the optimized graph cannot be written to a temporary folder for its check: "
    )
    assert str(caught.value).endswith(
        "Free space there, or set the environment variable TMPDIR to another folder"
    )
