"""Optimizers that stay on keep the sign of a zero, whatever stands in front of it.

A quotient tells the zeros from each other: of 0 it is an infinity, and of -0 the other one. So two
nodes compute a number, and a third one its reciprocal, with all optimizations and without:

    Relu, then Clip from -0 on     of -1 the Relu makes 0, and FuseReluClip the Clip -0

Constants are zeros of both signs where a node has any. Where does not belong here: its kernel loses
the sign (R14).
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from sonnx_ort.backends import Backend
from sonnx_ort.loading.file_traversal import all_attributes
from sonnx_ort.ort.disabled_optimizers import has_minus_zero
from sonnx_ort.ort.registration import prepare
from support.changes import changed
from support.graphs import parse
from support.sessions import on_one_thread
from support.soundness.arrays import Array

_CONSTANTS = {"zero": 0.0, "minus_zero": -0.0, "one": 1.0, "minus_one": -1.0, "six": 6.0}
_ZEROS = ("0.0", "-0.0")
_OPERAND = [[0], [-0.0], [1], [-1], [np.nan], [np.inf], [-np.inf], [0.5]]
_DTYPES = {"float": np.float32, "double": np.float64}


def _nodes() -> Iterator[str]:
    """The nodes, with {x} for their operand."""
    for operator in (
        *("Relu", "Neg", "Abs", "Sqrt", "Identity", "Sigmoid", "Tanh", "Erf", "Exp", "Log"),
        *("Floor", "Ceil", "Round", "Reciprocal", "Softsign", "Softplus", "Sign", "Sin"),
        *("HardSwish", "Sum", "Mean", "Dropout", "Flatten", "Softmax"),
    ):
        yield f"{operator}({{x}})"
    for operator in ("LeakyRelu", "Elu", "ThresholdedRelu", "Selu"):
        yield from (f"{operator} <alpha = {zero}> ({{x}})" for zero in _ZEROS)
    yield from (f"HardSigmoid <alpha = {a}, beta = {b}> ({{x}})" for a in _ZEROS for b in _ZEROS)
    for operator in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"):
        for name in ("zero", "minus_zero", "one", "minus_one"):
            yield f"{operator}({{x}}, {name})"
            if operator != "PRelu":
                yield f"{operator}({name}, {{x}})"
    for low, high in product(("zero", "minus_zero", "minus_one"), ("zero", "minus_zero", "six")):
        yield f"Clip({{x}}, {low}, {high})"
    yield "Transpose <perm = [0, 1]> ({x})"
    yield "Concat <axis = 0> ({x})"
    yield from ("Unsqueeze({x}, first)", "Reshape({x}, row)", "Expand({x}, ones)")
    yield from ("ReduceSum({x}, second)", "MatMul({x}, unit)", "Gemm({x}, unit)")
    yield "Gemm({x}, unit, minus_zero)"


NODES = tuple(_nodes())


def of_nodes(first: str, second: str, element_type: str, *, parallel: bool) -> onnx.ModelProto:
    """Two nodes, one behind the other or side by side, and the reciprocals of the results."""
    constants = ", ".join(f"{element_type} {name} = {{{_CONSTANTS[name]}}}" for name in _CONSTANTS)
    return parse(
        f"""({element_type}[n,1] x) => (float[] r{", float[] q" if parallel else ""})
            <{constants}, {element_type}[1,1] unit = {{1}}, int64[1] first = {{0}},
             int64[1] second = {{1}}, int64[2] row = {{1, -1}}, int64[2] ones = {{1, 1}}> {{
            y = {first.format(x="x")} z = {second.format(x="x" if parallel else "y")}
            f = Cast <to = 1> (z) r = Reciprocal(f)
            {"g = Cast <to = 1> (y) q = Reciprocal(g)" if parallel else ""} }}""",
        opset=17,
    )


def reciprocals(model: onnx.ModelProto, level: str, operand: Array) -> list[Array]:
    """What a session gives with the optimizers off that must not act on the model.

    Raises:
        Exception: It does not start, or the run ends with an error.
    """
    options = on_one_thread(level)
    minus_zero = has_minus_zero(all_attributes(model))
    prepare(options, Backend.NATIVE, rests_on_numbers=False, has_minus_zero=minus_zero)
    session = ort.InferenceSession(model.SerializeToString(), options)
    return [np.asarray(result) for result in session.run(None, {"x": operand})]


def kinds_of(results: list[Array]) -> list[tuple[bool, bool, bool]]:
    """Of each number whether it is infinite, whether it has a sign, and whether it is NaN."""
    numbers = np.concatenate([result.ravel() for result in results])
    signs = np.signbit(np.where(np.isnan(numbers), 0, numbers))
    return list(zip(np.isinf(numbers), signs, np.isnan(numbers), strict=True))


def changed_at_all(
    first: str, others: Iterable[str], element_type: str, *, parallel: bool
) -> list[str]:
    """With which other nodes a reciprocal has another kind with all optimizations."""
    operand = np.array(_OPERAND, _DTYPES[element_type])
    found = []
    for other in others:
        model = of_nodes(first, other, element_type, parallel=parallel)
        try:
            expected = reciprocals(model, "none", operand)
        except Exception:  # noqa: BLE001, S112 - no kernel, or no such operands
            continue
        if kinds_of(reciprocals(model, "all", operand)) != kinds_of(expected):
            found.append(other)
    return found


@pytest.mark.parametrize("first", NODES)
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_reciprocal_of_two_nodes_has_its_sign_at_all_levels(element_type: str, first: str) -> None:
    starts = element_type != "double" or changed("a Transpose and a MatMul of double stay apart")
    behind = [node for node in NODES if starts or not node.startswith("MatMul")]
    assert changed_at_all(first, behind, element_type, parallel=False) == []


@pytest.mark.parametrize("first", [node for node in NODES if "<" in node or "zero" in node])
def test_nodes_that_differ_in_the_sign_of_a_zero_stay_apart(first: str) -> None:
    operator = first.partition("(")[0].partition(" ")[0]
    others = [node for node in NODES if node.startswith(operator) and node != first]
    assert changed_at_all(first, others, "float", parallel=True) == []


@pytest.mark.parametrize(("element_type", "least"), [("float", 1.0), ("double", 0.6)])
def test_nodes_have_kernels(element_type: str, least: float) -> None:
    """What runs neither way shows nothing."""
    run = 0
    for node in NODES:
        model = of_nodes(node, "Neg({x})", element_type, parallel=False)
        with suppress(Exception):
            reciprocals(model, "none", np.ones((1, 1), _DTYPES[element_type]))
            run += 1
    assert run >= least * len(NODES)
