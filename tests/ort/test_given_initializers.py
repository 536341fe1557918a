"""No session computes with other constants than those that its model, or its options, show."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_inference_collection import OrtDevice
from onnxruntime.capi.onnxruntime_pybind11_state import OrtValueVector

import sonnx_ort
from sonnx_ort.ort import given_initializers
from sonnx_ort.ort.given_initializers import AddedInitializers, copied, replaceable_names
from support.backends import BACKENDS
from support.child import run_python
from support.graphs import parse
from support.sessions import quiet

OTHER = ort.OrtValue.ortvalue_from_numpy(np.ones(1, np.float32))

MODELS = {
    "initializer": "(float[2] x) => (float[2] y) <float[2] w = {2, 2}> { y = Div(x, w) }",
    "Constant": """(float[2] x) => (float[2] y) {
        w = Constant<value = float[2] {2, 2}>()
        y = Div(x, w)
    }""",
    "initializer of a branch": """(float[2] x, bool c) => (float[2] y) {
        y = If(c) <
            then_branch = a () => (float[2] t) <float[2] w = {2, 2}> { t = Div(x, w) },
            else_branch = b () => (float[2] e) { e = Identity(x) }
        >
    }""",
    "Constant of a branch": """(float[2] x, bool c) => (float[2] y) {
        y = If(c) <
            then_branch = a () => (float[2] t) {
                w = Constant<value = float[2] {2, 2}>()
                t = Div(x, w)
            },
            else_branch = b () => (float[2] e) { e = Identity(x) }
        >
    }""",
    "folded result": """(float[2] x) => (float[2] y) <float[2] v = {-2, -2}> {
        w = Neg(v)
        y = Div(x, w)
    }""",
    "initializer that nothing enforced reads": """(float[2] x) => (float[2] y, float[2] z)
    <float[2] w = {2, 2}> {
        y = Div(x, x)
        z = Add(x, w)
    }""",
}


def test_sparse_initializer_can_be_replaced_too() -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Div(x, w) }")
    values = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], float_data=[2])
    model.graph.sparse_initializer.add(values=values, dims=[2])
    assert replaceable_names(model) == {"w", "y"}


def replacing(name: str) -> ort.SessionOptions:
    options = quiet()
    options.add_initializer(name, OTHER)
    return options


def message(name: str) -> str:
    return (
        f"the session options replace '{name}' of the model (add_initializer), but the proofs are "
        "of the model's own elements. Put the new ones into the model, or make it an input of "
        "the graph"
    )


@BACKENDS
@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
def test_replaced_constant_starts_no_session(text: str, backend: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(parse(text), replacing("w"), backend=backend)
    assert str(caught.value) == message("w")


@BACKENDS
def test_replaced_constant_of_a_rewritten_model_starts_no_session(backend: str) -> None:
    enforced = sonnx_ort.rewrite(parse(MODELS["initializer"]), backend=backend)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(enforced, replacing("w"), backend=backend)
    assert str(caught.value) == message("w")


@pytest.mark.parametrize("backend", ["native", "compiled"])
def test_constant_that_onnxruntime_named_itself_starts_no_session(backend: str) -> None:
    """It copies the initializers of a branch whose condition is constant, under other names."""
    model = parse("""(float[2] x) => (float[2] y) {
        c = Constant<value = bool {1}>()
        y = If(c) <
            then_branch = a () => (float[2] t) <float[2] w = {2, 2}> { t = Div(x, w) },
            else_branch = b () => (float[2] e) { e = Identity(x) }
        >
    }""")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(model, replacing("_if_then_branch_w"), backend=backend)
    assert str(caught.value) == message("_if_then_branch_w")


@BACKENDS
def test_initializer_of_another_model_changes_nothing(backend: str) -> None:
    model = parse(MODELS["initializer"])
    session = sonnx_ort.InferenceSession(model, replacing("other"), backend=backend)
    np.testing.assert_array_equal(session.run(None, {"x": np.full(2, 8, np.float32)})[0], [4, 4])


@BACKENDS
def test_constant_that_is_replaced_later_ends_the_session(backend: str) -> None:
    options = quiet()
    session = sonnx_ort.InferenceSession(parse(MODELS["initializer"]), options, backend=backend)
    options.add_initializer("w", OTHER)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        session.set_providers(["CPUExecutionProvider"])
    assert str(caught.value) == message("w")
    with pytest.raises(AttributeError):
        session.run(None, {"x": np.full(2, 8, np.float32)})


@BACKENDS
def test_constant_that_is_replaced_between_two_restarts_ends_the_session(backend: str) -> None:
    """A restart that fails leaves the options of the session where a program finds them."""
    session = sonnx_ort.InferenceSession(parse(MODELS["initializer"]), backend=backend)
    with pytest.raises(ValueError, match="should be the same length"):
        session.set_providers(["CPUExecutionProvider"], [{}, {}])
    session.get_session_options().add_initializer("w", OTHER)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        session.set_providers(["CPUExecutionProvider"])
    assert str(caught.value) == message("w")


@pytest.mark.parametrize(("backend", "name"), [("native", "y_code"), ("python", "y_shape")])
def test_value_that_enforces_the_profile_is_not_replaced(backend: str, name: str) -> None:
    model = parse("(float[n] x, float[m] w) => (float[n] y) { y = Div(x, w) }")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(model, replacing(name), backend=backend)
    assert str(caught.value) == message(name)


@BACKENDS
def test_divisor_that_is_replaced_does_not_end_the_process(backend: str) -> None:
    """ONNX Runtime divides the smallest integer by -1 with SIGFPE."""
    child = run_python(
        """
        import numpy as np, onnx.parser, onnxruntime as ort, sonnx_ort
        from support.graphs import parse
        from support.sessions import quiet
        """,
        f"""
        model = parse("(int32[2] x) => (int32[2] y) <int32[2] w = {{2, 2}}> {{ y = Div(x, w) }}")
        value = ort.OrtValue.ortvalue_from_numpy(np.array([-1, 2], np.int32))
        options = quiet()
        options.add_initializer("w", value)
        try:
            session = sonnx_ort.InferenceSession(model, options, backend="{backend}")
            print(session.run(None, {{"x": np.array([-(2**31), 8], np.int32)}}))
        except sonnx_ort.SonnxError as error:
            print(error)
        """,
    )
    assert child.stdout == f"{message('w')}\n", child


def named_outside(name: str) -> onnx.ModelProto:
    model = parse("(float[2] x) => (float[2] y) { y = Div(x, w) }")
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    model.graph.initializer.append(tensor)
    return model


@BACKENDS
@pytest.mark.parametrize("model", [named_outside("w"), parse(MODELS["initializer"])])
def test_external_initializers_start_no_session(model: onnx.ModelProto, backend: str) -> None:
    options = quiet()
    value = ort.OrtValue.ortvalue_from_numpy(np.ones(2, np.float32))
    options.add_external_initializers(["w"], [value])
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(model, options, backend=backend)
    assert str(caught.value) == (
        "the session options replace initializers (add_external_initializers), which sonnx_ort "
        "cannot examine; put them into the model, or give the files of its external data by "
        "add_external_initializers_from_files_in_memory"
    )


def test_options_that_start_no_small_model_are_refused() -> None:
    options = quiet()
    options.add_session_config_entry("session.intra_op_thread_affinities", "none")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(parse(MODELS["initializer"]), options)
    assert str(caught.value).startswith(
        "the session options cannot be examined, because ONNX Runtime starts no session of a small "
        "model with them: "
    )


def test_options_stay_as_they_are(tmp_path) -> None:
    options = quiet()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    for kept in (options, copied(options)):
        assert kept.enable_profiling
        assert kept.optimized_model_filepath == str(tmp_path / "optimized.onnx")
        assert kept.log_severity_level == 4
    assert list(tmp_path.iterdir()) == []


def test_version_that_does_not_tell_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given_initializers._require_told.cache_clear()
    monkeypatch.setattr(given_initializers, "copied", lambda _: ort.SessionOptions())
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        AddedInitializers(quiet())
    assert str(caught.value) == (
        f"ONNX Runtime {ort.__version__} does not tell which initializers session options have; "
        "use another version"
    )


CHANGING = {
    "session.set_denormal_as_zero": "makes results differ from IEEE 754",
    "optimization.enable_cast_chain_elimination": "removes conversions that round results",
    "optimization.enable_gelu_approximation": "replaces Gelu by an approximation",
    "session.enable_quant_qdq_cleanup": "removes QuantizeLinear and DequantizeLinear nodes",
}


@BACKENDS
@pytest.mark.parametrize("key", CHANGING)
def test_entry_that_changes_results_starts_no_session(key: str, backend: str) -> None:
    options = quiet()
    options.add_session_config_entry(key, "1")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(parse(MODELS["initializer"]), options, backend=backend)
    assert str(caught.value) == f"the session option {key}=1 {CHANGING[key]}; remove it"


@BACKENDS
@pytest.mark.parametrize("key", CHANGING)
def test_entry_that_is_off_changes_nothing(key: str, backend: str) -> None:
    options = quiet()
    options.add_session_config_entry(key, "0")
    session = sonnx_ort.InferenceSession(parse(MODELS["initializer"]), options, backend=backend)
    np.testing.assert_array_equal(session.run(None, {"x": np.full(2, 8, np.float32)})[0], [4, 4])


RESHAPED = parse("""(float[] x, float[] w) => (float[2, 2] y) <int64[2] t = {2, 2}> {
    [d] q = Div(x, w)
    y = Reshape(q, t)
}""")


@BACKENDS
def test_argument_does_not_switch_optimizers_on(backend: str) -> None:
    """In ONNX Runtime, the argument takes the place of the session option."""
    session = sonnx_ort.InferenceSession(
        RESHAPED, quiet(), backend=backend, disabled_optimizers={"ConstantFolding"}
    )
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": np.ones(4, np.float32), "w": np.ones(1, np.float32)})
    assert (caught.value.rule, caught.value.node) == ("Div.float.R1", "d")


@BACKENDS
def test_argument_switches_more_optimizers_off(backend: str, tmp_path: Path) -> None:
    options = quiet()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    sonnx_ort.InferenceSession(
        parse(MODELS["folded result"]),
        options,
        backend=backend,
        disabled_optimizers=["ConstantFolding"],
    )
    optimized = onnx.load(tmp_path / "optimized.onnx")
    assert "Neg" in {node.op_type for node in optimized.graph.node}


@BACKENDS
@pytest.mark.parametrize("overrides", [{"n": 2}, {"n": 2, "m": 2}, {"n": 2, "m": 1}])
@pytest.mark.parametrize("shape", [(2,), (1,), (3,)])
def test_overridden_dimension_lets_nothing_pass(
    backend: str, overrides: dict[str, int], shape: tuple[int, ...]
) -> None:
    model = parse("(float[n] x, float[m] w) => (float[n] y) { y = Div(x, w) }")
    options = quiet()
    for name, size in overrides.items():
        options.add_free_dimension_override_by_name(name, size)
    feeds = {"x": np.ones(2, np.float32), "w": np.ones(shape, np.float32)}
    if shape == (2,) and overrides.get("m") != 1:
        session = sonnx_ort.InferenceSession(model, options, backend=backend)
        assert session.run(None, feeds)[0].shape == (2,)
        return
    with pytest.raises(Exception, match=r"Div\.float\.R1|invalid dimensions|the model needs"):
        sonnx_ort.InferenceSession(model, options, backend=backend).run(None, feeds)


@BACKENDS
def test_options_that_a_model_carries_are_not_taken(backend: str) -> None:
    model = parse("(float[n] x, float[n] w) => (float[n] y) { y = Div(x, w) }")
    helper.set_model_props(model, {"ort_config": '{"session_options": {"execution_mode": 1}}'})
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend, read_config_from_model=1)
    used = session.get_session_options()
    assert used.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert "ReshapeFusion" in used.get_session_config_entry(
        "optimization.disable_specified_optimizers"
    )


@pytest.mark.parametrize("key", CHANGING)
def test_entry_that_changes_results_is_not_registered_on(key: str) -> None:
    options = quiet()
    options.add_session_config_entry(key, "1")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.register(options)
    assert str(caught.value) == f"the session option {key}=1 {CHANGING[key]}; remove it"


def adapted(folder: Path, array: np.ndarray) -> tuple[ort.LoraAdapter, ort.RunOptions]:
    """Options of a run that give w, and what has to live as long."""
    made = ort.AdapterFormat()
    made.set_adapter_version(1)
    made.set_model_version(1)
    made.set_parameters({"w": ort.OrtValue.ortvalue_from_numpy(array)})
    made.export_adapter(str(folder / "w.onnx_adapter"))
    adapter, options = ort.LoraAdapter(), ort.RunOptions()
    adapter.Load(str(folder / "w.onnx_adapter"))
    options.log_severity_level = 4
    options.add_active_adapter(adapter)
    return adapter, options


@BACKENDS
@pytest.mark.parametrize("given", [[4, 4], [4], [0, 4]])
def test_adapter_lets_nothing_pass(given: list[int], backend: str, tmp_path: Path) -> None:
    model = parse(
        "(int32[2] x, int32[2] w) => (int32[2] y) <int32[2] w = {2, 2}> { y = Div(x, w) }"
    )
    adapter, options = adapted(tmp_path, np.array(given, np.int32))
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend)
    feeds = {"x": np.full(2, 8, np.int32)}
    if given == [4, 4]:
        np.testing.assert_array_equal(session.run(None, feeds, options)[0], [2, 2])
    else:
        with pytest.raises(Exception, match=r"Div\.int\.C1|invalid dimensions"):
            session.run(None, feeds, options)
    del adapter


def vector(*arrays: np.ndarray) -> OrtValueVector:
    values = OrtValueVector()
    for array in arrays:
        values.push_back(ort.OrtValue.ortvalue_from_numpy(array)._ortvalue)
    return values


@BACKENDS
@pytest.mark.parametrize("verify_proofs", [False, True])
def test_run_on_a_vector_of_values_raises_violations(backend: str, verify_proofs: bool) -> None:
    model = parse("(float[n] x, float[m] w) => (float[n] y) { [d] y = Div(x, w) }")
    session = sonnx_ort.InferenceSession(
        model, quiet(), backend=backend, verify_proofs=verify_proofs
    )
    x, one = np.full(2, 8, np.float32), np.ones(1, np.float32)
    place = [OrtDevice.make("cpu", 0)._get_c_device()]
    results = vector()
    session.run_with_ortvaluevector(
        ort.RunOptions(), ["x", "w"], vector(x, x), ["y"], results, place
    )
    np.testing.assert_array_equal(results[0].numpy(), [1, 1])
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run_with_ortvaluevector(
            ort.RunOptions(), ["x", "w"], vector(x, one), ["y"], vector(), place
        )
    assert (caught.value.node, caught.value.shapes) == ("d", ((2,), (1,)))
