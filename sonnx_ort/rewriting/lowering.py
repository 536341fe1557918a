"""Puts a backend's nodes into a model."""

from collections.abc import Mapping

import onnx_ir as ir

from sonnx_ort.analysis.obligations import Examination
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.rewriting.backend import Backend, Lowering
from sonnx_ort.rewriting.choices import Choices
from sonnx_ort.rewriting.claims import drop_unfounded_sizes
from sonnx_ort.rewriting.enforcement import Enforcement
from sonnx_ort.rewriting.native.backend import NativeBackend
from sonnx_ort.rewriting.opset import raise_opset
from sonnx_ort.rewriting.python_backend import PythonBackend

_LOWERINGS: Mapping[Backend, type[Lowering]] = {
    Backend.PYTHON: PythonBackend,
    Backend.NATIVE: NativeBackend,
}


def lower(model: ir.Model, examination: Examination, choices: Choices) -> None:
    """Enforce every node of a model that the profile constrains.

    Args:
        model: A canonical model without violations; changed in place.
        examination: All that the profile demands of it.
        choices: How to enforce that.

    Raises:
        SonnxError: A node cannot be enforced in the model as it is.
    """
    if not examination.nodes:
        return
    lowering = _LOWERINGS[choices.backend]
    before = model.opset_imports.get(STANDARD_DOMAIN, 1)
    oldest = max(lowering.oldest_opset(examined) for examined in examination.nodes)
    raise_opset(model, (examined.target.node for examined in examination.nodes), oldest)
    native = choices.backend is Backend.NATIVE
    drop_unfounded_sizes(model, examination.facts, native=native)
    backend = lowering(model, Enforcement(choices.edition, choices.broadcasting, before))
    for examined in backend.prepare(examination):
        backend.enforce(examined)
