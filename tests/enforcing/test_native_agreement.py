"""One look at the inputs for all nodes whose shapes rest on their agreement."""

import re

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.graphs import parse
from support.sessions import quiet

CHAIN = """(float[n, k] x, float[n, k] y, float[n] w)
    => (float[] p, float[] q) {
    a = Relu(x)
    [first] p = Div(a, y)
    b = Mul(p, p)
    [second] q = Sub(b, x)
}"""


def enforced() -> onnx.ModelProto:
    return sonnx_ort.rewrite(parse(CHAIN), backend="native")


def plain_session() -> ort.InferenceSession:
    options = quiet()
    return ort.InferenceSession(enforced().SerializeToString(), options)


def feeds(x: tuple[int, int], y: tuple[int, int], w: int = 7) -> dict[str, np.ndarray]:
    shapes = {"x": x, "y": y, "w": (w,)}
    return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


def test_inputs_that_agree_give_what_the_original_gives() -> None:
    p, q = plain_session().run(None, feeds((2, 3), (2, 3)))
    np.testing.assert_array_equal(p, np.ones((2, 3)))
    np.testing.assert_array_equal(q, np.zeros((2, 3)))


def test_input_of_the_same_symbol_that_no_node_divides_may_be_of_any_size() -> None:
    plain_session().run(None, feeds((2, 3), (2, 3), w=5))


@pytest.mark.parametrize("y", [(1, 3), (2, 1), (1, 1), (3, 3)])
def test_inputs_that_do_not_agree_are_refused_by_a_plain_session(y: tuple[int, int]) -> None:
    told = r"Name:'Div 'first' breaks the SONNX profile;.*got -11$"
    with pytest.raises(Exception, match=re.compile(told, re.DOTALL)):
        plain_session().run(None, feeds((2, 3), y))


def test_our_session_says_which_node_fails_and_with_which_shapes() -> None:
    session = sonnx_ort.InferenceSession(parse(CHAIN), backend="native")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds((2, 3), (1, 3)))
    violation = caught.value
    assert (violation.rule, violation.node) == ("Div.float.R1", "first")
    assert violation.shapes == ((2, 3), (1, 3))
