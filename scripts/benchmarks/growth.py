"""`benchmark.py growth`: how what the commands take grows with each dimension of a model.

Each dimension is doubled until its largest size. The exponent says by how much a step grew in the
last doubling: 1 is as much as the model, 2 its square. It takes seconds of the processor, which
other processes disturb less than the time that passes.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import sonnx_ort
from benchmarks import report
from benchmarks.turns import apart

STEPS: Mapping[str, Callable[[Path], Any]] = {
    "check": lambda model: sonnx_ort.check(model, forecast=False),
    "check, forecast": sonnx_ort.check,
    "rewrite": lambda model: sonnx_ort.rewrite(
        model, operators="elementwise", backend="native", broadcast="explicit"
    ),
    "conform": sonnx_ort.conform,
    "certify": sonnx_ort.certify,
}
"""What is timed, by the title of its column."""

_REPETITIONS = 3

Nodes = list[onnx.NodeProto]


def run(arguments: Sequence[str]) -> int:
    """Measure each dimension and print it: the seconds at its largest size, and the exponent."""
    parser = report.make_parser("growth", "Measure how the commands grow with a model.", None)
    parser.add_argument("--dimensions", nargs="+", choices=DIMENSIONS, default=list(DIMENSIONS))
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument(
        "--shrink", type=int, default=1, help="divides all sizes (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    report.print_heading("growth", arguments)
    for dimension in options.dimensions:
        largest = DIMENSIONS[dimension][0] // options.shrink
        seconds = {
            step: apart(time_step, dimension, (largest // 2, largest), step)
            for step in options.steps
        }
        report.print_row(
            row(dimension, largest, seconds), titles=dimension == options.dimensions[0]
        )
    return 0


def row(dimension: str, largest: int, seconds: Mapping[str, Sequence[float]]) -> report.Row:
    """The cells of a dimension.

    Args:
        dimension: Its name.
        largest: Its largest size.
        seconds: What each step took at half of it and at all of it.
    """
    cells = {step: f"{taken[-1]:.2f} s, {exponent(*taken):.1f}" for step, taken in seconds.items()}
    return {"dimension": f"{largest:,} {dimension}", **cells}


def exponent(half: float, whole: float) -> float:
    """By what power of the size a step grew, from its seconds at half of it and at all of it."""
    return math.log2(whole / half)


def time_step(dimension: str, sizes: Sequence[int], step: str) -> list[float]:
    """The least seconds of the processor that a step took, in a few turns, for each size.

    A small model goes first, so that everything is imported.
    """
    _, make = DIMENSIONS[dimension]
    with TemporaryDirectory() as folder:
        models = [Path(folder, f"{size}.onnx") for size in (2, *sizes)]
        for model, size in zip(models, (2, *sizes), strict=True):
            onnx.save(make(size), model)
        STEPS[step](models[0])
        return [
            min(_seconds(STEPS[step], model) for _ in range(_REPETITIONS)) for model in models[1:]
        ]


def _seconds(step: Callable[[Path], Any], model: Path) -> float:
    start = time.process_time()
    step(model)
    return time.process_time() - start


def _float(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(
    nodes: Nodes,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    *,
    constants: Mapping[str, Any] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, ir_version=9, opset_imports=versions, functions=list(functions))


def _chain(names: Sequence[str], operator: str = "Div", domain: str = "") -> Nodes:
    """Nodes of which each reads the result of the one before it, and `y`."""
    return [
        helper.make_node(operator, [value, "y"], [after], name=f"to_{after}", domain=domain)
        for value, after in pairwise(names)
    ]


def _values(size: int) -> list[str]:
    return ["x", *(f"value_{index}" for index in range(size))]


def _with_nodes(size: int) -> onnx.ModelProto:
    values = _values(size)
    nodes = _chain(values)
    return _model(nodes, [_float("x", "n"), _float("y", "m")], [_float(values[-1], "n")])


def _with_inputs(size: int, *, symbols: bool) -> onnx.ModelProto:
    """Inputs that are added up one by one, each with a symbol of its own or all with one."""
    inputs = [_float(f"x{index}", f"n{index}" if symbols else "n") for index in range(size)]
    sums = ["x0", *(f"sum_{index}" for index in range(1, size))]
    nodes = [
        helper.make_node("Add", [before, f"x{index}"], [after])
        for index, (before, after) in enumerate(pairwise(sums), 1)
    ]
    return _model(nodes, inputs, [_float(sums[-1], "n0" if symbols else "n")])


def _with_outputs(size: int) -> onnx.ModelProto:
    names = [f"z{index}" for index in range(size)]
    nodes = [helper.make_node("Div", ["x", "y"], [name]) for name in names]
    inputs = [_float("x", "n"), _float("y", "m")]
    return _model(nodes, inputs, [_float(name, "n") for name in names])


def _with_operands(size: int) -> onnx.ModelProto:
    """One Concat of results of as many nodes."""
    names = [f"half_{index}" for index in range(size)]
    nodes = [helper.make_node("Div", ["x", "two"], [name]) for name in names]
    nodes.append(helper.make_node("Concat", names, ["z"], axis=0))
    constants = {"two": np.full(1, 2, np.float32)}
    return _model(nodes, [_float("x", 1)], [_float("z", size)], constants=constants)


def _with_results(size: int) -> onnx.ModelProto:
    """One Split into as many results, each read by a node."""
    names = [f"part_{index}" for index in range(size)]
    nodes = [helper.make_node("Split", ["x"], names, axis=0)]
    nodes += [helper.make_node("Neg", [name], [f"z_{name}"]) for name in names]
    outputs = [_float(f"z_{names[-1]}", 1)]
    return _model(nodes, [_float("x", size)], outputs)


def _with_readers(size: int) -> onnx.ModelProto:
    """One value that as many nodes read."""
    nodes = [helper.make_node("Exp", ["x"], ["e"])]
    nodes += [helper.make_node("Div", ["e", "y"], [f"z{index}"]) for index in range(size)]
    return _model(nodes, [_float("x", "n"), _float("y", "m")], [_float("z0", "n")])


def _with_depth(size: int) -> onnx.ModelProto:
    """Ifs inside each other, with a Div in the innermost."""
    node = helper.make_node("Div", ["x", "y"], ["z0"], name="innermost")
    for level in range(1, size + 1):
        inner = helper.make_graph([node], f"then_{level}", [], [_float(node.output[0], "n")])
        other = helper.make_graph(
            [helper.make_node("Sub", ["x", "y"], [f"else_{level}"], name=f"sub_{level}")],
            f"else_{level}",
            [],
            [_float(f"else_{level}", "n")],
        )
        node = helper.make_node(
            "If", ["c"], [f"z{level}"], name=f"if_{level}", then_branch=inner, else_branch=other
        )
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    inputs = [_float("x", "n"), _float("y", "m"), condition]
    return _model([node], inputs, [_float(node.output[0], "n")])


def _with_branches(size: int) -> onnx.ModelProto:
    """As many Ifs one after the other."""
    values, nodes = _values(size), []
    for before, after in pairwise(values):
        one, other = (
            helper.make_graph(
                [helper.make_node(operator, [before, "y"], [f"{operator}_{after}"])],
                operator,
                [],
                [_float(f"{operator}_{after}", "n")],
            )
            for operator in ("Div", "Sub")
        )
        nodes.append(helper.make_node("If", ["c"], [after], then_branch=one, else_branch=other))
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    inputs = [_float("x", "n"), _float("y", "m"), condition]
    return _model(nodes, inputs, [_float(values[-1], "n")])


def _with_constants(size: int) -> onnx.ModelProto:
    """As many initializers, each read by a node."""
    values = _values(size)
    nodes = [
        helper.make_node("Add", [before, f"c{index}"], [after])
        for index, (before, after) in enumerate(pairwise(values))
    ]
    constants = {f"c{index}": np.full(4, index, np.float32) for index in range(size)}
    return _model(nodes, [_float("x", 4)], [_float(values[-1], 4)], constants=constants)


def _with_elements(size: int) -> onnx.ModelProto:
    """One initializer of as many elements."""
    constants = {"y": np.linspace(1, 2, size, dtype=np.float32)}
    nodes = [helper.make_node("Div", ["x", "y"], ["z"])]
    return _model(nodes, [_float("x", size)], [_float("z", size)], constants=constants)


def _with_axes(size: int) -> onnx.ModelProto:
    """A Reshape whose vector of sizes is joined of as many constants."""
    names = [f"size_{index}" for index in range(size)]
    constants = {name: np.ones(1, np.int64) for name in names}
    nodes = [
        helper.make_node("Concat", names, ["shape"], axis=0),
        helper.make_node("ReduceProd", ["shape"], ["count"], keepdims=1),
        helper.make_node("Reshape", ["x", "count"], ["z"]),
    ]
    return _model(nodes, [_float("x", 1)], [_float("z", 1)], constants=constants)


def _with_functions(size: int) -> onnx.ModelProto:
    """As many functions, each called once."""
    values = _values(size)
    body = helper.make_node("Div", ["a", "b"], ["c"])
    versions = [helper.make_opsetid("", 17)]
    functions = [
        helper.make_function("local", f"F{index}", ["a", "b"], ["c"], [body], versions)
        for index in range(size)
    ]
    nodes = [
        helper.make_node(f"F{index}", [before, "y"], [after], domain="local")
        for index, (before, after) in enumerate(pairwise(values))
    ]
    inputs = [_float("x", "n"), _float("y", "m")]
    return _model(nodes, inputs, [_float(values[-1], "n")], functions=functions)


DIMENSIONS: Mapping[str, tuple[int, Callable[[int], onnx.ModelProto]]] = {
    "nodes": (2000, _with_nodes),
    "inputs of a symbol each": (2000, lambda size: _with_inputs(size, symbols=True)),
    "inputs of one symbol": (2000, lambda size: _with_inputs(size, symbols=False)),
    "outputs": (2000, _with_outputs),
    "operands of a Concat": (2000, _with_operands),
    "results of a Split": (2000, _with_results),
    "readers of a value": (2000, _with_readers),
    "levels of If": (28, _with_depth),
    "Ifs in a row": (500, _with_branches),
    "initializers": (2000, _with_constants),
    "elements of a weight": (4_000_000, _with_elements),
    "parts of a vector of sizes": (2000, _with_axes),
    "functions": (500, _with_functions),
}
"""The largest size of each dimension, and what makes a model of any size of it."""
