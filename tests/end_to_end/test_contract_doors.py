"""What a contract says of an input holds wherever the input stands, at the ends of every type."""

import numpy as np
import onnx
import onnxruntime
import pytest

import sonnx_ort
from sonnx_ort import (
    Contract,
    ContractViolation,
    ShapeContract,
    SizeContract,
    SonnxError,
    ValueContract,
)
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from support.backends import BACKENDS
from support.doors import ALL_DOORS, INF, PLACES, Door, fed, model_of
from support.graphs import parse


def refused_and_passed(
    inputs: list[Door], place: str, sizes: list[int], backend: str
) -> list[tuple[str, float, str]]:
    """The numbers of which a run says something else than is right, and what it says."""
    shape: list[int | str] = ["n" for _ in sizes]
    contract = Contract(tuple(door.contract for door in inputs))
    session = sonnx_ort.InferenceSession(
        model_of(inputs, place, shape), backend=backend, contract=contract
    )
    good = {door.name: fed(door, door.inside, sizes) for door in inputs}
    good["other"] = onnxruntime.OrtValue.ortvalue_from_numpy(np.ones(1, np.float32))
    good["choice"] = onnxruntime.OrtValue.ortvalue_from_numpy(np.array(False))
    wrong = []
    for door in inputs:
        for number in door.numbers:
            feeds = good | {door.name: fed(door, number, sizes)}
            words = _refusal(session, feeds)
            right = "" if door.admits(number) else f"Input '{door.name}' breaks Contract."
            if words[: len(right) or None] != right:
                wrong.append((f"{door.name} {door.entry}", float(number), words))
    return wrong


def _refusal(session: sonnx_ort.InferenceSession, feeds: dict[str, onnxruntime.OrtValue]) -> str:
    """What a run says that is refused; empty if it is not."""
    try:
        session.run_with_ort_values(["result"], feeds)
    except ContractViolation as error:
        return str(error)
    return ""


@BACKENDS
@pytest.mark.satisfies("Contract.range", "Contract.finite", "Contract.whole")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", NUMERIC_TYPES)
def test_number_at_the_end_of_a_range_passes_and_the_next_one_is_refused(kind, place, backend):
    sizes = [] if place == "not read" else [2]
    # A place is tried with each entry by one of the backends at least.
    turn = (PLACES.index(place) + ["python", "native", "compiled"].index(backend)) % 3
    inputs = ALL_DOORS[kind][turn::3]
    assert refused_and_passed(inputs, place, sizes, backend) == []


@BACKENDS
@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((2**53 + 1, 2**53 + 3), "outside of 9007199254740993 to 9007199254740995"),
        ((-(2**63), -(2**62) - 1), "outside of -9223372036854775808 to -4611686018427387905"),
        ((0, 1e18 + 1024), "outside of 0 to 1.000000000000001e+18"),
        ((0.5, 3.0), "outside of 0.5 to 3"),
    ],
)
def test_ends_are_shown_with_all_their_digits(backend, ends, shown):
    model = parse("(int64[n] x) => (int64[n] y) { y = Identity(x) }")
    contract = Contract((ValueContract("x", ends),))
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    with pytest.raises(ContractViolation) as caught:
        session.run(None, {"x": np.array([2**63 - 1])})
    assert f"x is {shown}: x[0] = 9223372036854775807;" in str(caught.value)


def test_end_of_an_index_is_shown_with_all_its_digits():
    model = parse("(int64[2] x) => (int64[2] y) { y = Identity(x) }")
    contract = Contract((ValueContract("x", ((2**53, 2**53 + 1), (0, 1)), axis=0),))
    session = sonnx_ort.InferenceSession(model, backend="native", contract=contract)
    with pytest.raises(ContractViolation) as caught:
        session.run(None, {"x": np.array([2**53 + 2, 0])})
    assert (
        "x is outside of 9007199254740992 to 9007199254740993 at index 0 of axis 0: "
        "x[0] = 9007199254740994;"
    ) in str(caught.value)


@BACKENDS
def test_plain_session_checks_an_input_that_nothing_reads(backend):
    model = parse("(float[n] x, float[n] w) => (float[n] y, float[n] w) { y = Abs(x) }")
    contract = Contract((ValueContract("w", (0, 4)),))
    enforced = sonnx_ort.rewrite(model, backend=backend, contract=contract)
    assert [value.name for value in enforced.graph.output] == ["y", "w"]
    options = onnxruntime.SessionOptions()
    sonnx_ort.register(options, backend=backend)
    session = onnxruntime.InferenceSession(enforced.SerializeToString(), options)
    x, w = np.ones(1, np.float32), np.full(1, 4, np.float32)
    assert [result.tolist() for result in session.run(None, {"x": x, "w": w})] == [[1], [4]]
    with pytest.raises(Exception, match="'w' must not be outside of 0 to 4"):
        session.run(["y"], {"x": x, "w": w * 2})


