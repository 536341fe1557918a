"""`InferenceSession`: ONNX Runtime's, for models that keep to the profile."""

from collections.abc import Callable
from typing import Any

import onnxruntime

from sonnx_ort.errors import ContractViolation
from sonnx_ort.loading.collector import collector_paused
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.rewriting.backend import Backend
from sonnx_ort.rewriting.choices import Choices
from sonnx_ort.rewriting.rewrite import enforce, require_serializable
from sonnx_ort.runtime.optimization.recorded import recorded_optimization
from sonnx_ort.runtime.reference_run import ReferenceRun
from sonnx_ort.runtime.registration import prepare
from sonnx_ort.runtime.violations import NOT_RENAMED, violation_behind, violations_raised


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
            options: Session options; what the backend needs is set on them.
            edition: As for `rewrite`.
            broadcast: As for `rewrite`.
            backend: As for `rewrite`.
            **kwargs: Further arguments of `onnxruntime.InferenceSession`, such as `providers`.

        Raises:
            ModelRejected: The model breaks the profile in every run.
            InvalidModel: It is no readable, valid ONNX model.
            SonnxError: An option is unknown, or ONNX Runtime's optimizer undid the enforcement.
        """
        choices = Choices.of(edition, broadcast, backend)
        with collector_paused():
            enforced = enforce(model, choices)
            proto = enforced.to_complete_proto()
        content = require_serializable(proto)
        self._renamed = NOT_RENAMED
        self._reference = ReferenceRun(content) if enforced.backend is Backend.NATIVE else None
        prepared = onnxruntime.SessionOptions() if options is None else options
        prepare(prepared, enforced.backend)
        if self._reference is None:
            with violations_raised():
                super().__init__(content, prepared, **kwargs)
            return
        with violations_raised(), recorded_optimization(prepared) as record:
            super().__init__(content, prepared, **kwargs)
        self._renamed = record.require_enforced(proto)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs, as `onnxruntime.InferenceSession.run` does.

        Raises:
            ContractViolation: A rule of the profile was broken.
        """
        return self._translated(onnxruntime.InferenceSession.run, args, kwargs)

    def run_with_ort_values(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs as `OrtValue`s.

        Raises:
            ContractViolation: A rule of the profile was broken.
        """
        return self._translated(onnxruntime.InferenceSession.run_with_ort_values, args, kwargs)

    def run_with_iobinding(self, *args: Any, **kwargs: Any) -> None:
        """Compute into bound outputs.

        Raises:
            ContractViolation: A rule of the profile was broken.
        """
        method = onnxruntime.InferenceSession.run_with_iobinding
        # A binding belongs to one session, so that the reference cannot do the same run.
        self._translated(method, args, kwargs, repeatable=False)

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
            found = violation_behind(message, self._renamed) if message else None
            if self._reference is not None and isinstance(found, ContractViolation):
                found = self._reference.explain(found, lambda o: o.run(output_names, input_feed))
            callback(results, data, message if found is None else str(found))

        super().run_async(output_names, input_feed, translated, user_data, run_options)

    def _translated(
        self,
        method: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        repeatable: bool = True,
    ) -> Any:
        """Call a method of ONNX Runtime's session, and raise the violation behind its error."""
        if self._reference is None:
            with violations_raised():
                return method(self, *args, **kwargs)
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            found = violation_behind(str(error), self._renamed)
            if found is None:
                raise
            if repeatable and isinstance(found, ContractViolation):
                found = self._reference.explain(found, lambda other: method(other, *args, **kwargs))
            raise found from error
