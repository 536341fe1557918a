"""ONNX Runtime where a rule is broken: what it survives, and what it refuses itself.

Each case runs in a child process at two optimization levels, in a plain session.
"""

import json

import onnxruntime as ort
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Subject
from support.child import run_python
from support.held_cases import HELD_CASES

RUN = """
import itertools, json
import numpy as np, onnx, onnxruntime as ort
from support.broken_cases import broken_cases
from support.graphs import parse

FLOATS = ["float16", "bfloat16", "float", "double"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
WIDTHS = dict(zip(SIGNED + UNSIGNED, [8, 16, 32, 64] * 2))
NEWEST = min(28, onnx.defs.onnx_opset_version())
SMALLEST, LARGEST = -(2**63), 2**63 - 1
nan, inf = float("nan"), float("inf")
LEVELS = {
    "run": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "folded": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}

OPSETS = {
    "Softmax.C4": 12,
    **dict.fromkeys(("Squeeze.axes", "Squeeze.axes.names"), 12),
    **dict.fromkeys(("QuantizeLinear.R2", "DequantizeLinear.R2", "QuantizeLinear.R3"), 21),
    **dict.fromkeys(("QuantizeLinear.R4", "DequantizeLinear.R3"), min(23, NEWEST)),
}

def number(element_type):
    return onnx.TensorProto.DataType.Value(element_type.upper())

def operands_of(arrays):
    # bfloat16 is no type of numpy, so each operand is converted in the model.
    for name, (element_type, array) in zip("abcdefgh", arrays):
        wide = "double" if element_type in FLOATS else "int64"
        elements = np.array(array, np.float64 if wide == "double" else np.int64)
        yield name, wide, f"{name}_ = Cast <to = {number(element_type)}> ({name})\\n", elements

def outcome(rule, expression, arrays, way):
    operands = list(operands_of(arrays))
    inputs = ", ".join(
        f"{wide}[{', '.join('?' * elements.ndim)}] {name}" for name, wide, _, elements in operands
    )
    casts = "".join(cast for _, _, cast, _ in operands)
    feeds = {name: elements for name, _, _, elements in operands}
    constants = feeds if way == "folded" else None
    declared = "" if constants else inputs
    text = f"({declared}) => (double[] y) {{ {casts} r = {expression} y = Cast <to = 11> (r) }}"
    # There are kernels of signed shifts from this version on alone.
    newer = "BitShift" in expression and arrays[0][0] in SIGNED
    opset = NEWEST if newer else OPSETS.get(rule, 18)
    model = parse(text, opset=opset, constants=constants)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = LEVELS[way]
    try:
        session = ort.InferenceSession(model.SerializeToString(), options)
        session.run(None, {} if constants else feeds)
    except Exception as error:
        return "refused: " + str(error).splitlines()[0]
    return "gone on"

def cases():
    for kind, width in WIDTHS.items():
        low = -(2 ** (width - 1)) if kind in SIGNED else 0
        high = 2 ** (width - (kind in SIGNED)) - 1
        extremes = [kind, np.array([low, high, low, 1, 0, 2]).astype(np.uint64).view(np.int64)]
        powers = np.array([low, low, -1, low, -1, -2]) if kind in SIGNED else [2] * 6
        yield "Pow.int.C1", "Pow(a_, b_)", [extremes, (kind, powers)]
        yield "Pow.int.C1", "Pow(a_, b_)", [extremes, (kind, powers[2:3])]
        bases = np.array([2, 3, high, low, 0, 7]).astype(np.uint64).view(np.int64)
        yield "Pow.int.C2", "Pow(a_, b_)", [(kind, bases), (kind, [127, 40, 2, 3, 126, 99])]
        yield "Pow.int.C2", "Pow(a_, b_)", [extremes, (kind, [3])]
        yield "Abs.int.C1", "Abs(a_)", [extremes]
        for operator in ("Max", "Min"):
            yield f"{operator}.int.C1", f"{operator}(a_, b_)", [extremes, (kind, powers)]
        for direction in ("LEFT", "RIGHT"):
            below = -1 if kind in SIGNED else width
            for wide in ([width, width + 1, 127, below, below - 1, width], [width], [below]):
                shift = f'BitShift <direction = "{direction}"> (a_, b_)'
                yield "BitShift.int.C1", shift, [extremes, (kind, wide)]
        bounds = [[0], [0, 1], [[0]], []]
        for bound in bounds:
            yield "Clip.C1", "Clip(a_, b_, c_)", [extremes, (kind, bound), (kind, bound)]
        yield "ArgMax.R5", "ArgMax <axis = 0> (a_)", [(kind, [])]
        yield "ArgMax.R5", "ArgMax <axis = 1> (a_)", [(kind, [[], []])]
    for kind in FLOATS:
        beyond = [nan, inf, -inf, 1e30, -1e30, 2.0**63, 2.0**31, 1.5]
        yield "Acos.float.C1", "Acos(a_)", [(kind, beyond)]
        yield "Graph.finite", "Identity(a_)", [(kind, beyond)]
        for to in WIDTHS:
            yield "Cast.float.C1", f"Cast <to = {number(to)}> (a_)", [(kind, beyond)]
        one = (kind, [1.0])
        for variance in (-1.0, -inf, nan):
            operands = [(kind, [[3.0]]), one, one, one, (kind, [variance])]
            yield "BatchNormalization.C3", "BatchNormalization(a_, b_, c_, d_, e_)", operands
        for bound in ([0.5], [0.5, 1], [[nan]], []):
            yield "Clip.C1", "Clip(a_, b_, c_)", [(kind, beyond), (kind, bound), (kind, bound)]
        crossed = [(kind, beyond), (kind, 1.0), (kind, -1.0)]
        yield "Clip.float.C3", "Clip(a_, b_, c_)", crossed
        yield "ArgMax.R5", "ArgMax <axis = 0> (a_)", [(kind, [])]
        for flag in ("keepdims", "select_last_index"):
            for value in (2, -1):
                broken = f"ArgMax <axis = 0, {flag} = {value}> (a_)"
                yield f"ArgMax.{flag}.C1", broken, [(kind, [1.0, 3.0, 3.0])]
        for line in ([1.0, nan, 3.0], [nan], [inf, -inf, nan, nan]):
            yield "ArgMax.float.C1", "ArgMax <axis = 0> (a_)", [(kind, line)]
            yield "ArgMax.float.C1", "ArgMax <axis = 1> (a_)", [(kind, [line, line])]
        lines = kind, [[inf, 1.0], [-inf, -inf], [nan, -inf]]
        for rules, said in (
            ("Softmax.R3", ""),
            ("Softmax.R4", "<axis = -1>"),
            ("Softmax.C2", "<axis = 2>"),
            ("Softmax.C4", "<axis = 0>"),
            ("Softmax.float.C6", "<axis = 1>"),
        ):
            yield rules, f"Softmax {said} (a_)", [lines]
        yield "Softmax.C2", "Softmax <axis = 1> (a_)", [(kind, [])]
        yield "LeakyRelu.R1", "LeakyRelu(a_)", [lines]
    quantized = "QuantizeLinear {} (a_, b_, c_)"
    floats, step, middle = ("float", [[1.0, nan, -inf]]), ("float", 0.5), ("uint8", 10)
    for scale in (0.0, -0.0, nan):
        broken = [floats, ("float", scale), middle]
        yield "QuantizeLinear.C1 QuantizeLinear.C2", quantized.format(""), broken
    for scales, points in ([[0.5], 10], [[0.5, 1, 2], [1, 2, 3]], [0.5, [1, 2]], [[], []]):
        broken = [floats, ("float", scales), ("uint8", points)]
        yield "QuantizeLinear.signature", quantized.format(""), broken
    yield "QuantizeLinear.given", "QuantizeLinear(a_, b_)", [floats, step]
    dequantized = "DequantizeLinear {} (a_, b_, c_)"
    ints, zero = ("int32", [[-(2**31), 2**31 - 1, 0]]), ("int32", 0)
    for point in (1, -1, -(2**31)):
        broken = [ints, step, ("int32", point)]
        yield "DequantizeLinear.C1", dequantized.format(""), broken
    for scales, points in ([[0.5], 0], [[0.5, 1, 2], [0, 0, 0]], [0.5, [0, 0]], [[], []]):
        broken = [ints, ("float", scales), ("int32", points)]
        yield "DequantizeLinear.signature", dequantized.format(""), broken
    for tag, said in (
        ("R1", "axis = 0"),
        ("R1", "axis = 7"),
        ("R2", "block_size = 1"),
        ("R2", "block_size = -1"),
        ("R3", "output_dtype = 10"),
        ("R3", "output_dtype = 2"),
        ("R4", "precision = 10"),
    ):
        yield f"QuantizeLinear.{tag}", quantized.format(f"<{said}>"), [floats, step, middle]
        if tag != "R4":
            yield f"DequantizeLinear.{tag}", dequantized.format(f"<{said}>"), [ints, step, zero]
    vector, matrix = ("float", [1.0, 2, 3]), ("float", [[1.0, 2], [3, 4]])
    slices = "Slice.R8 Slice.C2 Slice.R6", "Slice(a_, b_, c_, d_, e_)"
    places = [SMALLEST, -1, 0, 9, LARGEST]
    for start, end, step in itertools.product(places, places, (SMALLEST, -1, 1, LARGEST)):
        yield *slices, [vector, *(("int64", [x]) for x in (start, end, 0, step))]
    yield from broken_cases()
    yield "Slice.R2", slices[1], [matrix, *(("int64", [x]) for x in (0, 1, 0, 1))]

for rules, expression, arrays in cases():
    for way in LEVELS:
        types = " ".join(element_type for element_type, _ in arrays)
        print(json.dumps([rules, f"{expression} of {types}, {way}"]), flush=True)
        rule, *_ = rules.split()
        print(json.dumps(outcome(rule, expression, arrays, way)), flush=True)
"""
"""Every rule is broken by constants, which ONNX Runtime computes before runs, and in a run."""


