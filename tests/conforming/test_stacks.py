"""Products of stacks of matrices, matrix by matrix: with the same bits."""

import pytest

from support.conformed import random, reasons, require_fixed
from support.graphs import operators, parse

STACKS = [
    ("2,3,4", "2,4,5", 2), ("2,3,n,4", "2,3,4,n", 6), ("2,1,3,4", "2,3,4,5", 6),
    ("1,3,4", "2,4,5", 2), ("2,1,3,4", "3,4,5", 6),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float", "double", "int32"])
@pytest.mark.parametrize("opset", [12, 17])
@pytest.mark.parametrize(("first", "second", "products"), STACKS)
def test_matrices_of_stacks_are_multiplied_one_by_one(
    first: str, second: str, products: int, opset: int, dtype: str
) -> None:
    model = parse(
        f"({dtype}[{first}] X, {dtype}[{second}] Y) => ({dtype}[{result(first, second)}] Z)"
        " { [product] Z = MatMul(X, Y) }",
        opset=opset,
    )
    runs = (
        {
            name: random(dtype, *(n if size == "n" else int(size) for size in shape.split(",")))
            for name, shape in (("X", first), ("Y", second))
        }
        for n in (1, 2, 70)
    )
    assert operators(require_fixed(model, *runs)).count("MatMul") == products


def result(first: str, second: str) -> str:
    rank = max(len(first.split(",")), len(second.split(",")))
    return ",".join("abcd"[:rank])


FIXED = "fix them: assume_shapes={'X': (1, 3, 4)} assume_shapes={'Y': (1, 4, 5)}"


@pytest.mark.parametrize(("first", "second", "reason"), [
    ("n,3,4", "n,4,5", f"the number of matrices in a batch depends on the input; {FIXED}"),
    ("65,3,4", "65,4,5", "the batches have 65 matrices, not 1 to 64"),
])  # fmt: skip
def test_other_stacks_give_the_reason(first: str, second: str, reason: str) -> None:
    model = parse(
        f"(float[{first}] X, float[{second}] Y) => (float[a,b,c] Z) {{ Z = MatMul(X, Y) }}"
    )
    assert reason in reasons(model)["MatMul.C1"]


def test_product_of_named_axes_of_which_a_run_gives_the_sizes_gives_the_reason() -> None:
    model = parse(
        "(float[2,n,4] X, float[4,5,6] Y) => (float[2,n,5,6] Z)"
        ' { Z = Einsum <equation = "abc,cde->abde">(X, Y) }'
    )
    assert reasons(model, rounding=True, measure=False)["Graph.operator_set"] == (
        "of a product of more than two axes the sizes have to be known; "
        "fix it: assume_shapes={'X': (2, 1, 4)}"
    )
