"""Which sessions the process that runs models starts, and what it answers."""

import io
import logging
import os
import pickle
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.errors import BackendUnavailable, ContractViolation, SonnxError
from sonnx_ort.loading.source import read
from sonnx_ort.ort.session_options import config_entry
from sonnx_ort.runs import isolated_run
from sonnx_ort.runs.isolated_run import (
    UNOPTIMIZED,
    Failed,
    IsolatedRuns,
    Level,
    Settings,
    available,
    session_options,
    start_session,
)
from sonnx_ort.runs.limits import LimitExceeded, Limits, Watched
from support.graphs import parse

Levels = ort.GraphOptimizationLevel
FOLDER = "session.model_external_initializers_file_folder_path"
OFF = "optimization.disable_specified_optimizers"
NEG = parse("(float[2] x) => (float[2] y) { y = Neg(x) }")
X = np.array([1, 2], np.float32)


@pytest.mark.parametrize(("level", "chosen"), [
    (Level.NONE, Levels.ORT_DISABLE_ALL), (Level.BASIC, Levels.ORT_ENABLE_BASIC),
    (Level.EXTENDED, Levels.ORT_ENABLE_EXTENDED), (Level.ALL, Levels.ORT_ENABLE_ALL),
])  # fmt: skip
def test_level_is_that_of_the_options(level: Level, chosen: Any) -> None:
    assert session_options(None, Settings(level)).graph_optimization_level == chosen


def test_options_are_those_of_the_settings() -> None:
    options = session_options(None, Settings(threads=3, parallel=True, off=("A", "B")))
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (3, 2)
    assert options.execution_mode == ort.ExecutionMode.ORT_PARALLEL
    assert config_entry(options, OFF) == "A;B"
    assert config_entry(options, FOLDER) == ""


def test_nothing_else_is_set_without_settings() -> None:
    options = session_options(None, UNOPTIMIZED)
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (0, 0)
    assert options.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert config_entry(options, OFF) == ""
    assert options.log_severity_level == 4


def test_folder_of_external_data_has_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = session_options(Path("weights"), UNOPTIMIZED)
    assert config_entry(options, FOLDER) == str(tmp_path.resolve() / "weights")


def test_execution_provider_that_is_not_there_is_refused() -> None:
    known = ort.get_available_providers()
    assert available(known) == tuple(known)
    with pytest.raises(SonnxError) as caught:
        available(["CPUExecutionProvider", "NoExecutionProvider"])
    assert str(caught.value) == (
        "ONNX Runtime has no execution provider 'NoExecutionProvider' here; choose from "
        f"{', '.join(known)}"
    )


def process_of(runs: IsolatedRuns) -> Any:
    runs.call(divmod, 7, 2)
    return runs._process


@pytest.mark.parametrize(("error", "status"), [(None, 0), (KeyError, -signal.SIGKILL)])
def test_process_ends_with_the_block_and_is_killed_if_that_fails(
    error: type[Exception] | None, status: int
) -> None:
    runs = IsolatedRuns()
    with runs:
        process = process_of(runs)
    if error is not None:
        process = process_of(runs)
        runs.__exit__(error, error(), None)
    assert (process.returncode, runs._process) == (status, None)


def test_one_process_serves_many_calls() -> None:
    with IsolatedRuns() as runs:
        assert process_of(runs) is process_of(runs)


def test_process_imports_from_where_this_one_does() -> None:
    with IsolatedRuns() as runs:
        assert runs.call(eval, "__import__('sys').path") == sys.path


def test_what_a_function_prints_is_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    with IsolatedRuns() as runs:
        assert runs.call(os.system, "echo said") == 0
    assert capfd.readouterr() == ("", "said\n")


def test_error_of_this_package_is_told_without_its_kind() -> None:
    with IsolatedRuns() as runs:
        assert runs.call(read, b"") == Failed("the bytes are empty; copy or export the model again")


class Answering(IsolatedRuns):
    """Has a process that answers with some bytes, and ends with status 3."""

    def __init__(self, answer: bytes, *, ended: bool = False) -> None:
        super().__init__()
        self._answer, self._ended = answer, ended

    def _running_process(self) -> Any:
        stdin = io.BytesIO()
        if self._ended:
            stdin = SimpleNamespace(write=self._broken, flush=self._broken)  # type: ignore[assignment]
        self._process = SimpleNamespace(  # type: ignore[assignment]
            stdin=stdin,
            stdout=io.BytesIO(self._answer),
            pid=os.getpid(),
            returncode=3,
            communicate=lambda: None,
        )
        return self._process

    @staticmethod
    def _broken(*_: object) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize("runs", [
    Answering(b""), Answering(b"no pickle"), Answering(b"", ended=True),
], ids=["nothing", "something else", "it has ended"])  # fmt: skip
def test_process_that_does_not_answer_has_died(runs: Answering) -> None:
    assert runs.call(divmod, 7, 2) == Failed("the process ends with status 3", died=True)
    assert runs._process is None


