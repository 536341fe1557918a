"""What ONNX Runtime says of types that differ and of sparse initializers, before any run."""

import numpy as np
import onnxruntime as ort
import pytest

from sonnx_ort import models
from sonnx_ort.profile.catalog import ELEMENTWISE_OPERATORS, OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.graphs import parse
from support.operator_cases import OPERATOR_CASES, called
from support.sessions import quiet

pytestmark = pytest.mark.upstream

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
