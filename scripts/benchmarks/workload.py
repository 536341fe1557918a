"""What is run: models of Div nodes, with their inputs."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

ELEMENT_TYPES = ("float32", "int32", "int64")
"""The element types that are measured, by their numpy names."""

ELEMENTS = (1, 16, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""The sizes of the operands of a single Div."""

CHAIN_NODES = 100
CHAIN_ELEMENTS = 16
"""A chain on small tensors shows what a node costs, whatever its data."""

OPSET = 17
IR_VERSION = 10
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
        proved: Whether the model itself shows that every rule is kept.
    """

    element_type: str
    elements: int
    nodes: int = 1
    threads: int = 1
    proved: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return np.dtype(self.element_type)

    @property
    def divisors(self) -> Sequence[str]:
        """The names of the divisors; each node has its own, unless all are one constant."""
        return ["B"] * self.nodes if self.proved else [f"B_{i}" for i in range(self.nodes)]


def make_model(setting: Setting) -> onnx.ModelProto:
    """Build the model of standard operators, in which each quotient is divided again.

    Args:
        setting: What the model is. Unless it is to be proved, every input has one dimension with a
            symbol of its own, so that shapes and integer divisors are known only in a run.
            Otherwise shapes are static and the divisor is a constant.
    """
    element_type = helper.np_dtype_to_tensor_dtype(setting.dtype)
    values = ["A", *(f"quotient_{index}" for index in range(1, setting.nodes)), "C"]
    inputs = ["A"] if setting.proved else ["A", *setting.divisors]

    def declared(name: str) -> onnx.ValueInfoProto:
        dimension = setting.elements if setting.proved else f"length of {name}"
        return helper.make_tensor_value_info(name, element_type, [dimension])

    nodes = [
        helper.make_node("Div", [dividend, divisor], [quotient], name=f"division_{index}")
        for index, ((dividend, quotient), divisor) in enumerate(
            zip(itertools.pairwise(values), setting.divisors, strict=True)
        )
    ]
    constants = [numpy_helper.from_array(_ones(setting), "B")] if setting.proved else []
    graph = helper.make_graph(
        nodes, "divisions", [declared(name) for name in inputs], [declared("C")], constants
    )
    return helper.make_model(
        graph, ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", OPSET)]
    )


def make_feeds(setting: Setting) -> Feeds:
    """Make the inputs; no divisor is zero.

    Args:
        setting: What the model is.

    Returns:
        Random dividends and divisors of both signs. Ones for a chain, so that no quotient grows
        or vanishes.
    """
    if setting.proved:
        return {"A": _ones(setting)}
    if setting.nodes > 1:
        return {name: _ones(setting) for name in ("A", *setting.divisors)}
    random = np.random.default_rng(_SEED)
    if setting.dtype.kind == "f":
        a, b = random.standard_normal((2, setting.elements))
    else:
        a = random.integers(-(2**30), 2**30, setting.elements)
        b = random.integers(1, 1000, setting.elements) * random.choice([-1, 1], setting.elements)
    return {"A": a.astype(setting.dtype), "B_0": b.astype(setting.dtype)}


def _ones(setting: Setting) -> npt.NDArray[Any]:
    return np.ones(setting.elements, setting.dtype)
