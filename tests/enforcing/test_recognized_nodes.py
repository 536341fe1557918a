"""What rewrite made is told again: which rules it decides, and which node computes behind it.

A node that computes behind a custom operator is not enforced again. So it has to compute on what
the custom operator has looked at, and on nothing else.
"""

from collections.abc import Callable

import onnx
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.enforcing.python.recognition import EnforcedNode, recognize_enforced_nodes
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.profile.options import Edition
from support.graphs import parse, tensor


def rewritten(graph: str) -> onnx.ModelProto:
    made = parse(graph, opset=6 if "broadcast = 1" in graph else 17)
    return sonnx_ort.rewrite(made, broadcast="explicit", operators="all,-Graph")


def recognized(made: onnx.ModelProto) -> list[EnforcedNode]:
    return list(recognize_enforced_nodes(load(made).graph_model, Edition.TYPED))


def described(node: EnforcedNode) -> str:
    rules = " ".join(rule.id for rule in node.rules)
    own = f"{node.operator.name} '{node.label}': {rules}"
    computing = node.computed_by
    return own if computing is None else f"{own}, by {computing.op_type} '{computing.name}'"


_BROADCAST = "Broadcast 'r': Broadcast.E1"

DEQUANTIZE = "DequantizeLinear 'd'"
DEQUANTIZED = "DequantizeLinear.signature DequantizeLinear.C1"

GRAPHS = {
    "Div": (
        "(float[n] x, float[n] z) => (float[n] y) { [r] y = Div(x, z) }",
        ["Div 'r': Div.float.R1"],
    ),
    "Div of float16": (
        "(float16[n] x, float16[m] z) => (float16[?] y) { [r] y = Div(x, z) }",
        [_BROADCAST, "Div 'r': Div.float.R1"],
    ),
    "Div of version 6": (
        (
            "(float[n,m] x, float[m] z) => (float[?,?] y)"
            " { [r] y = Div<broadcast = 1, axis = 1>(x, z) }"
        ),
        # What lines the operands up checks no rule of its own.
        ["Div 'r': ", _BROADCAST, "Div 'r': Div.float.R1"],
    ),
    "Where": (
        "(bool[?] c, float[?] x, float[?] z) => (float[?] y) { [r] y = Where(c, x, z) }",
        [_BROADCAST, "Where 'r': Where.float.R1, by Where 'r'"],
    ),
    "Where of float16": (
        "(bool[n] c, float16[n] x, float16[n] z) => (float16[n] y) { [r] y = Where(c, x, z) }",
        ["Where 'r': Where.float.R1, by Where 'r'"],
    ),
    "Where behind Cast": (
        (
            "(bool[n] c, double[n] x0, float[n] z) => (float[n] y)"
            " { x = Cast<to = 1>(x0) [r] y = Where(c, x, z) }"
        ),
        ["Where 'r': Where.float.R1, by Where 'r'"],
    ),
    "Pow of float16": (
        "(float16[n] x, float16[n] z) => (float16[n] y) { [r] y = Pow(x, z) }",
        ["Pow 'r': Pow.float.R1, by Pow 'r'"],
    ),
    "Pow of one element": (
        "(float[n] x, float[1] z) => (float[n] y) { [r] y = Pow(x, z) }",
        [_BROADCAST, "Pow 'r': Pow.float.R1, by Pow 'r'"],
    ),
    "Mod": (
        "(int32[n] x, int32[n] z) => (int32[n] y) { [r] y = Mod(x, z) }",
        ["Mod 'r': Mod.int.R1 Mod.int.C1 Mod.int.C2, by Mod 'r'"],
    ),
    "Mod behind Cast": (
        "(int64[n] x0, int32[n] z) => (int32[n] y) { x = Cast<to = 6>(x0) [r] y = Mod(x, z) }",
        ["Mod 'r': Mod.int.R1 Mod.int.C1 Mod.int.C2, by Mod 'r'"],
    ),
    "Max": (
        "(float[n] x, float[n] z) => (float[n] y) { [r] y = Max(x, z) }",
        ["Max 'r': Max.float.R1, by Max 'r'"],
    ),
    "Max of float16": (
        "(float16[n] x, float16[n] z) => (float16[n] y) { [r] y = Max(x, z) }",
        ["Max 'r': Max.float.R1, by Max 'r'"],
    ),
    "Cast": (
        "(float[n] x) => (int32[n] y) { [r] y = Cast<to = 6>(x) }",
        ["Cast 'r': Cast.float.C1, by Cast 'r'"],
    ),
    "Cast of float16": (
        "(float16[n] x) => (int8[n] y) { [r] y = Cast<to = 3>(x) }",
        ["Cast 'r': Cast.float.C1, by Cast 'r'"],
    ),
    "MatMul": (
        "(float[n,k] x, float[m,l] z) => (float[?,?] y) { [r] y = MatMul(x, z) }",
        ["MatMul 'r': MatMul.C1, by MatMul 'r'"],
    ),
    "BatchNormalization of float16": (
        (
            "(float16[n,3,k] x, float16[3] s, float16[3] b, float16[3] m, float16[3] v)"
            " => (float16[?,?,?] y) { [r] y = BatchNormalization(x, s, b, m, v) }"
        ),
        ["BatchNormalization 'r': BatchNormalization.C3, by BatchNormalization 'r'"],
    ),
    "Clip from above": (
        "(float[n] x, float[] a) => (float[n] y) { [r] y = Clip(x, , a) }",
        ["Clip 'r': Clip.C1 Clip.float.min.C2 Clip.float.max.C2, by Clip 'r'"],
    ),
    "Clip from below": (
        "(float[n] x, float[] a) => (float[n] y) { [r] y = Clip(x, a) }",
        ["Clip 'r': Clip.C1 Clip.float.min.C2 Clip.float.max.C2, by Clip 'r'"],
    ),
    "Slice": (
        (
            "(float[n,m] x, int64[2] a, int64[2] b, int64[2] c, int64[2] d) => (float[?,?] y)"
            " { [r] y = Slice(x, a, b, c, d) }"
        ),
        ["Slice 'r': Slice.R2 Slice.R8 Slice.C2 Slice.R6, by Slice 'r'"],
    ),
    "Softmax": (
        "(float[n,m] x) => (float[?,?] y) { [s] y = Softmax<axis = 1>(x) }",
        ["Softmax 's': Softmax.C2 Softmax.float.C5 Softmax.float.C6, by Softmax 's'"],
    ),
    "DequantizeLinear without a zero point": (
        "(int32[n] x, float s) => (float[?] y) { [d] y = DequantizeLinear(x, s) }",
        [f"{DEQUANTIZE}: {DEQUANTIZED}, by {DEQUANTIZE}"],
    ),
    "ArgMax": (
        "(float[n,m] x) => (int64[?,?] y) { [r] y = ArgMax<axis = 1>(x) }",
        ["ArgMax 'r': ArgMax.R5 ArgMax.float.C1, by ArgMax 'r'"],
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_rewrite_made_is_recognized(name: str) -> None:
    graph, expected = GRAPHS[name]
    assert [described(each) for each in recognized(rewritten(graph))] == expected


@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "Div of version 6"])
def test_what_rewrite_made_is_not_enforced_again(name: str) -> None:
    made = rewritten(GRAPHS[name][0])
    again = sonnx_ort.rewrite(made, broadcast="explicit", operators="all,-Graph")
    assert again.graph.node == made.graph.node


