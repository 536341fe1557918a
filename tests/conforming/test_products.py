"""Products of stacks and of vectors: fixed, with the same bits."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from support.conformed import TYPES, conformed, reasons, require_same_bits, violated
from support.graphs import operators, parse
from support.sessions import on_one_thread

OPSETS = (11, 13, 17)
OTHERWISE = "sums of products of floats may be rounded differently"


def random(element_type: str, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of which one in twenty is a special one; all integers of the type."""
    rng = np.random.default_rng((seed, *shape))
    dtype = TYPES[element_type]
    if element_type.startswith("int"):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype)
    numbers = rng.standard_normal(shape).astype(dtype)
    special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape).astype(dtype)
    return np.where(rng.random(shape) < 0.05, special, numbers).astype(dtype)


def mat_mul(element_type: str, a: str, b: str, y: str, opset: int = 17) -> onnx.ModelProto:
    return parse(
        f"({element_type}[{a}] A, {element_type}[{b}] B) => ({element_type}[{y}] Y)"
        " { [product] Y = MatMul(A, B) }",
        opset=opset,
    )


FOLDED = [
    ("2,3,4", "4,5", "2,3,5"), ("b,3,4", "4,5", "b,3,5"), ("2,s,4", "4,5", "2,s,5"),
    ("b,s,4", "4,n", "b,s,n"), ("b,2,s,4", "4,n", "b,2,s,n"), ("2,3,4", "4,n", "2,3,n"),
    ("b,s,k", "k,n", "b,s,n"), ("4", "4,n", "n"), ("4", "4", ""), ("1,m,4", "1,4,n", "1,m,n"),
    ("m,4", "1,1,4,n", "1,1,m,n"), ("1,1,m,4", "1,4,n", "1,1,m,n"),
]  # fmt: skip
OF_INTEGERS = [
    *FOLDED,
    ("m,4", "4", "m"),
    ("b,m,4", "4", "b,m"),
    ("b,m,4", "1,1,4,n", "1,b,m,n"),
    ("m,4", "b,4,n", "b,m,n"),
]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("a", "b", "y"), OF_INTEGERS)
def test_every_other_product_of_integers_becomes_one_of_two_matrices(
    a: str, b: str, y: str, opset: int
) -> None:
    model = mat_mul("int32", a, b, y, opset)
    assert violated(model) == {"MatMul.C1"}
    assert not violated(conformed(model))


@pytest.mark.parametrize("element_type", ["float", "double", "float16"])
@pytest.mark.parametrize(("a", "b", "y"), FOLDED)
def test_stacks_by_a_matrix_of_floats_become_products_of_two_matrices(
    element_type: str, a: str, b: str, y: str
) -> None:
    model = mat_mul(element_type, a, b, y)
    assert violated(model) == {"MatMul.C1"}
    assert not violated(conformed(model))


