"""Models at which shape inference, or a run of ONNX Runtime, ends the process."""

import signal

import pytest

from support.changes import changed
from support.child import ChildResult, run_python

pytestmark = pytest.mark.upstream

MODELS = """
import re
from pathlib import Path
import numpy as np, onnx, onnxruntime as ort
from support.graphs import parse

def made(graph, opset):
    model = parse(graph, opset=opset)
    onnx.checker.check_model(model)
    print("valid", flush=True)
    return model

def infer(graph, opset=17):
    model = made(graph, opset)
    for output in model.graph.output:
        output.ClearField("type")
    return onnx.shape_inference.infer_shapes(model, data_prop=True)

def peak():
    # In KiB; what `resource` tells is also that of the process that started this one.
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1))

def start(graph, opset=17):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(made(graph, opset).SerializeToString(), options)
"""

GATHER_ND = """(float[2,3] x, int64[2,1] i) => (float[?,?] y) {
    y = GatherND<batch_dims = -3>(x, i)
}"""
LAYER_NORMALIZATION = """(float[3,4] x, float[4] w) => (float[?,?] y) {
    y, m, v = LayerNormalization<axis = 2147483648>(x, w)
}"""
SPLIT = """(float[2,8] x) => (float[?,?] a, float[?,?] b, float[?,?] c) {
    a, b, c = Split<axis = 1, num_outputs = 1>(x)
}"""
SLICE = """(float[1,1,2] x, float[1,1,5] w) => (float[?,?,?] y)
<int64[1] s = {0}, int64[1] e = {1}, int64[1] k = {2}> {
    a = Conv(x, w)
    y = Slice(a, s, e, k)
}"""


def ended(call: str, graph: str, opset: int = 17) -> ChildResult:
    return run_python(MODELS, f"{call}({graph!r}, {opset})")


@pytest.mark.parametrize(
    ("call", "graph"),
    [("infer", GATHER_ND), ("start", GATHER_ND), ("infer", LAYER_NORMALIZATION)],
    ids=["GatherND", "GatherND in ONNX Runtime", "LayerNormalization"],
)
def test_inference_reads_memory_by_an_attribute(call: str, graph: str) -> None:
    """Once it raises, `check` need not refuse the attribute ahead of it."""
    child = ended(call, graph)
    assert (child.killed_by, child.stdout) == (signal.SIGSEGV, "valid\n"), child


def test_onnxruntime_refuses_an_axis_that_inference_of_onnx_reads_memory_by() -> None:
    child = ended("start", LAYER_NORMALIZATION)
    assert child.exit_status == 1, child
    assert "Unexpected axis value (2147483648)" in child.stderr, child


@pytest.mark.parametrize("call", ["infer", "start"])
@pytest.mark.parametrize(("graph", "opset"), [(SPLIT, 18), (SLICE, 17)], ids=["Split", "Slice"])
def test_assertion_of_the_inference_that_both_share_ends_the_process(
    call: str, graph: str, opset: int
) -> None:
    """Once it raises, `check` need not refuse these models, nor infer in steps."""
    child = ended(call, graph, opset)
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "valid\n"), child


def test_inference_follows_every_element_of_a_long_vector() -> None:
    """Once it does not, `check` may always ask it to propagate data."""
    child = run_python(
        MODELS,
        """
        before = peak()
        infer("(float[2000000] x) => (float[?] y) <int64[1] k = {0}> { y = Unsqueeze(x, k) }")
        print((peak() - before) * 1024 > 40 * 2_000_000)
        """,
    )
    assert child.stdout == "valid\nTrue\n", child


def test_dft_of_a_scalar_whose_rank_is_not_declared_ends_the_process() -> None:
    """Once it raises, a guard may hide the shape of a scalar in front of it."""
    child = run_python(
        MODELS,
        """
        model = parse("(float[] x, int64 n) => (float[] y) { y = DFT<axis = 0>(x, n) }")
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = ort.InferenceSession(model.SerializeToString(), options)
        print("running", flush=True)
        session.run(None, {"x": np.array(1, np.float32), "n": np.array(1)})
        """,
    )
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


BUSY = """
import resource

def limited(seconds):
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + 60))
"""
"""Ends a process by SIGXCPU that computes for longer."""

EINSUM = """(float[2,2] x) => (float[?,?] y) { y = Einsum<equation = "i.j->ij">(x, x) }"""
FAR_STEP = """(int32[5] x) => (int32[?] y) <int64[1] s = {4}, int64[1] e = {-9223372036854775807},
int64[1] a = {0}, int64[1] t = {-9223372036854775807}> { y = Slice(x, s, e, a, t) }"""


