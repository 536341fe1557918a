"""ONNX Runtime's own operators where the profile says that there is no result, or another one.

What is so in each type stands in `test_every_type.py`.
"""

import json
import platform
import signal

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

from support.bare_nodes import RUN
from support.changes import before_and_since
from support.child import run_python
from support.graphs import parse

pytestmark = pytest.mark.upstream

on_x86 = pytest.mark.skipif(
    platform.machine().lower() not in {"x86_64", "amd64"},
    reason="other processors convert out of range, trap and vectorize otherwise",
)


@pytest.fixture(scope="module")
def outcome():
    """What a case gives or raises; one child process decides all."""
    cases = SILENT | CONVERTED | RAISING
    asked = [(name, expression, operands) for name, (expression, operands, _) in cases.items()]
    child = run_python(RUN, f"report({asked!r})")
    outcomes = dict(map(json.loads, child.stdout.splitlines()))
    assert outcomes.keys() == cases.keys(), child
    return outcomes.get


def of_table(cases):
    return pytest.mark.parametrize("name", cases)


def one(element_type, *elements):
    """A tensor of one axis whose size is not declared."""
    return (f"{element_type}[?]", list(elements))


LONG, SHORT = [1, 1, 1], [1]
SMALLEST32, SMALLEST64 = -(2**31), -(2**63)
NAN, INF = float("nan"), float("inf")

BY_WAY_OF_INTEGERS = "Mod as C does computes int64 and uint64 exactly"
LIKE_A_MATRIX = "ArgMax of a vector takes NaN as that of a matrix does"
SILENT = {
    "no size against size 1": ("float Add(a, b)", [("float[n]", []), ("float[n]", SHORT)], "[]"),
    "PRelu broadcasts X too": ("float PRelu(a, b)", [("float[1]", [-1]), ("float[2]", [2, 3])],
        "[-2.0, -3.0]"),
    "Where loses -0 of X": ("float Where(a, b, c)",
        [one("bool", True, False), one("float", -0.0, -0.0), one("float", -0.0, -0.0)],
        "[0.0, -0.0]"),
    "Mod of int64 as C does": ("int64 Mod <fmod = 1> (a, b)",
        [one("int64", 2**53 + 1), one("int64", 2)],
        before_and_since(BY_WAY_OF_INTEGERS, "[0]", "[1]")),
    "Mod of uint64 as C does": ("uint64 Mod <fmod = 1> (a, b)",
        [one("uint64", 2**64 - 1), one("uint64", 2)],
        before_and_since(BY_WAY_OF_INTEGERS, "[0]", "[1]")),
    "Softmax of nothing but negative infinity": ("float Softmax <axis = 0> (a)",
        [one("float", -INF, -INF)], "[nan, nan]"),
    "Softmax of nothing along an axis that is not there": ("float Softmax <axis = 1> (a)",
        [("float[]", [])], "[]"),
    "LeakyRelu of float16 loses -0": ("float16 LeakyRelu <alpha = 0.0> (a)", [one("float16", -1)],
        "[0.0]"),
    "LeakyRelu without alpha": ("float LeakyRelu(a)", [one("float", -100)], "[-1.0]"),
    **{
        f"Slice in negative steps to {end}": (
            "float Slice(a, b, c, d, e)",
            [one("float", 0, 1, 2), *(one("int64", number) for number in (1, end, 0, -1))],
            taken,
        )
        for end, taken in (
            (2**31 - 2, "[]"),
            (2**31 - 1, "[1.0, 0.0]"),
            (2**63 - 2, "[]"),
            (2**63 - 1, "[1.0, 0.0]"),
        )
    },
    "QuantizeLinear by 0": ("uint8 QuantizeLinear(a, b, c)",
        [one("float", 1, -1, 0), ("float[]", 0.0), ("uint8[]", 10)], "[255, 0, 0]"),
    "QuantizeLinear by NaN": ("uint8 QuantizeLinear(a, b, c)",
        [one("float", 1), ("float[]", NAN), ("uint8[]", 10)], "[0]"),
    "QuantizeLinear of what is not finite": ("uint8 QuantizeLinear(a, b, c)",
        [one("float", NAN, INF, -INF), ("float[]", 1.0), ("uint8[]", 10)], "[0, 255, 0]"),
    "QuantizeLinear by a scale in a line": ("uint8 QuantizeLinear(a, b)",
        [one("float", 7), one("float", 2)], "[4]"),
    "QuantizeLinear by an axis that is not there": ("uint8 QuantizeLinear <axis = 7> (a, b)",
        [one("float", 7), ("float[]", 2.0)], "[4]"),
    "DequantizeLinear of a difference beyond int32": ("float DequantizeLinear(a, b, c)",
        [one("int32", SMALLEST32), ("float[]", 1.0), ("int32[]", 100)], "[2147483520.0]"),
    "Pow of a small base by a negative exponent": ("int32 Pow(a, b)",
        [one("int32", 2, 1, -1), one("int32", -1, -5, -1)], "[0, 1, -1]"),
    "Pow of int64 by way of double": ("int64 Pow(a, b)", [one("int64", 2**53 + 1), one("int64", 1)],
        f"[{2**53}]"),
    "Pow without a real result": ("float Pow(a, b)", [one("float", -8, 0), one("float", 2.5, -1)],
        "[nan, inf]"),
    "Abs": ("int64 Abs(a)", [one("int64", SMALLEST64)], f"[{SMALLEST64}]"),
    "Cast of integers wraps": ("int32 Cast <to = 6> (a)", [one("int64", 2**31, 2**32 + 5)],
        f"[{SMALLEST32}, 5]"),
    "Cast to a narrower float": ("float16 Cast <to = 10> (a)", [one("float", 65520)], "[inf]"),
    "Cast of double to float16 rounds twice": ("float16 Cast <to = 10> (a)",
        [one("double", 2049.0000001)], "[2048.0]"),
    "BatchNormalization without a variance": (
        "float BatchNormalization <epsilon = 0.0> (a, b, c, d, e)",
        [("float[?,?]", [[3]]), *(one("float", x) for x in (1, 0, 0, 0))],
        "[[nan]]",
    ),
    "Clip with min above max": ("int32 Clip(a, b, c)",
        [one("int32", 0, 2, 9), ("int32", 3), ("int32", 1)], "[1, 1, 1]"),
    "Clip of NaN with min above max": ("float Clip(a, b, c)",
        [one("float", 0, NAN, 9), ("float", 3), ("float", 1)], "[1.0, nan, 1.0]"),
    "Clip with bounds that are NaN": ("float Clip(a, b, c)",
        [one("float", -INF, 2, INF), ("float", NAN), ("float", NAN)], "[-inf, 2.0, inf]"),
    "Clip without bounds, of infinities": ("float16 Clip(a)", [one("float16", -INF, INF)],
        "[-65504.0, 65504.0]"),
    "ArgMax of a vector with NaN": ("int64 ArgMax <axis = 0> (a)", [one("float", 1, NAN, 3)],
        before_and_since(LIKE_A_MATRIX, "[1]", "[2]")),
    "ArgMax of a matrix with NaN": ("int64 ArgMax <axis = 1> (a)",
        [("float[?,?]", [[1, NAN, 3], [NAN, 1, 3]])], "[[2], [0]]"),
    "ArgMax takes keepdims of 2 for 0": (
        "int64 ArgMax <axis = 1, keepdims = 2, select_last_index = 2> (a)",
        [("float[?,?]", [[1, 2], [4, 3]])],
        "[1, 0]",
    ),
}  # fmt: skip


