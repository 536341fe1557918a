"""Shapes that inference or a file claims and kernels contradict, and sizes of results."""

import json
import signal
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, RuntimeException

from support.changes import before_and_since
from support.child import ChildResult, run_python
from support.graphs import binary_model, parse
from support.sessions import LEVELS, on_one_thread, quiet

pytestmark = pytest.mark.upstream

REDUCED = "an axis that is counted from the end of an empty tensor is reduced"
STACKED = "MatMul broadcasts stacks where there is nothing to sum up"
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Contradiction:
    """A node.

    Attributes:
        node: What computes `r` from `x`.
        given: The shape of x.
        inferred: What inference says.
        computed: What the kernel gives.
        opset: The version of the standard operators.
    """

    node: str
    given: Shape
    inferred: Shape
    computed: Shape
    opset: int = 18


CONTRADICTIONS = {
    "flag of 2, which the kernel takes for unset": Contradiction(
        "r = ReduceMax<keepdims = 1, noop_with_empty_axes = 2>(x)", (3, 3, 3), (3, 3, 3), (1, 1, 1)
    ),
    "flag of -1, which the kernel takes for unset": Contradiction(
        "axes = Constant<value = int64[0] {}>()"
        " r = ReduceL2<keepdims = 0, noop_with_empty_axes = -1>(x, axes)",
        (3, 2, 2),
        (3, 2, 2),
        (),
    ),
    "ceil_mode, a window that begins behind the end": Contradiction(
        "r = MaxPool<kernel_shape = [2, 1], strides = [3, 1], ceil_mode = 1>(x)",
        (2, 3, 3, 7),
        (2, 3, 2, 7),
        (2, 3, 1, 7),
    ),
    "ceil_mode and dilations": Contradiction(
        "r = MaxPool<kernel_shape = [1, 1, 1], strides = [2, 2, 2], dilations = [2, 2, 2],"
        " ceil_mode = 1>(x)",
        (2, 2, 16, 16, 16),
        (2, 2, 9, 9, 9),
        (2, 2, 8, 8, 8),
    ),
    "auto_pad and dilations": Contradiction(
        'r = AveragePool<kernel_shape = [2, 2], dilations = [2, 2], auto_pad = "SAME_UPPER">(x)',
        (0, 1, 9, 9),
        (0, 1, 9, 9),
        (0, 1, 8, 8),
        opset=19,
    ),
    "auto_pad and pads": Contradiction(
        'r = LpPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], auto_pad = "VALID">(x)',
        (1, 3, 3, 4),
        (1, 3, 3, 4),
        (1, 3, 1, 2),
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_inference_and_kernel_disagree(case: Contradiction) -> None:
    """Once they agree, what inference says of this operator may be believed."""
    sizes = ",".join(map(str, case.given))
    made = parse(f"(float[{sizes}] x) => (r) {{ {case.node} }}", opset=case.opset)
    (told,) = onnx.shape_inference.infer_shapes(made).graph.output
    inferred = tuple(dimension.dim_value for dimension in told.type.tensor_type.shape.dim)
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    computed = session.run(None, {"x": np.ones(case.given, np.float32)})[0].shape
    assert (inferred, computed) == (case.inferred, case.computed)


@pytest.mark.parametrize("node", ["ReduceMax<axes = [-1]>(x)", "ArgMax<axis = -1>(x)"])
def test_axis_that_is_counted_from_the_end_of_an_empty_tensor_stays(node: str) -> None:
    """Once no supported version leaves it, shapes behind reductions are certain without sizes."""
    made = parse(f"(float[n, 2] x) => (y) {{ y = {node} }}", opset=17)
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    (result,) = session.run(None, {"x": np.zeros((0, 2), np.float32)})
    assert result.shape == before_and_since(REDUCED, (0, 2), (0, 1))


def test_matmul_with_nothing_to_sum_up_gives_the_first_operands_stack() -> None:
    """Once no supported version does, shapes behind a MatMul are certain whatever it sums up."""
    made = parse("(float[?, 2, n] x, float[?, n, 2] y) => (float[] z) { z = MatMul(x, y) }")
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    feeds = {"x": np.zeros((1, 2, 0), np.float32), "y": np.zeros((3, 0, 2), np.float32)}
    (result,) = session.run(None, feeds)
    assert result.shape == before_and_since(STACKED, (1, 2, 2), (3, 2, 2))


def test_memory_of_an_argmax_of_nothing_does_not_fit_who_gets_it() -> None:
    """Once no supported version says so, random graphs need not leave out runs that end so."""
    made = parse(
        "(float[n] x) => (int64[1] y, int64 size) <int64[1] zero = {0}> {"
        " a = ArgMax<axis = -1>(x) b = Abs(a) size = Size(b)"
        " c = Unsqueeze(size, zero) d = Add(c, zero) e = Neg(d) y = Abs(e) }"
    )
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    elsewhere = r"Shape mismatch attempting to re-use buffer\. \{0\} != \{1\}"
    told = before_and_since(REDUCED, elsewhere, "ArgMax node")
    with pytest.raises((Fail, RuntimeException), match=told):
        session.run(None, {"x": np.zeros(0, np.float32)})


UNEQUAL = {"A": np.ones(3, np.float32), "B": np.ones(1, np.float32)}


def run(model_proto):
    options = quiet()
    session = ort.InferenceSession(model_proto.SerializeToString(), options)
    return session.run(None, UNEQUAL)[0]


def test_inputs_that_share_a_symbolic_dimension_are_silently_broadcast():
    """Once they are refused, equal symbols prove equal sizes and `SameShape` may say so."""
    result = run(binary_model("Sub", "float", ["n"], ["n"], c_shape=["n"]))
    assert result.tolist() == [0, 0, 0]


def test_wrong_value_info_does_not_stop_a_run():
    """Once it does, `value_info` is a premise that a proof may rest on."""
    lying = parse("""(float[p] A, float[q] B) => (float[?] C) <float[3] a, float[3] b> {
        a = Identity(A)
        b = Identity(B)
        C = Sub(a, b)
    }""")
    assert run(lying).tolist() == [0, 0, 0]


def test_result_follows_from_a_wrong_value_info() -> None:
    """Once it does not, a declared shape that is not proved needs no mention."""
    lying = parse("""(float[n, m] x) => (float[?, ?] r) <float[3, 4] a> {
        a = Neg(x)
        s = Shape(a)
        z = ConstantOfShape(s)
        r = Add(x, z)
    }""")
    shapes = {
        level: ort.InferenceSession(lying.SerializeToString(), on_one_thread(level))
        .run(["r"], {"x": np.ones((1, 1), np.float32)})[0]
        .shape
        for level in LEVELS
    }
    assert shapes == {"none": (1, 1)} | dict.fromkeys(("basic", "extended", "all"), (3, 4))


SUM_OF_BROADCAST = "e = Expand(one, s) r = Add(v, e) o = ReduceSum<keepdims = 0>(r)"

WRONG_AROUND_A_BODY = {
    "declared by a branch": (
        "float[1, 1] one = {1}",
        (
            "z = If(c) <then_branch = t () => (float[] o) <float[3, 4] a> {"
            f" v = Identity(a) s = Shape(a) {SUM_OF_BROADCAST} }},"
            " else_branch = f () => (float[] p) { p = Identity(zero) }>"
        ),
        -12,
    ),
    "handed to a Scan": (
        "float[1] one = {1}, float[n, 4] a",
        (
            "y, z = Scan<num_scan_inputs = 1, body = g (float[] t, float[] v)"
            " => (float[] u, float[] o) { u = Identity(t) s = Shape(v)"
            f" {SUM_OF_BROADCAST} }}>(zero, a)"
        ),
        -4,
    ),
}
"""A declaration and nodes that read a wrong one, and the sum that follows from it; -1 is right."""


@pytest.mark.parametrize("name", WRONG_AROUND_A_BODY)
def test_result_in_a_body_follows_from_a_wrong_value_info(name: str) -> None:
    declared, nodes, wrong = WRONG_AROUND_A_BODY[name]
    lying = parse(
        f"(float[n, m] x, bool[] c) => (float[] z) <float zero = {{0}}, {declared}>"
        f" {{ a = Neg(x) {nodes} }}"
    )
    feeds = {"x": np.full((1, 1), 2, np.float32), "c": np.array(True)}
    sums = {
        level: ort.InferenceSession(lying.SerializeToString(), on_one_thread(level))
        .run(["z"], feeds)[0]
        .item()
        for level in LEVELS
    }
    assert sums == {"none": -1} | dict.fromkeys(("basic", "extended", "all"), wrong)


def shape_of(node: str, declared: str, *feeds: np.ndarray) -> tuple[int, ...]:
    """The shape of the result of a node that reads x0, x1 and so on."""
    given = {f"x{k}": array for k, array in enumerate(feeds)}
    model = parse(f"({declared}) => (float[] y) {{ {node} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return ort.InferenceSession(model.SerializeToString()).run(["y"], given)[0].shape


def test_number_of_windows_is_divided_in_double() -> None:
    """Once it is exact, there is one window: the second would need 2^54 elements and padding."""
    node = f"y = Conv <pads=[{2**54 - 4}, 0], strides=[{2**54}]> (x0, x1)"
    x, w = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 1), np.float32)
    assert shape_of(node, "float[a,b,c] x0, float[d,e,f] x1", x, w) == (1, 1, 2)


def test_top_k_takes_the_lower_half_of_k() -> None:
    """Once it does not, an axis of three elements does not have 2^32 + 1 of them."""
    declared = "float[n] x0, int64[1] x1"
    node = "y, places = TopK(x0, x1)"
    assert shape_of(node, declared, np.ones(3, np.float32), np.int64([2**32 + 1])) == (1,)


def test_resize_rounds_a_size_to_float() -> None:
    """Once it does not, a scale of 1 keeps every size."""
    x, scales = np.empty((0, 2**24 + 1), np.float32), np.ones(2, np.float32)
    node = 'y = Resize(x0, "", x1)'.replace('""', "")
    assert shape_of(node, "float[n,m] x0, float[2] x1", x, scales) == (0, 2**24)


def test_slice_divides_by_its_step_in_double() -> None:
    """Once it is exact, a Slice backwards over all elements keeps the size."""
    x = np.empty((0, 2**53 + 1), np.float32)
    numbers = [np.int64([n]) for n in (-1, -(2**63), 1, -1)]
    declared = "float[n,m] x0, " + ", ".join(f"int64[1] x{k}" for k in range(1, 5))
    assert shape_of("y = Slice(x0, x1, x2, x3, x4)", declared, x, *numbers) == (0, 2**53)


def test_reshape_takes_minus_one_beside_a_zero() -> None:
    """Once it does not, the size for -1 is known where a Reshape runs."""
    node = "y = Reshape <allowzero=1> (x0, x1)"
    declared = "float[n,m] x0, int64[2] x1"
    assert shape_of(node, declared, np.empty((0, 0), np.float32), np.int64([-1, 0])) == (1, 0)


PROBE = """
import json
import numpy as np
import onnxruntime as ort
from onnxruntime_extensions import PyOp, get_library_path, onnx_op
from support.graphs import parse

def shape_behind(operator, inputs, level):
    '''The shape, by a Shape, of what a custom operator of a name gives: [1, 1] if it is right.'''
    @onnx_op(op_type=f"probe::{operator}", inputs=[PyOp.dt_int64] * len(inputs),
             outputs=[PyOp.dt_int64] * 2)
    def kernel(*operands):
        return np.array([[7]]), np.array([1, 1])

    model = parse(f'''(float[4] x, float[2] y) => (int64[] z)
        <int64 zero = {{0}}, int64[1] zeros = {{0}}> {{
            a = Shape(x) b = Shape(y) p = Gather(a, zero)
            result, shape = probe.{operator}({", ".join(inputs)})
            guarded = Reshape(result, shape) copy = Identity(guarded) z = Shape(copy)
        }}''', domains={"probe": 1})
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    options.register_custom_ops_library(get_library_path())
    session = ort.InferenceSession(model.SerializeToString(), options)
    feeds = {"x": np.ones(4, np.float32), "y": np.ones(2, np.float32)}
    return session.run(None, feeds)[0].tolist()
"""

NONE, BASIC = (
    "ort.GraphOptimizationLevel.ORT_DISABLE_ALL",
    "ort.GraphOptimizationLevel.ORT_ENABLE_BASIC",
)


def probed(operator: str, *inputs: str, level: str = BASIC) -> ChildResult:
    return run_python(PROBE, f"print(json.dumps(shape_behind({operator!r}, {inputs!r}, {level})))")


@pytest.mark.parametrize(
    ("operator", "inputs", "taken_for"),
    [
        ("Add", ("a", "b"), [6]),
        ("Sub", ("a", "b"), [2]),
        ("Mul", ("a", "b"), [8]),
        ("Div", ("a", "b"), [2]),
        ("Gather", ("a", "zeros"), [4]),
        ("Size", ("a",), [4]),
        ("Squeeze", ("a",), [4]),
        ("Unsqueeze", ("p",), [4]),
    ],
)
def test_what_sizes_give_is_taken_for_the_shape_that_a_kernel_gives(operator, inputs, taken_for):
    """Once no name is followed, custom operators may have those of ONNX."""
    assert json.loads(probed(operator, *inputs).stdout) == taken_for


@pytest.mark.parametrize("operator", ["If", "Shape"])
def test_constant_folding_takes_a_node_away_for_its_name(operator):
    child = probed(operator, "a")
    assert child.exit_status == 1, child
    assert json.loads(probed(operator, "a", level=NONE).stdout) == [1, 1]


@pytest.mark.parametrize(
    "operator", ["Add", "Conv", "ConvTranspose", "Div", "Gemm", "Mul", "Sub", "Where"]
)
def test_optimizer_reads_operands_that_a_node_of_that_name_does_not_have(operator):
    assert probed(operator, "a").killed_by is not None


@pytest.mark.parametrize("operator", ["CheckedDiv", "DivOperands", "MatMul", "Max", "Pow", "Slice"])
def test_other_names_are_not_followed(operator):
    assert json.loads(probed(operator, "a", "b").stdout) == [1, 1]


SCAN = """
import numpy as np, onnxruntime as ort
from support.graphs import parse

def scan(state, rank):
    declared = f"float[{','.join('?' * rank)}]"
    model = parse(
        "(float[] s, float[k] x) => (float[] a, float[] b) {"
        " a, b = Scan<num_scan_inputs = 1, body = body (float[] t, float e) =>"
        f" ({declared} o, float p) {{ o = Identity(t) p = Identity(e) }}>(s, x) }}"
    )
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    print("running", flush=True)
    elements = np.ones(2, np.float32)
    return session.run(["a"], {"s": np.ones(state, np.float32), "x": elements})[0].shape
"""


def test_declared_rank_that_is_too_small_ends_the_process():
    """Once it raises, the random models need not keep off it, nor `claims` leave sizes alone."""
    child = run_python(SCAN, "scan((2, 3), 1)")
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


def test_declared_rank_that_is_right_is_no_trouble():
    child = run_python(SCAN, "print(scan((2, 3), 2))")
    assert child.stdout == "running\n(2, 3)\n", child


OPAQUE = "sizes = Constant<value_ints = [2, 3]>() chosen = Where(going, sizes, sizes)"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("declared", "body", "shape"),
    [
        pytest.param("float[]", "o = Neg(q)", (0, 2, 3), id="what it infers"),
        pytest.param("float[a, b]", "o = Neg(q)", (0, 2, 3), id="not what symbols say"),
        pytest.param(
            "float[a, b]", f"{OPAQUE} o = Reshape(q, chosen)", (0, 0, 0), id="0 for open sizes"
        ),
        pytest.param(
            "float[7, 3]", f"{OPAQUE} o = Reshape(q, chosen)", (0, 7, 3), id="what is declared"
        ),
        pytest.param("float[7, 3]", "o = Neg(q)", (0, 0, 3), id="0 for contradicting sizes"),
        pytest.param("float[7, a]", "o = Neg(q)", (0, 0, 0), id="and for all that one leaves open"),
        pytest.param("float[1, 2, 3]", "o = Neg(q)", (0,), id="no rank for contradicting ranks"),
    ],
)
def test_shape_of_a_loop_without_iterations(
    declared: str, body: str, shape: tuple[int, ...], level: str
) -> None:
    model = parse(
        "(int64 trips, bool go, float[2, 3] q) => (float[] y) {"
        f" y = Loop<body = step (int64 i, bool going) => (bool still, {declared} o) {{"
        f" still = Identity(going) {body} }}>(trips, go) }}"
    )
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    feeds = {"trips": np.array(0), "go": np.array(True), "q": np.ones((2, 3), np.float32)}
    assert session.run(None, feeds)[0].shape == shape