_WITHOUT_KERNEL_IN_1_23 = {"QuantizeLinear.R4", "ConvInteger.signs"}
WITHOUT_KERNEL = _WITHOUT_KERNEL_IN_1_23 if ort.__version__.startswith("1.23.") else set()
"""The rules about versions of which this onnxruntime has no kernel."""


@pytest.fixture(scope="module")
def outcomes():
    """What became of each rule's cases; a process that ends shows the case that ended it."""
    child = run_python(RUN)
    assert child.exit_status == 0, child
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    told = {}
    for (rules, case), outcome in zip(lines[::2], lines[1::2], strict=True):
        for rule in rules.split():
            told.setdefault(rule, {})[case] = outcome
    return told


@pytest.mark.parametrize("rule", [rule.id for rule in RULES.values() if rule.survived])
def test_broken_rule_gives_a_result_or_an_error(outcomes, rule):
    """Once it ends the process, no model may be rewritten without the rule any more."""
    without_kernel = ("NOT_IMPLEMENTED", "INVALID_GRAPH")
    reached = [o for o in outcomes[rule].values() if not any(word in o for word in without_kernel)]
    assert reached or rule in WITHOUT_KERNEL, outcomes[rule]


def test_rules_whose_breach_ends_the_process_take_no_waiver():
    divisions = ("Div.int.C1", "Div.int.C2", "Div.R5", "Mod.int.C1", "Mod.int.C2")
    # Version 1.23 dies of scalars in a MatMul, and of most of these too.
    shapes = ("MatMul.C1", "Conv.R1", "Conv.strides", "Conv.pads", "Conv.kernel", "Conv.B")
    pools = ("MaxPool.R1", "MaxPool.strides", "MaxPool.kernel_shape")
    states = ("LSTM.X", "LSTM.W", "LSTM.R", "LSTM.batch")
    # Up to 1.31.1, it dies of tensors of two ranks in a Concat.
    rules = (*divisions, *shapes, *pools, *states, "Concat.C2")
    assert not any(RULES[rule].waivable for rule in rules)


