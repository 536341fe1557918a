"""What is known of one value: its elements, where it comes from, whether its shape is mistaken."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from support.graphs import parse


def known(graph: str, **constants: np.ndarray) -> tuple[Facts, dict[str, ir.Value]]:
    model = load(parse(graph, domains={"my": 1}, constants=constants)).graph_model
    return Facts(model), dict(ir.convenience.create_value_mapping(model.graph))


@pytest.mark.parametrize(
    ("constant", "told"),
    [
        (np.arange(5), True),
        (np.arange(5000), True),
        (np.zeros((1 << 16) + 1, np.int8), True),
        (np.ones(5, np.float32), True),
        (np.ones(1 << 16, np.float32), True),
        (np.ones((1 << 16) + 1, np.float32), False),
        (np.array(["a", "b"], np.object_), False),
        (np.array(["a"] * ((1 << 16) + 1), np.object_), False),
    ],
    ids=lambda given: f"{given.dtype}[{given.size}]" if isinstance(given, np.ndarray) else None,
)
def test_rules_are_told_the_elements_of_integers_and_of_few_floats(
    constant: np.ndarray, *, told: bool
) -> None:
    facts, values = known("(float[2] x) => (float[2] y) { y = my.Op(k) }", k=constant)
    (operand,) = facts.operands(["A"], [values["k"]])
    assert (operand.constant is not None) is told
    if told:
        np.testing.assert_array_equal(operand.constant, constant)


def test_operand_is_told_by_the_name_of_its_value_and_what_gives_it() -> None:
    facts, values = known(
        "(float[2] x) => (float[2] y) { [r] a = Relu(x) y = Neg(a) }", k=np.ones(1)
    )
    operands = facts.operands(["A", "B", "C"], [values[name] for name in ("x", "a", "y")])
    assert [(o.name, o.value, o.origin) for o in operands] == [
        *(("A", "x", "input"), ("B", "a", "Relu 'r'"), ("C", "y", "Neg")),
    ]
    assert facts.origin(values["k"]) == "initializer"


def test_sparse_constant_is_told_as_one() -> None:
    numbers = onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [1], [1.0])
    indices = onnx.helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0])
    made = parse("(float[6] x) => (float[6] y) { y = Add(x, s) }")
    made.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(numbers, indices, [6]))
    model = load(made).graph_model
    values = ir.convenience.create_value_mapping(model.graph)
    assert Facts(model).origin(values["s"]) == "sparse initializer"


@pytest.mark.parametrize(("node", "may_be_misinferred"), [("Relu(x)", False), ("Det(x)", True)])
def test_shape_that_only_inference_knows_may_be_mistaken(
    node: str, *, may_be_misinferred: bool
) -> None:
    facts, values = known(f"(float[2,2] x) => (float[] y) {{ y = {node} }}")
    assert facts.may_be_misinferred(values["y"]) is may_be_misinferred