@BACKENDS
def test_model_that_checks_an_input_that_nothing_reads_is_recognized(backend):
    model = parse("(float[n] x) => (float[n] x) { }")
    contract = Contract((ValueContract("x", (0, 4)),))
    enforced = sonnx_ort.rewrite(model, backend=backend, contract=contract)
    assert sonnx_ort.rewrite(enforced, backend=backend) == enforced


@BACKENDS
@pytest.mark.parametrize("entry", [None, (0, 9), (0, INF), (-INF, INF)])
@pytest.mark.parametrize("kind", ["float", "float16", "double", "int8", "int64"])
def test_inputs_of_one_name_may_have_two_sizes_if_no_contract_says_more(backend, entry, kind):
    model = parse(f"({kind}[n] x, {kind}[n] z) => ({kind}[m] y) {{ y = Add(x, z) }}")
    if entry is None and "int" in kind:
        entry = (-7, 7)
    contract = Contract((ValueContract("x", entry), ValueContract("z", entry)))
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    dtype = ElementType(kind).dtype
    feeds = {"x": np.array([1, 2, 3], dtype), "z": np.array([1], dtype)}
    assert session.run(None, feeds)[0].tolist() == [2, 3, 4]
    if entry is None or entry[1] < INF:
        broken = np.array([0, 10 if "int" in kind else np.inf, 0], dtype)
        with pytest.raises(ContractViolation, match="Input 'x' breaks Contract"):
            session.run(None, feeds | {"x": broken})


@BACKENDS
@pytest.mark.parametrize("kind", ["string", "bool", "bfloat16"])
def test_sizes_of_any_type_are_checked(backend, kind):
    model = parse(f"({kind}[a] x, float[a] z) => (float[a] w) {{ w = Abs(z) }}")
    contract = Contract(sizes=(SizeContract("a", 2, 2),))
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    z = np.ones(2, np.float32)
    assert run_of_size(session, kind, 2, z) == [2]
    with pytest.raises(ContractViolation, match=r"x \(3,\) is 3; the contract says 2 for a;"):
        run_of_size(session, kind, 3, z)


def run_of_size(session, kind, size, z):
    """The shape of the result of a run with an input of a type and a size."""
    if kind in {"string", "bool"}:
        x = np.full(size, *(("a", object) if kind == "string" else (True, bool)))
        return [*session.run(["w"], {"x": x, "z": z})[0].shape]
    bits, number = np.zeros(size, np.uint16), onnx.TensorProto.BFLOAT16
    x = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)
    feeds = {"x": x, "z": onnxruntime.OrtValue.ortvalue_from_numpy(z)}
    return session.run_with_ort_values(["w"], feeds)[0].shape()


@BACKENDS
@pytest.mark.parametrize(
    "graph",
    [
        "(float x, float y) => (float z) { z = Div(x, y) }",
        "(float x, float y) => (float z) { z = Abs(y) }",
        "(float x, float y) => (float x, float z) { z = Abs(y) }",
    ],
)
def test_scalar_of_a_contract_is_no_vector(backend, graph):
    shapes = ShapeContract("x", ()), ShapeContract("y", ())
    options = onnxruntime.SessionOptions()
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = sonnx_ort.InferenceSession(
            parse(graph), options, backend=backend, contract=Contract(shapes=shapes)
        )
        x = np.ones((), np.float32)
        assert session.run(["z"], {"x": x, "y": x})[0] == 1
        with pytest.raises(ContractViolation, match=r"the rank of x \(1,\) is 1, not 0"):
            session.run(["z"], {"x": np.ones(1, np.float32), "y": x})


@BACKENDS
def test_rank_that_nothing_declares_is_checked_of_a_scalar_too(backend):
    model = parse("(float[n] x) => (float[n] y) { y = Abs(x) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    contract = Contract(shapes=(ShapeContract("x", (2,)),))
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    with pytest.raises(ContractViolation, match=r"the rank of x \(\) is 0, not 1"):
        session.run(None, {"x": np.ones((), np.float32)})


def test_range_of_uint64_beyond_int64_is_refused_by_the_backend_without_it():
    model = parse("(uint64[n] x) => (uint64[n] y) { y = Identity(x) }")
    contract = Contract((ValueContract("x", (0, 2**63)),))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.rewrite(model, backend="native", contract=contract)
    assert str(caught.value) == (
        "Contract.range: 'x' is of type uint64, and its range reaches beyond int64; give a "
        "smaller one, or use the python backend"
    )
    for backend in ("python", "compiled"):
        session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
        assert session.run(None, {"x": np.array([2**63], np.uint64)})[0] == 2**63
        with pytest.raises(ContractViolation, match=r"x is outside of 0 to 9223372036854775808: x"):
            session.run(None, {"x": np.array([2**63 + 1], np.uint64)})
