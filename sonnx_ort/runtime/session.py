"""`InferenceSession`: ONNX Runtime's, for models that keep to the profile."""

from collections.abc import Callable
from typing import Any

import onnx
import onnx_ir as ir
import onnxruntime

from sonnx_ort.loading.source import ModelSource
from sonnx_ort.rewriting.rewrite import require_serializable, rewrite
from sonnx_ort.runtime.registration import register
from sonnx_ort.runtime.violations import violation_behind, violations_raised


class InferenceSession(onnxruntime.InferenceSession):  # type: ignore[misc]
    """Behaves like `onnxruntime.InferenceSession`, on the rewritten model.

    A model that is not yet rewritten is rewritten first. A rule that is broken in a run raises
    `ContractViolation`; everything else, such as a wrong feed, raises what ONNX Runtime raises.
    """

    def __init__(
        self,
        model: ModelSource,
        options: onnxruntime.SessionOptions | None = None,
        *,
        edition: str = "typed",
        broadcast: str = "reject",
        backend: str = "python",
        **kwargs: Any,
    ) -> None:
        """Rewrite a model and start a session on it.

        Args:
            model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`.
            options: Session options, on which the custom operators are registered.
            edition: As for `rewrite`.
            broadcast: As for `rewrite`.
            backend: As for `rewrite`.
            **kwargs: Further arguments of `onnxruntime.InferenceSession`, such as `providers`.

        Raises:
            ModelRejected: The model breaks the profile in every run.
            InvalidModel: It is no readable, valid ONNX model.
            SonnxError: An option is unknown.
        """
        enforced = rewrite(model, edition=edition, broadcast=broadcast, backend=backend)
        registered = register(options)
        with violations_raised():
            super().__init__(_serialized(enforced), registered, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs, as `onnxruntime.InferenceSession.run` does.

        Raises:
            ContractViolation: A rule of the profile was broken.
        """
        with violations_raised():
            return super().run(*args, **kwargs)

    def run_with_ort_values(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs as `OrtValue`s.

        Raises:
            ContractViolation: A rule of the profile was broken.
        """
        with violations_raised():
            return super().run_with_ort_values(*args, **kwargs)

    def run_with_iobinding(self, *args: Any, **kwargs: Any) -> None:
        """Compute into bound outputs.

        Raises:
            ContractViolation: A rule of the profile was broken.
        """
        with violations_raised():
            super().run_with_iobinding(*args, **kwargs)

    def run_async(
        self,
        output_names: Any,
        input_feed: Any,
        callback: Callable[[Any, Any, str], None],
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Compute in another thread and hand the outputs to a callback.

        The callback gets the text of the `ContractViolation` in the place of ONNX Runtime's own.
        """

        def translated(results: Any, data: Any, message: str) -> None:
            found = violation_behind(message) if message else None
            callback(results, data, message if found is None else str(found))

        super().run_async(output_names, input_feed, translated, user_data, run_options)


def _serialized(model: onnx.ModelProto | ir.Model) -> bytes:
    return require_serializable(ir.to_proto(model) if isinstance(model, ir.Model) else model)
