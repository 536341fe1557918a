"""Graphs under contracts, of numbers at the ends of their types: drafts, and trials made of them.

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

from sonnx_ort import Contract, ValueContract
from sonnx_ort.errors import SonnxError
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical
from support.soundness.arrays import Array
from support.soundness.proof_trials import (
    ALL_WAYS,
    ENDS,
    Claims,
    ProofTrial,
    UnusableDraftError,
    Way,
)

FLOATS = ("float32", "float32", "float32", "float16", "float64")
"""The types of floats, the common one most often."""

RUNS = ("lower", "upper", "ends", "uniform", "alternating")
"""How the elements of inputs are taken from their ranges, run by run.

"blocks" is the upper end once in each block of elements.
"""

_ORDINARY = (1.0, 1.0, 0.1, 3.0, 100.0, 1e-3)
_SCALES = 8
"""How many magnitudes of inputs are tried until something is known of the result."""


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
    SMALL = "small"


OPPOSITE = {
    Extremes.ANY: Extremes.ANY,
    Extremes.LARGE: Extremes.SMALL,
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
        return cls(rng, rng.choice(FLOATS), rng.choice([13, 17, 17, 20]), extreme, which)

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


def trial_of(
    draft: Draft,
    outputs: Sequence[str],
    ways: tuple[Way, ...] = ALL_WAYS,
    runs: Sequence[str] = RUNS,
    magnitude_of_inputs: float | None = None,
) -> ProofTrial:
    """Finish a draft: contracts for its inputs, and runs at their ends and between.

    Args:
        draft: The draft.
        outputs: The values that become outputs.
        ways: How it is enforced.
        runs: How the elements of inputs are taken, for each run.
        magnitude_of_inputs: The magnitude of the inputs; without, several are tried until the
            analysis knows of an output that it is finite.
    """
    model = draft.model(outputs)
    rng = draft.rng
    operators = rng.choice(["default,Graph.finite_values"] * 3 + ["Graph.finite_values"])
    divides = any(node.op_type in ("Div", "Sub") for node in draft.nodes)
    if any(node.name == ENDS for node in draft.nodes):
        operators = "default,Graph.finite_values"
    broadcast = "explicit" if divides else rng.choice(["reject", "explicit"])
    facts = _facts(model)
    contract = Contract()
    for _ in range(1 if magnitude_of_inputs or not draft.forms or facts is None else _SCALES):
        ranges = {}
        for name, form in draft.forms.items():
            which = OPPOSITE[draft.which]
            chosen = magnitude_of_inputs or magnitude(rng, draft.dtype, 0.7, which)
            ranges[name] = _ends(draft.dtype, form, chosen)
        entries = (*ranges.items(), *draft.ranges.items())
        contract = Contract(tuple(ValueContract(*entry) for entry in entries))
        if facts is not None and _is_known(Claims.under(facts, contract), outputs):
            break
    limits = {entry.value: entry.range for entry in contract.values}
    feeds = tuple(
        {value.name: _elements(rng, how, value, *limits[value.name]) for value in model.graph.input}
        for how in runs
    )
    return ProofTrial(model, feeds, contract, ways, operators, broadcast)


def _facts(model: onnx.ModelProto) -> Facts | None:
    try:
        return Facts(load_canonical(model).graph_model)
    except SonnxError:
        return None


def _is_known(claims: Claims, outputs: Sequence[str]) -> bool:
    """Whether something is known of each output that runs could contradict."""
    found = [claims.intervals.get(name) for name in outputs]
    bounded = [name in claims.bounds for name in outputs]
    return all(b or (i is not None and i.whole.finite) for b, i in zip(bounded, found, strict=True))


def _ends(dtype: str, form: tuple[float, float], scale: float) -> tuple[float, float]:
    largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    lower, upper = (
        float(np.asarray(min(max(end * scale, -largest), largest)).astype(dtype)) for end in form
    )
    return lower, upper


def _elements(
    rng: random.Random, how: str, declared: onnx.ValueInfoProto, lower: float, upper: float
) -> Array:
    """Elements between two numbers that their type holds."""
    kind = declared.type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    shape = [axis.dim_value for axis in kind.shape.dim]
    generator = np.random.default_rng(rng.getrandbits(32))
    ends = np.array([lower, upper]).astype(dtype)
    match how:
        case "lower":
            return np.full(shape, ends[0])
        case "upper":
            return np.full(shape, ends[1])
        case "ends":
            return np.asarray(generator.choice(ends, shape), dtype)
        case "alternating":
            count = int(np.prod(shape, dtype=np.int64))
            return np.asarray(np.resize(ends, count).reshape(shape), dtype)
        case "blocks":
            count = int(np.prod(shape, dtype=np.int64))
            flat = np.full(count, ends[0])
            flat[:: rng.choice([8, 16, 32, 64, 128, 256, 512])] = ends[1]
            return np.asarray(flat.reshape(shape), dtype)
        case _:
            share = generator.uniform(0, 1, shape)
            between = lower * (1 - share) + upper * share
            if dtype.kind in "iu":
                between = np.round(between)
            return np.asarray(np.clip(between, lower, upper).astype(dtype))
