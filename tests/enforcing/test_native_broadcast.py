"""What a Broadcast in front of a node takes in standard operators, and that it refuses enough."""

from itertools import product

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.profile.requirements.broadcasting import Broadcastable
from sonnx_ort.profile.rule import Violation
from support.graphs import binary_model, parse


def test_axis_of_one_size_may_be_empty_where_another_one_may_not() -> None:
    made = parse(
        "(float[n, m] x) => (float[] z) { axes = Constant<value_ints = [1]>()"
        " sums = ReduceSum(x, axes) z = Div(x, sums) }"
    )
    session = sonnx_ort.InferenceSession(made, broadcast="explicit", backend="native")
    assert session.run(None, {"x": np.ones((0, 2), np.float32)})[0].shape == (0, 2)
    with pytest.raises(sonnx_ort.ContractViolation, match=r"Broadcast\.E1"):
        session.run(None, {"x": np.ones((2, 0), np.float32)})


SIZES = (0, 1, 2, 3)
SHAPES = [shape for rank in range(3) for shape in product(SIZES, repeat=rank)]
DECLARED = [
    pytest.param(("n", "m"), ("k", "l"), id="ranks 2 and 2"),
    pytest.param(("n", "m"), ("k",), id="ranks 2 and 1"),
    pytest.param(("n",), ("k", "m"), id="ranks 1 and 2"),
    pytest.param(("n", 3), ("k", 1), id="one axis open"),
    pytest.param((2, "n"), ("m", 3), id="an open axis each"),
    pytest.param(("n", "m"), (1, 1), id="one element"),
    pytest.param(("n", "m"), (0, 2), id="an axis of size 0"),
    pytest.param((0, "n"), ("m", 0), id="an axis of size 0 each"),
    pytest.param(None, None, id="unknown ranks"),
    pytest.param(None, ("k", "m"), id="an unknown rank"),
]


def fits(declared: tuple[str | int, ...] | None, shape: tuple[int, ...]) -> bool:
    if declared is None:
        return True
    sizes = zip(declared, shape, strict=False)
    return len(declared) == len(shape) and all(isinstance(d, str) or d == s for d, s in sizes)


@pytest.mark.parametrize(("a_shape", "b_shape"), DECLARED)
@pytest.mark.parametrize("opset", [9, 17])
def test_exactly_what_the_rule_forbids_is_refused(a_shape, b_shape, opset) -> None:
    made = binary_model("Div", "float", a_shape, b_shape, opset=opset)
    session = sonnx_ort.InferenceSession(made, broadcast="explicit", backend="native")
    pairs = [p for p in product(SHAPES, repeat=2) if fits(a_shape, p[0]) and fits(b_shape, p[1])]
    wrong = []
    for a, b in pairs:
        try:
            ended = session.run(None, {"A": np.ones(a, "f"), "B": np.ones(b, "f")})[0].shape
        except sonnx_ort.ContractViolation as violation:
            ended = violation.rule
        broken = isinstance(Broadcastable().common_shape([a, b]), Violation)
        if ended != ("Broadcast.E1" if broken else np.broadcast_shapes(a, b)):
            wrong.append((a, b, ended))
    assert wrong == []


@pytest.mark.parametrize(
    ("a_shape", "b_shape"), [("[2, 3]", "[n, m]"), ("[n, 3]", "[2, m]"), ("[n, 3]", "[2, 1]")]
)
def test_guard_stays_where_only_the_shape_is_read(a_shape: str, b_shape: str) -> None:
    made = parse(
        f"(float{a_shape} a, float{b_shape} b) => (int64[] s) {{ z = Div(a, b) s = Shape(z) }}"
    )
    session = sonnx_ort.InferenceSession(made, broadcast="explicit", backend="native")
    sizes = (3, 3) if a_shape[1] == "n" else (2, 3)
    feeds = {"a": np.ones(sizes, np.float32), "b": np.ones((2, 1), np.float32)}
    if a_shape[1] != "n":
        feeds["b"] = np.ones((3, 3), np.float32)
    with pytest.raises(sonnx_ort.ContractViolation, match=r"Broadcast\.E1"):
        session.run(None, feeds)


def test_guard_in_a_branch_tells_its_rule() -> None:
    made = parse(
        "(float[n] x, float[m] y, bool c) => (float[] z) { z = If (c) <then_branch = t () => "
        "(float[] p) { [inner] p = Div(x, y) }, else_branch = e () => (float[] q) "
        "{ q = Identity(x) }> }"
    )
    session = sonnx_ort.InferenceSession(made, broadcast="explicit", backend="native")
    feeds = {"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds | {"c": np.array(True)})
    told = (caught.value.rule, caught.value.operator, caught.value.node)
    assert told == ("Broadcast.E1", "Broadcast", "inner")