HELD = sorted(rule.id for rule in RULES.values() if rule.requirement.subject is Subject.HELD)

RUN_OF_HELD_RULES = """
import re, sys
import onnxruntime as ort
from onnx import helper, numpy_helper
from support.graphs import parse
from support.held_cases import HELD_CASES
import numpy as np

ort.set_default_logger_severity(4)
Level = ort.GraphOptimizationLevel
for case in HELD_CASES[sys.argv[1]]:
    model = parse(case.graph, opset=case.opset)
    types = {v.name: v.type.tensor_type.elem_type for v in model.graph.input}
    feeds = {
        name: np.array(value, helper.tensor_dtype_to_np_dtype(types[name]))
        for name, value in case.feeds.items()
    }
    for level in (Level.ORT_DISABLE_ALL, Level.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        try:
            session = ort.InferenceSession(model.SerializeToString(), options)
            session.run(None, feeds)
            shapes = {name: array.shape for name, array in feeds.items()}
            print("ran:", re.sub(r"{[-0-9, ]+}", "{...}", case.graph), case.opset, shapes, level)
        except Exception as error:
            print("refused")
"""


def test_every_rule_that_is_left_to_the_runtime_has_cases() -> None:
    assert sorted(HELD_CASES) == HELD


@pytest.mark.satisfies(
    "Squeeze.A.C1 Squeeze.A.rank Squeeze.size Conv.draft.kernel_shape Conv.draft.outputs",
    "Conv.draft.fits ConvInteger.draft.kernel_shape ConvInteger.draft.outputs",
    "ConvInteger.draft.fits MaxPool.draft.padding Gemm.draft.shapes LSTM.draft.shapes",
    "Concat.draft.axis Reshape.draft.vector Reshape.draft.copied Reshape.draft.smallest",
    "Reshape.draft.one Reshape.draft.count Flatten.draft.axis Unsqueeze.draft.axes",
    "Unsqueeze.draft.once Range.draft.step Slice.draft.numbers Slice.draft.rank Slice.draft.axes",
    "Slice.draft.once Slice.draft.steps MatMul.draft.inner BatchNormalization.draft.rank",
    "BatchNormalization.draft.sizes",
)
@pytest.mark.parametrize("rule", HELD)
def test_runtime_refuses_what_breaks_the_rule(rule: str) -> None:
    done = run_python(f"import sys; sys.argv = ['', {rule!r}]", RUN_OF_HELD_RULES)
    assert done.exit_status == 0, str(done)
    told = done.stdout.splitlines()
    assert [line for line in told if line != "refused"] == []
    assert len(told) == 2 * len(HELD_CASES[rule])
