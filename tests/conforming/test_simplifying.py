"""Added nodes get out of the way of those that compute: as few as need be, with the same bits."""

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.dead_nodes import remove_dead_nodes
from sonnx_ort.conforming.dropouts import remove_dropouts
from sonnx_ort.conforming.simplifying import simplify
from sonnx_ort.loading.traversal import ValueNames
from support.conformed import conformed, random, require_same_bits
from support.graphs import operators, parse
from support.sessions import on_one_thread

RANDOM = np.random.default_rng(3)
KERNEL = RANDOM.standard_normal((4, 4, 3)).astype(np.float32)
SQUARE = RANDOM.standard_normal((4, 4)).astype(np.float32)


def chain(between: str, opset: int = 17) -> onnx.ModelProto:
    """Two convolutions along one axis, and what is between them, from `a` to `b`."""
    return parse(
        "(float[n,4,9] X) => (float[n,4,5] Y) {"
        " a = Conv<kernel_shape=[3]>(X, W)"
        f" {between}"
        " [last] Y = Conv<kernel_shape=[3]>(b, W) }",
        constants={"W": KERNEL},
        opset=opset,
    )


BY_ELEMENT = [
    "b = Relu(a)", "b = Sigmoid(a)", "b = Tanh(a)", "b = LeakyRelu<alpha=0.2>(a)",
    "b = Clip(a, least, most)", "c = Relu(a) b = Tanh(c)",
]  # fmt: skip


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("between", BY_ELEMENT)
def test_an_axis_stays_between_convolutions_along_one_axis(between: str, opset: int) -> None:
    model = chain(between, opset)
    for name, number in (("least", -0.5), ("most", 0.5)):
        if name in between:
            array = np.array(number, np.float32)
            model.graph.initializer.append(numpy_helper.from_array(array, name))
    made = conformed(model)
    assert operators(made) == [
        *("Unsqueeze", "Conv"),
        *(node.op_type for node in model.graph.node[1:-1]),
        *("Conv", "Squeeze"),
    ]
    require_same_bits(model, made, *({"X": random("float", n, 4, 9)} for n in (0, 1, 3)))


@pytest.mark.parametrize("between", ["b = Softmax<axis=2>(a)", "b = Relu(a) Z = Abs(b)"])
def test_an_axis_is_removed_for_a_node_that_looks_at_axes_or_for_a_second_reader(
    between: str,
) -> None:
    model = chain(between)
    if "Z" in between:
        model.graph.output.append(helper.make_tensor_value_info("Z", 1, ["n", 4, 7]))
    made = conformed(model)
    assert operators(made).count("Squeeze") == 2
    require_same_bits(model, made, {"X": random("float", 2, 4, 9)})


def test_a_result_of_the_model_keeps_its_shape() -> None:
    model = chain("b = Relu(a)")
    model.graph.output.append(helper.make_tensor_value_info("b", 1, ["n", 4, 7]))
    require_same_bits(model, conformed(model), {"X": random("float", 2, 4, 9)})


def test_the_nodes_of_a_subgraph_are_simplified_too() -> None:
    model = parse(
        """(bool c, float[n,4,9] X) => (float[n,4,p] Y) {
            Y = If (c) <
                then_branch = then () => (float[n,4,p] t) {
                    k = Conv<kernel_shape=[3]>(X, W)
                    r = Relu(k)
                    t = Conv<kernel_shape=[3]>(r, W)
                },
                else_branch = else () => (float[n,4,p] e) { e = Identity(X) }
            >
        }""",
        constants={"W": KERNEL},
    )
    made = conformed(model)
    branch = made.graph.node[0].attribute[0].g
    assert [n.op_type for n in branch.node] == ["Unsqueeze", "Conv", "Relu", "Conv", "Squeeze"]
    require_same_bits(model, made, {"c": np.array(True), "X": random("float", 2, 4, 9)})


def test_a_squeeze_of_the_author_stays() -> None:
    model = parse(
        """(float[n,4,1,9] X) => (float[n,4,7] Y) <int64[1] axes = {2}>
        { [own] s = Squeeze(X, axes) Y = Conv<kernel_shape=[3]>(s, W) }""",
        constants={"W": KERNEL},
    )
    made = conformed(model)
    assert made.graph.node[0].name == "own"
    require_same_bits(model, made, {"X": random("float", 2, 4, 1, 9)})


def test_rows_are_folded_once_for_all_products_of_one_stack() -> None:
    model = parse(
        "(float[b,s,4] X) => (float[b,s,4] Y, float[b,s,4] Z)"
        " { Y = MatMul(X, V) Z = MatMul(X, W) }",
        constants={"V": SQUARE, "W": SQUARE.T.copy()},
    )
    made = conformed(model)
    assert operators(made) == ["Flatten", "MatMul", "Shape", "Reshape", "MatMul", "Reshape"]
    runs = ({"X": random("float", *shape)} for shape in ((2, 3, 4), (0, 3, 4), (2, 0, 4)))
    require_same_bits(model, made, *runs)


