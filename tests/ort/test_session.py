"""`InferenceSession` behaves like ONNX Runtime's, raises violations, and each thread's own."""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.custom_ops import failure_channel
from support.backends import on_each_backend, on_python
from support.graphs import binary_model, parse
from support.sessions import quiet

pytestmark = on_each_backend

A = np.array([6, 9, 35], np.int32)
B = np.array([3, 0, 5], np.int32)


def division() -> onnx.ModelProto:
    return binary_model("Div", "int32", ["n"], ["n"], c_shape=["n"], node="divide")


def assert_zero_divisor(violation: sonnx_ort.ContractViolation) -> None:
    assert violation.rule == "Div.int.C1"
    assert violation.operator == "Div"
    assert violation.node == "divide"
    assert violation.shapes == ((3,), (3,))
    assert violation.index == (1,)
    assert violation.values == (9, 0)


@pytest.fixture
def violation() -> sonnx_ort.ContractViolation:
    """What a run raises that divides by zero."""
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(division(), quiet()).run(None, {"A": A, "B": B})
    return caught.value


MESSAGE = (
    "Div 'divide' breaks Div.int.C1: a zero divisor: A[1] = 9, B[1] = 0; shapes A (3,), "
    "B (3,). The rule: No element of B is zero."
)


def test_violation_has_its_fields_and_message(violation: sonnx_ort.ContractViolation) -> None:
    assert_zero_divisor(violation)
    assert str(violation) == MESSAGE


def test_error_of_onnxruntime_is_its_cause(violation: sonnx_ort.ContractViolation) -> None:
    assert re.search("running (Reshape|CheckedDiv) node", str(violation.__cause__))


def test_violation_survives_pickling(violation: sonnx_ort.ContractViolation) -> None:
    restored = pickle.loads(pickle.dumps(violation))  # noqa: S301
    assert_zero_divisor(restored)
    assert str(restored) == MESSAGE


def test_session_goes_on_after_a_violation() -> None:
    session = sonnx_ort.InferenceSession(division(), quiet())
    with pytest.raises(sonnx_ort.ContractViolation):
        session.run(None, {"A": A, "B": B})
    np.testing.assert_array_equal(session.run(["C"], {"A": A, "B": A})[0], [1, 1, 1])


def test_rewritten_model_is_taken_as_it_is() -> None:
    enforced = sonnx_ort.rewrite(division())
    session = sonnx_ort.InferenceSession(enforced.SerializeToString(), quiet())
    np.testing.assert_array_equal(session.run(None, {"A": A, "B": A})[0], [1, 1, 1])


def test_model_that_breaks_the_profile_starts_no_session() -> None:
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.InferenceSession(binary_model("Div", "int32", [3], [1]))


