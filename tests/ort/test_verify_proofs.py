"""`verify_proofs=True`: the python backend, which checks what is proved as well, runs beside."""

import threading

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.facts import catalog
from sonnx_ort.facts.node import Rules
from sonnx_ort.ort.violations import EnforcedRuns, ReferenceRun
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import quiet

X = np.ones((1, 3), np.float32)
Y = np.ones((1, 3), np.float32)
FEEDS = {"x": X, "y": Y}


def squeezed(division: str = "Div(s, y)") -> onnx.ModelProto:
    return parse(
        "(float[1, 3] x, float[1, 3] y) => (float[] z)"
        " { axes = Constant<value_ints = [0]>() s = Squeeze(x, axes)"
        f" [node] z = {division} }}"
    )


@pytest.fixture(params=["native", "compiled"])
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend that the python backend verifies."""
    return str(request.param)


@pytest.fixture
def false_proof(backend: str, monkeypatch: pytest.MonkeyPatch) -> onnx.ModelProto:
    """A model enforced by a list that is wrong about Squeeze: (3,) against (1, 3) is proved.

    A Mul of floats stays as it is if all its rules are proved. Most compiled kernels check what is
    proved as well.
    """
    wrong = Rules((1, 25), lambda node: (node.shape(),))
    monkeypatch.setitem(catalog.SHAPE_RULES, "Squeeze", wrong)  # type: ignore[arg-type]
    return sonnx_ort.rewrite(squeezed("Mul(s, y)"), operators="Mul", backend=backend)


def session_of(
    model: onnx.ModelProto, backend: str, *, verify_proofs: bool = True
) -> sonnx_ort.InferenceSession:
    return sonnx_ort.InferenceSession(
        model, quiet(), operators="Mul", backend=backend, verify_proofs=verify_proofs
    )


def test_false_proof_goes_unnoticed_without_it(false_proof: onnx.ModelProto, backend: str) -> None:
    session = session_of(false_proof, backend, verify_proofs=False)
    (result,) = session.run(None, FEEDS)
    assert result.shape == (1, 3)


@pytest.mark.parametrize("method", ["run", "run_with_ort_values"])
def test_false_proof_is_an_error(false_proof: onnx.ModelProto, backend: str, method: str) -> None:
    session = session_of(false_proof, backend)
    feeds = FEEDS
    if method == "run_with_ort_values":
        feeds = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in FEEDS.items()}
    with pytest.raises(SonnxError) as caught:
        getattr(session, method)(None, feeds)
    assert not isinstance(caught.value, ContractViolation)
    assert str(caught.value) == (
        f"verify_proofs=True: the {backend} backend accepts what the python backend rejects: "
        "Mul 'node' breaks Mul.float.R1: the shapes (3,) and (1, 3) differ; shapes A (3,), B "
        "(1, 3). The rule: Tensors A, B and C have the same shape.\n"
        f"A proof of `check` is wrong in this run. Do not use the {backend} backend for this "
        "model, and report the model with these inputs"
    )


def test_false_proof_reaches_the_callback(false_proof: onnx.ModelProto, backend: str) -> None:
    session = session_of(false_proof, backend)
    called = threading.Event()
    told: list[object] = []

    def callback(results: object, data: object, message: str) -> None:
        told.extend([results, data, message])
        called.set()

    session.run_async(None, FEEDS, callback, "data")
    assert called.wait(timeout=60)
    assert told[:2] == [[], "data"]
    assert "accepts what the python backend rejects" in str(told[2])


def reference_of(backend: str) -> ReferenceRun:
    enforced = sonnx_ort.rewrite(squeezed(), backend=backend, broadcast="explicit")
    level = quiet().graph_optimization_level
    return ReferenceRun(EnforcedRuns(enforced.SerializeToString(), Backend(backend), level))


def test_false_alarm_is_an_error(backend: str) -> None:
    violation = ContractViolation("no", rule="Div.float.R1", operator="Div", node="node")
    told = reference_of(backend).verify(
        violation, lambda session: session.run(None, FEEDS), failed=True
    )
    assert type(told) is SonnxError
    assert str(told) == (
        f"verify_proofs=True: the {backend} backend rejects what the python backend accepts: no\n"
        f"A proof of `check` is wrong in this run. Do not use the {backend} backend for this "
        "model, and report the model with these inputs"
    )


def test_reference_that_cannot_do_a_run_is_an_error(backend: str) -> None:
    reference = reference_of(backend)
    told = reference.verify(None, lambda session: session.run(None, {}), failed=False)
    assert type(told) is SonnxError
    assert str(told).startswith("verify_proofs=True: the python backend cannot run the model: ")


@BACKENDS
def test_what_is_so_changes_nothing(backend: str) -> None:
    model = parse("(int32[n] x, int32[n] y) => (int32[n] z) { [divide] z = Div(x, y) }")
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend, verify_proofs=True)
    six = np.array([6], np.int32)
    (result,) = session.run(None, {"x": six, "y": np.array([3], np.int32)})
    np.testing.assert_array_equal(result, [2])
    with pytest.raises(ContractViolation) as caught:
        session.run(None, {"x": six, "y": np.array([0], np.int32)})
    assert (caught.value.rule, caught.value.index) == ("Div.int.C1", (0,))


def test_error_of_onnxruntime_stays_its_own() -> None:
    session = sonnx_ort.InferenceSession(
        squeezed(), quiet(), backend="native", broadcast="explicit", verify_proofs=True
    )
    with pytest.raises(Exception, match="the input 'y' is missing") as caught:
        session.run(None, {"x": X})
    assert not isinstance(caught.value, SonnxError)


def test_binding_cannot_be_verified() -> None:
    session = sonnx_ort.InferenceSession(
        squeezed(), quiet(), backend="native", broadcast="explicit", verify_proofs=True
    )
    with pytest.raises(SonnxError) as caught:
        session.run_with_iobinding(session.io_binding())
    assert str(caught.value) == (
        "verify_proofs=True: a binding belongs to one session, so the python backend cannot "
        "repeat the run; use run or run_with_ort_values"
    )


def test_binding_needs_no_second_run_where_the_python_backend_enforces() -> None:
    session = sonnx_ort.InferenceSession(
        squeezed(), quiet(), backend="python", broadcast="explicit", verify_proofs=True
    )
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", Y)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], np.ones((1, 3), np.float32))
