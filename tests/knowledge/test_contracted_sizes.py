"""What is known of shapes and elements if a contract says what sizes may be."""

import pytest

from sonnx_ort import Contract, SizeContract
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical
from support.graphs import parse

CONTRACT = Contract(
    sizes=(
        SizeContract("n", 1, 8),
        SizeContract("c", 4, 4),
        SizeContract("h", 32, 64, 16),
        SizeContract("w", 32, 64, 16),
    )
)

NUMBERS = """
    zero = Constant<value = int64[1] {0}>()
    one = Constant<value = int64[1] {1}>()
    two = Constant<value = int64[1] {2}>()
    ten = Constant<value = int64[1] {10}>()
    rest = Constant<value = int64[1] {-1}>()
    many = Constant<value = int64[1] {100}>()
    s = Shape(x)
    n = Gather(s, zero)
    h = Gather(s, two)
"""


def shape_of_y(nodes):
    graph = f"(float[n, c, h, w] x) => (float[k] z) {{ {NUMBERS} {nodes} z = Identity(y) }}"
    model = load_canonical(parse(graph, opset=18)).graph_model
    (y,) = [v for node in model.graph for v in node.outputs if v.name == "y"]
    shape = Facts(model, CONTRACT).shape(y)
    return None if shape is None else ", ".join(map(str, shape))


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ("y = Relu(x)", "n, 4, h, w"),
        ("y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)", "n, 4, h/2, w/2"),
        ("y = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(x)", "n, 4, h/2 - 1, w/2 - 1"),
        (
            "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x)",
            "n, 4, h/2, w/2",
        ),
        (
            "y = MaxPool<kernel_shape = [3, 3], strides = [3, 3]>(x)",
            "n, 4, trunc((h - 3)/3) + 1, trunc((w - 3)/3) + 1",
        ),
        ("y = SpaceToDepth<blocksize = 2>(x)", "n, 16, h/2, w/2"),
        ("y, other = Split<axis = 2, num_outputs = 2>(x)", "n, 4, h/2, w"),
        ("y = Slice(x, zero, ten, two)", "n, 4, 10, w"),
        ("y = Slice(x, ten, many, two)", "n, 4, h - 10, w"),
        ("y = Slice(x, rest, many, two)", "n, 4, 1, w"),
        ("y = Slice(x, one, rest, two)", "n, 4, h - 2, w"),
        ("y = Slice(x, zero, many, two, two)", "n, 4, h/2, w"),
        ("t = Concat<axis = 0>(n, rest) y = Reshape(x, t)", "n, 4*h*w"),
        ("t = Concat<axis = 0>(rest, h) y = Reshape(x, t)", "4*n*w, h"),
        ("t = Concat<axis = 0>(n, rest) y = Reshape<allowzero = 1>(x, t)", "n, 4*h*w"),
        ("a = ReduceSum(x, rest) y = Squeeze(a, rest)", "n, 4, h"),
        ("d = Sub(many, h) y = ConstantOfShape(d)", "-h + 100"),
        ("d = Div(h, two) y = ConstantOfShape(d)", "h/2"),
        ("d = Max(h, ten) y = ConstantOfShape(d)", "h"),
        ("d = Min(h, ten) y = ConstantOfShape(d)", "10"),
        ("d = Cast<to = 6>(h) e = Cast<to = 7>(d) y = ConstantOfShape(e)", "h"),
        ("d = Cast<to = 6>(h) e = Add(d, d) f = Cast<to = 7>(e) y = ConstantOfShape(f)", "2*h"),
        ("d = ReduceProd<keepdims = 1>(s) y = ConstantOfShape(d)", "4*h*n*w"),
        (
            "a = Squeeze(zero) b = Squeeze(h) c = Squeeze(two) y = Range(a, b, c)",
            "h/2",
        ),
        (
            'r = Constant<value = float[4] {1, 1, 2, 0.25}>() y = Resize<mode = "nearest">(x, , r)',
            "n, 4, 2*h, w/4",
        ),
        ("m = MatMul(x, x) y = Identity(m)", "n, 4, h, w"),
    ],
)
def test_shape_follows_from_the_sizes_of_inputs(nodes, shape):
    assert shape_of_y(nodes) == shape


@pytest.mark.parametrize(
    "nodes",
    [
        # Less than 0 is a size that follows, or that is counted from the end.
        "d = Sub(h, many) t = Concat<axis = 0>(d, rest) y = Reshape(x, t)",
        "a = Sub(h, many) y = Slice(x, zero, a, two)",
        "y, other, third = Split<axis = 2, num_outputs = 3>(x)",
        "d = Div(h, n) y = ConstantOfShape(d)",
        "w = Gather(s, rest) d = Max(h, w) y = ConstantOfShape(d)",
    ],
)
def test_what_does_not_follow_is_open(nodes):
    found = shape_of_y(nodes)
    assert found is None or "?" in found