@of_table(SILENT)
def test_result_comes_silently(outcome, name):
    """Once it raises or is the right one, the rule about these elements can go."""
    assert outcome(name) == SILENT[name][2]


CONVERTED = {
    "Cast to int8": ("int8 Cast <to = 3> (a)", [one("float", NAN, INF, 1e30, 128)],
        "[0, 0, 0, -128]"),
    "Cast to int32": ("int32 Cast <to = 6> (a)", [one("double", NAN, INF, 2.0**31)],
        str([SMALLEST32] * 3)),
    "Cast to int64": ("int64 Cast <to = 7> (a)", [one("float16", NAN, INF, -INF)],
        str([SMALLEST64] * 3)),
    "Cast to uint8": ("uint8 Cast <to = 2> (a)", [one("double", NAN, 256, -1)], "[0, 0, 255]"),
    "Pow of zero": ("int64 Pow(a, b)", [one("int64", 0, 0), one("int64", -1, -2)],
        str([SMALLEST64] * 2)),
    "Pow too large": ("int32 Pow(a, b)", [one("int32", 10, 2), one("int32", 30, 31)],
        str([SMALLEST32] * 2)),
    "Pow of an integer by a fraction": ("int32 Pow(a, b)",
        [one("int32", 2, -8), one("float", 0.5, 0.5)], f"[1, {SMALLEST32}]"),
}  # fmt: skip


@on_x86
@of_table(CONVERTED)
def test_integer_that_does_not_fit_comes_silently(outcome, name):
    """Once it raises, the rule about what fits can go; another number is another processor."""
    assert outcome(name) == CONVERTED[name][2]


