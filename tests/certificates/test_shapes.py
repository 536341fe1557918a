"""The checker concludes shapes by the rules of the kernel, and what a graph adds to these."""

from collections.abc import Mapping

import pytest

from support.graphs import parse
from support.steps import DOMAINS, Found, alone, followed


def chosen(x: str, z: str) -> str:
    return (
        f"(bool c, {x}, {z}) => (float[k] y) {{ y = If(c) <"
        "then_branch = t () => (float[k] a) { a = Neg(x) }, "
        "else_branch = e () => (float[k] b) { b = Neg(z) }> }"
    )


CASES: Mapping[str, tuple[int, str, Found]] = {
    "a number and a size": (17, alone("Add(x, z)", "float[n] x, float[4] z"), [4]),
    "a polynomial": (17, alone("Flatten(x)", "float[n, m, 2] x"), ["n", "2*m"]),
    "a function of a size": (17,
        alone("MaxPool<kernel_shape = [2], strides = [2]>(x)", "float[1, 3, n] x"),
        [1, 3, "trunc((n - 2)/2) + 1"]),
    "an attribute that is text": (17,
        alone('MaxPool<kernel_shape = [2], auto_pad = "SAME_UPPER">(x)', "float[1, 3, n] x"),
        [1, 3, "n"]),
    "a size that no run decides alike": (17, alone("Add(x, z)", "float[n] x, float[m] z"), ["?"]),
    "axes of an attribute": (11, alone("Squeeze<axes = [0]>(x)", "float[1, n] x"), ["n"]),
    "an operand of which nothing is known": (17,
        "(float[n] x, float[n] v) => (float[k] y) { z = Unique(v) y = Add(x, z) }",
        "no step gives the shape of 'z'"),
    "an operator without a rule": (17, alone("Unique(x)"), "a Unique has no rule"),
    "a result of a Broadcast": (17,
        alone("sonnx.Broadcast(x, z)", "float[n] x, float[3, 1] z").replace("y =", "y, b ="),
        [3, "n"]),
    "branches of one shape": (17, chosen("float[n, 2] x", "float[3, 2] z"), ["?", 2]),
    "branches of two ranks": (17, chosen("float[n] x", "float[3, 2] z"), "its rank is not known"),
    "a negative size": (17, alone("Pad(x, p)", "float[2] x", "int64[2] p = {-3, 0}"),
        "a size is negative"),
    "a size beyond int32": (17, alone("Concat<axis = 0>(x, x)", "float[1073741824, 2] x"),
        ["?", "?"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_shape_is_what_the_rule_gives(name: str) -> None:
    opset, text, expected = CASES[name]
    assert followed(parse(text, opset=opset, domains=DOMAINS), "shape") == expected
