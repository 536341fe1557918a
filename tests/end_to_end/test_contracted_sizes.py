"""A contract of sizes is enforced at the door of a model, by every backend."""

import numpy as np
import onnx
import onnxruntime
import pytest

import sonnx_ort
from sonnx_ort import Contract, ContractViolation, ShapeContract, SizeContract, ValueContract
from support.backends import BACKENDS
from support.graphs import PARTS_OF_AN_AXIS, parse

GRAPH = """(float[n, 3, h, w] image, float[n, h, w] mask, float[k] bias)
    => (float[n, 3, h, w] y, float[n, h, w] m, float[k] b)
{
    y = Relu(image)
    m = Relu(mask)
    b = Relu(bias)
}"""

CONTRACT = Contract(
    (ValueContract("bias", (-1, 1)),),
    (ShapeContract("bias", (5,)),),
    (
        SizeContract("n", 1, 4, message="the camera has four eyes"),
        SizeContract("h", 32, 96, 32),
        SizeContract("w", 8, 8),
    ),
)

KEPT = {"image": (2, 3, 64, 8), "mask": (2, 64, 8), "bias": (5,)}

SENTENCE = (
    "The rule: The axes of an input have the sizes of its contract, and axes of one name have one "
    "size."
)


def feeds(**shapes):
    return {name: np.zeros(shape, np.float32) for name, shape in {**KEPT, **shapes}.items()}


@BACKENDS
@pytest.mark.parametrize("opset", [9, 20])
def test_run_within_the_contract_has_its_results(backend, opset):
    model = parse(GRAPH, opset=opset)
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=CONTRACT)
    for height in (32, 64, 96):
        y, m, b = session.run(None, feeds(image=(4, 3, height, 8), mask=(4, height, 8)))
        assert (y.shape, m.shape, b.shape) == ((4, 3, height, 8), (4, height, 8), (5,))


@BACKENDS
@pytest.mark.satisfies("Contract.sizes")
@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        (
            {"image": (5, 3, 64, 8), "mask": (5, 64, 8)},
            (
                "axis 0 of image (5, 3, 64, 8) is 5; the contract says "
                "1 to 4 for n (the camera has four eyes); shapes image (5, 3, 64, 8). "
            ),
        ),
        (
            {"image": (0, 3, 64, 8), "mask": (0, 64, 8)},
            (
                "axis 0 of image (0, 3, 64, 8) is 0; the contract says "
                "1 to 4 for n (the camera has four eyes); shapes image (0, 3, 64, 8). "
            ),
        ),
        (
            {"image": (2, 3, 65, 8), "mask": (2, 65, 8)},
            (
                "axis 2 of image (2, 3, 65, 8) is 65; the contract says "
                "32 to 96 in multiples of 32 for h; shapes image (2, 3, 65, 8). "
            ),
        ),
        (
            {"image": (2, 3, 64, 9), "mask": (2, 64, 9)},
            (
                "axis 3 of image (2, 3, 64, 9) is 9; the contract says "
                "8 for w; shapes image (2, 3, 64, 9). "
            ),
        ),
        (
            {"mask": (3, 64, 8)},
            (
                "axis 0 of mask (3, 64, 8) is 3, and axis 0 of "
                "image (2, 3, 64, 8) is 2; n is 1 to 4 (the camera has four eyes); shapes mask "
                "(3, 64, 8), image (2, 3, 64, 8). "
            ),
        ),
        (
            {"bias": (4,)},
            ("axis 0 of bias (4,) is 4, not 5; shapes bias (4,). "),
        ),
    ],
)
def test_run_with_other_sizes_is_refused(backend, shapes, reason):
    session = sonnx_ort.InferenceSession(parse(GRAPH), backend=backend, contract=CONTRACT)
    with pytest.raises(ContractViolation) as caught:
        session.run(None, feeds(**shapes))
    name = caught.value.node
    assert str(caught.value) == f"Input '{name}' breaks Contract.sizes: {reason}{SENTENCE}"
    assert f"; shapes {name} {shapes[name]}" in reason
    assert caught.value.rule == "Contract.sizes"


