"""`benchmark.py finite`: what it costs to check that floats are finite, by `Graph.finite`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from model_builders.graphs import parse
from plain_sessions import make_options, start

import sonnx_ort
from benchmarks import report
from benchmarks.turns import Run, Turn, apart, ratio_of, seconds_of, take_turns
from sonnx_ort.backends import Backend
from sonnx_ort.profile.graph import FINITE_OUTPUTS, FINITE_VALUES

Feeds = Mapping[str, npt.NDArray[Any]]

ORIGINAL = "ONNX Runtime"
EXTENTS = {"outputs": FINITE_OUTPUTS, "every value": FINITE_VALUES}
"""What is checked, by the name of a column."""

MODELS = ("100 Add, 1 x 1,000", "1 Add, 1,000,000", "digits_convolutional")


def run(arguments: Sequence[str]) -> int:
    """Measure each model and print it."""
    parser = report.make_parser("finite", "Measure what Graph.finite costs.", 5.0)
    options = parser.parse_args(arguments)
    report.print_heading("finite", arguments)
    for name in MODELS:
        report.print_row(
            row(name, apart(time_runs, name, options.seconds)), titles=name == MODELS[0]
        )
    return 0


def time_runs(name: str, seconds: float) -> list[Turn]:
    """Run a model as it is, and with checks of each extent by each backend, in turns."""
    model, feeds = _workload(name)
    return take_turns(dict(_runs(model, feeds)), seconds, ORIGINAL)


def row(name: str, turns: Sequence[Turn]) -> report.Row:
    """What a run takes, and the ratios to it: minimum / median."""
    checked = [subject for subject in turns[0] if subject != ORIGINAL]
    return {
        "model": name,
        f"{ORIGINAL}, us": report.both(seconds_of(turns, ORIGINAL).times(1e6)),
        **{subject: report.both(ratio_of(turns, subject, ORIGINAL)) for subject in checked},
    }


def _runs(model: onnx.ModelProto, feeds: Feeds) -> Iterator[tuple[str, Run]]:
    yield ORIGINAL, _run_of(model, feeds, Backend.NATIVE)
    for backend in reversed(Backend):
        for name, operators in EXTENTS.items():
            made = sonnx_ort.rewrite(model, operators=operators, backend=backend)
            yield f"{backend}, {name}", _run_of(made, feeds, backend)


def _run_of(model: onnx.ModelProto, feeds: Feeds, backend: Backend) -> Run:
    options = sonnx_ort.register(make_options(), backend=backend)
    return partial(start(model, options).run, None, feeds)


def _workload(name: str) -> tuple[onnx.ModelProto, Feeds]:
    if name == MODELS[0]:
        return _additions(100, (1, 1_000))
    if name == MODELS[1]:
        return _additions(1, (1_000_000,))
    model = sonnx_ort.models.load(name)
    (image,) = model.graph.input
    sizes = [size.dim_value or 1 for size in image.type.tensor_type.shape.dim]
    return model, {image.name: np.random.default_rng(0).random(sizes, np.float32)}


def _additions(nodes: int, shape: tuple[int, ...]) -> tuple[onnx.ModelProto, Feeds]:
    """A chain of nodes on random numbers of a shape that is open before a run."""
    values = ["x", *(f"value_{index}" for index in range(nodes))]
    chain = "\n".join(f"{value} = Add({previous}, z)" for previous, value in pairwise(values))
    declared = f"float[{', '.join(f's{axis}' for axis in range(len(shape)))}]"
    model = parse(f"({declared} x, {declared} z) => ({declared} {values[-1]}) {{ {chain} }}")
    random = np.random.default_rng(0)
    return model, {name: random.random(shape, np.float32) for name in ("x", "z")}
