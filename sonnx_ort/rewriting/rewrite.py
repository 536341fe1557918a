"""`rewrite`: from a model to one that enforces the profile on itself."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import onnx
import onnx_ir as ir

from sonnx_ort.analysis.examination import examine_loaded
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.canonical import load
from sonnx_ort.loading.choice import DEFAULT
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.loading.process import collector_paused
from sonnx_ort.loading.serialization import serializable
from sonnx_ort.loading.source import ModelSource, ReadModel
from sonnx_ort.rewriting.lowering import lower
from sonnx_ort.rewriting.options import Backend, Choices, Waivers
from sonnx_ort.rewriting.recognition import load_and_recognize, restored
from sonnx_ort.rewriting.value_info import make_graph_explicit
from sonnx_ort.rewriting.waivers import (
    record_waivers,
    recorded_waivers,
    require_waived,
    waivers_in_effect,
)


@dataclass(frozen=True, slots=True)
class Enforced:
    """A model that enforces the profile.

    Attributes:
        model: The graph.
        backend: What enforces it.
        unchanged: Whether nothing had to be changed.
        folder: Where external data lies; None if the model came without a place.
        original: The model as it was given.
    """

    model: ir.Model
    backend: Backend
    unchanged: bool
    folder: Path | None
    original: onnx.ModelProto

    def to_proto(self) -> onnx.ModelProto:
        """The model as a protocol buffer of its own; external data stays external."""
        if not self.unchanged:
            return _proto_of(self.model, self.original)
        proto = onnx.ModelProto()
        proto.CopyFrom(self.original)
        return proto

    def to_complete_proto(self) -> onnx.ModelProto:
        """The model as a protocol buffer of its own, with the external data of its folder."""
        proto = self.to_proto()
        if self.folder is not None and any(external_tensors(proto)):
            onnx.load_external_data_for_model(proto, str(self.folder))
        return proto


# Its order matters: protocol buffers have an untyped base, so they pass for anything.
@overload
def rewrite(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    edition: str = ...,
    broadcast: str = ...,
    operators: str | Iterable[str] = ...,
    backend: str = ...,
    make_explicit: bool = ...,
    waivers: Waivers = ...,
) -> onnx.ModelProto: ...
@overload
def rewrite(
    model: ir.Model,
    *,
    edition: str = ...,
    broadcast: str = ...,
    operators: str | Iterable[str] = ...,
    backend: str = ...,
    make_explicit: bool = ...,
    waivers: Waivers = ...,
) -> ir.Model: ...
def rewrite(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
    backend: str = "python",
    make_explicit: bool = False,
    waivers: Waivers = (),
) -> onnx.ModelProto | ir.Model:
    """Put what enforces the profile in the place of nodes: of every Div and Sub, or of more.

    Covers the main graph, the subgraphs of If, Loop and Scan at any depth, and model-local
    functions, which are inlined where such a node occurs in them. Everything else stays: names of
    inputs and outputs, other nodes, metadata. Rewriting a rewritten model changes nothing.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        edition: "typed" or "preliminary".
        broadcast: "reject": operands of different shapes break the profile. "explicit": a
            Broadcast in front makes the shapes equal; what has no common shape breaks the profile.
        operators: The operators that are enforced: "default" (Div, Sub and Broadcast), "all", or
            names, in a text with commas between or any iterable. `check` tells of all.
        backend: "python": custom operators, to be run with `sonnx_ort.register`. "native": guards
            of standard operators in front of the nodes, which every ONNX Runtime runs. A model
            that the native backend made stays as it is, whichever is asked for here.
        make_explicit: Also write down the types, shapes and defaults of attributes that the file
            leaves out (`GR2`, `GR4`).
        waivers: What violations are tolerated for, and not enforced: a TOML file, or waivers, each
            for exactly one violation. Where shapes differ a Broadcast is written out in front of
            the node; all its other rules are enforced. The model's metadata says so.

    Returns:
        The enforced model: an `onnx_ir.Model` for one, an `onnx.ModelProto` for anything else.
        External data of a path is loaded into it, as `onnx.load` does; that of a model object
        stays external.

    Raises:
        ModelRejected: The model breaks the profile in every run; its report lists where.
        InvalidModel: It is no readable, valid ONNX model, or pretends to be enforced.
        SonnxError: An option is unknown, or the model is enforced under the other edition, or
            natively for fewer operators, or a waiver has expired or cannot have effect.
    """
    choices = Choices.of(
        edition, broadcast, operators, backend, make_explicit=make_explicit, waivers=waivers
    )
    with collector_paused():
        enforced = enforce(model, choices)
        return enforced.model if isinstance(model, ir.Model) else enforced.to_complete_proto()


def enforce(model: ModelSource | ReadModel, choices: Choices) -> Enforced:
    """Do what `rewrite` does, without making a protocol buffer of the outcome.

    Args:
        model: As for `rewrite`, or one that was read.
        choices: How to rewrite it.

    Raises:
        SonnxError: As for `rewrite`.
    """
    loaded, native = load_and_recognize(model, choices.demands.operators)
    if native is not None:
        native.require(choices.demands)
        effective = require_waived(native.report, choices.waivers)
        unchanged = not record_waivers(native.model, effective)
        return Enforced(native.model, Backend.NATIVE, unchanged, loaded.folder, loaded.proto)
    graph_model = loaded.graph_model
    examination = examine_loaded(loaded, choices.demands, waivers=choices.waivers)
    recorded = recorded_waivers(graph_model.metadata_props)
    effective = waivers_in_effect(examination, recorded, choices.waivers)
    if choices.backend is Backend.NATIVE and examination.enforced:
        label = examination.enforced[0].label
        raise SonnxError(
            f"node '{label}' is enforced already, by the python backend; rewrite the original "
            "model to have it enforced by the native one"
        )
    if choices.make_explicit:
        make_graph_explicit(graph_model, examination.facts)
    with serializable():
        lowered = lower(graph_model, examination, choices)
    renewed = record_waivers(graph_model, effective)
    unchanged = not (lowered or choices.make_explicit or renewed)
    return Enforced(graph_model, choices.backend, unchanged, loaded.folder, loaded.proto)


def reference_of(model: bytes) -> onnx.ModelProto:
    """Give the python backend's form of a model that the native backend made.

    Args:
        model: The serialized model. One in which there was nothing to enforce is its own reference.
    """
    loaded = load(model)
    enforcement = restored(loaded)
    if enforcement is None:
        return loaded.proto
    choices = Choices(enforcement.demands, Backend.PYTHON)
    waivers = recorded_waivers(loaded.graph_model.metadata_props)
    examination = examine_loaded(loaded, choices.demands, waivers=waivers)
    lower(loaded.graph_model, examination, choices)
    return _proto_of(loaded.graph_model, loaded.proto)


def _proto_of(model: ir.Model, original: onnx.ModelProto) -> onnx.ModelProto:
    """A model as a protocol buffer of its own, with what the graph library has no place for."""
    proto = onnx.ModelProto()
    with serializable():
        proto.CopyFrom(ir.to_proto(model))
    proto.training_info.extend(original.training_info)
    return proto


def require_serializable(proto: onnx.ModelProto) -> bytes:
    """Serialize a model, or say why that cannot be.

    Args:
        proto: The model.

    Raises:
        SonnxError: It is larger than one message can be.
    """
    try:
        content: bytes = proto.SerializeToString()
    except Exception as error:
        raise SonnxError(
            f"the model is too large for one message of 2 GiB ({error}); "
            "keep its tensors as external data and use rewrite_file"
        ) from error
    return content