@BACKENDS
def test_rank_that_nothing_declares_is_checked(backend):
    model = parse("(float[n] x) => (float[n] y) { y = Relu(x) }")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    contract = Contract(shapes=(ShapeContract("x", ("n", None)),))
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    assert session.run(None, {"x": np.zeros((2, 9), np.float32)})[0].shape == (2, 9)
    with pytest.raises(ContractViolation, match=r"the rank of x \(2,\) is 1, not 2"):
        session.run(None, {"x": np.zeros(2, np.float32)})


@BACKENDS
@pytest.mark.parametrize("declared", [False, True])
def test_output_that_only_shapes_decide_is_behind_the_guard(backend, declared):
    """ONNX Runtime computes a Shape from a declaration, and would leave the guard out."""
    model = parse("""(float[n, 3] x, float[n, 3] z) => (int64[2] s) {
        y = Div(x, z)
        s = Shape(y)
    }""")
    if declared:
        model.graph.value_info.append(onnx.helper.make_tensor_value_info("y", 1, [4, 3]))
    contract = Contract(sizes=(SizeContract("n", 4, 4),))
    session = sonnx_ort.InferenceSession(model, backend=backend, contract=contract)
    for rows in (4, 3):
        array = np.ones((rows, 3), np.float32)
        if rows == 4:
            assert session.run(None, {"x": array, "z": array})[0].tolist() == [4, 3]
        else:
            with pytest.raises(ContractViolation, match="is 3; the contract says 4 for n"):
                session.run(None, {"x": array, "z": array})


@BACKENDS
def test_rewritten_model_keeps_its_contract(backend):
    enforced = sonnx_ort.rewrite(parse(GRAPH), backend=backend, contract=CONTRACT)
    assert sonnx_ort.rewrite(enforced, backend=backend) == enforced
    session = sonnx_ort.InferenceSession(enforced, backend=backend)
    assert session.contract == CONTRACT
    with pytest.raises(ContractViolation):
        session.run(None, feeds(bias=(4,)))


def test_record_of_a_model_with_a_contract_is_verified(tmp_path):
    source, target, record = (tmp_path / name for name in ("m.onnx", "e.onnx", "record.json"))
    onnx.save(parse(GRAPH), source)
    sonnx_ort.rewrite_file(source, target, backend="native", contract=CONTRACT, record=record)
    verified = [sonnx_ort.verify(target, record), sonnx_ort.verify(source, record, original=True)]
    assert [(each.kept, each.differences) for each in verified] == [(True, ())] * 2


@BACKENDS
def test_plain_session_fails_as_well(backend):
    enforced = sonnx_ort.rewrite(parse(GRAPH), backend=backend, contract=CONTRACT)
    options = onnxruntime.SessionOptions()
    sonnx_ort.register(options, backend=backend)
    session = onnxruntime.InferenceSession(
        enforced.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    with pytest.raises(Exception, match=r"bias.*must be \(5\)"):
        session.run(None, feeds(bias=(4,)))


@BACKENDS
def test_parts_of_an_axis_have_the_sizes_that_are_proved(backend):
    contract = Contract(sizes=(SizeContract("n", 4, 99),))
    session = sonnx_ort.InferenceSession(
        parse(PARTS_OF_AN_AXIS), contract=contract, operators="Slice,Reshape", backend=backend
    )
    for size in (4, 5, 7, 8, 99):
        results = session.run(None, {"x": np.zeros(size, np.float32)})
        assert [r.shape for r in results] == [(size // 4, 4), (1, size // 4), (1, size // 4)]
    with pytest.raises(ContractViolation, match="is 3; the contract says 4 to 99 for n"):
        session.run(None, {"x": np.zeros(3, np.float32)})