RAISING = {
    "size 0 against 3": ("float Add(a, b)", [one("float"), one("float", *LONG)], "3 is invalid"),
    "Mod by zero as C does": ("uint8 Mod <fmod = 1> (a, b)", [one("uint8", 7), one("uint8", 0)],
        "Integer modulo by zero"),
    "Mod of floats as Python does": ("float Mod(a, b)", [one("float", 7), one("float", 2)],
        "fmod attribute must be true"),
    "MatMul of unequal inner sizes": ("float MatMul(a, b)",
        [("float[?,?]", [[1, 2]]), ("float[?,?]", [[3, 4]])], "MatMul dimension mismatch"),
    "BatchNormalization with too few variances": ("float BatchNormalization(a, b, c, d, e)",
        [("float[?,?]", [[3, 3]]), *[one("float", 1, 1)] * 3, one("float", 1)],
        "Invalid input var"),
    "Clip with two bounds": ("float Clip(a, b)", [one("float", 1), one("float", 0, 0)],
        "min should be a scalar"),
    "Slice in steps of zero": ("float Slice(a, b, c, d, e)",
        [one("float", 1), *(one("int64", x) for x in (0, 1, 0, 0))], "'step' value cannot be 0"),
    "Neg of unsigned": ("uint8 Neg(a)", [one("uint8", 1)], "Type Error"),
}  # fmt: skip


@of_table(RAISING)
def test_error_is_raised(outcome, name):
    """Once it is another, see what the rule's page tells; older versions died of `Mod` by zero."""
    assert RAISING[name][2] in outcome(name)


@on_x86
@pytest.mark.parametrize("runs", ["run", "fold"])
@pytest.mark.parametrize(
    "element_type", ["int32", pytest.param("int64", marks=pytest.mark.thorough)]
)
def test_smallest_modulo_minus_one_ends_the_process(element_type, runs):
    """Once no supported version ends so, `Mod` needs no rule for the process.

    With constants no run is needed.
    """
    smallest = {"int32": SMALLEST32, "int64": SMALLEST64}[element_type]
    operands = [one(element_type, smallest), one(element_type, -1)]
    node = f"{element_type} Mod(a, b)"
    child = run_python(
        RUN, f"print('running', flush=True)\nprint({runs}({node!r}, {operands!r}).tolist())"
    )
    ending = (signal.SIGFPE, "running\n"), (None, "running\n[0]\n")
    expected = before_and_since("the smallest integer modulo -1 is 0", *ending)
    assert (child.killed_by, child.stdout) == expected, child


@pytest.mark.parametrize("runs", ["run", "fold"])
@pytest.mark.parametrize("element_type", ["int8", "int16"])
def test_smallest_modulo_minus_one_is_zero_below_32_bits(element_type, runs):
    """Once a version ends the process here, `Mod.int.C2` has to bind these types too."""
    smallest = np.iinfo(element_type).min
    operands = [one(element_type, smallest), one(element_type, -1)]
    node = f"{element_type} Mod(a, b)"
    child = run_python(RUN, f"print({runs}({node!r}, {operands!r}).tolist())")
    assert (child.killed_by, child.stdout) == (None, "[0]\n"), child


POSITIONS = """
def lonely(expression, operands):
    declarations = [declaration for declaration, _ in operands]
    session = opened(expression, declarations)
    together, = session.run(None, dict(zip("abcde", arrays(operands))))
    columns = zip(*(elements for _, elements in operands))
    alone = [
        session.run(None, dict(zip("abcde", arrays(zip(declarations, ([x] for x in column))))))[0]
        for column in columns
    ]
    print(together.tobytes() != np.concatenate(alone).tobytes())
"""

ELEMENTS = [index / 997 for index in range(1, 997)]
POSITION = {
    "Log": ("float Log(a)", [one("float", *ELEMENTS)]),
    "Acos": ("float Acos(a)", [one("float", *ELEMENTS)]),
    **{
        f"{operator} of double": (f"double {operator}(a)", [one("double", *ELEMENTS, 1, 88.7)])
        for operator in ("Exp", "Log", "Sin", "Tanh")
    },
    **{
        f"{operator} of zeros of {kind}": (
            f"{kind} {operator}(a, b)",
            [one(kind, *[0.0] * 5), one(kind, *[-0.0] * 5)],
        )
        for operator in ("Max", "Min")
        for kind in ("float16", "double")
    },
    "Max of zeros": ("float Max(a, b)", [one("float", *[0.0] * 5), one("float", *[-0.0] * 5)]),
    "Min of zeros": ("float Min(a, b)", [one("float", *[0.0] * 5), one("float", *[-0.0] * 5)]),
}


