"""Names that the package gives to what it adds to a model."""

from collections.abc import Callable

import onnx_ir as ir
import pytest

from sonnx_ort.loading.traversal import ValueNames
from support.graphs import parse

MODEL = """(float[2] x, bool c) => (float[2] z) {
    [n] y = Neg(x)
    [choice] z = If(c) <
        then_branch = t () => (float[2] u) { [inner] u = Abs(y) },
        else_branch = f () => (float[2] v) { v = Relu(y) }>
}"""


@pytest.mark.parametrize(
    ("fresh", "taken", "given"),
    [
        (ValueNames.fresh, "new", ["new", "new_2", "new_3"]),
        (ValueNames.fresh, "y", ["y_2", "y_3", "y_4"]),
        (ValueNames.fresh, "u", ["u_2", "u_3", "u_4"]),
        (ValueNames.fresh_for_node, "new", ["new", "new (2)", "new (3)"]),
        (ValueNames.fresh_for_node, "n", ["n (2)", "n (3)", "n (4)"]),
        (ValueNames.fresh_for_node, "inner", ["inner (2)", "inner (3)", "inner (4)"]),
    ],
)
def test_name_that_is_taken_gets_the_next_number(
    fresh: Callable[[ValueNames, str], str], taken: str, given: list[str]
) -> None:
    names = ValueNames(ir.from_proto(parse(MODEL)))
    assert [fresh(names, taken) for _ in given] == given


def test_names_of_values_and_of_nodes_do_not_collide() -> None:
    names = ValueNames(ir.from_proto(parse(MODEL)))
    assert (names.fresh("n"), names.fresh_for_node("y")) == ("n", "y")
