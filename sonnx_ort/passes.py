"""`ConformPass` and `EnforcePass`: `conform` and `rewrite` as passes of `onnx_ir`.

PyTorch's `ONNXProgram.model`, onnxscript's optimizer and Olive have models of `onnx_ir`. Source:
onnx_ir 1.1.0, `onnx_ir.passes`.
"""

from typing import Unpack

import onnx_ir as ir

from sonnx_ort.api.rewriting import warn_unless_runnable
from sonnx_ort.api.unenforced import warn_of_unenforced
from sonnx_ort.conforming.conformity import ConformOptions, conform
from sonnx_ort.errors.arguments import checked_arguments
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.options import Choices, RewriteOptions
from sonnx_ort.pipeline import enforce


class ConformPass(ir.passes.FunctionalPass):
    """Fixes violations of the profile without changing any result, as `conform` does.

    It gives another model, and leaves the one that it gets as it is.
    """

    @checked_arguments
    def __init__(self, **options: Unpack[ConformOptions]) -> None:
        """Choose how to conform.

        Args:
            **options: See `sonnx_ort.conforming.conformity.ConformOptions`.
        """
        self._options = options

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Conform a model.

        Raises:
            InvalidModel: The model is not valid.
            SonnxError: An option is unknown, `rewrite` made the model, or a run that verifies the
                changes fails.
        """
        conformed = conform(model, **self._options)
        return ir.passes.PassResult(conformed.model, modified=bool(conformed.changes))


class EnforcePass(ir.passes.FunctionalPass):
    """Rewrites a model so that each run enforces the profile, as `rewrite` does.

    It gives another model, and leaves the one that it gets as it is. It is the last pass: what
    changes the model afterwards may undo the enforcement, and such a model is refused.
    """

    @checked_arguments
    def __init__(self, **options: Unpack[RewriteOptions]) -> None:
        """Choose how to rewrite.

        Args:
            **options: See `sonnx_ort.options.RewriteOptions`.

        Raises:
            SonnxError: An option is unknown.
        """
        self._choices = Choices.of(**options)

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Rewrite a model.

        Raises:
            ModelRejected: The model violates the profile in every run.
            InvalidModel: The model is not valid.
            SonnxError: As for `rewrite`.
        """
        with collector_paused():
            enforced = enforce(model, self._choices)
        warn_unless_runnable(enforced)
        warn_of_unenforced(enforced)
        return ir.passes.PassResult(enforced.model, modified=not enforced.unchanged)