def test_backend_that_is_not_there_is_raised() -> None:
    runs = Answering(pickle.dumps(BackendUnavailable("it is not there")))
    with pytest.raises(BackendUnavailable, match="it is not there"):
        runs.run(NEG, {"x": X})


def test_process_that_is_ended_behind_its_answer_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class AtTheEnd(Watched):
        def __exit__(self, *given: object) -> None:
            super().__exit__(*given)
            self.exceeded = "takes longer than it may"

    monkeypatch.setattr(isolated_run, "Watched", AtTheEnd)
    runs = Answering(pickle.dumps("answer"))
    with pytest.raises(LimitExceeded) as caught:
        runs.call(divmod, 7, 2)
    assert str(caught.value) == "a run of the model takes longer than it may"
    assert runs._process is None


def raising(error: Exception) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


INVALID = ort.capi.onnxruntime_pybind11_state.InvalidArgument
VIOLATION = ContractViolation("broken", rule="Div.int.C1", operator="Div", node="n")


@pytest.mark.parametrize(("error", "outcome"), [
    (VIOLATION, Failed("broken", violated=True)),
    (ValueError("a\n  b"), Failed("ONNX Runtime refuses: a b")),
    (INVALID("a"), Failed("ONNX Runtime refuses: a", at_a_node=False)),
    (INVALID("a while running b"), Failed("ONNX Runtime refuses: a while running b")),
], ids=["violation", "other error", "rejected", "rejected at a node"])  # fmt: skip
def test_outcome_says_why_a_run_failed(error: Exception, outcome: Failed) -> None:
    assert isolated_run._outcome(raising(error)) == outcome


def test_outcome_is_the_backend_that_is_not_there() -> None:
    error = BackendUnavailable("it is not there")
    assert isolated_run._outcome(raising(error)) is error


