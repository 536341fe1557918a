"""What the rewrite itself costs, on models of any number of nodes."""

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.turns import Turn, ratio_of, seconds_of
from sonnx_ort import rewrite

REWRITE = "rewrite"
LOAD = "load"
"""What takes turns: the rewrite, and `onnx.load` plus shape inference, both from bytes."""

NODES = (1_000, 1_500, 10_000, 100_000)
"""The sizes of the models that are measured."""

_OPSET = 17
_IR_VERSION = 10
_COLUMNS = 8

_LINKS = (
    ("Div", "row"),
    ("Relu", None),
    ("Sub", "scalar"),
    ("Mul", "row"),
    ("Div", "y"),
    ("Add", "scalar"),
    ("Sub", "y"),
    ("Tanh", None),
)
"""What a chain repeats: half of it Div and Sub, and half of these broadcast."""


HEADING = f"{'nodes':>10}{'seconds':>20}{'us a node':>20}{'times load and inference':>26}"
"""What stands above the rows: minimum / median."""


@dataclass(frozen=True, slots=True)
class RewritingCost:
    """What was taken for a model.

    Attributes:
        nodes: The nodes of the model.
        turns: The seconds of each rewrite, and of loading the model just after it.
    """

    nodes: int
    turns: Sequence[Turn]

    def row(self) -> str:
        """One line of the table."""
        spread = seconds_of(self.turns, REWRITE)
        ratio = ratio_of(self.turns, REWRITE, LOAD)
        scale = 1e6 / self.nodes
        return (
            f"{self.nodes:>10,}{f'{spread.minimum:.3f} / {spread.median:.3f}':>20}"
            f"{f'{spread.minimum * scale:.0f} / {spread.median * scale:.0f}':>20}"
            f"{f'{ratio.minimum:.1f} / {ratio.median:.1f}':>26}"
        )


def make_chain(nodes: int) -> onnx.ModelProto:
    """Build a model in which each node reads the one before it.

    Args:
        nodes: How many there are.
    """
    chain = []
    previous = "x"
    for index in range(nodes):
        operator, operand = _LINKS[index % len(_LINKS)]
        inputs = [previous] if operand is None else [previous, operand]
        previous = f"value_{index}"
        chain.append(helper.make_node(operator, inputs, [previous], name=f"node_{index}"))
    graph = helper.make_graph(
        chain,
        "chain",
        [
            helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", _COLUMNS]),
            helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", _COLUMNS]),
        ],
        [helper.make_tensor_value_info(previous, onnx.TensorProto.FLOAT, ["n", _COLUMNS])],
        [
            numpy_helper.from_array(np.ones(_COLUMNS, np.float32), "row"),
            numpy_helper.from_array(np.array(2, np.float32), "scalar"),
        ],
    )
    return helper.make_model(
        graph, ir_version=_IR_VERSION, opset_imports=[helper.make_opsetid("", _OPSET)]
    )


def measure_rewriting(nodes: int, seconds: float, backend: str) -> RewritingCost:
    """Measure in a process of its own, in which everything is imported and was used once.

    Args:
        nodes: The nodes of the model.
        seconds: The time to spend; one rewrite is measured even if it takes longer.
        backend: What is to enforce the rules.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(_measure_here, nodes, seconds, backend).result()


def _measure_here(nodes: int, seconds: float, backend: str) -> RewritingCost:
    time_rewrites(make_chain(len(_LINKS)).SerializeToString(), 0, backend)
    content = make_chain(nodes).SerializeToString()
    return RewritingCost(nodes, time_rewrites(content, seconds, backend))


def time_rewrites(content: bytes, seconds: float, backend: str, fewest: int = 1) -> list[Turn]:
    """Rewrite a model with `broadcast="explicit"`, and load it, in turns.

    Args:
        content: The model; its tensors are in it.
        seconds: The time to spend on rewriting.
        backend: What is to enforce the rules.
        fewest: So many turns are taken even if that takes longer.
    """
    turns: list[Turn] = []
    while len(turns) < fewest or sum(turn[REWRITE] for turn in turns) < seconds:
        start = time.perf_counter()
        rewrite(content, broadcast="explicit", backend=backend)
        middle = time.perf_counter()
        onnx.shape_inference.infer_shapes(onnx.load_from_string(content))
        end = time.perf_counter()
        turns.append({REWRITE: middle - start, LOAD: end - middle})
    return turns
