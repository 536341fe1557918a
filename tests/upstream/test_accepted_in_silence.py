"""What ONNX Runtime and the checker of ONNX take without a word, or refuse before runs."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

from sonnx_ort import models
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from sonnx_ort.profile.catalog import ELEMENTWISE_OPERATORS, OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.graphs import parse
from support.operator_cases import OPERATOR_CASES, called
from support.sessions import quiet

pytestmark = pytest.mark.upstream

MODEL = "(float[2] x) => (float[2] y) { y = Relu(x) }"


def test_unknown_optimizer_is_switched_off_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    """Once it raises, no canary need tell whether a name is still that of an optimizer."""
    options = ort.SessionOptions()
    options.log_severity_level = 0
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "NoSuchOptimizer")
    ort.InferenceSession(parse(MODEL).SerializeToString(), options)
    assert "NoSuchOptimizer' is" not in capfd.readouterr().err


def test_checker_takes_a_tensor_with_more_elements_than_its_shape() -> None:
    """Once it raises, `loading/elements.py` can go."""
    made = parse(MODEL)
    made.graph.initializer.add(name="t", data_type=onnx.TensorProto.INT64, dims=[2])
    made.graph.initializer[0].int64_data.extend(range(4))
    onnx.checker.check_model(made, full_check=True)
    ort.InferenceSession(made.SerializeToString(), quiet())


def test_checker_takes_a_call_that_leaves_an_operand_out() -> None:
    """Once it raises, the operands of inlined nodes need no look."""
    made = parse(
        "(float[2] x) => (float[2] z) { z = local.f(x) }"
        '<opset_import: ["" : 17], domain: "local"> f (a, b) => (c) { c = Div(a, b) }',
        domains={"local": 1},
    )
    onnx.checker.check_model(made, full_check=True)
    with pytest.raises(Exception, match="input 1 is marked single but has an empty string"):
        ort.InferenceSession(made.SerializeToString(), quiet())


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ([("", 12), ("", 13)], 0.5),
        ([("", 13), ("", 12)], 0.25),
        ([("", 12), ("ai.onnx", 13)], 0.5),
        ([("ai.onnx", 13), ("", 12)], 0.25),
    ],
)
def test_last_of_two_imports_is_taken(imports: list[tuple[str, int]], expected: float) -> None:
    """Once they raise, `check_validity` need not. Before version 13 a Softmax joins axes."""
    made = parse("(float[1, 2, 2] x) => (float[1, 2, 2] y) { y = Softmax(x) }")
    del made.opset_import[:]
    made.opset_import.extend(onnx.helper.make_opsetid(*each) for each in imports)
    onnx.checker.check_model(made, full_check=True)
    session = ort.InferenceSession(made.SerializeToString(), quiet())
    (found,) = session.run(None, {"x": np.zeros((1, 2, 2), np.float32)})
    assert found.ravel().tolist() == [expected] * 4


@pytest.mark.parametrize(
    ("names", "expected"), [(("value", "value_ints"), 3), (("value_ints", "value"), 5)]
)
def test_first_value_of_a_constant_is_taken(names: tuple[str, str], expected: int) -> None:
    """Once they raise, `check_validity` need not."""
    made = parse("() => (int64[1] y) { c = Constant() y = Identity(c) }")
    values = {"value": numpy_helper.from_array(np.array([3])), "value_ints": [5]}
    for name in names:
        made.graph.node[0].attribute.append(onnx.helper.make_attribute(name, values[name]))
    onnx.checker.check_model(made)
    session = ort.InferenceSession(made.SerializeToString(), quiet())
    assert session.run(None, {})[0].tolist() == [expected]


def test_function_of_a_model_stands_for_a_custom_operator() -> None:
    """Once it raises, nothing changes: other tools read such a model as well."""
    made = parse(
        "(float[2] x) => (float[2] y) { y = sonnx.Broadcast(x) }"
        '<opset_import: ["" : 17], domain: "sonnx"> Broadcast (a) => (b) { b = Neg(a) }',
        domains={"sonnx": 1},
    )
    onnx.checker.check_model(made, full_check=True)
    session = ort.InferenceSession(made.SerializeToString(), quiet())
    assert session.run(None, {"x": np.ones(2, np.float32)})[0].tolist() == [-1, -1]


OTHER = {"float": "double", "int32": "int64", "uint8": "uint16", "bool": "int32"}
TWO_TYPES = {
    f"{name} of {kind}": (name, kind)
    for name in sorted(ELEMENTWISE_OPERATORS & OPERATOR_CASES.keys() - {"Pow", "Cast"})
    for kind in OTHER
    if kind in OPERATOR_CASES[name].kernels
}


def of_two_types(name, kind):
    """An operator whose last operand, or else the result of the only one, is of another type."""
    operator = OPERATORS[name]
    *first, _ = operator.operand_names(2)
    types = [operator.operand_types.get(operand, kind) for operand in first]
    own = operator.result_type or kind
    return (*types, OTHER[kind], own) if first else (kind, OTHER[kind])


def started(name, types):
    """A session on one node; the last type is the one that its result is declared with."""
    *operands, result = types
    letters = "abc"[: len(operands)]
    inputs = ", ".join(f"{t}[3] {x}" for t, x in zip(operands, letters, strict=True))
    node = called(name, ElementType(types[0]).family, letters)
    text = f"({inputs}) => ({result}[3] y) {{ y = {node} }}"
    options = quiet()
    model = parse(text, opset=22).SerializeToString()
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("case", TWO_TYPES)
def test_types_that_differ_are_refused(case):
    """Once they are not, the rules about types guard more, and `explain` has to say so."""
    name, kind = TWO_TYPES[case]
    with pytest.raises(Exception, match="Type"):
        started(name, of_two_types(name, kind))


def test_pow_takes_operands_of_two_types():
    """Once it does not, `explain` need make no exception of it."""
    session = started("Pow", ("float", "int64", "float"))
    feeds = {"a": np.array([1, 2, 3], np.float32), "b": np.array([2, 2, 2])}
    assert session.run(None, feeds)[0].tolist() == [1, 4, 9]


def test_cast_reads_numbers_from_strings():
    """Once it does not, the rule about types of Cast guards nothing that starts."""
    text = "(string[2] a) => (float[2] y) { y = Cast<to = 1>(a) }"
    model = parse(text, opset=22).SerializeToString()
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    assert session.run(None, {"a": np.array(["1.5", "-2"])})[0].tolist() == [1.5, -2]


def test_what_a_sparse_initializer_does_not_store_is_zero():
    """Once it is refused, the rules about sparse tensors guard a start that fails already."""
    model = models.load("div_sparse_initializer")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"A": np.array([6, 6, 10], np.float32)})
    assert result.tolist() == [2, np.inf, 2]
