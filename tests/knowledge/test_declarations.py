"""What a file declares of its values, and what of that is left where only what follows counts."""

import numpy as np
import onnx
import onnx.helper
import onnx_ir as ir
import pytest

from sonnx_ort.knowledge.declarations import (
    collected_by_loops,
    declared_of,
    declared_shape,
    without_declarations,
)
from sonnx_ort.loading.traversal import all_graphs, all_nodes, defined_values, subgraphs
from support.graphs import parse, tensor


def described(value: ir.Value) -> str:
    """The declaration, and the elements where there are any."""
    shape = "" if value.shape is None else f"[{','.join(_size(each) for each in value.shape)}]"
    elements = "" if value.const_value is None else f" = {value.const_value.numpy().tolist()}"
    return f"{value.dtype}{shape}{elements}"


def _size(size: int | ir.SymbolicDim) -> str:
    return str(size if isinstance(size, int) else size.value)


def left(made: onnx.ModelProto, name: str) -> str:
    """What is left of the declaration of a value."""
    return left_in(without_declarations(read(made)), name)


def left_in(written: onnx.ModelProto, name: str) -> str:
    values = {value.name: value for value in defined_values(read(written).graph)}
    return described(values[name])


def read(made: onnx.ModelProto) -> ir.Model:
    return ir.from_proto(made)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([2, 1, 0], (2, 1, 0)),
        (["n", None, 3], ("n", None, 3)),
        ([-1, -7, 4], (None, None, 4)),
        ([], ()),
        (None, None),
    ],
    ids=str,
)
def test_declared_shape_has_sizes_and_names(
    sizes: list[int | str | None] | None, expected: object
) -> None:
    value = ir.Value(name="x", shape=None if sizes is None else ir.Shape(sizes))
    shape = declared_shape(value)
    assert shape == expected
    assert not any(isinstance(size, ir.SymbolicDim) for size in shape or ())


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ([3, 1, 0], "FLOAT[3,1,0]"),
        (["n", 3], "FLOAT[n,3]"),
        (["n_2", "ñ"], "FLOAT[n_2,ñ]"),
        (["?", "a b", "n-1", "2"], "FLOAT[None,None,None,None]"),
        ([-1, 3], "FLOAT[None,3]"),
        ([None, 3], "FLOAT[None,3]"),
        (None, "FLOAT"),
    ],
    ids=str,
)
def test_input_keeps_its_type_and_what_can_be_a_size(
    declared: list[int | str | None] | None, expected: str
) -> None:
    made = parse("(float[] x) => (float[] y) { y = Relu(x) }")
    made.graph.input[0].CopyFrom(tensor("x", "float", declared))
    assert left(made, "x") == expected


def in_main_graph(constant: onnx.TensorProto, claim: onnx.ValueInfoProto) -> onnx.ModelProto:
    made = parse("(bool c) => (int64[] y) { y = Identity(k) }")
    made.graph.initializer.append(constant)
    made.graph.value_info.append(claim)
    return made


def in_body(constant: onnx.TensorProto, claim: onnx.ValueInfoProto) -> onnx.ModelProto:
    made = parse("""(bool c) => (int64[] y) {
        y = If(c) <
            then_branch = t () => (int64[] a) { a = Identity(k) },
            else_branch = e () => (int64[] b) { b = Constant<value_ints = [1, 2]>() }
        >
    }""")
    body = made.graph.node[0].attribute[0].g
    body.initializer.append(constant)
    body.value_info.append(claim)
    return made


class TestInitializer:
    """It is what its tensor is."""

    @pytest.mark.parametrize("within", [in_main_graph, in_body])
    @pytest.mark.parametrize(
        "claim", [tensor("k", "float", [7]), tensor("k", "int64", ["n"])], ids=["type", "shape"]
    )
    def test_is_not_what_the_file_claims(self, within, claim: onnx.ValueInfoProto) -> None:
        made = within(onnx.numpy_helper.from_array(np.array([1, 2]), "k"), claim)
        assert left(made, "k") == "INT64[2] = [1, 2]"

    @pytest.mark.parametrize(("count", "held"), [(1, True), (128, True), (129, False)])
    def test_is_declared_only_where_it_is_large(self, count: int, *, held: bool) -> None:
        claim = tensor("k", "int64", None)
        made = in_main_graph(onnx.numpy_helper.from_array(np.arange(count), "k"), claim)
        elements = f" = {list(range(count))}" if held else ""
        assert left(made, "k") == f"INT64[{count}]{elements}"

    def test_is_an_input_where_it_is_declared_only(self) -> None:
        long = onnx.numpy_helper.from_array(np.arange(129), "k")
        kept = without_declarations(read(in_main_graph(long, tensor("k", "int64", None)))).graph
        assert ([value.name for value in kept.input], [*kept.initializer]) == (["c", "k"], [])

    def test_is_declared_only_where_its_data_is_external(self) -> None:
        constant = onnx.numpy_helper.from_array(np.array([1, 2]), "k")
        onnx.external_data_helper.set_external_data(constant, "k.bin")
        constant.ClearField("raw_data")
        assert left(in_main_graph(constant, tensor("k", "int64", None)), "k") == "INT64[2]"

    def test_that_an_input_can_override_is_an_input(self) -> None:
        made = parse("(int64[2] k) => (int64[] y) <int64[2] k = {1, 2}> { y = Identity(k) }")
        kept = without_declarations(read(made)).graph
        assert ([value.name for value in kept.input], [*kept.initializer]) == (["k"], [])


