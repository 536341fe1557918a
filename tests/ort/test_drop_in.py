"""`InferenceSession` takes the place of ONNX Runtime's, and says what it adds."""

import inspect
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.ort.session import RuntimeOptions
from support.backends import BACKENDS
from support.graphs import parse

MODEL = parse("(int32[n] x, int32[n] y) => (int32[n] z) { [ratio] z = Div(x, y) }")
KEPT = {"x": np.int32([6, 9]), "y": np.int32([3, 2])}
BROKEN = {"x": np.int32([6, 9]), "y": np.int32([3, 0])}
CPU = ["CPUExecutionProvider"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model.onnx"
    file.write_bytes(MODEL.SerializeToString())
    return file


def parameters_of(session: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(session).parameters.values())


def test_parameters_are_those_of_onnxruntime() -> None:
    """Ours are behind them, by name alone."""
    theirs, ours = (
        [
            (each.name, each.kind, each.default)
            for each in inspect.signature(session).parameters.values()
        ]
        for session in (ort.InferenceSession, sonnx_ort.InferenceSession)
    )
    *positional, rest = theirs
    assert ours[: len(positional)] == positional
    assert ours[-1][:2] == rest[:2]
    assert {kind for _, kind, _ in ours[len(positional) : -1]} == {inspect.Parameter.KEYWORD_ONLY}


def test_further_options_are_all_that_onnxruntime_reads() -> None:
    """It takes any others in silence, so ours are told apart from theirs by name."""
    source = inspect.getsource(ort.InferenceSession.__init__)
    read = set(re.findall(r'kwargs(?:\.get\(|\[)"(\w+)"', source))
    assert read == set(RuntimeOptions.__annotations__)


CALLS: dict[str, Callable[[Any, Path], object]] = {
    "a path": lambda session, path: session(path),
    "a path as text": lambda session, path: session(str(path)),
    "bytes": lambda session, path: session(path.read_bytes()),
    "by position": lambda session, path: session(path, ort.SessionOptions(), CPU, [{}]),
    "by name": lambda session, path: session(
        path_or_bytes=path, sess_options=ort.SessionOptions(), providers=CPU, provider_options=[{}]
    ),
    "a provider with options": lambda session, path: session(path, None, [(CPU[0], {})]),
    "further options": lambda session, path: session(
        path,
        enable_fallback=False,
        read_config_from_model=0,
        disabled_optimizers=["ConstantFolding"],
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_session_starts_as_in_onnxruntime(call: str, path: Path) -> None:
    results = [
        CALLS[call](session, path).run(None, KEPT)[0].tolist()
        for session in (ort.InferenceSession, sonnx_ort.InferenceSession)
    ]
    assert results[0] == results[1] == [2, 4]


def described(values: Any) -> list[tuple[str, str, list[Any]]]:
    return [(value.name, value.type, value.shape) for value in values]


ANSWERS: dict[str, Callable[[Any], object]] = {
    "get_inputs": lambda session: described(session.get_inputs()),
    "get_outputs": lambda session: described(session.get_outputs()),
    "get_overridable_initializers": lambda session: session.get_overridable_initializers(),
    "get_modelmeta": lambda session: session.get_modelmeta().graph_name,
    "get_providers": lambda session: session.get_providers(),
    "get_provider_options": lambda session: session.get_provider_options(),
    "get_session_options": lambda session: session.get_session_options().intra_op_num_threads,
    "set_providers": lambda session: session.set_providers(CPU),
    "disable_fallback": lambda session: session.disable_fallback(),
    "enable_fallback": lambda session: session.enable_fallback(),
    "get_profiling_start_time_ns": lambda session: session.get_profiling_start_time_ns() > 0,
    "get_tuning_results": lambda session: session.get_tuning_results(),
    "run, by name": lambda session: session.run(["z"], KEPT)[0].tolist(),
    "run, with options": lambda session: session.run(None, KEPT, ort.RunOptions())[0].tolist(),
    "run_with_ort_values": lambda session: [
        value.numpy().tolist() for value in session.run_with_ort_values(None, as_values(KEPT))
    ],
    "run_with_iobinding": lambda session: run_bound(session, KEPT),
    "run_async": lambda session: run_async(session, KEPT),
}


def as_values(feeds: dict[str, Any]) -> dict[str, ort.OrtValue]:
    return {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}


def run_bound(session: Any, feeds: dict[str, Any]) -> object:
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()[0].tolist()


def run_async(session: Any, feeds: dict[str, Any]) -> object:
    told: list[object] = []
    done = threading.Event()

    def callback(results: Any, data: object, message: str) -> None:
        told.extend([[each.tolist() for each in results], data, message])
        done.set()

    session.run_async(None, feeds, callback, "data")
    assert done.wait(60)
    return told


@pytest.mark.parametrize("call", ANSWERS)
def test_session_answers_as_that_of_onnxruntime(call: str) -> None:
    theirs = ort.InferenceSession(MODEL.SerializeToString(), providers=CPU)
    ours = sonnx_ort.InferenceSession(MODEL, providers=CPU)
    assert ANSWERS[call](ours) == ANSWERS[call](theirs)


def test_profile_of_the_runs_is_written(tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = sonnx_ort.InferenceSession(MODEL, options)
    session.run(None, KEPT)
    assert "CheckedDiv" in Path(session.end_profiling()).read_text(encoding="utf-8")


def test_session_says_what_it_runs_and_enforces(path: Path) -> None:
    session = sonnx_ort.InferenceSession(path, backend="native", operators="elementwise")
    assert repr(session) == (
        f"<sonnx_ort.InferenceSession: model '{path}', backend 'native', operators 'elementwise'>"
    )


@BACKENDS
def test_session_on_a_rewritten_model_says_what_that_enforces(backend: str) -> None:
    enforced = sonnx_ort.rewrite(
        parse("(float[n] x, float[n] y) => (float[n] z) { z = Mul(x, y) }"),
        backend=backend,
        operators="Mul",
    )
    said = repr(sonnx_ort.InferenceSession(enforced.SerializeToString(), operators="Mul"))
    assert said == (
        f"<sonnx_ort.InferenceSession: graph 'graph', backend '{backend}', operators 'Mul'>"
    )


RUNS: dict[str, Callable[[Any], object]] = {
    "run": lambda session: session.run(None, BROKEN),
    "run, with options": lambda session: session.run(None, BROKEN, ort.RunOptions()),
    "run_with_ort_values": lambda session: session.run_with_ort_values(None, as_values(BROKEN)),
    "run_with_iobinding": lambda session: run_bound(session, BROKEN),
    "run_async": lambda session: run_async(session, BROKEN),
}


MESSAGE = (
    "Div 'ratio' breaks Div.int.C1: a zero divisor: A[1] = 9, B[1] = 0; shapes A (2,), B (2,). "
    "The rule: No element of B is zero."
)


def try_run(session: Any, run: str, backend: str) -> None:
    if run == "run_async":
        assert RUNS[run](session) == [[], "data", MESSAGE]
        return
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        RUNS[run](session)
    assert (caught.value.rule, caught.value.node) == ("Div.int.C1", "ratio")
    if (backend, run) != ("native", "run_with_iobinding"):
        # A guard does not see the operands, and a binding cannot be run again.
        assert str(caught.value) == MESSAGE
        told = (caught.value.shapes, caught.value.index, caught.value.values)
        assert told == (((2,), (2,)), (1,), (9, 0))


@BACKENDS
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("mode", ort.ExecutionMode.__members__)
def test_every_way_to_run_tells_of_a_violation_by_its_error_alone(
    backend: str,
    run: str,
    mode: str,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither ONNX Runtime nor a kernel writes it, in whichever thread that runs."""
    options = ort.SessionOptions()
    options.execution_mode = getattr(ort.ExecutionMode, mode)
    options.inter_op_num_threads = 2
    session = sonnx_ort.InferenceSession(MODEL, options, backend=backend)
    try_run(session, run, backend)
    assert (capfd.readouterr(), caplog.records) == (("", ""), [])


@BACKENDS
def test_only_the_error_tells_of_a_violation_in_a_body(
    backend: str, capfd: pytest.CaptureFixture[str]
) -> None:
    model = parse("""(int32[n] x, int32[n] y, bool c) => (int32[k] z) {
        z = If(c) <
            then_branch = t () => (int32[a] u) { u = Div(x, y) },
            else_branch = e () => (int32[b] v) { v = Identity(x) }
        >
    }""")
    session = sonnx_ort.InferenceSession(model, backend=backend, verify_proofs=True)
    with pytest.raises(sonnx_ort.ContractViolation):
        session.run(None, {**BROKEN, "c": np.array(True)})
    assert capfd.readouterr() == ("", "")


@BACKENDS
def test_log_of_onnxruntime_is_written_at_a_severity_that_the_options_set(
    backend: str, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 2
    with pytest.raises(sonnx_ort.ContractViolation):
        sonnx_ort.InferenceSession(MODEL, options, backend=backend).run(None, BROKEN)
    assert "Non-zero status code returned while running" in capfd.readouterr().err


def test_severity_that_run_options_set_is_kept() -> None:
    options = ort.RunOptions()
    options.log_severity_level = 3
    sonnx_ort.InferenceSession(MODEL).run(None, KEPT, options)
    assert options.log_severity_level == 3