@pytest.mark.thorough
@pytest.mark.parametrize("call", ["infer", "start"])
def test_einsum_with_a_single_dot_is_read_for_ever(call: str) -> None:
    """Once it raises, `check` need not read the equation ahead of it."""
    child = run_python(MODELS, BUSY, f"limited(3)\n{call}({EINSUM!r}, 18)")
    assert (child.killed_by, child.stdout) == (signal.SIGXCPU, "valid\n"), child


def test_propagation_of_elements_does_not_read_a_far_step_as_it_is() -> None:
    """Once it ends, elements may be propagated whatever the steps are."""
    limits = "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\nlimited(20)"
    child = run_python(MODELS, BUSY, limits, f"infer({FAR_STEP!r}, 18)\nprint('inferred')")
    assert child.stdout == "valid\n", child


def test_inference_lists_every_axis_that_gathers_double() -> None:
    """Once it refuses them, axes need not be counted ahead of it."""
    child = run_python(
        MODELS,
        """
        nodes = " ".join(f"x{k + 1} = Gather(x{k}, x{k})" for k in range(10))
        model = parse(f"(int64[1,1] x0) => (int64[?] y) {{ {nodes} y = Identity(x10) }}")
        (known,) = (v for v in onnx.shape_inference.infer_shapes(model).graph.value_info
                    if v.name == "x10")
        print(len(known.type.tensor_type.shape.dim))
        """,
    )
    assert child.stdout == "1025\n", child


RUN = """
import numpy as np, onnxruntime as ort
from support.graphs import parse

def run(graph, *operands, opset=17):
    model = parse(graph, opset=opset)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options)
    print("running", flush=True)
    names = [each.name for each in session.get_inputs()]
    print(session.run(None, dict(zip(names, map(np.array, operands))))[0].shape)
"""


@pytest.mark.parametrize(
    "node",
    [
        "RandomUniform<low = 1.0, high = 0.0, shape = [2]>()",
        "RandomUniformLike<low = 1.0, high = 0.0>(x)",
        "RandomNormal<scale = 0.0, shape = [2]>()",
        "RandomNormalLike<scale = -1.0>(x)",
    ],
)
def test_random_numbers_of_no_distribution(node: str) -> None:
    """Once it raises, such attributes need not be refused."""
    graph = f"(float[2] x) => (float[2] y) {{ y = {node} }}"
    child = run_python(RUN, f"run({graph!r}, np.ones(2, np.float32))")
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


CONV = "(float[] x, float[] w) => (float[] y) { y = Conv<kernel_shape: ints = []>(x, w) }"
STFT = "(float[] x, int64 step, float[] window) => (float[] y) { y = STFT(x, step, window) }"


def test_stft_of_a_scalar_whose_rank_is_not_declared() -> None:
    child = run_python(RUN, f"run({STFT!r}, np.float32(1), np.int64(1), np.float32(1))")
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


@pytest.mark.parametrize(
    ("operator", "gates", "shape"),
    [("GRU", 9, (0, 1, 1)), ("GRU", 9, (2, 0, 1)), ("LSTM", 12, (2, 0, 1))],
)
def test_recurrent_layer_over_nothing(
    operator: str, gates: int, shape: tuple[int, int, int]
) -> None:
    """An LSTM of no steps gives a result without elements."""
    graph = f"""(float[s,b,1] x, float[1,{gates},1] w, float[1,{gates},3] r)
        => (float[?,?,?,?] y) {{ y = {operator} <hidden_size = 3> (x, w, r) }}"""
    operands = (shape, (1, gates, 1), (1, gates, 3))
    arrays = ", ".join(f"np.ones({size}, np.float32)" for size in operands)
    child = run_python(RUN, f"run({graph!r}, {arrays})")
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


@pytest.mark.parametrize("element_type", ["float", "float16", "int64"])
def test_unique_along_an_axis_of_nothing(element_type: str) -> None:
    """Once it gives a result, or raises, a contract need not exclude empty tensors."""
    graph = f"({element_type}[3,m] x) => ({element_type}[?,?] y) {{ y = Unique<axis = 0>(x) }}"
    array = f"np.ones((3, 0), np.{element_type.replace('float', 'float32').replace('3216', '16')})"
    child = run_python(RUN, f"run({graph!r}, {array})")
    assert (child.killed_by, child.stdout) == (signal.SIGABRT, "running\n"), child


def test_conv_of_a_scalar_whose_rank_is_not_declared() -> None:
    child = run_python(RUN, f"run({CONV!r}, np.float32(1), np.float32(1))")
    assert child.stdout == "running\n", child
    if changed("Conv refuses a scalar"):
        assert (child.exit_status, "X num_dims must be >= 3" in child.stderr) == (1, True), child
    else:
        assert child.killed_by == signal.SIGABRT, child


