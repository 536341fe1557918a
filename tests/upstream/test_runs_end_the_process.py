"""Standard operators outside the profile at which a run of ONNX Runtime ends the process."""

import signal

import pytest

from support.changes import changed
from support.child import run_python

pytestmark = pytest.mark.upstream

RUN = """
import numpy as np, onnxruntime as ort
from support.graphs import parse

def run(graph, *operands):
    model = parse(graph)
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


def test_conv_by_an_empty_kernel_does_not_come_back() -> None:
    """Once it does, or raises, the rule about the kernel may be waived."""
    graph = "(float[] x, float[] w) => (float[] y) { y = Conv(x, w) }"
    shapes = "np.ones((1, 4, 8, 8), np.float32), np.ones((6, 4, 0, 3), np.float32)"
    alarm = "import signal; signal.alarm(5)"
    child = run_python(RUN, f"{alarm}\nrun({graph!r}, {shapes})")
    assert (child.killed_by, child.stdout) == (signal.SIGALRM, "running\n"), child


LSTM = "y = LSTM<hidden_size = 1>(x, w, r)"


@pytest.mark.parametrize(
    ("stored", "signals"),
    [(False, {signal.SIGABRT}), (True, {signal.SIGABRT, signal.SIGSEGV})],
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
