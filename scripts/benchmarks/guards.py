"""`benchmark.py guards`: what single enforced operators, and a contract, cost by each backend.

Runs are bound by `run_with_iobinding`: other calls take longer than small tensors do.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from model_builders.graphs import parse
from plain_sessions import make_options, start

import sonnx_ort
from benchmarks import report
from benchmarks.turns import Run, Turn, apart, difference_of, ratio_of, seconds_of, take_turns
from sonnx_ort.backends import Backend

Feeds = Mapping[str, npt.NDArray[Any]]

ORIGINAL = "ONNX Runtime"

SIZES = (16, 1_000, 1_000_000, 10_000_000)
"""The elements of the first operand, about."""

TYPES = ("float", "float16", "int32", "int64")

CONTRACT = "a contract"
"""Stands for an operator: two nodes behind the door of a contract."""

_LSTM: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("w", "r"), (1, 64, 16)),
    "b1": (1, 128),
    **dict.fromkeys(("h0", "c0"), (1, 1, 16)),
    "p": (1, 48),
}
"""The shapes of the weights of an LSTM."""


def run(arguments: Sequence[str]) -> int:
    """Measure each operator and print it."""
    parser = report.make_parser("guards", "Measure what guarded operators cost.", 0.5)
    report.add_numbers(parser, "--sizes", SIZES, "numbers of elements (default: %(default)s)")
    parser.add_argument("--operators", nargs="+", metavar="NAME", help="only these")
    options = parser.parse_args(arguments)
    report.print_heading("guards", arguments)
    first = True
    for size in options.sizes:
        for kind in TYPES:
            for name in _names(kind, size):
                if options.operators and name not in options.operators:
                    continue
                turns = apart(time_runs, name, kind, size, options.seconds)
                report.print_row(row(name, kind, size, turns), titles=first)
                first = False
    return 0


def time_runs(name: str, kind: str, size: int, seconds: float) -> list[Turn]:
    """Run a model as it is, and enforced by two backends, in turns."""
    text, feeds, constants = workload(name, kind, size)
    model = parse(text, opset=18, constants=constants)
    return take_turns(dict(_runs(name, model, feeds)), seconds, ORIGINAL)


def row(name: str, kind: str, size: int, turns: Sequence[Turn]) -> report.Row:
    """What a run takes, and the ratios to it: minimum / median."""
    checked = [subject for subject in turns[0] if subject != ORIGINAL]
    added = difference_of(turns, Backend.COMPILED.value, ORIGINAL).times(1e6)
    return {
        "operator": name,
        "type": kind,
        "elements": f"{size:,}",
        f"{ORIGINAL}, us": report.both(seconds_of(turns, ORIGINAL).times(1e6)),
        **{subject: report.both(ratio_of(turns, subject, ORIGINAL)) for subject in checked},
        "us added, compiled": report.both(added),
    }


def _runs(name: str, model: onnx.ModelProto, feeds: Feeds) -> Iterator[tuple[str, Run]]:
    yield ORIGINAL, _bound(model, feeds)
    for backend in (Backend.NATIVE, Backend.COMPILED):
        if name == CONTRACT:
            entry = sonnx_ort.ValueContract("x", (0, 100))
            made = sonnx_ort.rewrite(
                model, operators=[], contract=sonnx_ort.Contract((entry,)), backend=backend
            )
        else:
            made = sonnx_ort.rewrite(model, operators=name, backend=backend)
        yield backend.value, _bound(made, feeds)


def _bound(model: onnx.ModelProto, feeds: Feeds) -> Run:
    options = sonnx_ort.register(sonnx_ort.register(make_options()), backend="compiled")
    session = start(model, options)
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def _names(kind: str, size: int) -> Iterator[str]:
    yield from ("Max", "Clip", "Slice", "Reshape", "Concat")
    if kind.startswith("float"):
        yield from ("Softmax", "MatMul", "Gemm", "Conv")
    if kind == "float" and size < SIZES[-1]:
        yield "LSTM"
    yield CONTRACT


def workload(name: str, kind: str, size: int) -> tuple[str, Feeds, Mapping[str, npt.NDArray[Any]]]:
    """The text of a model of one node, its inputs, and its constants."""
    random = np.random.default_rng(0)
    dtype = np.dtype({"float": "float32"}.get(kind, kind))

    def some(*shape: int) -> npt.NDArray[Any]:
        return (
            random.random(shape) + 1 if dtype.kind == "f" else random.integers(1, 9, shape)
        ).astype(dtype)

    def index(*places: int) -> npt.NDArray[np.int64]:
        return np.array(places, np.int64)

    side = max(3, round(math.sqrt(size)))
    depth = min(side, 1_000)
    image = max(3, round(math.sqrt(size / 4)))
    rows = max(1, size // depth)
    lines = max(1, size // 16)
    window = 'auto_pad="NOTSET", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1], '
    lstm = (
        'hidden_size=16, direction="forward", activations=["Sigmoid", "Tanh", "Tanh"], '
        "input_forget=0, layout=0"
    )
    texts: dict[str, tuple[str, str, dict[str, npt.NDArray[Any]]]] = {
        "Max": ("T[n] x, T[m] z", "Max(x, z)", {"x": some(size), "z": some(size)}),
        "Clip": (
            "T[n] x, T lo, T hi",
            "Clip(x, lo, hi)",
            {"x": some(size), "lo": np.array(1, dtype), "hi": np.array(2, dtype)},
        ),
        "Slice": (
            "T[n] x, int64[1] s, int64[1] e",
            "Slice(x, s, e, axes, steps)",
            {"x": some(size), "s": index(1), "e": index(size - 1)},
        ),
        "Reshape": (
            "T[n, m] x, int64[1] s",
            "Reshape(x, s)",
            {"x": some(side, side), "s": index(side * side)},
        ),
        "Concat": (
            "T[n, 16] x, T[m, k] z",
            "Concat<axis=0>(x, z)",
            {"x": some(lines, 16), "z": some(1, 16)},
        ),
        "Softmax": ("T[n, m] x", "Softmax<axis=1>(x)", {"x": some(lines, 16)}),
        "MatMul": (
            "T[n, k] x, T[l, m] z",
            "MatMul(x, z)",
            {"x": some(rows, depth), "z": some(depth, min(depth, 64))},
        ),
        "Gemm": (
            "T[n, k] x, T[l, m] z, T[u, v] b",
            "Gemm<alpha=1.0, beta=1.0, transA=0, transB=0>(x, z, b)",
            {
                "x": some(rows, depth),
                "z": some(depth, min(depth, 64)),
                "b": some(rows, min(depth, 64)),
            },
        ),
        "Conv": (
            "T[a, b, c, d] x, T[e, f, 3, 3] w, T[g] b2",
            f"Conv<{window} dilations=[1, 1], group=1>(x, w, b2)",
            {"x": some(1, 4, image, image), "w": some(4, 4, 3, 3), "b2": some(4)},
        ),
        "LSTM": (
            "T[t, b, i] x",
            f"LSTM<{lstm}>(x, w, r, b1, l, h0, c0, p)",
            {"x": some(lines, 1, 16)},
        ),
        CONTRACT: ("T[n] x", "Neg(x)", {"x": some(size)}),
    }
    weights: dict[str, dict[str, npt.NDArray[Any]]] = {
        "Slice": {"axes": index(0), "steps": index(1)},
        "LSTM": {each: (some(*shape) / 8).astype(dtype) for each, shape in _LSTM.items()}
        | {"l": np.array([lines], np.int32)},
    }
    inputs, node, feeds = texts[name]
    outputs = {"LSTM": "y, yh, yc"}.get(name, "y")
    results = ", ".join(f"{kind}[] {each}" for each in outputs.split(", "))
    sizes = {"Reshape": "k", "Slice": "k", "Max": "k", "Clip": "k", CONTRACT: "k"}
    results = f"{kind}[{sizes[name]}] y" if name in sizes else results
    text = f"({inputs.replace('T', kind)}) => ({results}) {{ [tried] {outputs} = {node} }}"
    return text, feeds, weights.get(name, {})
