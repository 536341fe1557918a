"""The public function `rewrite`."""

import os
import warnings
from typing import Unpack, overload

import onnx
import onnx_ir as ir

from sonnx_ort.api.unenforced import warn_of_unenforced
from sonnx_ort.backends import require_runnable
from sonnx_ort.errors import BackendUnavailable
from sonnx_ort.errors.arguments import checked_arguments
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.options import Choices, RewriteOptions
from sonnx_ort.pipeline import Enforced, enforce


# Its order matters: protocol buffers have an untyped base, so they pass for anything.
@overload
def rewrite(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    cache: str | os.PathLike[str] | None = None,
    **options: Unpack[RewriteOptions],
) -> onnx.ModelProto: ...
@overload
def rewrite(
    model: ir.Model,
    *,
    cache: str | os.PathLike[str] | None = None,
    **options: Unpack[RewriteOptions],
) -> ir.Model: ...
@checked_arguments
def rewrite(
    model: ModelSource,
    *,
    cache: str | os.PathLike[str] | None = None,
    **options: Unpack[RewriteOptions],
) -> onnx.ModelProto | ir.Model:
    """Rewrite a model so that each run enforces the profile.

    By default this covers every Div and Sub; `operators` selects others. It covers the main graph,
    the subgraphs of If, Loop and Scan at any depth, and model-local functions, which are inlined if
    they contain such a node. Names of inputs and outputs, other nodes and metadata are kept.
    Rewriting a rewritten model with the same options changes nothing.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        cache: A folder of reports and rewritten models, as for `check`. An `onnx_ir.Model` is
            rewritten anew.
        **options: See `RewriteOptions`.

    Warns of a model that this installation cannot run, for want of the compiled kernels, and
    without `operators` of a model with other operators that have rules.

    Returns:
        The rewritten model: an `onnx_ir.Model` if one was given, otherwise an `onnx.ModelProto`.
        External data of a model given as a path is loaded into it, as `onnx.load` does; that of a
        model object stays external.

    Raises:
        ModelRejected: The model violates the profile in every run; its report lists where.
        InvalidModel: The model is not a readable, valid ONNX model, or has nodes of the enforced
            operators that `rewrite` does not make.
        SonnxError: An option has an unknown value, the model was rewritten with the other edition,
            natively for fewer operators, or with the python backend and another is named, or a
            waiver has expired or has no effect.
    """
    choices = Choices.of(**options)
    with collector_paused():
        if cache is None or isinstance(model, ir.Model):
            enforced = enforce(model, choices)
        else:
            from sonnx_ort.caching.results import kept_model

            enforced = kept_model(model, choices, cache)
        warn_unless_runnable(enforced)
        warn_of_unenforced(enforced)
        return enforced.model if isinstance(model, ir.Model) else enforced.to_complete_proto()


def warn_unless_runnable(enforced: Enforced) -> None:
    """Warn the caller of a public function of a model that others may run, but not this process."""
    try:
        require_runnable(enforced.backend)
    except BackendUnavailable as error:
        warnings.warn(str(error), stacklevel=4)
