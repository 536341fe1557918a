"""Drafts of graphs with numbers at the ends of their types.

A draft has fixed sizes, so that the shape of each value is known while further nodes are added.
"""

import enum
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

from support.soundness.arrays import Array
from support.soundness.proof_trials import UnusableDraftError

FLOATS = ("float32", "float32", "float32", "float16", "float64")
"""The types of floats, the common one most often."""

_LARGEST_WEIGHT = 9e17

OPSETS = (9, 10, 12, 13, 17, 17, 17, 18, 20, 21)
"""Versions of the standard operators."""

_ORDINARY = (1.0, 1.0, 0.1, 3.0, 100.0, 1e-3)


def magnitudes(dtype: str) -> tuple[float, ...]:
    """Magnitudes at the ends of a type of floats, and between."""
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    largest, normal = float(limits.max), float(limits.smallest_normal)
    smallest = float(limits.smallest_subnormal)
    roots = (largest**0.5, normal**0.5, largest**0.25, normal**0.25, largest**0.8, normal**0.8)
    return (largest, largest / 3, *roots, normal, 3 * normal, smallest, 20 * smallest)


class Extremes(enum.Enum):
    """Which extreme magnitudes the constants of a graph have.

    Products of constants overflow that are all large, and underflow that are all small; inputs make
    up for both.
    """

    ANY = "any"
    LARGE = "large"
    HUGE = "huge"
    """The product of any two overflows."""

    SMALL = "small"


OPPOSITE = {
    Extremes.ANY: Extremes.ANY,
    Extremes.LARGE: Extremes.SMALL,
    Extremes.HUGE: Extremes.SMALL,
    Extremes.SMALL: Extremes.LARGE,
}
"""The extremes of inputs that make up for those of constants."""


def magnitude(
    rng: random.Random, dtype: str, extreme: float = 0.5, which: Extremes = Extremes.ANY
) -> float:
    """A magnitude: an end of the type with this probability, or an ordinary one."""
    if rng.random() >= extreme:
        return rng.choice(_ORDINARY)
    found = magnitudes(dtype)
    if which is Extremes.HUGE:
        return float(found[0] ** rng.uniform(0.5, 0.99))
    if rng.random() < 0.4:
        # Any power of 10 that the type has.
        ends = math.log10(found[0]), math.log10(found[-1])
        found = (10.0 ** rng.uniform(0.2, ends[0] - 0.1), 10.0 ** rng.uniform(ends[1] + 0.1, -0.2))
    match which:
        case Extremes.LARGE:
            found = tuple(each for each in found if each > 1)
        case Extremes.SMALL:
            found = tuple(each for each in found if each < 1)
    return rng.choice(found)


def numbers(
    rng: random.Random,
    dtype: str,
    shape: Sequence[int],
    extreme: float = 0.5,
    which: Extremes = Extremes.ANY,
) -> Array:
    """A constant of floats, mostly of one magnitude."""
    largest = magnitude(rng, dtype, extreme, which)
    count = int(np.prod(shape, dtype=np.int64))
    generator = np.random.default_rng(rng.getrandbits(32))
    match rng.choice(["equal", "equal", "signs", "uniform", "positive", "mixed"]):
        case "equal":
            drawn = np.full(count, largest * rng.choice([1.0, 1.0, -1.0]))
        case "signs":
            drawn = largest * generator.choice([-1.0, 1.0], count)
        case "uniform":
            drawn = largest * generator.uniform(-1, 1, count)
        case "positive":
            drawn = largest * generator.uniform(0.5, 1, count)
        case _:
            drawn = generator.uniform(-1, 1, count)
            if count:
                drawn[rng.randrange(count)] = largest
    if count and rng.random() < 0.1:
        special = [0.0, -0.0, 0.0, -0.0, np.nan, np.inf]
        drawn[rng.randrange(count)] = rng.choice(special)
    with np.errstate(over="ignore"):
        return np.asarray(drawn.astype(dtype).reshape(shape))