def test_constants_of_the_same_bits_and_other_shapes_are_not_merged() -> None:
    numbers = np.float32([[1, 2]])
    model = ir.from_proto(
        parse(
            "(float[n] x) => (float[p,q] y, float[r,s] z)"
            " { a = Concat <axis = 0>(row) b = Concat <axis = 0>(column) y = Neg(a) z = Neg(b) }",
            constants={"row": numbers, "column": numbers.T.copy()},
        )
    )
    simplify(model, (), ValueNames(model))
    assert [node.inputs[0].name for node in model.graph if node.op_type == "Neg"] == ["a", "b"]


def test_dead_nodes_that_are_kept_stay_with_what_they_read() -> None:
    text = """(float[2] x) => (float[2] z) {
        a = Abs(x) [kept] b = Neg(a) c = Abs(x) [dead] d = Neg(c) z = Relu(x)
    }"""
    model = ir.from_proto(parse(text))
    kept = {node for node in model.graph if node.name == "kept"}
    remove_dead_nodes(model.graph, kept)
    assert [node.outputs[0].name for node in model.graph] == ["a", "b", "z"]
    remove_dead_nodes(model.graph)
    assert [node.outputs[0].name for node in model.graph] == ["z"]


def test_dropout_is_removed_behind_one_that_stays() -> None:
    text = """(float[2] x) => (float[2] z, bool[2] m) {
        a, m = Dropout(x) b, n = Dropout(a) c = Dropout(b) z = Relu(c)
    }"""
    model = ir.from_proto(parse(text))
    remove_dropouts(model, Facts(model))
    assert [node.op_type for node in model.graph] == ["Dropout", "Relu"]


def test_changes_tell_of_the_added_nodes_that_are_left() -> None:
    made = sonnx_ort.conform(chain("b = Relu(a)"))
    added = {node for change in made.changes for node in change.added}
    nodes = {(node.op_type, node.name) for node in made.model.graph.node}
    assert added
    assert added <= nodes


def quantized(
    shape: str, node: str, weights: np.ndarray, axis: int, further: str = ""
) -> onnx.ModelProto:
    """A node between quantizations, as a quantizer of ONNX Runtime leaves it."""
    scales = np.linspace(0.01, 0.02, weights.shape[axis]).astype(np.float32)
    return parse(
        f"""(float[{shape}] X) => (float[] Y) {{
            q = QuantizeLinear(X, s, z)
            x = DequantizeLinear(q, s, z)
            w = DequantizeLinear<axis={axis}>(W, scales, zeros)
            y = {node}
            r = QuantizeLinear(y, s, z)
            d = DequantizeLinear(r, s, z)
            Y = Erf(d)
            {further}
        }}""",
        constants={
            "s": np.array(0.05, np.float32),
            "z": np.array(120, np.uint8),
            "W": weights,
            "scales": scales,
            "zeros": np.zeros(scales.shape, np.int8),
        },
    )


def small(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-9, 9, shape, np.int8)


QUANTIZED = {
    "MatMul": ("b,3,4", "MatMul(x, w)", small(4, 4), 1, (2, 3, 4)),
    "Conv": ("b,4,9", "Conv<kernel_shape=[3]>(x, w)", small(5, 4, 3), 0, (2, 4, 9)),
}


@pytest.mark.parametrize("case", QUANTIZED.values(), ids=list(QUANTIZED))
def test_quantizations_stay_beside_what_they_quantize(case: tuple) -> None:
    *given, sizes = case
    model = quantized(*given)
    made = conformed(model)
    require_same_bits(model, made, *({"X": random("float", n, *sizes[1:])} for n in (0, 1, 5)))
    (product,) = [n for n in made.graph.node if n.op_type in {"MatMul", "Conv"}]
    of = {output: node.op_type for node in made.graph.node for output in node.output}
    assert [of[name] for name in product.input] == ["DequantizeLinear", "DequantizeLinear"]
    readers = [n.op_type for n in made.graph.node if product.output[0] in n.input]
    assert readers == ["QuantizeLinear"]


@pytest.mark.parametrize("case", QUANTIZED.values(), ids=list(QUANTIZED))
def test_what_is_quantized_is_computed_in_integers_as_before(case: tuple, tmp_path) -> None:
    *given, _ = case
    model = quantized(*given)
    for number, tried in enumerate((model, conformed(model))):
        options = on_one_thread("extended")
        options.optimized_model_filepath = str(tmp_path / f"{number}.onnx")
        ort.InferenceSession(tried.SerializeToString(), options)
        optimized = operators(onnx.load(options.optimized_model_filepath))
        assert {"QLinearConv", "QLinearMatMul"} & set(optimized), optimized


def test_a_dequantization_that_others_read_is_not_made_twice() -> None:
    model = quantized("b,3,4", "MatMul(x, w)", small(4, 4), 1, "Z = Abs(x)")
    model.graph.output.append(helper.make_tensor_value_info("Z", 1, ["b", 3, 4]))
    made = conformed(model)
    assert operators(made).count("DequantizeLinear") == 3
    require_same_bits(model, made, {"X": random("float", 2, 3, 4)})
