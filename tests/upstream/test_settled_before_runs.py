"""What ONNX Runtime says of types that differ and of sparse initializers, before any run."""

import numpy as np
import onnxruntime as ort
import pytest

from sonnx_ort import models
from support.graphs import parse

pytestmark = pytest.mark.upstream

DIFFERENT = {
    **{
        f"{name} of {', '.join(types)}": (name, types)
        for names, types in (
            ("Div Sub Add Mul Max Min PRelu", ("float", "double", "float")),
            ("Div Sub Add Mul Max Min BitwiseAnd BitwiseOr", ("int32", "int64", "int32")),
            ("BitwiseXor Mod", ("int32", "int64", "int32")),
            ("Equal Less LessOrEqual Greater GreaterOrEqual", ("float", "double", "bool")),
            ("And Or Xor", ("bool", "int32", "bool")),
            ('BitShift<direction="LEFT">', ("uint8", "uint16", "uint8")),
            ("Abs Neg Reciprocal Sqrt Log Acos", ("float", "double")),
        )
        for name in names.split()
    },
    "Where of bool, float, double, float": ("Where", ("bool", "float", "double", "float")),
}


def started(name, types):
    """A session on one node; the last type is the one that its result is declared with."""
    *operands, result = types
    letters = "abc"[: len(operands)]
    inputs = ", ".join(f"{t}[3] {x}" for t, x in zip(operands, letters, strict=True))
    text = f"({inputs}) => ({result}[3] y) {{ y = {name}({', '.join(letters)}) }}"
    options = ort.SessionOptions()
    options.log_severity_level = 4
    model = parse(text, opset=22).SerializeToString()
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("case", DIFFERENT)
def test_types_that_differ_are_refused(case):
    """Once they are not, the rules about types guard more, and `explain` has to say so."""
    with pytest.raises(Exception, match="Type"):
        started(*DIFFERENT[case])


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
