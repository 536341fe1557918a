"""The checker concludes shapes by rules of the kernel, and those of states by what a body keeps."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.checker import Model, Rejected, check, established
from sonnx_ort.checker.obligations import conclude
from support.derived import DOMAINS, Found, alone, derived, fact, facts, followed
from support.graphs import parse


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
        "the shape of 'z' is not known"),
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


def looped(body: str, states: str = "float[k, m] s", given: str = "float[k, m] t") -> str:
    """A model with a Loop, whose first state is x of (n, 3)."""
    return (
        "(int64 trips, bool go, float[n, 3] x) => (float[p, q] z) {"
        f" z = Loop <body = b (int64 i, bool c, {states}) => (bool d, {given})"
        f" {{ d = Identity(c) {body} }}> (trips, go, x) }}"
    )


STATES: dict[str, tuple[str, str, Found]] = {
    "a state that stays": (looped("t = Neg(s)"), "s", ["n", 3]),
    "the last state": (looped("t = Neg(s)"), "z", ["n", 3]),
    "a state that grows on one axis": (looped("t = Concat<axis = 0>(s, s)"), "s", ["?", 3]),
    "the last state that has grown": (looped("t = Concat<axis = 0>(s, s)"), "z", ["?", 3]),
    "a state of growing rank": (
        looped("a = Constant<value = int64[1] {0}>() t = Unsqueeze(s, a)"),
        *("s", "the rank of the state may change")),
    "a state that is exchanged": (looped("t = Transpose<perm = [1, 0]>(s)"), "s", ["?", "?"]),
    "a state of sizes that a run decides": (looped("t = NonZero(s)"), "s", ["?", "?"]),
    "a counter": (looped("t = Neg(s)"), "i", []),
    "a condition": (looped("t = Neg(s)"), "c", []),
    "a state of a loop within": (
        looped("t = Loop <body = e (int64 j, bool f, float[n, 3] u) => (bool g, float[n, 3] v)"
            " { g = Identity(f) v = Neg(u) }> (i, c, s)"),
        *("u", ["n", 3])),
    "a state of a loop within one that grows": (
        looped("r = Loop <body = e (int64 j, bool f, float[n, 3] u) => (bool g, float[n, 3] v)"
            " { g = Identity(f) v = Neg(u) }> (i, c, s) t = Concat<axis = 0>(r, s)"),
        *("u", ["?", 3])),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_shape_of_a_state_is_what_the_body_keeps(name: str) -> None:
    text, value, expected = STATES[name]
    assert followed(text, "shape", value) == expected


def test_states_that_are_exchanged_change_both() -> None:
    model = derived(
        "(int64 trips, bool go, float[2, 3] x, float[4, 3] y) => (float[p, q] z, float[r, t] w) {"
        " z, w = Loop <body = b (int64 i, bool c, float[k, 3] s, float[l, 3] u) =>"
        " (bool d, float[l, 3] a, float[k, 3] e) { d = Identity(c) a = Neg(u) e = Neg(s) }>"
        " (trips, go, x, y) }"
    )
    shapes = [[str(size)[0] for size in model.known("shape", name)] for name in ("s", "u", "z")]
    assert shapes == [["?", "3"]] * 3
    assert model.known("shape", "s") != model.known("shape", "u")


def test_no_more_is_assumed_of_a_state_than_its_body_keeps(tmp_path: Path) -> None:
    model = parse(looped("y = Add(s, s) t = Concat<axis = 0>(y, s)"))
    onnx.save(model, tmp_path / "m.onnx")
    made = sonnx_ort.certify(tmp_path / "m.onnx", operators="Add")
    content = (tmp_path / "m.onnx").read_bytes()
    assert check(content, made.content).startswith("3 checks hold")
    found = facts(established(model))
    assert found["x", "shape"] == ["n", 3]
    (length, width) = found["s", "shape"]
    assert (length[0], width) == ("?", 3)


def test_fact_is_made_once() -> None:
    """An open size would have another name each time."""
    model = Model(parse("(float[?] x) => (float[n] y) { y = Neg(x) }"))
    assert fact(model, "x", "shape") == fact(model, "x", "shape") == ["?1"]
    with pytest.raises(Rejected, match=r"^it is established already$"):
        model.establish("shape", "x", (3,))


def test_nothing_is_concluded_from_an_assumption_that_the_body_does_not_keep() -> None:
    """The state has two elements in the first iteration, and four in the second."""
    model = Model(parse(looped("y = Add(s, x) t = Concat<axis = 0>(s, s)")))
    for value, kind in product("xs", ("type", "shape")):
        model.derive(value, kind)
    for value in "yt":
        model.derive(value, "shape")
    assert fact(model, "s", "shape") == fact(model, "x", "shape")
    with pytest.raises(
        Rejected,
        match=r"^Add\.float\.R1 of the node of 'y' does not follow: "
        r"the shape of the state 's' changes$",
    ):
        conclude(model, "y", "Add.float.R1")
