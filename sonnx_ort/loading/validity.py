"""Asks the ONNX checker, and for what the checker lets through."""

from collections.abc import Iterator
from itertools import chain

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.loading.traversal import all_graphs
from sonnx_ort.profile.domain import STANDARD_DOMAIN


def check_validity(proto: onnx.ModelProto) -> None:
    """Check that a model is valid ONNX of a version that is known here.

    Args:
        proto: The model; its references to external data are not followed.

    Raises:
        InvalidModel: It is not; the message says what the checker found.
    """
    _check_default_opset(proto)
    try:
        onnx.checker.check_model(_checkable(proto))
    except onnx.checker.ValidationError as error:
        raise InvalidModel(f"the model is not valid ONNX: {_sentence(error)}") from error
    except ValueError as error:
        raise InvalidModel(
            f"the model is too large to be one message: {error}; store its tensors as external data"
        ) from error


def _check_default_opset(proto: onnx.ModelProto) -> None:
    newest = onnx.defs.onnx_opset_version()
    for entry in proto.opset_import:
        if entry.domain == STANDARD_DOMAIN and not 1 <= entry.version <= newest:
            raise InvalidModel(
                f"the model imports version {entry.version} of the ONNX operators; this "
                f"installation knows 1 to {newest}: upgrade onnx, or export to one of these"
            )


def _checkable(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model as the checker can judge it.

    The checker would look for external data in the working folder, and demands that inputs and
    outputs have a shape, which ONNX Runtime and exporters take for optional.
    """
    if not (any(external_tensors(proto)) or any(_shapeless(proto))):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in list(external_tensors(copy)):
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]
        tensor.dims[:] = [0]
    for declared in list(_shapeless(copy)):
        declared.type.tensor_type.shape.SetInParent()
    return copy


def _shapeless(proto: onnx.ModelProto) -> Iterator[onnx.ValueInfoProto]:
    for graph in all_graphs(proto):
        for declared in chain(graph.input, graph.output):
            kind = declared.type
            if kind.HasField("tensor_type") and not kind.tensor_type.HasField("shape"):
                yield declared


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())
