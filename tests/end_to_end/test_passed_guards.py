"""Models in which one guard stands for several nodes: the same verdicts, and the same numbers."""

import itertools

import numpy as np
import pytest

import sonnx_ort
from support.backends import on_each_backend
from support.broadcasting import outcome, run
from support.graphs import parse
from support.sessions import quiet

pytestmark = on_each_backend

FORMS = [
    ("[]", "[]"),
    ("[n, k]", "[m, l]"),
    ("[2, 3]", "[]"),
    ("[]", "[2, 3]"),
    ("[2, n]", "[m, 3]"),
]
SHAPES = [(2, 3), (2, 1), (3,), ()]


def made(element_type, declared, outputs, nodes):
    a, b = declared
    return parse(f"({element_type}{a} a, {element_type}{b} b) => ({outputs}) {{ {nodes} }}")


def feeds(dtype, *shapes):
    return {
        name: np.full(shape, 7 - 3 * index, dtype)
        for index, (name, shape) in enumerate(zip("ab", shapes, strict=True))
    }


@pytest.mark.parametrize("declared", FORMS, ids=str)
@pytest.mark.parametrize(
    ("outputs", "nodes"),
    [
        ("float[] z", "[d] x = Div(a, b) [s] z = Sub(x, b)"),
        ("float[] z", "[d] x = Div(a, b) y = Relu(x) [s] w = Sub(y, a) [e] z = Div(w, b)"),
        ("int64[] s", "[d] x = Div(a, b) [s] z = Sub(x, b) s = Shape(z)"),
        ("int64[] s", "[d] x = Div(a, b) [s] w = Sub(x, a) [e] z = Sub(b, w) s = Shape(z)"),
        ("int64 s", "[d] x = Div(a, b) y = Relu(x) [s] z = Sub(y, b) s = Size(z)"),
    ],
)
def test_first_node_refuses_what_does_not_agree(outputs, nodes, declared):
    model = made("float", declared, outputs, nodes)
    session = sonnx_ort.InferenceSession(model, quiet())
    fitting = [[shape for shape in SHAPES if fits(shape, form)] for form in declared]
    for shapes in itertools.product(*fitting):
        found = run(session, feeds(np.float32, *shapes))
        if len(set(shapes)) == 1:
            assert isinstance(found, list), (shapes, found)
        else:
            assert isinstance(found, sonnx_ort.ContractViolation), shapes
            assert (found.node, found.rule) == ("d", "Div.float.R1")


def fits(shape, form):
    """Whether a tensor of a shape may be fed to an input that is declared in a form."""
    sizes = form.strip("[]").split(", ") if form != "[]" else []
    numbers = [(size, own) for size, own in zip(sizes, shape, strict=False) if size.isdigit()]
    same_rank = not sizes or len(sizes) == len(shape)
    return same_rank and all(int(size) == own for size, own in numbers)


@pytest.mark.parametrize("element_type", ["int32", "int64"])
def test_divisor_that_is_looked_at_once_is_refused_once(element_type):
    nodes = "[d] x = Div(a, b) [e] y = Div(x, b) [s] z = Sub(y, b)"
    model = made(element_type, ("[n]", "[m]"), f"{element_type}[] z", nodes)
    arrays = {"a": np.array([90, 80], element_type), "b": np.array([3, 2], element_type)}
    (result,) = outcome(model, arrays)
    assert result.tolist() == [7, 18]
    arrays["b"][1] = 0
    found = outcome(model, arrays)
    assert isinstance(found, sonnx_ort.ContractViolation)
    assert (found.node, found.rule, found.index) == ("d", "Div.int.C1", (1,))
