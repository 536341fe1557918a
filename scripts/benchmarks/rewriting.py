"""`benchmark.py rewriting`: what the rewrite itself costs, on models of any number of nodes."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import onnx
from model_builders.graphs import parse

from benchmarks import report
from benchmarks.turns import Run, Turn, apart, ratio_of, seconds_of, take_turns
from sonnx_ort import rewrite
from sonnx_ort.options import DEFAULT

REWRITE = "rewrite"
LOAD = "load"
"""What takes turns: the rewrite, and `onnx.load` plus shape inference, both from bytes."""

_NODES = (1_000, 1_500, 10_000, 100_000)
_LINKS = (
    *("Div({}, row)", "Relu({})", "Sub({}, scalar)", "Mul({}, row)"),
    *("Div({}, y)", "Add({}, scalar)", "Sub({}, y)", "Tanh({})"),
)
"""What a chain repeats: half of it Div and Sub, and half of these broadcast."""


def run(arguments: Sequence[str]) -> int:
    """Measure each number of nodes and print it."""
    parser = report.make_parser("rewriting", "Measure what the rewrite costs.", 5.0, backend=True)
    default = "(default: 1,000 to 100,000, which takes about 2 GB of memory)"
    report.add_numbers(parser, "--nodes", _NODES, f"numbers of nodes {default}")
    options = parser.parse_args(arguments)
    report.print_heading("rewriting", arguments)
    for nodes in options.nodes:
        turns = apart(_measure, nodes, options.seconds, options.backend)
        report.print_row(row(nodes, turns), titles=nodes == options.nodes[0])
    return 0


def time_rewrites(
    content: bytes, seconds: float, backend: str, fewest: int = 1, operators: str = DEFAULT
) -> list[Turn]:
    """Rewrite a model with `broadcast="explicit"`, and load it, in turns."""
    runs: dict[str, Run] = {
        REWRITE: partial(
            rewrite, content, broadcast="explicit", operators=operators, backend=backend
        ),
        LOAD: lambda: onnx.shape_inference.infer_shapes(onnx.load_from_string(content)),
    }
    return take_turns(runs, seconds, LOAD, fewest)


def row(nodes: int, turns: Sequence[Turn]) -> report.Row:
    """What was taken for a model: minimum / median."""
    seconds = seconds_of(turns, REWRITE)
    return {
        "nodes": f"{nodes:,}",
        "seconds": f"{seconds:.3f}",
        "us a node": f"{seconds.times(1e6 / nodes):.0f}",
        "times load and inference": f"{ratio_of(turns, REWRITE, LOAD):.1f}",
    }


def _measure(nodes: int, seconds: float, backend: str) -> list[Turn]:
    """Measure where everything is imported and was used once."""
    time_rewrites(_make_chain(len(_LINKS)).SerializeToString(), 0, backend)
    return time_rewrites(_make_chain(nodes).SerializeToString(), seconds, backend)


def _make_chain(nodes: int) -> onnx.ModelProto:
    """A model in which each node reads the one before it."""
    values = ["x", *(f"value_{index}" for index in range(nodes))]
    chain = (
        f"[node_{index}] {value} = {_LINKS[index % len(_LINKS)].format(previous)}"
        for index, (previous, value) in enumerate(pairwise(values))
    )
    return parse(
        f"(float[n, 8] x, float[n, 8] y) => (float[n, 8] {values[-1]})"
        "<float[8] row = {1, 1, 1, 1, 1, 1, 1, 1}, float scalar = {2}>"
        "{" + "\n".join(chain) + "}"
    )
