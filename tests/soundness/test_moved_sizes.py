"""Sizes that are followed through tensors of several axes are those that kernels compute.

Vectors become tensors by Reshape, whose elements Slice and Transpose move, and vectors again: so
PyTorch writes the pads of a Pad. Positions of a Slice are also at the ends of int64.
"""

import math
import random

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.facts.sizes import Rejected
from support.derived import derived, fact
from support.graphs import parse
from support.sessions import on_one_thread

_FAR = [2**31 - 1, 2**31, 2**63 - 1, -(2**31), -(2**63) + 1, -(2**63)]


def _positions(rng: random.Random, size: int) -> int:
    return rng.choice([*range(-size - 2, size + 3), *_FAR])


def _model(number: int) -> onnx.ModelProto:
    """Nodes that move the elements of a vector: of constants, of sizes and of an input."""
    rng = random.Random(f"moved sizes {number}")  # noqa: S311 - no cryptography
    shape = [rng.choice([1, 2, 2, 3]) for _ in range(rng.choice([2, 2, 3]))]
    count = math.prod(shape)
    proto = parse(
        "(float[2, 3, 4] x, int64[2] z) => (int64[] y) { s = Shape(x) v = Concat<axis = 0>(c, s, z)"
        " w = Slice(v, first, last) y = Identity(w) }"
    )
    proto.graph.node.pop()
    constants = {
        "c": np.arange(10, 10 + rng.choice([0, 1, count])),
        "first": np.array([rng.choice([0, 0, 2])]),
    }
    constants["last"] = constants["first"] + count
    value = "w"

    def add(operator: str, *operands: list[int], **attributes: object) -> None:
        nonlocal value
        own = f"{operator}_{len(proto.graph.node)}"
        names = [f"{own}_{place}" for place in range(len(operands))]
        constants.update(zip(names, (np.array(each, np.int64) for each in operands), strict=True))
        proto.graph.node.append(helper.make_node(operator, [value, *names], [own], **attributes))
        value = own

    open_axis = rng.randrange(len(shape))
    wanted = [-1 if axis == open_axis and rng.random() < 0.7 else s for axis, s in enumerate(shape)]
    add("Reshape", wanted)
    for _ in range(rng.choice([1, 2, 3])):
        if rng.random() < 0.5:
            order = rng.sample(range(len(shape)), len(shape))
            add("Transpose", **({"perm": order} if rng.random() < 0.7 else {}))
            continue
        axes = rng.sample(range(len(shape)), rng.choice([1, len(shape)]))
        starts = [rng.choice([0, -1, _positions(rng, shape[axis])]) for axis in axes]
        ends = [rng.choice([shape[a], -(2**63) + 1, _positions(rng, shape[a])]) for a in axes]
        steps = [rng.choice([1, 1, -1, -1, 2, -2, 3]) for _ in axes]
        signed = [axis - rng.choice([0, len(shape)]) for axis in axes]
        add("Slice", starts, ends, signed, steps)
    add("Reshape", [-1])
    proto.graph.node.append(helper.make_node("Identity", [value], ["y"]))
    stored = (numpy_helper.from_array(each, name) for name, each in constants.items())
    proto.graph.initializer.extend(stored)
    return proto


_COUNT = 2000


@pytest.mark.parametrize("first", range(0, _COUNT, 200))
def test_sizes_are_those_that_kernels_compute(first: int) -> None:
    known = 0
    for number in range(first, first + 200):
        proto = _model(number)
        try:
            found = fact(derived(proto), "y", "elements")
        except Rejected:
            continue
        x, z = np.zeros((2, 3, 4), np.float32), np.array([91, 92])
        try:
            session = ort.InferenceSession(proto.SerializeToString(), on_one_thread("none"))
            (y,) = session.run(None, {"x": x, "z": z})
        except Exception:  # noqa: BLE001, S112 - a number of elements that does not fit
            continue
        told = [int(each) if str(each).lstrip("-").isdecimal() else None for each in found]
        assert len(told) == len(y)
        pairs = zip(told, y.tolist(), strict=True)
        assert all(own is None or own == given for own, given in pairs), number
        known += any(own is not None for own in told)
    assert known >= 20


@pytest.mark.parametrize(("transposes", "known"), [(6, True), (7, True), (8, False), (2000, False)])
def test_sizes_are_followed_through_a_few_nodes_alone(transposes: int, *, known: bool) -> None:
    proto = parse(
        "(float[2, 3] x) => (int64[] y) <int64[2] pairs = {1, 2}, int64[1] flat = {-1}>"
        " { s = Shape(x) m0 = Reshape(s, pairs) y = Reshape(m, flat) }"
    )
    last = proto.graph.node.pop()
    last.input[0] = f"m{transposes}"
    proto.graph.node.extend(
        helper.make_node("Transpose", [f"m{number}"], [f"m{number + 1}"])
        for number in range(transposes)
    )
    proto.graph.node.append(last)
    if known:
        found = fact(derived(proto), "y", "elements")
        assert list(map(str, found)) == ["2", "3"]
    else:
        with pytest.raises(Rejected, match="it is moved by too many nodes"):
            fact(derived(proto), "y", "elements")
