"""Nodes of operators that make shapes of numbers, or numbers of shapes."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx

from support.soundness.nodes.maker import Attributes, Made, Maker


def constant(make: Maker) -> Made:
    kind = make.rng.choice(["value", "value_int", "value_ints", "value_float", "value_floats"])
    if kind == "value" or make.version < 12:
        tensor = onnx.numpy_helper.from_array(make.array(make.shape(), "float32"))
        return [], {"value": tensor}, 1
    one: Any = 1 if "int" in kind else 0.5
    listed = [one] * make.rng.randint(1, 3)
    return [], {kind: listed if kind.endswith("s") else one}, 1


def filled(make: Maker) -> Made:
    return [make.ints(make.shape())], {}, 1


def expanded(make: Maker) -> Made:
    common = make.shape()
    return [make.array(make.expandable(common)), make.ints(make.expandable(common))], {}, 1


def tiled(make: Maker) -> Made:
    shape = make.shape(least=1)
    return [make.array(shape), make.ints([make.rng.randint(0, 3) for _ in shape])], {}, 1


def reshaped(make: Maker) -> Made:
    shape = make.shape()
    target = make.rng.sample(shape, len(shape))
    if make.maybe(0.3):
        target = [math.prod(shape)]
    if target and make.maybe(0.3):
        target[make.rng.randrange(len(target))] = -1
    if target and make.maybe(0.3):
        target[make.rng.randrange(len(target))] = 0
    attributes = {"allowzero": make.rng.choice([0, 1])} if make.maybe(0.3) else {}
    return [make.array(shape), make.ints(target)], attributes, 1


def ranged(make: Maker) -> Made:
    dtype = make.dtype()
    step = make.rng.choice([1, 2, -1])
    return [np.array(v, dtype) for v in (make.rng.randint(-2, 3), 4 * step, step)], {}, 1


def one_hot(make: Maker) -> Made:
    indices = make.array(make.shape(most=3), "int64")
    axis = make.rng.randint(-indices.ndim - 1, indices.ndim)
    values = np.array([0, 1], np.float32)
    depth = np.array(make.rng.choice([1, 3]), np.int64)
    return [indices, depth.reshape(make.rng.choice([[], [1]])), values], {"axis": axis}, 1


def resized(make: Maker) -> Made:
    shape = [1, 1, make.rng.randint(1, 25), make.rng.randint(1, 25)]
    scales = np.array([1, 1, make.rng.choice([1, 2, 0.5, 0.3]), 2], np.float32)
    if make.maybe():
        scales[2:] = [make.rng.uniform(0.2, 4), make.rng.randint(1, 60) / 7]
    x = make.array(shape, "float32")
    attributes = {"mode": make.rng.choice(["nearest", "linear"])}
    if make.operator == "Upsample" and make.version < 9:
        return [x], attributes | {"scales": [float(s) for s in scales]}, 1
    if make.version < 11:
        return [x, scales], attributes, 1
    region = np.zeros(0, np.float32) if make.version < 13 else None
    if make.maybe():
        no_scales = None if region is None else region
        return [x, region, no_scales, make.ints([1, 1, 3, 5])], attributes, 1
    return [x, region, scales], attributes, 1


def shape_of(make: Maker) -> Made:
    attributes: Attributes = {}
    if make.version >= 15 and make.maybe():
        attributes["start"] = make.rng.randint(-3, 3)
    if make.version >= 15 and make.maybe():
        attributes["end"] = make.rng.randint(-3, 3)
    return [make.array(make.shape())], attributes, 1


MAKERS: Mapping[str, Callable[[Maker], Made]] = {
    **dict.fromkeys(("Resize", "Upsample"), resized),
    "Constant": constant,
    "ConstantOfShape": filled,
    "Expand": expanded,
    "OneHot": one_hot,
    "Range": ranged,
    "Reshape": reshaped,
    "Shape": shape_of,
    "Tile": tiled,
}