def test_further_arguments_reach_onnxruntime() -> None:
    session = sonnx_ort.InferenceSession(division(), providers=["CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_two_failing_branches_in_parallel_raise_one_of_the_violations() -> None:
    made = parse("""(float[n] a, float[m] b) => (float[k] c, float[l] d) {
        [one] c = Div(a, b)
        [other] d = Div(b, a)
    }""")
    options = quiet()
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.inter_op_num_threads = 2
    session = sonnx_ort.InferenceSession(made, options)
    for _ in range(20):
        with pytest.raises(sonnx_ort.ContractViolation) as caught:
            session.run(None, {"a": np.ones(3, np.float32), "b": np.ones(1, np.float32)})
        expected = {"one": ((3,), (1,)), "other": ((1,), (3,))}
        assert caught.value.shapes == expected[caught.value.node]


def test_violation_whose_record_is_gone_is_told_from_the_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(failure_channel.LOG, "take", lambda _: None)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(division(), quiet()).run(None, {"A": A, "B": B})
    assert str(caught.value) == (
        "Div 'divide' breaks Div.int.C1. The rule: No element of B is zero."
    )
    assert (caught.value.rule, caught.value.node, caught.value.shapes) == (
        "Div.int.C1", "divide", None,
    )  # fmt: skip


@on_python
def test_kernel_that_cannot_finish_raises_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    session = sonnx_ort.InferenceSession(binary_model("Div", "float", [2], [2], c_shape=[2]))

    def fail(*_: object, **__: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(np, "divide", fail)
    x = np.ones(2, np.float32)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        session.run(None, {"A": x, "B": x})
    assert not isinstance(caught.value, sonnx_ort.ContractViolation)
    assert str(caught.value) == (
        "sonnx::CheckedDiv, node 'the_node': the kernel could not finish: MemoryError: no room"
    )


@on_python
def test_plain_session_names_operator_node_and_rule_and_writes_the_violation_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    enforced = sonnx_ort.rewrite(division()).SerializeToString()
    session = ort.InferenceSession(enforced, sonnx_ort.register(quiet()))
    with pytest.raises(Exception, match="running Reshape node") as caught:
        session.run(None, {"A": A, "B": B})
    assert (
        "Name:'Div 'divide' breaks the SONNX profile; the last four digits of this message tell "
        "the rule: 0021 Div.int.R1, 0024 Div.int.C1, 0025 Div.int.C2'"
    ) in str(caught.value)
    assert str(caught.value).strip().endswith("0024")
    (record,) = caplog.records
    assert (record.name, record.levelname, record.message) == ("sonnx_ort", "ERROR", MESSAGE)


@pytest.mark.parametrize("verify_proofs", [False, True])
def test_violation_is_told_where_onnxruntime_fails_before_the_guard(verify_proofs: bool) -> None:
    """It gives the memory of one operand to the other, because both have one symbolic size."""
    dequantized = parse("""(uint8[n] x, uint8[n] y) => (float[] z)
    <float s = {0.5}, uint8 o = {3}> {
        a = DequantizeLinear(x, s, o)
        b = DequantizeLinear(y, s, o)
        [divide] z = Div(a, b)
    }""")
    session = sonnx_ort.InferenceSession(dequantized, quiet(), verify_proofs=verify_proofs)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": np.ones(3, np.uint8), "y": np.ones(1, np.uint8)})
    assert (caught.value.rule, caught.value.shapes) == ("Div.float.R1", ((3,), (1,)))


def test_violation_in_a_branch_that_takes_the_place_of_its_if_is_told() -> None:
    """ONNX Runtime gives the nodes of such a branch other names, also the guards."""
    chosen = parse("""(int32[n] x, int32[n] y) => (int32[n] z) {
        c = Constant<value = bool {1}>()
        z = If(c) <
            then_branch = t () => (int32[n] u) { [divide] u = Div(x, y) },
            else_branch = e () => (int32[n] v) { v = Identity(x) }
        >
    }""")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(chosen, quiet(), verify_proofs=False).run(
            None, {"x": np.ones(2, np.int32), "y": np.zeros(2, np.int32)}
        )
    told = (caught.value.rule, caught.value.node, caught.value.index)
    assert told == ("Div.int.C1", "divide", (0,))


THREADS = 8
ROUNDS = 24
"""Each node breaks each rule in one of them."""
SMALLEST = -(2**31)

_NODES = range(THREADS)
GRAPH = (
    f"({', '.join(f'int32[n] a{i}, int32[m] b{i}' for i in _NODES)}) => "
    f"({', '.join(f'int32[k] c{i}' for i in _NODES)})"
    f" {{ {' '.join(f'[node{i}] c{i} = Div(a{i}, b{i})' for i in _NODES)} }}"
)

Told = tuple[object, ...]


def feeds(thread: int, turn: int) -> tuple[dict[str, np.ndarray], Told]:
    """Feeds of which one node breaks a rule, and what is to be told of it."""
    size = thread + 2
    given = {f"{x}{i}": np.full(size, i + 1, np.int32) for i in _NODES for x in "ab"}
    node, index = (thread + turn) % THREADS, thread
    a, b = given[f"a{node}"], given[f"b{node}"]
    a[index] = 1000 * thread + turn
    match turn % 3:
        case 0:
            b[index] = 0
            told = ("Div.int.C1", (index,), (1000 * thread + turn, 0), ((size,), (size,)))
        case 1:
            a[index], b[index] = SMALLEST, -1
            told = ("Div.int.C2", (index,), (SMALLEST, -1), ((size,), (size,)))
        case _:
            for other in _NODES:
                given[f"b{other}"] = given[f"a{other}"] if other != node else b[:-1]
            told = ("Div.int.R1", None, None, ((size,), (size - 1,)))
    return given, (f"node{node}", *told)


@pytest.mark.parametrize("mode", [ort.ExecutionMode.ORT_SEQUENTIAL, ort.ExecutionMode.ORT_PARALLEL])
@pytest.mark.parametrize("sessions", [1, THREADS], ids=["one session", "a session each"])
def test_each_thread_is_told_of_its_own_violation(sessions: int, mode: ort.ExecutionMode) -> None:
    model, options = parse(GRAPH), quiet()
    options.execution_mode, options.inter_op_num_threads = mode, 2
    started = [
        sonnx_ort.InferenceSession(model, options, verify_proofs=False) for _ in range(sessions)
    ]
    together = Barrier(THREADS)

    def break_rules(thread: int) -> list[tuple[Told, Told]]:
        pairs = []
        for turn in range(ROUNDS):
            given, expected = feeds(thread, turn)
            together.wait(60)
            with pytest.raises(sonnx_ort.ContractViolation) as caught:
                started[thread % sessions].run(None, given)
            found = caught.value
            told = (found.node, found.rule, found.index, found.values, found.shapes)
            pairs.append((told, expected))
        return pairs

    with ThreadPoolExecutor(THREADS) as pool:
        for pairs in pool.map(break_rules, range(THREADS)):
            assert [told for told, _ in pairs] == [expected for _, expected in pairs]
