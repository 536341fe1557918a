"""From any source to the canonical graph that the rooms above work on."""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.elements import check_elements
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.functions import inline_enforceable_functions
from sonnx_ort.loading.opset import import_standard_operators, resolve_default_domain
from sonnx_ort.loading.process import silenced
from sonnx_ort.loading.serialization import innermost
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.sparse import densify_declarations
from sonnx_ort.loading.validity import check_validity, refuse_impostors
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A valid model.

    Attributes:
        graph_model: The canonical graph; a copy that belongs to the caller.
        proto: The model as it was given, save for the alias of the default domain; not to be
            modified.
        folder: Where its external data lies; None if it came without a place.
        sha256: Of its file, or of the serialized model where there was no file.
    """

    graph_model: ir.Model
    proto: onnx.ModelProto
    folder: Path | None
    sha256: str


def load(
    model: ModelSource | ReadModel, operators: Container[str] = DEFAULT_OPERATORS
) -> LoadedModel:
    """Read a model, check it, and bring its graph into the canonical form.

    The canonical form imports the default domain as "", and has the bodies of model-local
    functions inlined in which an operator occurs that is to be enforced.

    Args:
        model: A path, the bytes of a file, or a model object, which is not modified; or one that
            was read.
        operators: The names of the profile's operators that are to be enforced.

    Returns:
        The model.

    Raises:
        InvalidModel: It is no readable, valid ONNX model, or one that pretends to be enforced.
    """
    source = read(model)
    proto = resolve_default_domain(source.proto)
    check_external_data(proto, source.folder)
    refuse_impostors(proto)
    check_validity(proto)
    check_elements(proto)
    graph_model = _deserialize(proto, source.folder)
    import_standard_operators(graph_model)
    inline_enforceable_functions(graph_model, operators)
    return LoadedModel(graph_model, proto, source.folder, source.sha256)


def _deserialize(proto: onnx.ModelProto, folder: Path | None) -> ir.Model:
    carried, sparse = densify_declarations(_own(proto))
    try:
        with silenced("onnx_ir"):
            model = ir.from_proto(carried)
    except Exception as error:
        raise InvalidModel(f"the model cannot be read: {innermost(error)}") from error
    for graph_input in model.graph.inputs:
        origin = sparse.get(graph_input.name or "")
        if origin is not None:
            graph_input.meta["origin"] = origin
    if folder is not None:
        # This goes through subgraphs by itself.
        for graph in (model.graph, *(function.graph for function in model.functions.values())):
            ir.external_data.set_base_dir(graph, folder)
    return model


def _own(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy where functions may be inlined: that renames tensors in place."""
    if not proto.functions:
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    return copy