def sized(shape: str, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(sizes[size] if size in sizes else int(size) for size in shape.split(","))


def shapes_of(a: str, b: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Shapes of a run for all open sizes: nothing, one, a few and many."""
    symbols = sorted({size for size in f"{a},{b}".split(",") if size.isalpha()})
    for numbers in product((0, 1, 3), repeat=len(symbols)):
        sizes = dict(zip(symbols, numbers, strict=True))
        yield sized(a, sizes), sized(b, sizes)
    large = dict.fromkeys(symbols, 67)
    yield sized(a, large), sized(b, large)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("a", "b", "y"), FOLDED)
def test_a_product_of_two_matrices_has_the_same_bits_also_of_empty_stacks(
    a: str, b: str, y: str, opset: int
) -> None:
    model = mat_mul("float", a, b, y, opset)
    runs = [{"A": random("float", *m), "B": random("float", *n)} for m, n in shapes_of(a, b)]
    require_same_bits(model, conformed(model), *runs)


@pytest.mark.parametrize("element_type", ["double", "float16", "int32", "int64"])
@pytest.mark.parametrize("shape", ["1,1,300", "5,1,64", "1,7,33", "129,3,70", "2,3,5,16"])
@pytest.mark.parametrize("columns", [1, 5, 64])
def test_products_of_every_type_keep_their_bits(
    element_type: str, shape: str, columns: int
) -> None:
    *rows, inner = shape.split(",")
    b, y = f"{inner},{columns}", ",".join([*rows, str(columns)])
    model = mat_mul(element_type, shape, b, y)
    run = {"A": random(element_type, *sized(shape, {})), "B": random(element_type, *sized(b, {}))}
    require_same_bits(model, conformed(model), run)


@pytest.mark.parametrize("rows", ["1,1", "1,40", "7,1", "5,13", "b,s"])
def test_a_constant_matrix_which_a_session_packs_leaves_the_bits(rows: str) -> None:
    weights = random("float", 300, 33)
    model = parse(
        f"(float[{rows},300] A) => (float[{rows},33] Y) {{ Y = MatMul(A, W) }}",
        constants={"W": weights},
    )
    a = random("float", *sized(f"{rows},300", {"b": 3, "s": 9}))
    require_same_bits(model, conformed(model), {"A": a})


@pytest.mark.parametrize(("a", "b", "y"), OF_INTEGERS)
def test_products_of_integers_have_the_same_bits(a: str, b: str, y: str) -> None:
    model = mat_mul("int64", a, b, y)
    runs = [{"A": random("int64", *m), "B": random("int64", *n)} for m, n in shapes_of(a, b)]
    # Of an empty product of integers ONNX Runtime has no kernel that works.
    filled = [run for run in runs if all(array.size for array in run.values())]
    require_same_bits(model, conformed(model), *filled)


def test_products_that_follow_each_other_keep_the_rounding_of_float16_between() -> None:
    model = parse(
        "(float16[b,s,40] A, float16[40,30] B, float16[30,20] C) => (float16[b,s,20] Y)"
        " { T = MatMul(A, B)  Y = MatMul(T, C) }"
    )
    run = {
        "A": random("float16", 2, 5, 40),
        "B": random("float16", 40, 30),
        "C": random("float16", 30, 20),
    }
    require_same_bits(model, conformed(model), run)


def test_the_product_keeps_the_name_of_the_node() -> None:
    made = conformed(mat_mul("float", "b,s,4", "4,5", "b,s,5"))
    assert [node.name for node in made.graph.node if node.op_type == "MatMul"] == ["product"]


def test_a_stack_of_known_sizes_is_made_again_by_a_constant_shape() -> None:
    made = conformed(mat_mul("float", "2,3,4", "4,5", "2,3,5"))
    assert set(operators(made)) == {"Flatten", "MatMul", "Reshape"}


REFUSED = [
    ("b,m,4", "b,4,n", "b,m,n", "'A' and 'B' are both batches of matrices, and SONNX"),
    ("4", "b,4,n", "b,n", "'A' is a vector, and 'B' a batch of matrices"),
    ("m,4", "4", "m", OTHERWISE),
    ("m,4", "b,4,n", "b,m,n", OTHERWISE),
    ("b,m,4", "1,4,n", "b,m,n", OTHERWISE),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "y", "reason"), REFUSED)
def test_a_product_that_stays_gives_the_reason(a: str, b: str, y: str, reason: str) -> None:
    assert reasons(mat_mul("float", a, b, y))["MatMul.C1"].startswith(reason)


def test_an_unknown_rank_is_the_reason_that_a_product_stays() -> None:
    model = parse(
        "(float[b,m,4] A, int64[r] S, float[q] X) => (float[b,m,1] Y)"
        " { B = Reshape(X, S)  Y = MatMul(A, B) }"
    )
    assert reasons(model)["MatMul.C1"].startswith("the rank of 'B' is not known")


def test_old_models_with_open_sizes_give_the_reason() -> None:
    reason = reasons(mat_mul("float", "b,m,4", "4,n", "b,m,n", opset=9))["MatMul.C1"]
    assert reason.startswith("version 9 of the standard operators slices by attributes; convert")


@pytest.mark.parametrize(
    ("a", "b", "y"),
    [("m,4", "4", "m"), ("b,m,4", "4", "b,m"), ("m,4", "b,4,n", "b,m,n"),
     ("b,m,4", "1,1,4,n", "1,b,m,n")],
)  # fmt: skip
def test_changes_that_round_give_products_of_two_matrices_with_nearly_the_same_numbers(
    a: str, b: str, y: str
) -> None:
    model = mat_mul("float", a, b, y)
    made = conformed(model, rounding=True, measure=False)
    assert not violated(made)
    rng = np.random.default_rng(1)
    feeds = {
        name: rng.random(sized(shape, {"b": 3, "m": 5, "n": 7}), np.float32)
        for name, shape in (("A", a), ("B", b))
    }
    first, second = (
        ort.InferenceSession(m.SerializeToString(), on_one_thread("none")).run(None, feeds)[0]
        for m in (model, made)
    )
    np.testing.assert_allclose(first, second, rtol=1e-5)