def giving(made: onnx.ModelProto, name: str) -> onnx.NodeProto:
    """The node that gives a value."""
    return next(node for node in made.graph.node if name in node.output)


Change = Callable[[onnx.ModelProto], None]


def reads(*inputs: str, of: str = "y") -> Change:
    """A node reads something else."""

    def change(made: onnx.ModelProto) -> None:
        giving(made, of).input[:] = inputs

    return change


def becomes(operator: str, domain: str = "", *, of: str = "y") -> Change:
    """A node becomes one of another operator."""

    def change(made: onnx.ModelProto) -> None:
        giving(made, of).op_type = operator
        giving(made, of).domain = domain

    return change


def says(name: str, value: int, *, of: str = "y") -> Change:
    """An attribute of a node says something else."""

    def change(made: onnx.ModelProto) -> None:
        node = giving(made, of)
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


def read_elsewhere(name: str) -> Change:
    def change(made: onnx.ModelProto) -> None:
        made.graph.node.append(helper.make_node("Identity", [name], ["leak"]))

    return change


def given(name: str) -> Change:
    """A value becomes an output of the model."""

    def change(made: onnx.ModelProto) -> None:
        made.graph.output.append(tensor(name, "float", None))

    return change


def behind(made: onnx.ModelProto) -> onnx.NodeProto | None:
    """The node that computes behind the last custom operator."""
    made.opset_import.append(helper.make_opsetid("com.example", 1))
    computing = recognized(made)[-1].computed_by
    return None if computing is None else giving(made, str(computing.outputs[0].name))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Where", becomes("Where", "com.example")),
        ("Where", becomes("Mean")),
        ("Where", reads("y_guarded_2", "y_expanded_3", "y_expanded_3")),
        ("Where", reads("y_guarded_2", "x", "y_expanded_3")),
        ("Where", reads("y_expanded", "y_guarded_2", "y_expanded_3")),
        ("Where", read_elsewhere("y_guarded_2")),
        ("Where", given("y_guarded_2")),
        ("Pow of float16", becomes("Cast", "com.example", of="y_z_as_float")),
        ("Pow of float16", becomes("Cast", "com.example", of="y_as_float16")),
        ("Pow of float16", says("to", onnx.TensorProto.DOUBLE, of="y_as_float16")),
        ("Pow of float16", read_elsewhere("y_as_float16")),
        ("Pow of float16", read_elsewhere("y_guarded")),
        ("Pow of one element", becomes("Expand", "com.example", of="y_expanded")),
        ("Mod", reads("y_guarded", "z")),
        ("Mod", reads("z", "y_guarded")),
        ("Mod behind Cast", reads("x0", "y_guarded")),
        ("Max", reads("y_guarded", "z", "x")),
        ("Max", reads("y_guarded")),
        ("Max", reads("y_guarded", "x")),
        ("Max", becomes("Concat", "com.example", of="y_elements")),
        ("Max", becomes("Add", of="y_flat_2")),
        ("Max", becomes("Concat", "com.example", of="y_operand_shapes")),
        ("Max", reads("y_operand_shape", "y_operand_shape", of="y_operand_shapes")),
        ("Max", says("end", 1, of="y_operand_shape_2")),
        ("Max", becomes("Concat", "com.example", of="y_ranks")),
        ("Max", reads("y_operand_shape_3", "y_operand_shape_3", of="y_ranks")),
        ("Max", becomes("Size", of="y_operand_shape_4")),
        ("Cast", says("to", onnx.TensorProto.INT8)),
        ("MatMul", becomes("MatMul", "com.example")),
        ("MatMul", becomes("Add")),
        ("MatMul", reads("y_of_its_shape", "x")),
        ("MatMul", reads("z", "y_of_its_shape")),
        ("MatMul", reads("z", "y_guarded", of="y_of_its_shape")),
        ("MatMul", reads("y_guarded", "x", of="y_of_its_shape")),
        ("MatMul", becomes("Size", of="y_operand_shape_2")),
        ("MatMul", says("start", -1, of="y_operand_shape_2")),
        ("MatMul", says("start", 1, of="y_operand_shape_2")),
        ("MatMul", read_elsewhere("y_guarded")),
        ("MatMul", read_elsewhere("y_of_its_shape")),
        ("MatMul", given("y_of_its_shape")),
        (
            "BatchNormalization of float16",
            says("to", onnx.TensorProto.DOUBLE, of="y_v_as_float16"),
        ),
        (
            "BatchNormalization of float16",
            becomes("Cast", "com.example", of="y_v_as_float16"),
        ),
        ("BatchNormalization of float16", reads("y_of_its_shape", "s", "b", "m", "v")),
        ("Clip from above", reads("y_of_its_shape", "a", "a")),
        ("Clip from above", reads("y_of_its_shape")),
        ("Clip from below", reads("y_of_its_shape")),
        ("Clip from below", reads("y_of_its_shape", "a", "a")),
        ("Slice", reads("y_of_its_shape", "b", "b", "c", "d")),
        ("Slice", reads("y_of_its_shape", "a", "b", "c")),
        ("ArgMax", says("axis", 0)),
    ],
)
def test_node_that_computes_on_anything_else_is_enforced_itself(name: str, change: Change) -> None:
    made = rewritten(GRAPHS[name][0])
    change(made)
    assert behind(made) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Where behind Cast", reads("y_guarded", "x0", "z")),
        ("Pow of float16", reads("y_as_float16", "y_z_as_float")),
        (
            "BatchNormalization of float16",
            reads("y_of_its_shape", "s", "b", "m", "y_v_as_float"),
        ),
        ("Pow of one element", reads("y_guarded_2", "y_expanded")),
        ("MatMul", says("start", 0, of="y_operand_shape_2")),
    ],
)
def test_node_may_compute_on_another_form_of_what_was_looked_at(name: str, change: Change) -> None:
    made = rewritten(GRAPHS[name][0])
    change(made)
    assert behind(made) == giving(made, "y")