HOLDING_NOTHING = "m = NonZero(n) "
BODY = "(int64 i, bool c, float[] s) => (bool d, float[] t) { d = Identity(c) t = Identity(s) }"


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(
            f"(int64[n] n, float[] x) => (float[] y) {{ {HOLDING_NOTHING}"
            f'y = Loop(m, "", x) <body = body {BODY}> }}',
            id="number of iterations",
        ),
        pytest.param(
            f"(int64[n] n, float[] x) => (float[] y) {{ {HOLDING_NOTHING}going = Cast<to = 9>(m)"
            'y = Loop("", "", x) <body = body (int64 i, bool c, float[] s) => '
            "(bool[] d, float[] t) { d = Identity(going) t = Identity(s) }> }",
            id="condition that the body gives",
        ),
    ],
)
def test_loop_by_a_tensor_that_holds_nothing(graph: str) -> None:
    child = run_python(RUN, f"run({graph!r}, np.ones(0, np.int64), np.float32(1))")
    assert (child.killed_by, child.stdout) == (signal.SIGSEGV, "running\n"), child


CUT = "Conv<kernel_shape = [3, 3], pads = [0, 0, 0, -1]>(x, w)"


def test_constant_kernel_and_negative_pads_that_no_shape_tells_of() -> None:
    """Once it raises, the rules about pads may be waived."""
    kernel = f"w = ConstantOfShape<value = float[1] {{1}}>(sizes) y = {CUT}"
    graph = f"(float[] x) => (float[] y) <int64[4] sizes = {{6, 4, 3, 3}}> {{ {kernel} }}"
    child = run_python(RUN, f"run({graph!r}, np.ones((1, 4, 8, 8), np.float32))")
    assert (child.killed_by, child.stdout) == (signal.SIGSEGV, "running\n"), child


def test_other_kernel_and_negative_pads_cut_the_operand() -> None:
    graph = f"(float[] x, float[] w) => (float[] y) {{ y = {CUT} }}"
    shapes = "np.ones((1, 4, 8, 8), np.float32), np.ones((6, 4, 3, 3), np.float32)"
    child = run_python(RUN, f"run({graph!r}, {shapes})")
    assert child.stdout == "running\n(1, 6, 6, 5)\n", child


@pytest.mark.thorough
def test_conv_by_an_empty_kernel_does_not_come_back() -> None:
    """Once it does, or raises, the rule about the kernel may be waived."""
    graph = "(float[] x, float[] w) => (float[] y) { y = Conv(x, w) }"
    shapes = "np.ones((1, 4, 8, 8), np.float32), np.ones((6, 4, 0, 3), np.float32)"
    alarm = "import signal; signal.alarm(5)"
    child = run_python(RUN, f"{alarm}\nrun({graph!r}, {shapes})")
    assert (child.killed_by, child.stdout) == (signal.SIGALRM, "running\n"), child


LSTM = "y = LSTM<hidden_size = 1>(x, w, r)"


@pytest.mark.parametrize(
    ("stored", "signals"), [(False, {signal.SIGABRT}), (True, {signal.SIGABRT, signal.SIGSEGV})]
)
def test_lstm_of_an_empty_batch(stored: bool, signals: set[int]) -> None:
    """Once it raises, or gives an empty result, the rule about the batch may go."""
    shapes = {"w": (1, 4, 2), "r": (1, 4, 1)}
    fed = [f"np.ones({shape}, np.float32)" for shape in shapes.values()]
    inputs, constants = "float[] x, float[] w, float[] r", ""
    if stored:
        fed, inputs = [], "float[] x"
        constants = f"<float[1,4,2] w = {{{'1, ' * 7}1}}, float[1,4,1] r = {{1, 1, 1, 1}}>"
    graph = f"({inputs}) => (float[] y) {constants} {{ {LSTM} }}"
    child = run_python(
        RUN, f"run({graph!r}, {', '.join(['np.ones((3, 0, 2), np.float32)', *fed])})"
    )
    assert child.killed_by in signals, child
    assert child.stdout == "running\n", child


WITHOUT_A_NAME = {
    "Split": (
        '(float[4] x) => (float[2] b) { "", b = Split<axis = 0>(x) }',
        "np.ones(4, np.float32)",
    ),
    "BatchNormalization": (
        (
            "(float[2,3] x, float[3] s) => (float[2,3] y)"
            ' { y, "", v = BatchNormalization<training_mode = 1>(x, s, s, s, s) }'
        ),
        "np.ones((2, 3), np.float32), np.ones(3, np.float32)",
    ),
    "Loop": (
        (
            "(int64 n, bool c, float[4] x) => (float[4] b)"
            ' { "", b = Loop(n, c, x, x) <body = t (int64 i, bool g, float[4] u, float[4] v)'
            " => (bool h, float[4] p, float[4] q) { h = Identity(g) p = Neg(u) q = Neg(v) }> }"
        ),
        "np.int64(1), np.bool_(True), np.ones(4, np.float32)",
    ),
}

