"""Names that guards have taken are given back, unless that gives two values one name."""

from collections.abc import Callable, Mapping

import onnx
import pytest
from onnx import TensorProto, helper

from sonnx_ort.checker.names import with_original_names
from support.graphs import parse

HEAD = "(float[n] x, float[m] w) => (float[k] y)"
GUARDED = "y_unchecked = Div(x, w) s = Shape(y_unchecked) y = Reshape(y_unchecked, s)"
SIGNED = "y_result = Max(x, w) f = Less(x, w) y = Where(f, y_result, x)"
VALUES = frozenset("xwy")


def named(text: str, values: frozenset[str] = VALUES) -> tuple[list[str], Mapping[str, str]]:
    """The results of the nodes, and the values that are read in place of others."""
    model, read = with_original_names(parse(f"{HEAD} {{ {text} }}"), values)
    return [name for node in model.graph.node for name in node.output], read


def test_result_that_a_guard_copies_has_the_name_of_the_copy() -> None:
    assert named(GUARDED) == (["y", "s", "y_unchecked'"], {"y_unchecked'": "y"})
    assert named(SIGNED) == (["y", "f", "y_result'"], {"y_result'": "y"})


KEPT = {
    "a name of the original": (GUARDED, VALUES | {"y_unchecked"}),
    "a node that is no guard": (GUARDED.replace("Reshape", "Mod"), VALUES),
    "a result of another name": (SIGNED.replace("y_result", "other"), VALUES),
    "a result of no node": ("s = Shape(x) y = Reshape(x, s)", VALUES),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_names_stay(name: str) -> None:
    text, values = KEPT[name]
    found, read = named(text, values)
    assert (found[-1], read) == ("y", {})


def defining_by_a_node(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("Abs", ["x"], ["y_unchecked'"]))


def defining_by_an_input(model: onnx.ModelProto) -> None:
    info = helper.make_tensor_value_info("y_unchecked'", TensorProto.FLOAT, [1])
    model.graph.input.append(info)


@pytest.mark.parametrize("define", [defining_by_a_node, defining_by_an_input])
def test_name_that_is_taken_is_given_to_no_other_value(
    define: Callable[[onnx.ModelProto], None],
) -> None:
    model = parse(f"{HEAD} {{ {GUARDED} }}")
    define(model)
    found, read = with_original_names(model, VALUES)
    assert (found is model, read) == (True, {})


def test_declarations_go_with_their_values() -> None:
    model = parse(f"{HEAD} {{ {GUARDED} }}")
    for name in ("y_unchecked", "s"):
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])
        model.graph.value_info.append(info)
    found, _ = with_original_names(model, VALUES)
    assert [value.name for value in found.graph.value_info] == ["y", "s"]
    assert [value.name for value in found.graph.output] == ["y_unchecked'"]