@dataclass
class Draft:
    """A graph to which nodes are added.

    Attributes:
        rng: Chooses.
        dtype: The type of its floats, as numpy names it.
        opset: The version of the standard operators.
        extreme: How probable an extreme magnitude is for a constant.
        which: Which extremes it has.
    """

    rng: random.Random
    dtype: str = "float32"
    opset: int = 17
    extreme: float = 0.5
    which: Extremes = Extremes.ANY
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    forms: dict[str, tuple[float, float]] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    _shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def random(cls, rng: random.Random, extreme: float = 0.5) -> "Draft":
        """An empty one, of some type and version."""
        which = rng.choice([Extremes.ANY, Extremes.LARGE, Extremes.LARGE, Extremes.SMALL])
        return cls(rng, rng.choice(FLOATS), rng.choice(OPSETS), extreme, which)

    @property
    def element_type(self) -> int:
        """The type of its floats, as ONNX numbers it."""
        return int(helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype)))

    def given(self, shape: Sequence[int], form: tuple[float, float] | None = None) -> str:
        """Add an input of floats; its range has this form, times a magnitude found later."""
        name = f"x{len(self.inputs)}"
        forms = [(0.0, 1.0), (-1.0, 1.0), (0.5, 1.0), (1.0, 1.0), (-1.0, -0.5), (-1.0, 0.0)]
        self.forms[name] = form or self.rng.choice(forms)
        self._declare(name, self.element_type, shape)
        return name

    def given_integers(self, dtype: str, shape: Sequence[int], limits: tuple[int, int]) -> str:
        """Add an input of integers within limits."""
        name = f"x{len(self.inputs)}"
        self.ranges[name] = limits
        kind = int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
        self._declare(name, kind, shape)
        return name

    def _declare(self, name: str, kind: int, shape: Sequence[int]) -> None:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        self._shapes[name] = tuple(shape)

    def constant(self, array: Array) -> str:
        """Add a constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        self._shapes[name] = array.shape
        return name

    def terms(self, shape: Sequence[int]) -> str:
        """Add a constant that something is added to; most are of an ordinary magnitude."""
        extreme = self.extreme if self.rng.random() < 0.2 else 0.0
        return self.constant(numbers(self.rng, self.dtype, shape, extreme))

    def filters(self, shape: Sequence[int]) -> str:
        """Add the constant of a product of matrices or a convolution.

        Of weights above some size, nothing is proved; most are below.
        """
        found = numbers(self.rng, self.dtype, shape, self.extreme, self.which)
        if self.rng.random() < 0.9:
            limit = min(_LARGEST_WEIGHT, magnitudes(self.dtype)[0])
            found = np.clip(found, -limit, limit).astype(self.dtype)
        return self.constant(found)

    def weights(self, shape: Sequence[int]) -> str:
        """Add a constant of floats of any magnitude, which something is multiplied by."""
        return self.constant(numbers(self.rng, self.dtype, shape, self.extreme, self.which))

    def scalar(self, number: float, shape: Sequence[int] = ()) -> str:
        """Add a constant of one number."""
        with np.errstate(over="ignore"):
            return self.constant(np.full(shape, number, self.dtype))

    def integers(self, *elements: int) -> str:
        """Add a constant vector of int64."""
        return self.constant(np.array(elements, np.int64))

    def add(self, operator: str, *names: str, called: str = "", **attributes: Any) -> str:
        """Add a node, called so; give its first output."""
        made = self.add_several(operator, 1, *names, **attributes)
        self.nodes[-1].name = called
        return made[0]

    def add_several(
        self, operator: str, outputs: int, *names: str, **attributes: Any
    ) -> tuple[str, ...]:
        """Add a node with several outputs; give these."""
        made = tuple(f"v{len(self.nodes)}_{index}" for index in range(outputs))
        self.nodes.append(helper.make_node(operator, list(names), list(made), **attributes))
        return made

    def by_numbers(
        self, operator: str, name: str, since: int, outputs: int = 1, **numbers: Sequence[int]
    ) -> tuple[str, ...]:
        """Add a node whose numbers are operands since some version, and attributes before."""
        if self.opset < since:
            return self.add_several(operator, outputs, name, **numbers)
        operands = [self.integers(*each) for each in numbers.values()]
        return self.add_several(operator, outputs, name, *operands)

    def squeeze(self, name: str, axis: int) -> str:
        """Add a Squeeze of an axis."""
        return self.by_numbers("Squeeze", name, 13, axes=[axis])[0]

    def unsqueeze(self, name: str, axis: int) -> str:
        """Add an Unsqueeze to an axis."""
        return self.by_numbers("Unsqueeze", name, 13, axes=[axis])[0]

    def pad(self, name: str, pads: Sequence[int], number: float | None = None) -> str:
        """Add a Pad by a number."""
        if self.opset < 11:
            return self.add("Pad", name, pads=list(pads), value=float(number or 0.0))
        value = [] if number is None else [self.scalar(number)]
        return self.add("Pad", name, self.integers(*pads), *value)

    def clip(self, name: str, lower: float | None, upper: float | None) -> str:
        """Add a Clip to bounds."""
        bounds = {"min": lower, "max": upper}
        if self.opset < 11:
            given = {key: each for key, each in bounds.items() if each is not None}
            return self.add("Clip", name, **given)
        names = ["" if each is None else self.scalar(each) for each in bounds.values()]
        return self.add("Clip", name, *names)

    def reduce(self, operator: str, name: str, axes: Sequence[int], keepdims: int = 1) -> str:
        """Add a reduction, whose axes are an attribute in old versions."""
        since = 13 if operator == "ReduceSum" else 18
        if self.opset < since:
            return self.add(operator, name, axes=list(axes), keepdims=keepdims)
        return self.add(operator, name, self.integers(*axes), keepdims=keepdims)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value.

        Raises:
            UnusableDraftError: It is not known: the graph is not valid.
        """
        if name not in self._shapes:
            (value,) = onnx.shape_inference.infer_shapes(self._proto([name])).graph.output
            known = value.type.tensor_type
            if not known.HasField("shape") or any(axis.dim_value < 1 for axis in known.shape.dim):
                raise UnusableDraftError(f"{name} has no shape, or no elements")
            self._shapes[name] = tuple(axis.dim_value for axis in known.shape.dim)
        return self._shapes[name]

    def _proto(self, outputs: Sequence[str]) -> onnx.ModelProto:
        ends = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, "draft", self.inputs, ends, self.constants)
        imports = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=imports, ir_version=9)

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        """The model with these outputs, of declared types and open shapes."""
        model = onnx.shape_inference.infer_shapes(self._proto(outputs))
        model.graph.ClearField("value_info")
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
        return model