@on_x86
def test_bits_of_an_element_depend_on_its_place():
    """Once they do not, a kernel may promise the same bits as these operators."""
    child = run_python(RUN, POSITIONS, *(f"lonely{case!r}" for case in POSITION.values()))
    assert child.stdout.split() == ["True"] * len(POSITION), child


THREADS = {
    "Log": ("(float[n] x) => (float[n] y) { y = Log(x) }", [(100_003,)]),
    "Elu": ("(float[n] x) => (float[n] y) { y = Elu(x) }", [(1_000_003,)]),
    "MatMul": (
        "(float[n, k] x, float[k, m] z) => (float[n, m] y) { y = MatMul(x, z) }",
        [(37, 1000), (1000, 71)],
    ),
}


@on_x86
@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_max_of_zeros_is_not_that_of_the_draft(operator):
    """Once it is, the python and compiled backends may leave Max and Min to ONNX Runtime."""
    minus, plus = (one("float", *[zero] * 17) for zero in (-0.0, 0.0))
    call = f"print(run('float {operator}(a, b)', {{}}).tolist())"
    orders = ([minus, plus], [plus, minus])
    child = run_python(RUN, *(call.format(repr(each)) for each in orders))
    assert "-0.0" in child.stdout, child
    assert " 0.0" in child.stdout, child


@on_x86
@pytest.mark.parametrize("name", THREADS)
def test_bits_depend_on_the_number_of_threads(name):
    """Once they do not, `repeat.md` names other operators."""
    text, shapes = THREADS[name]
    generator = np.random.default_rng(0)
    given = [generator.uniform(0.1, 1, shape).astype(np.float32) for shape in shapes]
    if name == "Elu":
        given = [-array for array in given]
    found = set()
    for threads in (1, 2, 3, 4):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        session = ort.InferenceSession(parse(text).SerializeToString(), options)
        (y,) = session.run(None, dict(zip("xz", given, strict=False)))
        found.add(y.tobytes())
    assert len(found) > 1


MISSING_CHANNELS = """
import numpy as np
import onnx.helper as h
import onnxruntime as ort

w = h.make_tensor("w", 1, (16, 16, 3, 3), np.ones(16 * 16 * 9, np.float32))
conv = h.make_node("Conv", ["x", "w"], ["y"])
x, y = (h.make_tensor_value_info(name, 1, None) for name in "xy")
model = h.make_model(
    h.make_graph([conv], "g", [x], [y], [w]), opset_imports=[h.make_opsetid("", 17)], ir_version=8
)
levels = ort.GraphOptimizationLevel
for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    session = ort.InferenceSession(model.SerializeToString(), options)
    try:
        (found,) = session.run(None, {"x": np.ones((1, 12, 3, 3), np.float32)})
        print(found.shape, found.min(), found.max())
    except Exception as error:
        print("refused")
"""


@on_x86
def test_conv_takes_channels_that_are_missing_for_zero():
    child = run_python(MISSING_CHANNELS)
    assert child.stdout.splitlines() == ["refused", "(1, 16, 1, 1) 108.0 108.0"], child


EMPTY_SEQUENCES = """
<ir_version: 8, opset_import: ["": 17]>
g (float[s,1,2] x, float[1,4,2] w, float[1,4,1] r) => (float[1,1,1] h, float[1,1,1] c) {
    , h, c = LSTM <hidden_size = 1> (x, w, r)
}
"""


@pytest.mark.parametrize(("length", "written"), [(0, [True, False]), (1, [True, True])])
def test_lstm_of_empty_sequences_does_not_write_the_state_of_its_cells(length, written):
    """Once it does, `LSTM.sequences` may go, and its finding."""
    model = onnx.parser.parse_model(EMPTY_SEQUENCES)
    session = ort.InferenceSession(model.SerializeToString())
    binding = session.io_binding()
    for name, shape in {"x": (length, 1, 2), "w": (1, 4, 2), "r": (1, 4, 1)}.items():
        binding.bind_cpu_input(name, np.ones(shape, np.float32))
    memory = [ort.OrtValue.ortvalue_from_numpy(np.full((1, 1, 1), 7, np.float32)) for _ in "hc"]
    for name, value in zip("hc", memory, strict=True):
        binding.bind_ortvalue_output(name, value)
    session.run_with_iobinding(binding)
    assert [value.numpy().item() != 7 for value in memory] == written