OPERANDS = {
    **{
        operator: (
            f'(float[4] x) => (float[4] y) {{ y = {operator}(x, "") }}',
            "np.ones(4, np.float32)",
        )
        for operator in ("Max", "Mean", "Min", "Sum")
    },
    "Einsum": (
        '(float[4] x) => (float[4] y) { y = Einsum<equation = "i,i->i">(x, "") }',
        "np.ones(4, np.float32)",
    ),
    "LayerNormalization": (
        '(float[2, 4] x, float[4] w) => (float[2, 4] y) { y = LayerNormalization(x, w, "") }',
        "np.ones((2, 4), np.float32), np.ones(4, np.float32)",
    ),
    "DFT": (
        '(float[1, 4, 1] x) => (float[1, 4, 2] y) { y = DFT(x, "", "") }',
        "np.ones((1, 4, 1), np.float32)",
    ),
}


@pytest.mark.parametrize("operator", OPERANDS)
def test_operand_without_a_name(operator: str) -> None:
    """Once it raises, such operands need not be refused. ONNX lets the last two be left out so."""
    graph, operands = OPERANDS[operator]
    child = run_python(RUN, f"run({graph!r}, {operands}, opset={20 if operator == 'DFT' else 17})")
    assert child.killed_by == signal.SIGSEGV, child


@pytest.mark.parametrize("operator", WITHOUT_A_NAME)
def test_result_without_a_name(operator: str) -> None:
    """Once it raises, such results need not be refused. ONNX lets BatchNormalization omit it."""
    graph, operands = WITHOUT_A_NAME[operator]
    child = run_python(RUN, f"run({graph!r}, {operands})")
    assert (child.killed_by, child.stdout) == (signal.SIGSEGV, "running\n"), child


EACH_NAME = """
import os
import signal
import onnx, onnxruntime as ort
from support.soundness.node_cases import node_cases

def survives(model, arrays):
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.alarm(5)  # a Loop without a number of iterations has no end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            session = ort.InferenceSession(model.SerializeToString())
            names = [each.name for each in session.get_inputs()]
            session.run(None, dict(zip(names, arrays)))
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])

def without(model, kind, place):
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    getattr(graph.node[0], kind)[place] = ""
    if kind == "output":
        left = model.graph.node[0].output[place]
        kept = [each for each in model.graph.output if each.name != left]
        given = graph.input[0]
        graph.node.append(onnx.helper.make_node("Identity", [given.name], ["given"]))
        del graph.output[:]
        graph.output.extend([*kept, onnx.ValueInfoProto(name="given", type=given.type)])
    return made

tried, died = set(), set()
for case in node_cases():
    node, *others = case.model.graph.node
    if others or node.domain or not case.model.graph.input or node.op_type == "Loop":
        continue
    for kind in ("input", "output"):
        for place, name in enumerate(getattr(node, kind)):
            key = node.op_type, kind, place
            if key in tried or not name or sum(map(ord, node.op_type)) % PARTS != PART:
                continue
            tried.add(key)
            if not survives(without(case.model, kind, place), case.data_sets[0][0]):
                died.add(f"{kind}:{node.op_type}")
print(len(tried) > 9, *sorted(died))
"""

_PARTS = 6


@pytest.mark.parametrize("part", range(_PARTS))
def test_no_other_missing_name_ends_the_process(part: int) -> None:
    """Of all operators of the standard, but Loop, that have a test in the package onnx."""
    child = run_python(f"PART, PARTS = {part}, {_PARTS}", EACH_NAME)
    assert child.exit_status == 0, child
    known = [f"input:{name}" for name in OPERANDS]
    known += [f"output:{name}" for name in WITHOUT_A_NAME if name != "Loop"]
    here = [each for each in known if sum(map(ord, each.split(":")[1])) % _PARTS == part]
    assert child.stdout.split() == ["True", *sorted(here)]


UNFINISHED = """
import numpy as np, onnxruntime as ort
from support.child import delay_end
from support.graphs import parse

delay_end(60)  # the run ends meanwhile
names = ["x", *(f"x{each}" for each in range(40))]
body = "".join(f"{b} = MatMul({a}, x) " for a, b in zip(names, names[1:]))
model = parse("(float[n,m] x) => (float[] x39) {" + body + "}")
options = ort.SessionOptions()
options.intra_op_num_threads = 2  # with all cores of a large machine the run would end first
session = ort.InferenceSession(model.SerializeToString(), options)
feeds = {"x": np.full((1000, 1000), 0.001, np.float32)}
session.run_async(None, feeds, lambda results, data, message: None, None)
"""


def test_program_that_ends_before_a_run_in_another_thread() -> None:
    """Once it waits for the run or gives it up, `InferenceSession` need not wait."""
    child = run_python(UNFINISHED, fresh=True)
    assert child.killed_by in {signal.SIGABRT, signal.SIGSEGV}, child
