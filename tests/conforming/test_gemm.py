"""What a Gemm does besides the product of two matrices: fixed, with the same bits."""

from itertools import product

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.conformed import conformed, random, reasons, require_fixed, violated
from support.graphs import operators, parse
from support.sessions import on_one_thread

OPSETS = (11, 13, 17)


def sized(shape: str, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(sizes[size] if size in sizes else int(size) for size in shape.split(","))


def gemm(
    element_type: str,
    attributes: str,
    *,
    a: str = "m,4",
    b: np.ndarray | str = "4,n",
    c: np.ndarray | str | None = "n",
    opset: int = 17,
) -> onnx.ModelProto:
    constants = {n: v for n, v in (("B", b), ("C", c)) if isinstance(v, np.ndarray)}
    declared = ", ".join(
        f"{element_type}[{v}] {n}" for n, v in (("A", a), ("B", b), ("C", c)) if isinstance(v, str)
    )
    operands = "A, B" if c is None else "A, B, C"
    return parse(
        f"({declared}) => ({element_type}[p,q] Y) {{ [sum] Y = Gemm<{attributes}>({operands}) }}",
        constants=constants,
        opset=opset,
    )


WEIGHTS = random("float", 4, 5)
ROW = random("float", 5)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("attributes", "a", "b", "c", "rules"), [
    ("transB=1", "m,4", WEIGHTS.T, ROW, {"R1", "R3", "R2.transB"}),
    ("transA=1", "4,m", WEIGHTS, ROW, {"R1", "R3", "R2.transA"}),
    ("transA=1, transB=1, beta=0.3", "4,m", WEIGHTS.T, ROW,
     {"R1", "R3", "R2.transA", "R2.transB", "R2.beta"}),
    ("beta=-2.5", "m,4", WEIGHTS, "m,1", {"R2.beta", "R3"}),
    ("beta=0.0", "m,4", WEIGHTS, ROW, {"R1", "R3", "R2.beta"}),
    ("beta=0.5", "m,4", WEIGHTS, None, {"R2.beta", "R4"}),
    ("alpha=1.0", "m,4", WEIGHTS, None, {"R4"}),
    ("alpha=1.0", "m,4", "4,n", "1", {"R1", "R3"}),
    ("alpha=1.0", "m,4", "4,n", "n", {"R1", "R3"}),
    ("alpha=1.0", "m,4", "4,n", None, {"R4"}),
    ("alpha=1.0", "m,4", "4,5", "1,1", {"R3"}),
    ("alpha=1.0", "1,4", "4,5", "5", {"R1", "R3"}),
    ("alpha=1.0", "1,4", WEIGHTS, ROW, {"R1", "R3"}),
    ("alpha=1.0", "3,4", WEIGHTS, random("float", 3, 1), {"R3"}),
])  # fmt: skip
def test_a_gemm_is_mended_and_keeps_its_bits(  # noqa: PLR0917 - a row of the table
    attributes: str,
    a: str,
    b: np.ndarray | str,
    c: np.ndarray | str | None,
    rules: set[str],
    opset: int,
) -> None:
    model = gemm("float", attributes, a=a, b=b, c=c, opset=opset)
    runs = []
    for rows, columns in product((0, 1, 2, 67), (5,)):
        sizes = {"m": rows, "n": columns}
        declared = {n: v for n, v in (("A", a), ("B", b), ("C", c)) if isinstance(v, str)}
        runs.append({n: random("float", *sized(v, sizes)) for n, v in declared.items()})
    require_fixed(model, *runs, rules={f"Gemm.{rule}" for rule in rules})


@pytest.mark.parametrize("element_type", ["float", "double"])
@pytest.mark.parametrize("inner", [1, 33, 700])
@pytest.mark.parametrize("columns", [1, 2, 16, 33])
def test_packed_weights_and_double_keep_their_bits_for_every_size(
    element_type: str, inner: int, columns: int
) -> None:
    weights, c = (random(element_type, *shape) for shape in ((columns, inner), (columns,)))
    model = gemm(element_type, "transB=1, beta=0.7", a=f"m,{inner}", b=weights, c=c)
    runs = [{"A": random(element_type, rows, inner)} for rows in (1, 2, 3, 33)]
    require_fixed(model, *runs)


def test_a_row_for_one_row_needs_no_node() -> None:
    made = conformed(gemm("float", "transB=1", a="1,4", b=WEIGHTS.T, c=ROW))
    assert set(operators(made)) == {"Gemm"}


def test_a_gemm_without_c_is_a_mat_mul_of_the_same_name() -> None:
    made = conformed(gemm("float", "alpha=1.0", c=None))
    assert [(node.op_type, node.name) for node in made.graph.node] == [("MatMul", "sum")]


def test_a_c_that_does_not_fit_ends_the_run_as_before() -> None:
    model = gemm("float", "alpha=1.0", c="q")
    feeds = {"A": random("float", 2, 4), "B": random("float", 4, 5), "C": random("float", 3)}
    for tried in (model, conformed(model)):
        session = ort.InferenceSession(tried.SerializeToString(), on_one_thread("none"))
        with pytest.raises(Exception, match="shape"):
            session.run(None, feeds)


@pytest.mark.parametrize(("element_type", "attributes", "b", "rule"), [
    ("float", "transB=1", "n,4", "R2.transB"),
    ("float", "transA=1", "4,n", "R2.transA"),
    ("double", "transA=1", "4,n", "R2.transA"),
    ("float", "beta=0.5", "4,n", "R2.beta"),
    ("float", "alpha=0.5", "4,n", "R2.alpha"),
    ("double", "alpha=0.5", "4,n", "R2.alpha"),
])  # fmt: skip
def test_what_may_round_otherwise_rounds(
    element_type: str, attributes: str, b: str, rule: str
) -> None:
    a = "4,m" if "transA" in attributes else "m,4"
    model = gemm(element_type, attributes, a=a, b=b, c="m,n")
    assert "rounding=True may fix it" in reasons(model)[f"Gemm.{rule}"]
    assert not violated(conformed(model, rounding=True, measure=False))


def test_a_product_that_is_multiplied_by_alpha_stays_without_c() -> None:
    model = gemm("float", "alpha=0.5", c=None)
    assert reasons(model)["Gemm.R4"].startswith("the product is multiplied by alpha")


def test_a_multiple_of_c_is_a_constant_if_c_is() -> None:
    made = conformed(gemm("float", "beta=0.5", a="1,4", b=WEIGHTS, c=ROW))
    assert set(operators(made)) == {"Gemm"}


def test_attributes_that_the_draft_does_not_support_are_not_written_down() -> None:
    """The draft of Flatten has its axis, and that of Gemm none of its attributes."""
    made = parse(
        "(float[2,3] a, float[3,4] b, float[2,4] c) => (float[2,4] y)"
        " { d = Gemm(a, b, c) y = Flatten(d) }"
    )
    explicit = sonnx_ort.rewrite(made, operators="Gemm, Graph", make_explicit=True)
    written = {n.op_type: [a.name for a in n.attribute] for n in explicit.graph.node}
    assert (written["Gemm"], written["Flatten"]) == ([], ["axis"])
