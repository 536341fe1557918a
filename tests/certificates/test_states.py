"""Of the states of Loops that is known which the body keeps in every iteration."""

from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.checker import Rejected, check
from support.graphs import parse
from support.steps import Found, after_all_steps, followed


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
    model = after_all_steps(
        "(int64 trips, bool go, float[2, 3] x, float[4, 3] y) => (float[p, q] z, float[r, t] w) {"
        " z, w = Loop <body = b (int64 i, bool c, float[k, 3] s, float[l, 3] u) =>"
        " (bool d, float[l, 3] a, float[k, 3] e) { d = Identity(c) a = Neg(u) e = Neg(s) }>"
        " (trips, go, x, y) }"
    )
    shapes = [[str(size)[0] for size in model.known("shape", name)] for name in ("s", "u", "z")]
    assert shapes == [["?", "3"]] * 3
    assert model.known("shape", "s") != model.known("shape", "u")


def test_more_than_the_body_keeps_is_rejected(tmp_path: Path) -> None:
    onnx.save(parse(looped("y = Add(s, s) t = Concat<axis = 0>(y, s)")), tmp_path / "m.onnx")
    made = sonnx_ort.certify(tmp_path / "m.onnx", operators="Add")
    content = (tmp_path / "m.onnx").read_bytes()
    assert check(content, made.content).startswith("3 obligations hold")
    claims = {"s": ["n", 3], "y": ["n", 3], "t": ["2*n", 3]}
    for step in made.content["steps"]:
        if step[1] == "shape":
            step[2] = claims.get(step[0], step[2])
    with pytest.raises(Rejected, match=r"^the shape of the state 's' changes$"):
        check(content, made.content)


def test_what_the_body_gives_is_a_step_of_the_certificate(tmp_path: Path) -> None:
    onnx.save(parse(looped("y = Add(s, s) t = Neg(y)")), tmp_path / "m.onnx")
    made = sonnx_ort.certify(tmp_path / "m.onnx", operators="Add")
    assert not made.uncertified
    content = (tmp_path / "m.onnx").read_bytes()
    made.content["steps"].remove(["t", "shape", ["n", 3]])
    with pytest.raises(Rejected, match=r"^the shape of the state 's' changes$"):
        check(content, made.content)
