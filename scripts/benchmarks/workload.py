"""What is run: models of Div nodes, with their inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from model_builders.graphs import parse

ELEMENT_TYPES = ("float32", "int32", "int64")
"""The element types that are measured, by their numpy names."""

ELEMENTS = (1, 16, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""The sizes of the operands of a single Div."""

CHAIN_NODES = 100
CHAIN_ELEMENTS = 16
"""A chain on small tensors shows what a node costs, whatever its data."""

_SEED = 0

Feeds = dict[str, npt.NDArray[Any]]
"""The inputs of a model by name."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a model is: the dtype and size of its operands, and how many Div nodes it has in a row.

    `proved`: the model itself shows that every rule is kept. `positive`: the divisors of a single
    Div are positive, not of both signs. `threads`: on how many it runs.
    """

    element_type: str
    elements: int
    nodes: int = 1
    proved: bool = False
    positive: bool = False
    threads: int = 1

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
    of_type = {"float32": "float"}.get(setting.element_type, setting.element_type)
    values = ["A", *(f"quotient_{index}" for index in range(1, setting.nodes)), "C"]

    def declared(name: str) -> str:
        return f"{of_type}[{setting.elements if setting.proved else f'length_of_{name}'}] {name}"

    inputs = ["A"] if setting.proved else ["A", *setting.divisors]
    ones = ", ".join(["1"] * setting.elements) if setting.proved else ""
    nodes = (
        f"[division_{index}] {quotient} = Div({dividend}, {divisor})"
        for index, ((dividend, quotient), divisor) in enumerate(
            zip(pairwise(values), setting.divisors, strict=True)
        )
    )
    return parse(
        f"({', '.join(map(declared, inputs))}) => ({declared('C')})"
        + (f"<{declared('B')} = {{{ones}}}>" if setting.proved else "")
        + "{"
        + "\n".join(nodes)
        + "}"
    )


def make_feeds(setting: Setting) -> Feeds:
    """Make the inputs; no divisor is zero.

    Returns:
        Random dividends and divisors. Ones for a chain, so that no quotient grows
        or vanishes.
    """
    if setting.proved:
        return {"A": _ones(setting)}
    if setting.nodes > 1:
        return {name: _ones(setting) for name in ("A", *setting.divisors)}
    random = np.random.default_rng(_SEED)
    if setting.element_type == "float32":
        a, b = random.standard_normal((2, setting.elements))
    else:
        a = random.integers(-(2**30), 2**30, setting.elements)
        b = random.integers(1, 1000, setting.elements) * random.choice([-1, 1], setting.elements)
    b = abs(b) if setting.positive else b
    return {"A": a.astype(setting.element_type), "B_0": b.astype(setting.element_type)}


def _ones(setting: Setting) -> npt.NDArray[Any]:
    return np.ones(setting.elements, setting.element_type)
