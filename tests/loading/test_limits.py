"""What would take time or memory without limit is refused with a sentence."""

import onnx
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from support.child import run_python
from support.graphs import parse

ONCE, TWICE = 1, 2

CHECK = """
import sonnx_ort
from support.graphs import parse

made = parse(
    "(float[2, 2] x, float[2, 2] y) => (float[] z)"
    ' { z = Einsum<equation = "ij,jk->ik">(x, y) }'
)
made.graph.node[0].attribute[0].s = EQUATION
try:
    sonnx_ort.check(made)
    print("checked")
except sonnx_ort.InvalidModel as error:
    print(str(error).partition(", or")[0])
"""


def calling(levels: int, calls: int) -> onnx.ModelProto:
    """Functions of which each calls the one before."""
    made = parse(f"(float[2] x) => (float[] y) {{ y = local.f{levels}(x) }}", domains={"local": 1})
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    first = [helper.make_node("Div", ["a", "a"], ["b"])]
    made.functions.append(helper.make_function("local", "f0", ["a"], ["b"], first, imports))
    for level in range(1, levels + 1):
        names = ["a", *(f"t{n}" for n in range(calls - 1)), "b"]
        nodes = [
            helper.make_node(f"f{level - 1}", [names[n]], [names[n + 1]], domain="local")
            for n in range(calls)
        ]
        made.functions.append(
            helper.make_function("local", f"f{level}", ["a"], ["b"], nodes, imports)
        )
    return made


@pytest.mark.parametrize("operators", ["default", "profile"])
@pytest.mark.parametrize("levels", [14, 18, 60])
def test_functions_that_call_each_other_twice_are_refused(levels: int, operators: str) -> None:
    with pytest.raises(sonnx_ort.InvalidModel, match="when each call is replaced by its function"):
        sonnx_ort.check(calling(levels, TWICE), operators=operators)


@pytest.mark.parametrize(("levels", "calls", "nodes"), [(3, TWICE, 8), (30, ONCE, 1)])
def test_functions_that_give_few_nodes_are_examined(levels: int, calls: int, nodes: int) -> None:
    report = sonnx_ort.check(calling(levels, calls), operators="Div")
    assert len({each.node for each in report.obligations}) == nodes


@pytest.mark.parametrize(
    "equation", ["i.j->ij", "ij,jk.", "é", "..", "ij....", "i...j...", "ij->", "i j, j k -> i k"]
)
def test_einsum_whose_equation_is_read_for_ever_is_refused(equation: str) -> None:
    child = run_python(f"EQUATION = {equation.encode()!r}{CHECK}", timeout=60)
    refused = (
        f"Einsum '': its equation is {equation!r}; it must have terms of letters and at most one "
        "'...' each, as in 'ij,jk->ik'\n"
    )
    fits = equation in ("ij->", "i j, j k -> i k")
    assert (child.exit_status, child.stdout) == (0, "checked\n" if fits else refused), child


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.INT64])
def test_tensor_of_more_axes_than_an_array_has_is_refused(kind: int) -> None:
    made = parse("(float[2] x) => (float[] y) { y = Add(x, c) }")
    made.graph.initializer.append(TensorProto(name="c", data_type=kind, dims=[1] * 100))
    made.graph.initializer[0].raw_data = bytes(4 if kind == TensorProto.FLOAT else 8)
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        sonnx_ort.check(made, operators="default")
    assert str(refused.value) == (
        "tensor 'c' has 100 axes, and arrays have at most 64; take axes of size 1 away"
    )
