"""Exponents of the type of their base, and products in place of powers: with the same bits."""

import itertools

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from support.conformed import TYPES, conformed, random, reasons, require_same_bits, violated
from support.graphs import operators, parse
from support.sessions import on_one_thread

OTHERWISE = "a power of floats may be rounded differently"


def power(base: str, shape: str, exponent: np.ndarray | str, opset: int = 17) -> onnx.ModelProto:
    constants = {} if isinstance(exponent, str) else {"E": exponent}
    declared = f", {exponent} E" if isinstance(exponent, str) else ""
    return parse(
        f"({base}[{shape}] X{declared}) => ({base}[{shape}] Z) {{ [power] Z = Pow(X, E) }}",
        constants=constants,
        opset=opset,
    )


@pytest.mark.parametrize("opset", [12, 13, 17])
@pytest.mark.parametrize(("base", "exponent"), [
    ("float", np.array(2)),
    ("float", np.array([3], np.int32)),
    ("float", np.array(3.0)),
    ("double", np.array(7)),
    ("double", np.array(0.3, np.float32)),
    ("double", np.array([1, 2, 3, 4, 5])),
    ("double", "int64[5]"),
    ("double", "int32[n,5]"),
    ("double", "float[n,1]"),
    ("int32", np.array(3)),
    ("int32", np.array([2.0], np.float32)),
    ("int64", np.array([0, 1, 2, 3, 4], np.int32)),
    ("int64", "int32[5]"),
])  # fmt: skip
def test_an_exponent_gets_the_type_of_the_base_and_the_bits_stay(
    base: str, exponent: np.ndarray | str, opset: int
) -> None:
    model = power(base, "n,5", exponent, opset=opset)
    rules = {f"Pow.{'int' if base.startswith('int') else 'float'}.R2"}
    assert violated(model, broadcast="explicit") == rules
    made = conformed(model, broadcast="explicit")
    assert not violated(made, broadcast="explicit")
    assert not {"GR3", *rules} & set(reasons(model, broadcast="explicit"))
    for rows in (0, 1, 2, 300):
        feeds = {"X": random(base, rows, 5)}
        if isinstance(exponent, str):
            element_type, _, shape = exponent[:-1].partition("[")
            sizes = [rows if size == "n" else int(size) for size in shape.split(",")]
            feeds["E"] = np.abs(random(element_type, *sizes))
        require_same_bits(model, made, feeds)


def test_a_constant_exponent_is_converted_without_a_node() -> None:
    made = conformed(power("float", "n,5", np.array(2)), broadcast="explicit")
    assert operators(made) == ["Pow"]


KEPT = [
    ("float", np.array(5), OTHERWISE),
    ("float", np.array(0.5), OTHERWISE),
    ("float", "int64[5]", OTHERWISE),
    ("float16", np.array(2.0, np.float32), OTHERWISE),
    ("int32", np.array(0.5, np.float32), "an exponent is not a number of int32"),
    ("int32", np.array(2**40), "an exponent is not a number of int32"),
    ("int32", "int64[5]", "an exponent may not be a number of int32"),
    ("int64", "float[5]", "an exponent may not be a number of int64"),
]


@pytest.mark.parametrize(("base", "exponent", "reason"), KEPT)
def test_an_exponent_that_keeps_its_type_gives_the_reason(
    base: str, exponent: np.ndarray | str, reason: str
) -> None:
    given = reasons(power(base, "n,5", exponent), broadcast="explicit")
    (why,) = (why for rule, why in given.items() if rule.endswith(".R2"))
    assert why.startswith(reason)


def test_a_square_of_columns_of_one_is_no_product_for_the_kernel() -> None:
    given = reasons(power("float", "n,1", np.array(2)), broadcast="explicit")
    assert given["Pow.float.R2"].startswith(OTHERWISE)


@pytest.mark.parametrize("exponent", [row[1] for row in KEPT[:4]], ids=str)
def test_a_change_that_rounds_converts_the_exponents_of_floats(exponent: np.ndarray | str) -> None:
    model = power("float", "n,5", exponent)
    assert not violated(
        conformed(model, broadcast="explicit", rounding=True, measure=False), broadcast="explicit"
    )


@pytest.mark.parametrize("base", ["float", "double", "int32", "int64"])
@pytest.mark.parametrize("exponent", [2, 3])
@pytest.mark.parametrize("element_type", ["float", "int64"])
@pytest.mark.parametrize("shape", ["n,5", "n,s,64", "300"])
def test_a_square_or_cube_becomes_a_product_of_the_same_bits(
    base: str, exponent: int, element_type: str, shape: str
) -> None:
    model = power(base, shape, np.array(exponent, TYPES[element_type]))
    made = conformed(model)
    assert operators(made) == ["Mul"] * (exponent - 1)
    assert made.graph.node[-1].name == "power"
    for size in (0, 1, 7):
        sizes = [int(s) if s.isdigit() else size for s in shape.split(",")]
        require_same_bits(model, made, {"X": random(base, *sizes)})


@pytest.mark.parametrize(("shape", "exponent"), [
    ("n,1", np.array(2, np.float32)),
    ("1", np.array(2, np.float32)),
    ("n", np.array(3, np.float32)),
    ("n,m", np.array([[2]], np.float32)),
    ("n", np.array(2)),
], ids=str)  # fmt: skip
def test_a_power_that_the_kernel_may_not_multiply_stays_one(
    shape: str, exponent: np.ndarray
) -> None:
    assert operators(conformed(power("float", shape, exponent))) == ["Pow"]


@pytest.mark.parametrize(("base", "opset"), [
    *itertools.product(("float", "double", "int32", "int64"), (13, 17)),
    *(("float", 10), ("double", 10)),  # Pow takes integers since version 12
])  # fmt: skip
@pytest.mark.parametrize(
    ("shape", "axes"), [("n", 0), ("4,n", 0), ("4,n", 1), ("n,s", 0), ("n,s", 1)]
)
def test_a_square_of_rows_that_a_run_measures_keeps_its_bits(
    base: str, axes: int, shape: str, opset: int
) -> None:
    model = power(base, shape, np.full([1] * axes, 2, TYPES[base]), opset=opset)
    made = conformed(model)
    assert operators(made)[-3:] == ["Pow", "Mul", "Where"]
    assert not violated(made)
    for rows in (0, 1, 2, 3000):
        for row in (0, 1, 2, 7):
            sizes = {"n": (rows,), "4,n": (4, row), "n,s": (rows, row)}[shape]
            require_same_bits(model, made, {"X": random(base, *sizes)})


def test_a_power_of_rows_of_one_is_no_product_for_the_kernel() -> None:
    """Otherwise both could be made by one Mul."""
    x = random("float", 3000, 1)
    made = power("float", "n,m", np.array(2, np.float32))
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    assert (session.run(None, {"X": x})[0] != x * x)[np.isfinite(x)].any()


def test_an_exponent_that_would_become_whole_stays() -> None:
    model = power("float", "n,4", np.array([1 + 2.0**-40, 0.5, 2, 3]))
    found = reasons(model, rounding=True, measure=False, broadcast="explicit")
    assert found["Pow.float.R2"] == ("an exponent that is not whole is so as a number of float")