EMPTY_SCAN = """
import numpy as np, onnxruntime as ort
from support.graphs import parse

def run(axis, shape):
    element = "float[2]" if axis else "float[3]"
    model = parse(
        "(float[n, m] x) => (float[] y) {"
        f" y = Scan<num_scan_inputs = 1, scan_input_axes = [{axis}], body = step ({element} e)"
        f" => ({element} o) {{ o = Neg(e) }}>(x) }}"
    )
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    print("running", flush=True)
    try:
        session.run(None, {"x": np.ones(shape, np.float32)})
    except Exception as error:
        print("Invalid dim0_offset" in str(error))
"""


def test_scan_of_nothing_along_the_first_axis_is_an_error() -> None:
    child = run_python(EMPTY_SCAN, "run(0, (0, 3))")
    assert (child.killed_by, child.stdout) == (None, "running\nTrue\n"), child


def test_scan_of_nothing_along_another_axis_ends_the_process() -> None:
    """Once it does not, it gives a result, whose shape has to stay in an enforced model."""
    child = run_python(EMPTY_SCAN, "run(1, (2, 0))")
    assert (child.killed_by, child.stdout) == (signal.SIGFPE, "running\n"), child


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "graph",
    ["(float[n] w, int64[1] s) => (float[n] w)", "(float[n] w, int64[1] s) => (int64[1] y)"],
)
def test_node_whose_result_nothing_reads_runs(graph, level):
    """The guard of an input that no node reads is such a node."""
    computed = "y = Identity(s)" if "y" in graph else ""
    model = parse(f"{graph} {{ {computed} [guard] copy = Reshape(w, s) }}")
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    w = np.ones(1, np.float32)
    session.run(None, {"w": w, "s": np.array([1])})
    with pytest.raises(Exception, match="Name:'guard'"):
        session.run(None, {"w": w, "s": np.array([-7])})
