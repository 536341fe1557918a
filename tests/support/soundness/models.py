"""Random models, what they claim of themselves, and what they can be fed with."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from support.soundness.arrays import Array, random_array
from support.soundness.scope import Draft, Scope
from support.soundness.subgraphs import fill

Feeds = dict[str, Array]
Declared = tuple[int | str | None, ...] | None

_TYPES = (
    *("float32", "float32", "float32", "float32", "float64"),
    *("int32", "int64", "int8", "uint8", "bool"),
)
_SIZES = (1, 1, 2, 2, 3, 3, 4, 0)


@dataclass(frozen=True)
class RandomModel:
    """A model that runs at least once.

    Attributes:
        proto: The model.
        nominal: Feeds that it runs with, unless a node breaks a rule.
        declared: The declared shape of each input.
        lies: Whether it claims what is not so.
    """

    proto: onnx.ModelProto
    nominal: Feeds
    declared: dict[str, Declared]
    lies: bool


def random_model(rng: random.Random) -> RandomModel:
    """Make a model."""
    draft = Draft(rng, rng.choice([13, 17, 17, 21, 21]))
    inputs = _random_inputs(rng, draft)
    main = Scope(draft, dict(inputs))
    fill(main, rng.randint(5, 16))
    declared = _declare_inputs(rng, inputs)
    overridable = {name: draft.initializers[name] for name in sorted(draft.overridable)}
    declared |= _declare_inputs(rng, overridable)
    lies = rng.random() < 0.3
    graph = helper.make_graph(
        main.nodes,
        "graph",
        [_value_info(n, a.dtype, declared[n]) for n, a in (inputs | overridable).items()],
        _outputs(rng, main, declared, lies=lies),
        [numpy_helper.from_array(array, name) for name, array in draft.initializers.items()],
        value_info=_claims(rng, main, declared) if lies else (),
    )
    proto = helper.make_model(
        graph, opset_imports=draft.imports(), functions=draft.functions, ir_version=8
    )
    if lies:
        _lie_in_subgraphs(rng, proto.graph, declared)
    return RandomModel(proto, inputs, declared, lies)


def random_feeds(rng: random.Random, model: RandomModel) -> Feeds:
    """Choose other elements, and often other sizes, that the declared shapes allow.

    ONNX Runtime holds no two dimensions to one size, be they declared with one symbol or not.
    """
    sizes = {size: size for size in range(6)}
    symbols: dict[str, int] = {}
    way = rng.choice(["as it is", "all of a size", "some", "some", "any"])
    if way == "all of a size":
        sizes = {size: rng.choice(_SIZES) for size in sizes} | {0: rng.choice([0, 0, 1, 2])}
    feeds = dict(model.nominal)
    overridden = [name for name in model.declared if name not in feeds and rng.random() < 0.5]
    initializers = {t.name: numpy_helper.to_array(t) for t in model.proto.graph.initializer}
    for name in (*feeds, *overridden):
        array = feeds.get(name, initializers.get(name))
        assert array is not None
        shape = list(array.shape)
        for axis, dimension in enumerate(model.declared[name] or ()):
            if isinstance(dimension, int) or way == "as it is":
                continue
            size = sizes.get(shape[axis], shape[axis])
            if way == "any" or (way == "some" and rng.random() < 0.3):
                size = rng.choice(_SIZES)
            if isinstance(dimension, str) and rng.random() < 0.85:
                size = symbols.setdefault(dimension, size)
            shape[axis] = size
        feeds[name] = _other_elements(rng, array, tuple(shape))
    return feeds


def _other_elements(rng: random.Random, array: Array, shape: tuple[int, ...]) -> Array:
    """Integers that may be shapes, axes and the like mostly stay what they are."""
    keep = 0.7 if array.dtype.name in ("int64", "bool") else 0.15
    if rng.random() < keep:
        if shape == array.shape:
            return array
        if array.size:
            return np.resize(array, shape)
    return random_array(rng, array.dtype.name, shape, zeros=rng.random() < 0.5)


def _random_inputs(rng: random.Random, draft: Draft) -> Feeds:
    inputs: Feeds = {}
    shape: tuple[int, ...] = ()
    dtype = rng.choice(_TYPES)
    for _ in range(rng.randint(2, 5)):
        if rng.random() < 0.5:
            dtype = rng.choice(_TYPES)
        if rng.random() < 0.6:
            shape = tuple(rng.choice(_SIZES) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))
        zeros = rng.random() < 0.5
        inputs[draft.fresh("x")] = random_array(rng, dtype, shape, zeros=zeros)
    if rng.random() < 0.3:
        inputs[draft.fresh("x")] = np.array(rng.random() < 0.5)
    if rng.random() < 0.2:
        inputs[draft.fresh("x")] = np.array(rng.choice([0, 1, 2, 3]))
    return inputs


def _declare_inputs(rng: random.Random, arrays: Feeds) -> dict[str, Declared]:
    if rng.random() < 0.3:
        # ONNX Runtime follows sizes through a graph where it knows them before any run.
        return {name: array.shape for name, array in arrays.items()}
    by_size: dict[int, list[str]] = {}
    return {name: _declare(rng, array.shape, by_size) for name, array in arrays.items()}


def _declare(rng: random.Random, shape: tuple[int, ...], known: dict[int, list[str]]) -> Declared:
    if shape and rng.random() < 0.05:
        return None
    dimensions: list[int | str | None] = []
    for size in shape:
        symbols = known.setdefault(size, [])
        die = rng.random()
        if die < 0.35:
            dimensions.append(size)
        elif die < 0.45:
            dimensions.append(None)
        elif die < 0.7 and symbols:
            dimensions.append(rng.choice(symbols))
        else:
            symbols.append(f"n{rng.randrange(10**6)}")
            dimensions.append(symbols[-1])
    return tuple(dimensions)


def _outputs(
    rng: random.Random, main: Scope, declared: dict[str, Declared], *, lies: bool
) -> list[onnx.ValueInfoProto]:
    """What nothing reads, most of it, so that few nodes are dead."""
    read = {name for node in main.nodes for name in node.input}
    last = [name for name in main.made if name not in read and rng.random() < 0.95]
    names = last or list(main.made)[-1:] or [main.constant(np.zeros(1, np.float32))]
    return [
        _value_info(
            name,
            main.made.get(name, np.dtype(np.float32)),
            _claim(rng, main, name, declared) if lies and rng.random() < 0.3 else None,
        )
        for name in names
    ]


def _claims(
    rng: random.Random, main: Scope, declared: dict[str, Declared]
) -> list[onnx.ValueInfoProto]:
    chosen = [name for name in main.made if rng.random() < 0.3]
    return [
        _value_info(name, main.made[name], _claim(rng, main, name, declared)) for name in chosen
    ]


def _claim(rng: random.Random, main: Scope, name: str, declared: dict[str, Declared]) -> Declared:
    """A shape that has mostly the right rank, and else is made up."""
    symbols = [d for shape in declared.values() for d in shape or () if isinstance(d, str)]
    array = main.values.get(name)
    rank = rng.randint(0, 3) if array is None or rng.random() < 0.1 else array.ndim
    return tuple(rng.choice([1, 2, 3, 4, *symbols[:3]]) for _ in range(rank))


def _lie_in_subgraphs(
    rng: random.Random, graph: onnx.GraphProto, declared: dict[str, Declared]
) -> None:
    symbols = [d for shape in declared.values() for d in shape or () if isinstance(d, str)]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type != onnx.AttributeProto.GRAPH:
                continue
            # ONNX Runtime gives a Loop's counter the rank that the body declares: 0, or 1.
            first = 2 if node.op_type == "Loop" else 0
            for value in (*attribute.g.input[first:], *attribute.g.output):
                if rng.random() < 0.2:
                    rank = rng.randint(0, 2)
                    shape = [rng.choice([1, 2, 3, *symbols[:3]]) for _ in range(rank)]
                    element_type = value.type.tensor_type.elem_type
                    if rng.random() < 0.05:
                        element_type = onnx.TensorProto.DOUBLE
                    value.CopyFrom(helper.make_tensor_value_info(value.name, element_type, shape))
            _lie_in_subgraphs(rng, attribute.g, declared)


def _value_info(name: str, dtype: np.dtype[Any], shape: Declared) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
