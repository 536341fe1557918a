"""Seeds for random operators that have none, so that two runs can be compared."""

import functools
import zlib

import onnx
import onnx.defs
from onnx import helper

from sonnx_ort.loading.traversal import all_nodes

_SEED = "seed"

_LARGEST = 1 << 24
"""Seeds are below it, so that float, the type of most of them, has them exactly."""


@functools.cache
def _types_of_seeds() -> dict[str, type[int] | type[float]]:
    """The type of the seed of each random operator of the standard."""
    real = onnx.defs.OpSchema.AttrType.FLOAT
    return {
        schema.name: float if schema.attributes[_SEED].type == real else int
        for schema in onnx.defs.get_all_schemas()
        if _SEED in schema.attributes
    }


def has_random_operators(model: onnx.ModelProto) -> bool:
    """Whether a model, with its subgraphs and functions, has random operators."""
    return any(map(_is_random, all_nodes(model)))


def _is_random(node: onnx.NodeProto) -> bool:
    return node.domain in {"", "ai.onnx"} and node.op_type in _types_of_seeds()


def unseeded(model: onnx.ModelProto) -> tuple[onnx.NodeProto, ...]:
    """The random operators that draw other numbers in each session."""
    return tuple(
        node
        for node in filter(_is_random, all_nodes(model))
        if all(attribute.name != _SEED for attribute in node.attribute)
    )


def seed_random_operators(model: onnx.ModelProto) -> None:
    """Give each random operator without a seed one that follows from the name of its result.

    So it draws the same numbers in every session, and in another model with the same names.
    """
    for node in unseeded(model):
        seed = zlib.crc32(next(filter(None, node.output), "").encode()) % _LARGEST
        typed = _types_of_seeds()[node.op_type](seed)
        node.attribute.append(helper.make_attribute(_SEED, typed))