class TestConstant:
    """It is what its tensor is, which does not travel with it where it is large."""

    GRAPHS = (
        "(bool c) => (int64[?] a) { k = Constant() a = Identity(k) }",
        """(bool c) => (int64[?] y) {
            y = If(c) <
                then_branch = t () => (int64[?] a) { k = Constant() a = Identity(k) },
                else_branch = e () => (int64[?] b) { b = Constant<value_ints = [1, 2]>() }
            >
        }""",
    )

    @pytest.mark.parametrize("graph", GRAPHS, ids=["in the main graph", "in a body"])
    @pytest.mark.parametrize(
        ("count", "version", "held"),
        [(120, 17, True), (129, 17, False), (129, 11, False), (129, 10, True)],
    )
    def test_of_many_elements(self, graph: str, count: int, version: int, *, held: bool) -> None:
        made = parse(graph, opset=version)
        (node,) = (n for n in all_nodes(made) if n.op_type == "Constant" and n.output[0] == "k")
        elements = onnx.numpy_helper.from_array(np.arange(count), "k")
        node.attribute.append(onnx.helper.make_attribute("value", elements))
        written = without_declarations(read(made))
        (left,) = (n for n in all_nodes(written) if n.output[0] == "k")
        assert (len(left.SerializeToString()) > 900) is held
        inferred = onnx.shape_inference.infer_shapes(written)
        (result,) = (v for g in all_graphs(inferred) for v in g.output if v.name == "a")
        assert result.type == tensor("k", "int64", [count]).type

    @pytest.mark.parametrize(("size", "held"), [(1024, True), (1025, False)])
    def test_of_many_bytes(self, size: int, *, held: bool) -> None:
        elements = onnx.numpy_helper.from_array(np.arange(120), "k")
        elements.doc_string = "-" * (size - elements.ByteSize() - 2)
        made = parse("() => (int64[?] y) { k = Constant() y = Identity(k) }")
        made.graph.node[0].attribute.append(onnx.helper.make_attribute("value", elements))
        (attribute,) = without_declarations(read(made)).graph.node[0].attribute
        assert elements.ByteSize() == size
        assert (attribute.name == "value") is held


def test_initializer_of_a_body_that_an_input_overrides_is_an_input() -> None:
    made = parse("""(float[n] x, int64 trips, bool go) => (float[n] y) {
        y = Loop (trips, go, x) <body = body (int64 i, bool going, float[3] state)
            => (bool still, float[3] next) { still = Identity(going) next = Relu(state) }>
    }""")
    (body,) = subgraphs(made.graph.node)
    for name in ("state", "other"):
        body.initializer.append(onnx.numpy_helper.from_array(np.ones(3, np.float32), name))
    (written,) = subgraphs(without_declarations(read(made)).graph.node)
    assert [each.name for each in written.initializer] == ["other"]


@pytest.mark.parametrize("name", ["a", "y", "i", "going", "state", "still", "next", "z"])
def test_nothing_is_left_of_what_is_claimed_of_results_and_of_the_inputs_of_bodies(
    name: str,
) -> None:
    made = parse("""(float[n] x, int64 trips, bool go) => (float[3] z) <float[3] a, float[3] y> {
        a = Relu(x)
        y = Loop (trips, go, a) <body = body (int64 i, bool going, float[3] state)
            => (bool still, float[3] next) { still = Identity(going) next = Relu(state) }>
        z = Relu(y)
    }""")
    assert left(made, name) == "None"


def test_declarations_are_kept_of_the_values_that_are_named() -> None:
    model = read(
        parse("""(bool c, float[n] x) => (float[3] y) {
            y = If(c) <
                then_branch = t () => (float[4] a) { a = Relu(x) },
                else_branch = e () => (float[5] b) { b = Relu(x) }
            >
        }""")
    )
    values = {value.name: value for value in defined_values(model.graph)}
    written = without_declarations(model, declared_of([values["b"]]))
    assert [left_in(written, name) for name in "aby"] == ["None", "FLOAT[5]", "None"]


def test_two_initializers_that_share_a_tensor_keep_their_names() -> None:
    model = read(parse("() => (int64[2] y) <int64[2] k = {1, 2}> { y = Identity(k) }"))
    shared = model.graph.initializers["k"].const_value
    model.graph.initializers.add(ir.Value(name="l", const_value=shared))
    written = without_declarations(model)
    assert [each.name for each in written.graph.initializer] == ["k", "l"]


def test_the_model_is_not_changed() -> None:
    made = parse("(float[?] x, int64[2] k) => (float[3] z) <int64[2] k = {1, 2}> { z = Relu(x) }")
    model = read(made)
    without_declarations(model)
    assert ir.to_proto(model) == ir.to_proto(read(made))


def test_collected_are_the_outputs_of_loop_bodies_behind_the_states() -> None:
    model = read(
        parse("""(float[n] x, int64 trips, bool go) => (float[] y, float[] s, float[] t) {
            y, s, t = Loop (trips, go, x) <body = body (int64 i, bool going, float[3] state)
                => (bool still, float[3] next, float[3] one, float[] other) {
                    still = Identity(going)
                    next = Relu(state)
                    one = Relu(state)
                    other = Relu(state)
                }>
        }""")
    )
    assert [value.name for value in collected_by_loops(model.graph)] == ["one", "other"]
