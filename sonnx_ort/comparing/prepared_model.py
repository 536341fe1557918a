"""Models as they are run to be compared: whole, and with random operators that draw the same."""

import functools
import zlib
from dataclasses import replace

import onnx
import onnx.defs
from onnx import helper

from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.record import read_enforcement
from sonnx_ort.loading.external_data import (
    check_external_data,
    external_tensors,
    load_external_data,
)
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.obligations.contracts import ContractSource, contract_for
from sonnx_ort.profile.contract import Contract


def whole(source: ReadModel) -> ReadModel:
    """A copy of a model with its external data inside.

    Raises:
        SonnxError: The external data cannot be read.
    """
    check_external_data(source.proto, source.folder)
    proto = onnx.ModelProto()
    proto.CopyFrom(source.proto)
    if source.folder is not None:
        load_external_data(list(external_tensors(proto)), source.folder)
    return replace(source, proto=proto, folder=None)


def enforced_natively(model: onnx.ModelProto) -> bool:
    """Whether a model says that a backend has enforced it whose guards optimizers could remove."""
    claim = read_enforcement({entry.key: entry.value for entry in model.metadata_props})
    return claim is not None and claim.backend is not Backend.PYTHON


def contract_for_runs(
    model: ReadModel, given: ContractSource, other: ReadModel | None = None
) -> Contract:
    """The contract of the inputs of a run: the given one, or else that of an enforced model.

    Args:
        model: The model.
        given: What its user gives.
        other: A model with the same inputs, which may be an enforced one.

    Raises:
        SonnxError: The contract cannot be used.
    """
    found = contract_for(model, given)
    for each in () if found else filter(None, (model, other)):
        claim = read_enforcement({entry.key: entry.value for entry in each.proto.metadata_props})
        if claim is not None and claim.demands.contract:
            inputs = (value.name for value in model.proto.graph.input)
            # Guards have taken the names of values inside.
            return contract_for(model, claim.demands.contract.of_inputs(inputs))
    return found


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