def to_another_guard(made: onnx.ModelProto) -> None:
    made.graph.node.append(helper.make_node("Reshape", ["x", "y_shape"], ["other"], name="other"))
    giving(made, "y").input[1] = "z"


def of_the_other_edition(made: onnx.ModelProto) -> None:
    said = next(each for each in giving(made, "y_result").attribute if each.name == "edition")
    said.s = b"preliminary"


_REACHED = "its outputs can be reached around the guard"
_NOT_MET = "its outputs do not meet in one guard"


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("Div", reads("x", "", of="y_result"), "it has 2 inputs and 2 outputs"),
        ("Div", reads("y_shape", "y_result"), _NOT_MET),
        ("Div", to_another_guard, _NOT_MET),
        ("Div", of_the_other_edition, "its guard does not bear its name"),
        ("Div", read_elsewhere("y_shape"), _REACHED),
        ("Div", given("y_shape"), _REACHED),
    ],
)
def test_forged_node_is_refused(name: str, change: Change, reason: str) -> None:
    made = rewritten(GRAPHS[name][0])
    made.opset_import.append(helper.make_opsetid("com.example", 1))
    change(made)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        recognized(made)
    assert f": {reason}; use the standard operator" in str(caught.value)


def test_what_lines_operands_up_for_an_operator_that_does_not_exist_is_refused() -> None:
    made = rewritten(GRAPHS["Div of version 6"][0])
    said = next(each for each in giving(made, "y_result").attribute if each.name == "operator")
    said.s = b"Divide"
    with pytest.raises(sonnx_ort.InvalidModel, match="no operator 'Divide' in the profile"):
        recognized(made)
