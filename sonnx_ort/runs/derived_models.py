"""Models made of a model to be run: whole, seeded, and with more outputs."""

import functools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import onnx
import onnx.defs
from onnx import helper

from sonnx_ort.analysis.contracts import ContractSource, contract_for, read_contract
from sonnx_ort.analysis.premises import premises_of
from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.metadata import read_enforcement
from sonnx_ort.facts.schemas import operator_schema
from sonnx_ort.loading.external_data import (
    check_external_data,
    external_tensors,
    load_external_data,
)
from sonnx_ort.loading.file_traversal import all_nodes, nodes_within
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.profile.contract import Contract


def whole(source: ReadModel) -> ReadModel:
    """A copy of a model with its external data inside.

    Raises:
        SonnxError: The external data cannot be read.
    """
    check_external_data(source.proto, source.folder)
    proto = deepcopy(source.proto)
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
    """The contract of the inputs of a run: what the user gives, or else that of an enforced model.

    It also demands what each model was conformed for. The enforced one may be `other`, which has
    the same inputs.

    Raises:
        SonnxError: The contract cannot be used.
    """
    asked = read_contract(given)
    models = [each for each in (model, other) if each is not None]
    for each in () if asked else models:
        claim = read_enforcement({entry.key: entry.value for entry in each.proto.metadata_props})
        if claim is not None and claim.demands.contract:
            inputs = (value.name for value in model.proto.graph.input)
            # Guards have taken the names of values inside.
            asked = claim.demands.contract.of_inputs(inputs)
            break
    for each in models:
        asked = premises_of(each.proto).with_contract(asked)
    return contract_for(model, asked)


_SEED = "seed"

_LARGEST = 1 << 24
"""Seeds are below it, so that float, the type of most of them, has them exactly."""


_STANDARD = ("", "ai.onnx")
"""The names of the domain of the standard operators."""


@functools.cache
def _type_of_seed(operator: str, version: int) -> type[int] | type[float] | None:
    """The type of the seed of an operator of the standard in a version; None if it has none."""
    schema = operator_schema(operator, version)
    if schema is None or _SEED not in schema.attributes:
        return None
    return float if schema.attributes[_SEED].type == onnx.defs.OpSchema.AttrType.FLOAT else int


def _random_nodes(
    model: onnx.ModelProto,
) -> Iterator[tuple[onnx.NodeProto, type[int] | type[float]]]:
    """The nodes with a seed, or that may have one in the versions that are imported, and its type.

    Other versions of the same operators draw nothing, as Dropout before version 12.
    """
    yield from _random_among(model.graph.node, model.opset_import)
    for function in model.functions:
        yield from _random_among(function.node, function.opset_import or model.opset_import)


def _random_among(
    nodes: Sequence[onnx.NodeProto], imports: Iterable[onnx.OperatorSetIdProto]
) -> Iterator[tuple[onnx.NodeProto, type[int] | type[float]]]:
    version = max((entry.version for entry in imports if entry.domain in _STANDARD), default=1)
    for node in nodes_within(nodes):
        if node.domain in _STANDARD and 0 < version < _LARGEST:
            kind = _type_of_seed(node.op_type, version)
            if kind is not None:
                yield node, kind


def has_random_operators(model: onnx.ModelProto) -> bool:
    """Whether a model, with its subgraphs and functions, has random operators."""
    return any(True for _ in _random_nodes(model))


def unseeded(model: onnx.ModelProto) -> tuple[onnx.NodeProto, ...]:
    """The random operators that draw other numbers in each session."""
    return tuple(node for node, _ in _unseeded_nodes(model))


def _unseeded_nodes(
    model: onnx.ModelProto,
) -> Iterator[tuple[onnx.NodeProto, type[int] | type[float]]]:
    for node, kind in _random_nodes(model):
        if all(attribute.name != _SEED for attribute in node.attribute):
            yield node, kind


def seed_random_operators(model: onnx.ModelProto) -> tuple[onnx.NodeProto, ...]:
    """Give each random operator without a seed one that follows from the name of its result.

    So it draws the same numbers in every session, and in another model with the same names.

    Returns:
        These nodes.
    """
    found = list(_unseeded_nodes(model))
    for node, kind in found:
        seed = zlib.crc32(next(filter(None, node.output), "").encode()) % _LARGEST
        node.attribute.append(helper.make_attribute(_SEED, kind(seed)))
    return tuple(node for node, _ in found)


def constants_of(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """The dense initializers of a graph, by name."""
    return {tensor.name: tensor for tensor in graph.initializer}


def exposed(model: onnx.ModelProto, count: int) -> onnx.ModelProto:
    """Copy a model's first nodes, with every value that they compute as an output.

    Random operators without a seed get one. Values inside subgraphs and functions cannot be
    outputs.
    """
    copy = deepcopy(model)
    graph = copy.graph
    del graph.node[count:]
    # Declarations may be wrong; ONNX Runtime infers the types itself.
    graph.ClearField("value_info")
    graph.ClearField("output")
    for node in graph.node:
        for name in filter(None, node.output):
            graph.output.add(name=name)
    seed_random_operators(copy)
    return copy


def count_inner_nodes(model: onnx.ModelProto) -> int:
    """Count the nodes whose values cannot be outputs: those in subgraphs and functions."""
    return sum(1 for _ in all_nodes(model)) - len(model.graph.node)
