"""What is run: models of Div nodes, with their inputs."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

ELEMENT_TYPES = ("float32", "int32", "int64")
"""The element types that are measured, by their numpy names."""

ELEMENTS = (1, 100, 10_000, 100_000, 1_000_000, 10_000_000)
"""The sizes of the operands of a single Div."""

CHAIN_NODES = 100
CHAIN_ELEMENTS = 16
"""A chain on small tensors shows what a node costs, whatever its data."""

_OPSET = 17
_IR_VERSION = 10
_SEED = 0

Feeds = dict[str, npt.NDArray[Any]]
"""The inputs of a model by name."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a model is, and how it is run.

    Attributes:
        element_type: The numpy name of the element type.
        elements: The number of elements of each operand.
        nodes: The number of Div nodes in a row.
        threads: The intra-op threads; 0 stands for all.
    """

    element_type: str
    elements: int
    nodes: int = 1
    threads: int = 1


def make_model(setting: Setting) -> onnx.ModelProto:
    """Build the model of standard operators, each quotient divided by B again.

    Args:
        setting: What the model is; its shapes are known only in a run.
    """
    element_type = helper.np_dtype_to_tensor_dtype(np.dtype(setting.element_type))
    values = ["A", *(f"quotient_{index}" for index in range(1, setting.nodes)), "C"]
    graph = helper.make_graph(
        [
            helper.make_node("Div", [dividend, "B"], [quotient], name=f"division_{index}")
            for index, (dividend, quotient) in enumerate(itertools.pairwise(values))
        ],
        "divisions",
        [helper.make_tensor_value_info(name, element_type, ["n"]) for name in "AB"],
        [helper.make_tensor_value_info("C", element_type, ["n"])],
    )
    return helper.make_model(
        graph, ir_version=_IR_VERSION, opset_imports=[helper.make_opsetid("", _OPSET)]
    )


def make_feeds(setting: Setting) -> Feeds:
    """Make the inputs; no divisor is zero.

    Args:
        setting: What the model is.

    Returns:
        Dividends of both signs; divisors of both signs for floats, positive ones for integers.
        Ones for a chain, so that no quotient grows or vanishes.
    """
    dtype = np.dtype(setting.element_type)
    if setting.nodes > 1:
        ones = np.ones(setting.elements, dtype)
        return {"A": ones, "B": ones}
    random = np.random.default_rng(_SEED)
    if dtype.kind == "f":
        a, b = random.standard_normal((2, setting.elements)).astype(dtype)
    else:
        a = random.integers(-(2**30), 2**30, setting.elements).astype(dtype)
        b = random.integers(1, 1000, setting.elements).astype(dtype)
    return {"A": a, "B": b}