def test_reason_of_an_attempt_is_one_line() -> None:
    found = isolated_run._attempted(raising(ValueError("a\n  b")))
    assert found == Failed("ONNX Runtime refuses: a b")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the models of which sessions are started; those in capitals are random."""
    models: list[str] = []

    def start(model: bytes, *_: object) -> Any:
        models.append(model.decode())
        return isolated_run._Session(None, frozenset(), random=model.isupper())

    monkeypatch.setattr(isolated_run, "_kept", {})
    monkeypatch.setattr(isolated_run, "start_session", start)
    return models


@pytest.mark.parametrize(("asked", "made"), [
    ("aa", "a"), ("abab", "ab"), ("abcc", "abc"), ("abca", "abca"), ("abac", "abc"),
    ("abacab", "abcb"), ("AA", "AA"),
])  # fmt: skip
def test_last_two_sessions_are_kept(asked: str, made: str, started: list[str]) -> None:
    for model in asked:
        isolated_run._session(model.encode(), None, UNOPTIMIZED)
    assert "".join(started) == made
    assert len(isolated_run._kept) <= 2


@pytest.mark.parametrize(("folder", "settings"), [
    (Path("other"), UNOPTIMIZED), (None, Settings(Level.ALL)), (None, Settings(threads=1)),
], ids=["folder", "level", "threads"])  # fmt: skip
def test_session_is_kept_for_the_same_folder_and_settings_alone(
    folder: Path | None, settings: Settings, started: list[str]
) -> None:
    isolated_run._session(b"a", None, UNOPTIMIZED)
    isolated_run._session(b"a", folder, settings)
    assert started == ["a", "a"]


DIV = parse("(float[n] x, float[n] y) => (float[n] z) { z = Div(x, y) }")
BRANCH = parse("""(float[n] x, float[n] y, bool c) => (float[m] z) {
    z = If(c) <then_branch = t () => (float[k] u) { u = Div(x, y) },
               else_branch = e () => (float[k] w) { w = Neg(x) }> }""")


Prepared = tuple[Backend, bool, bool]
"""A backend, whether a proof rests on numbers, and whether an attribute is -0."""


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Prepared]:
    """Note what options are prepared for."""
    calls: list[Prepared] = []
    prepare = isolated_run.prepare

    def noted(
        options: Any, backend: Backend, *, rests_on_numbers: bool, has_minus_zero: bool
    ) -> None:
        calls.append((backend, rests_on_numbers, has_minus_zero))
        needs = {"rests_on_numbers": rests_on_numbers, "has_minus_zero": has_minus_zero}
        prepare(options, backend, **needs)

    monkeypatch.setattr(isolated_run, "prepare", noted)
    return calls


def start(model: onnx.ModelProto, settings: Settings = UNOPTIMIZED) -> None:
    start_session(model.SerializeToString(), settings, session_options(None, settings))


@pytest.mark.parametrize("model", [DIV, BRANCH], ids=["graph", "branch"])
@pytest.mark.parametrize("backend", [Backend.PYTHON, Backend.COMPILED])
def test_options_have_the_operators_of_the_model(
    model: onnx.ModelProto, backend: Backend, prepared: list[Prepared]
) -> None:
    start(sonnx_ort.rewrite(model, backend=backend))
    assert [each for each, *_ in prepared] == [backend]


@pytest.mark.parametrize("native", [True, False])
def test_model_without_operators_of_ours_is_prepared_where_it_is_enforced_natively(
    native: bool, prepared: list[Prepared]
) -> None:
    start(NEG, Settings(native=native))
    assert prepared == ([(Backend.NATIVE, False, False)] if native else [])


@pytest.mark.parametrize(("claim", "numbers"), [
    (None, False), (SimpleNamespace(rests_on_numbers=False), False),
    (SimpleNamespace(rests_on_numbers=True), True),
], ids=["no claim", "without numbers", "with numbers"])  # fmt: skip
@pytest.mark.parametrize("backend", Backend)
def test_options_keep_the_numbers_on_which_proofs_rest(
    backend: Backend,
    claim: Any,
    numbers: bool,
    prepared: list[Prepared],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = sonnx_ort.rewrite(DIV, backend=backend)
    monkeypatch.setattr(isolated_run, "read_enforcement", lambda _: claim)
    start(model, Settings(native=True))
    assert prepared == [(backend, numbers, False)]


@pytest.mark.parametrize("alpha", ["0.0", "-0.0"])
@pytest.mark.parametrize("backend", Backend)
def test_options_keep_zeros_of_either_sign_apart(
    backend: Backend, alpha: str, prepared: list[Prepared]
) -> None:
    graph = f"z = Div(x, y) v = LeakyRelu <alpha = {alpha}> (x)"
    model = parse(f"(float[n] x, float[n] y) => (float[n] z, float[n] v) {{ {graph} }}")
    start(sonnx_ort.rewrite(model, backend=backend), Settings(native=True))
    assert prepared == [(backend, False, alpha == "-0.0")]


def test_providers_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []
    monkeypatch.setattr(
        isolated_run.onnxruntime, "InferenceSession", lambda *_, **said: given.append(said)
    )
    start(NEG, Settings(providers=("One", "Other")))
    assert given == [{"providers": ["One", "Other"]}]


@pytest.mark.parametrize("bound", [False, True])
def test_outputs_that_are_wanted_are_given(bound: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = parse("(float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Abs(x) }")
    binding: list[object] = []
    run_bound = isolated_run._run_bound

    def noted(*given: Any) -> Any:
        binding.append(given)
        return run_bound(*given)

    monkeypatch.setattr(isolated_run, "_run_bound", noted)
    content, settings = model.SerializeToString(), Settings(bound=bound)
    some = isolated_run._run(content, None, {"x": X}, settings, ("z",))
    every = isolated_run._run(content, None, {"x": X}, settings, ())
    assert ([*some], [*every]) == (["z"], ["y", "z"])
    assert len(binding) == (2 if bound else 0)


KERNEL = parse(
    """(int32[n] x, int32[n] y) => (int32[k] data, int64[r] shape) {
        data, shape = sonnx.CheckedDiv <node = "ratio", edition = "typed"> (x, y) }""",
    domains={"sonnx": 1},
)


def kernel_results(x: int, y: int) -> tuple[list[int], list[int]]:
    given = {name: np.array([number], np.int32) for name, number in (("x", x), ("y", y))}
    found = isolated_run._run(KERNEL.SerializeToString(), None, given, UNOPTIMIZED, ())
    data, shape = found["data"], found["shape"]
    assert data is not None
    assert shape is not None
    return data.tolist(), shape.tolist()


def test_shape_of_a_kernel_that_broke_a_rule_is_the_same_in_each_run() -> None:
    one, other = kernel_results(1, 0), kernel_results(1, 0)
    assert one == other
    assert -10_000 < one[1][0] < 0


def test_results_of_a_kernel_stay_as_they_are() -> None:
    assert kernel_results(-30_001, 1) == ([-30_001], [1])


@pytest.mark.parametrize(("level", "nodes"), [(Level.NONE, 2), (Level.BASIC, 1)])
def test_optimized_model_is_that_of_the_level(level: Level, nodes: int) -> None:
    model = parse("(float[2] x) => (float[2] z) { y = Identity(x) z = Neg(y) }")
    with IsolatedRuns() as runs:
        found = runs.optimize(model, Settings(level))
    assert not isinstance(found, Failed)
    assert len(found.graph.node) == nodes


def test_profile_is_written_at_its_place(tmp_path: Path) -> None:
    path = isolated_run.profile_of(NEG.SerializeToString(), None, {"x": X}, tmp_path)
    assert path.parent == tmp_path
    assert "Neg" in path.read_text(encoding="utf-8")


def test_profile_of_a_run_that_breaks_a_rule_is_that_violation(tmp_path: Path) -> None:
    model = parse("(int32[2] x, int32[2] y) => (int32[2] z) { z = Div(x, y) }")
    enforced = sonnx_ort.rewrite(model, backend="python").SerializeToString()
    given = {"x": np.array([1, 2], np.int32), "y": np.array([1, 0], np.int32)}
    with pytest.raises(ContractViolation):
        isolated_run.profile_of(enforced, None, given, tmp_path)


def test_run_is_what_was_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(IsolatedRuns, "_done", lambda _, *given: given)
    given: Any = IsolatedRuns().run(NEG, {"x": X}, Settings(Level.ALL), ("y",), folder=tmp_path)
    *functions, model, folder, feeds, settings, names = given
    assert functions == [isolated_run._outcome, isolated_run._run]
    assert onnx.load_from_string(model) == NEG
    assert (folder, settings, names) == (tmp_path, Settings(Level.ALL), ("y",))
    assert feeds == {"x": X}


def test_limits_are_those_of_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[Limits] = []

    class Noted(Watched):
        def __init__(self, process: Any, limits: Limits) -> None:
            super().__init__(process, limits)
            watched.append(limits)

    monkeypatch.setattr(isolated_run, "Watched", Noted)
    with IsolatedRuns(Limits(1234, 56789)) as runs:
        assert runs.call(divmod, 7, 2) == (3, 1)
    assert watched == [Limits(1234, 56789)]


def test_what_this_package_logs_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with IsolatedRuns() as runs:
        assert runs.call(logging.getLogger("sonnx_ort").warning, "said") is None
    assert capfd.readouterr() == ("", "")


def test_broken_rule_is_the_outcome_of_a_run() -> None:
    model = parse("(int32[1] x, int32[1] y) => (int32[1] z) { [ratio] z = Div(x, y) }")
    enforced = sonnx_ort.rewrite(model, backend="python")
    given = {"x": np.array([1], np.int32), "y": np.array([0], np.int32)}
    with IsolatedRuns() as runs:
        found = runs.run(enforced, given)
    assert isinstance(found, Failed)
    assert (found.violated, found.died) == (True, False)
    assert found.reason.startswith("Div 'ratio' breaks Div.int.C1: ")


def test_profile_is_of_a_model_with_external_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Path | None, Settings]] = []

    def noted(folder: Path | None, settings: Settings) -> ort.SessionOptions:
        made.append((folder, settings))
        return session_options(folder, settings)

    monkeypatch.setattr(isolated_run, "session_options", noted)
    isolated_run.profile_of(NEG.SerializeToString(), tmp_path, {"x": X}, tmp_path)
    assert made == [(tmp_path, UNOPTIMIZED)]


@pytest.mark.parametrize(("model", "random"), [
    (NEG, False), (parse("() => (float[2] z) { z = RandomUniform<shape = [2]>() }"), True),
], ids=["Neg", "RandomUniform"])  # fmt: skip
def test_session_tells_whether_its_operators_are_random(
    model: onnx.ModelProto, random: bool
) -> None:
    options = session_options(None, UNOPTIMIZED)
    assert start_session(model.SerializeToString(), UNOPTIMIZED, options).random == random
