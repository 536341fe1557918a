"""`benchmark.py rewriting`: what the rewrite itself costs, on models of any number of nodes."""

import argparse
import time
from collections.abc import Sequence
from itertools import pairwise

import onnx
from model_builders.graphs import parse

from benchmarks.report import (
    Row,
    add_backend,
    both,
    describe_run,
    heading,
    make_parser,
    positive,
    print_row,
)
from benchmarks.turns import Turn, apart, ratio_of, seconds_of
from sonnx_ort import rewrite
from sonnx_ort.options import DEFAULT

REWRITE = "rewrite"
LOAD = "load"
"""What takes turns: the rewrite, and `onnx.load` plus shape inference, both from bytes."""

_NODES = (1_000, 1_500, 10_000, 100_000)

_LINKS = (
    "Div({}, row)",
    "Relu({})",
    "Sub({}, scalar)",
    "Mul({}, row)",
    "Div({}, y)",
    "Add({}, scalar)",
    "Sub({}, y)",
    "Tanh({})",
)
"""What a chain repeats: half of it Div and Sub, and half of these broadcast."""


def run(arguments: Sequence[str]) -> int:
    """Measure each number of nodes and print it.

    Args:
        arguments: The command line behind the name of the measurement.

    Returns:
        The exit status.
    """
    options = _parser().parse_args(arguments)
    print(f"{heading(describe_run('rewriting', arguments))}\n", flush=True)
    for nodes in options.nodes:
        turns = apart(_measure, nodes, options.seconds, options.backend)
        print_row(row(nodes, turns), titles=nodes == options.nodes[0])
    return 0


def time_rewrites(
    content: bytes, seconds: float, backend: str, fewest: int = 1, operators: str = DEFAULT
) -> list[Turn]:
    """Rewrite a model with `broadcast="explicit"`, and load it, in turns.

    Args:
        content: The model; its tensors are in it.
        seconds: The time to spend on rewriting.
        backend: What is to enforce the rules.
        fewest: So many turns are taken even if that takes longer.
        operators: The operators that are enforced, as for `rewrite`.
    """
    turns: list[Turn] = []
    while len(turns) < fewest or sum(turn[REWRITE] for turn in turns) < seconds:
        start = time.perf_counter()
        rewrite(content, broadcast="explicit", operators=operators, backend=backend)
        middle = time.perf_counter()
        onnx.shape_inference.infer_shapes(onnx.load_from_string(content))
        end = time.perf_counter()
        turns.append({REWRITE: middle - start, LOAD: end - middle})
    return turns


def row(nodes: int, turns: Sequence[Turn]) -> Row:
    """What was taken for a model: minimum / median."""
    seconds = seconds_of(turns, REWRITE)
    return {
        "nodes": f"{nodes:,}",
        "seconds": both(seconds, 3),
        "us a node": both(seconds.times(1e6 / nodes), 0),
        "times load and inference": both(ratio_of(turns, REWRITE, LOAD), 1),
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


def _parser() -> argparse.ArgumentParser:
    description = "Measure what the rewrite costs on models of any number of nodes."
    parser = make_parser("rewriting", description, 5.0)
    parser.add_argument(
        "--nodes",
        type=positive(int),
        nargs="+",
        default=_NODES,
        metavar="N",
        help="numbers of nodes (default: 1,000 to 100,000, which takes about 2 GB of memory)",
    )
    add_backend(parser)
    return parser
