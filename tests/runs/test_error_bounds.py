"""The errors of values of a run, bounded by the documents on numerical accuracy."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.enclosing import enclose
from sonnx_ort.runs.audit.error_bounds import BoundedValue
from support.graphs import parse

Array = np.ndarray[Any, Any]
F = np.float32
U = 2.0**-24
NEAR_ONE = 1e-8
"""How near a bound of small integers is to the number that is computed by hand."""


def bounds_of(graph: str, feeds: dict[str, Array], **errors: float) -> dict[str, BoundedValue]:
    return named(sonnx_ort.audit(parse(graph), feeds, errors=errors))


def named(audit: Audit) -> dict[str, BoundedValue]:
    return {value.name: value for value in audit.bounded}


TWO = "(float[1] x, float[1] y) => (float[1] z) { z = %s(x, y) }"

BY_HAND = [
    ("Add", (3, 5), (0.25, 0.5), 0.75 + 8 * U),
    ("Sub", (3, 5), (0.25, 0.5), 0.75 + 2 * U),
    ("Mul", (3, 5), (0.25, 0.5), 5 / 4 + 3 / 2 + 1 / 8 + 15 * U),
    ("Mul", (2.0**-100, 2.0**-40), (0, 0), 2.0**-126 * U),
    ("Div", (1, 2), (1, 0), 1 / 2 + U / 2),
    ("Div", (1, 2), (0, 1), 1 / 2 + U / 2),
    ("Div", (6, -4), (0.5, 2), (4 / 2 + 6 * 2) / 8 + 1.5 * U),
]


@pytest.mark.satisfies("Div.accuracy.propagated.bound")
@pytest.mark.parametrize(("operator", "operands", "errors", "bound"), BY_HAND)
def test_bound_is_the_formula_of_the_document(
    operator: str, operands: tuple[float, float], errors: tuple[float, float], bound: float
) -> None:
    feeds = {name: F([x]) for name, x in zip("xy", operands, strict=True)}
    made = bounds_of(TWO % operator, feeds, **dict(zip("xy", errors, strict=True)))["z"]
    assert made.bound == pytest.approx(bound, rel=NEAR_ONE, abs=0)
    assert made.reason == ""


def test_bound_of_a_product_of_matrices_has_the_largest_element_of_its_row_and_column() -> None:
    graph = "(float[2, 2] x, float[2, 1] y) => (float[2, 1] z) { z = MatMul(x, y) }"
    feeds = {"x": F([[1, 2], [3, 4]]), "y": F([[5], [6]])}
    propagated = 0.5 * 11 + 0.25 * 7 + 2 * 0.5 * 0.25
    introduced = ((1 + U) ** 2 - 1 + (1 + U) ** 3 - 1) * 4 * 6
    made = bounds_of(graph, feeds, x=0.5, y=0.25)["z"]
    assert made.bound == pytest.approx(propagated + introduced, rel=NEAR_ONE)


def test_bound_of_a_sum_of_products_holds_for_any_order_of_summation() -> None:
    """The largest error of any tree of additions, and of a chain that begins at 0."""
    u = Fraction(1, 1 << 11)
    largest, chain = {1: u}, (1 + u) * u + u
    for n in range(2, 20):
        chain = (1 + u) * (chain + u) + u * n
        parts = max(largest[k] + largest[n - k] for k in range(1, n))
        largest[n] = (1 + u) * parts + u * n
        graph = (
            f"(float16[1, {n}] x, float16[{n}, 1] y) => (float16[1, 1] z) {{ z = MatMul(x, y) }}"
        )
        ones = np.ones((1, n), np.float16)
        made = bounds_of(graph, {"x": ones, "y": ones.T})["z"]
        assert made.bound is not None
        assert largest[n] <= made.bound == pytest.approx(float(chain), rel=NEAR_ONE)


def test_bound_of_tanh_has_the_steepest_slope() -> None:
    graph = "(float[1] x) => (float[1] y) { y = Tanh(x) }"
    small = bounds_of(graph, {"x": F([0.25])}, x=0.5)["y"]
    assert small.bound == pytest.approx(0.5, rel=1e-5)
    far = bounds_of(graph, {"x": F([3])}, x=1)["y"]
    assert far.bound == pytest.approx(1 / np.cosh(2.0) ** 2, rel=1e-5)


CORNERS = [
    (TWO % "Add", (1,), 1),
    (TWO % "Sub", (1,), 1),
    (TWO % "Mul", (1,), 1),
    (TWO % "Div", (1,), 1),
    ("(float[2, 3] x, float[3, 2] y) => (float[2, 2] z) { z = MatMul(x, y) }", None, 1),
    ("(float[4] x, float[4] y) => (float[4] z) { p = Mul(x, y)\n z = Tanh(p) }", (4,), 0.25),
    ("""(float[4] x, float[4] y) => (float[2, 2] z) <int64[2] s = {2, 2}>
     { q = Div(x, y) d = Sub(q, x) r = Reshape(d, s) t = Transpose(r) z = Tanh(t) }""", (4,), 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "shape", "scale"), CORNERS)
def test_no_exact_value_is_further_away_than_the_bound(
    graph: str, shape: tuple[int, ...] | None, scale: float
) -> None:
    """The exact inputs are those of the run, each off by its largest error to one side."""
    model = parse(graph)
    generator = np.random.default_rng(5)
    shapes = {"x": shape or (2, 3), "y": shape or (3, 2)}
    error = 2.0**-5
    for _ in range(20):
        feeds = {
            name: F(scale * generator.integers(8, 64, size) / 16) for name, size in shapes.items()
        }
        signs = generator.choice([-1, 1], 2)
        exact = {
            name: feeds[name] + F(error * sign) for name, sign in zip(feeds, signs, strict=True)
        }
        audit = sonnx_ort.audit(model, feeds, errors={"x": error, "y": error})
        bound = named(audit)["z"].bound
        run = run_of(model, feeds)
        (held,) = enclose(model, exact, {"z": run})
        assert held.reason == ""
        assert bound is not None
        assert held.distance <= bound


def run_of(model: Any, feeds: dict[str, Array]) -> Array:
    import onnxruntime as ort  # noqa: PLC0415 - other tests need none

    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: Array = session.run(["z"], feeds)[0]
    return result


UNBOUNDED = [
    ("(float[1] x, float[1] y) => (float[1] z) { e = Exp(x)\n z = Add(e, y) }",
     "no document bounds the error of Exp '(output e)'"),
    (TWO % "Div", "an element is not finite, or its divisor may be zero"),
    ("(float[1] x, float[1] y) => (float[1] z) { c = Less(x, y)\n z = Where(c, x, y) }",
     "no document bounds the error of Less '(output c)'"),
    ("(float[1, 1] x, float[1, 1, 1] y) => (float[1, 1, 1] z) { z = MatMul(x, y) }",
     "matmul_acc.md is about matrices, unlike MatMul '(output z)'"),
    ("""(float[1] x, float[1] y) => (float[1] z) <bool c = {1}>
     { z = If(c) <then_branch = a () => (float[1] p) { p = Add(x, y) },
                  else_branch = b () => (float[1] q) { q = Sub(x, y) }> }""",
     "the bodies of If '(output z)' are not followed"),
    ("(float[1] x, float[1] y) => (float[1] z) { z = Resize(x, , y) }",
     "where Resize '(output z)' takes its elements from may be off"),
    ("""(float[1] x, float[1] y) => (float[1] z) <int64[2, 1] i = {0, 0}>
     { u = Concat<axis = 0>(x, y) z = ScatterND(x, i, u) }""",
     "it is open which elements ScatterND '(output z)' takes"),
]  # fmt: skip


def test_old_version_that_broadcasts_by_attributes_has_no_bound(tmp_path: Path) -> None:
    graph = "(float[2, 2] x, float[2] y) => (float[2, 2] z) { z = Add<broadcast=1, axis=0>(x, y) }"
    x, y = F([[1, 2], [3, 4]]), F([5, 6])
    for name, array in {"x": x, "y": y, "z": x + y[:, None]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    audit = sonnx_ort.audit(parse(graph, opset=6), values=tmp_path, errors={"y": 0.5})
    assert named(audit)["z"].reason == "Add '(output z)' is of a version before 7"


def test_error_of_a_scalar_is_followed() -> None:
    graph = "(float x, float y) => (float z) { z = Add(x, y) }"
    made = bounds_of(graph, {"x": np.array(1, F), "y": np.array(2, F)}, x=0.5)["z"]
    assert made.enclosed == pytest.approx(0.5, rel=NEAR_ONE)


@pytest.mark.parametrize(("graph", "reason"), UNBOUNDED)
def test_where_no_document_gives_a_bound_the_reason_is_given(graph: str, reason: str) -> None:
    model = parse(graph)
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in model.graph.input}
    feeds = {name: F(1).reshape((1,) * rank) for name, rank in ranks.items()}
    made = bounds_of(graph, feeds, x=0.5, y=1)["z"]
    assert (made.bound, made.source, made.reason) == (None, "", reason)


def test_condition_of_exact_operands_is_exact() -> None:
    graph = "(float[1] x, float[1] y, float[1] w) => (float[1] z) "
    graph += "{ c = Less(x, y)\n z = Where(c, w, y) }"
    made = bounds_of(graph, {"x": F([1]), "y": F([2]), "w": F([3])}, w=0.5)["z"]
    assert (made.bound, made.source) == (pytest.approx(0.5, rel=NEAR_ONE), "where_acc.md")


def test_value_that_an_optimizer_joined_has_no_bound() -> None:
    graph = (
        "(float[2] x, float[2] y) => (float[2] z) <float[1] one = {1}> "
        "{ a = Div(one, x)\n z = Mul(a, y) }"
    )
    feeds = {"x": F([3, 41]), "y": F([1, 41])}
    audit = sonnx_ort.audit(parse(graph), feeds, errors={}, level="all")
    assert named(audit)["z"].reason == "the run has no value 'a'"


def test_node_that_is_observed_before_its_operand_waits_for_it() -> None:
    """The optimizer folds the shape, so that `r` is there before `n` is."""
    graph = (
        "(float[2] x, float[2] y) => (float[2] r) "
        "{ n = Add(x, y)\n m = Mul(n, y)\n s = Shape(m)\n r = Reshape(n, s) }"
    )
    feeds = {"x": F([3, 41]), "y": F([1, 41])}
    audit = sonnx_ort.audit(parse(graph), feeds, errors={"x": 0.5}, level="all")
    assert {value.name for value in audit.bounded} >= {"n", "r"}
    assert named(audit)["r"].bound == pytest.approx(named(audit)["n"].bound, rel=NEAR_ONE)


def test_value_beyond_its_bound_is_told(tmp_path: Path) -> None:
    x, y = F([1, 2]), F([3, 4])
    for name, array in {"x": x, "y": y, "z": F([4, 7])}.items():
        np.save(tmp_path / f"{name}.npy", array)
    graph = "(float[2] x, float[2] y) => (float[2] z) { z = Add(x, y) }"
    audit = sonnx_ort.audit(parse(graph), values=tmp_path, errors={"x": 0.25})
    made = named(audit)["z"]
    assert (made.exceeded, made.enclosed) == ((1,), pytest.approx(1.25, rel=NEAR_ONE))


def test_enclosure_has_the_errors_of_the_inputs() -> None:
    made = bounds_of(TWO % "Sub", {"x": F([3]), "y": F([2])}, x=0.25, y=0.5)["z"]
    assert made.enclosed == pytest.approx(0.75, rel=NEAR_ONE)


@pytest.mark.parametrize(("errors", "message"), [
    ({"a": 1}, "the model has no input 'a'; choose from x, y, k"),
    ({"k": 1}, "the error of 'k' has to be 0, because it has no floats"),
    ({"x": -1}, "the error -1 of 'x' is no number of at least 0"),
    ({"x": float("nan")}, "the error nan of 'x' is no number of at least 0"),
])  # fmt: skip
def test_error_that_is_none_of_a_float_input_is_refused(
    errors: dict[str, float], message: str
) -> None:
    model = parse("(float[1] x, float[1] y, int64[1] k) => (float[1] z) { z = Add(x, y) }")
    feeds = {"x": F([1]), "y": F([1]), "k": np.int64([1])}
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.audit(model, feeds, errors=errors)
    assert str(caught.value) == message


def test_error_of_an_integer_input_may_be_none() -> None:
    assert bounds_of("(int64[1] k, float[1] x) => (float[1] y) { y = Tanh(x) }", {}, k=0)["y"].bound
