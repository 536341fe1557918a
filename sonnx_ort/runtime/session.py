"""`InferenceSession`: ONNX Runtime's, for models that keep to the profile."""

from collections.abc import Callable, Iterable
from typing import Any

import onnx
import onnx_ir as ir
import onnxruntime

from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.loading.source import ModelSource, collector_paused
from sonnx_ort.options import DEFAULT, Backend, Choices, Waivers
from sonnx_ort.pipeline import Enforced, enforce, require_serializable
from sonnx_ort.runtime.optimized_graph import recorded_optimization
from sonnx_ort.runtime.reference_run import ReferenceRun, Run
from sonnx_ort.runtime.registration import prepare
from sonnx_ort.runtime.violations import NOT_RENAMED, violation_behind, violations_raised
from sonnx_ort.runtime.weights import INSIDE, Weights, place, separate

_BUFFER_REUSED = "Shape mismatch attempting to re-use buffer"
"""What ONNX Runtime says, before any guard can, where two sizes of one symbol differ in a run."""


class InferenceSession(onnxruntime.InferenceSession):  # type: ignore[misc]
    """Behaves like `onnxruntime.InferenceSession`, on the rewritten model.

    A model that is not yet rewritten is rewritten first. A rule that is broken in a run raises
    `ContractViolation`; everything else, such as a wrong feed, raises what ONNX Runtime raises.
    """

    def __init__(  # noqa: PLR0913 - options, by name
        self,
        model: ModelSource,
        options: onnxruntime.SessionOptions | None = None,
        *,
        edition: str = "typed",
        broadcast: str = "reject",
        operators: str | Iterable[str] = DEFAULT,
        backend: str = "python",
        waivers: Waivers = (),
        verify_proofs: bool = False,
        **kwargs: Any,
    ) -> None:
        """Rewrite a model and start a session on it.

        Args:
            model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`.
            options: Session options; what the backend needs is set on them.
            edition: As for `rewrite`.
            broadcast: As for `rewrite`.
            operators: As for `rewrite`.
            backend: As for `rewrite`.
            waivers: As for `rewrite`; a model that was rewritten with waivers takes them again.
            verify_proofs: Whether the python backend's form of the model, which checks what is
                proved as well, does every run after a natively enforced one. `SonnxError` is raised
                if one keeps the profile and the other does not. With the python backend there is
                nothing to verify.
            **kwargs: Further arguments of `onnxruntime.InferenceSession`, such as `providers`.

        Raises:
            ModelRejected: The model breaks the profile in every run.
            InvalidModel: It is no readable, valid ONNX model.
            SonnxError: An option is unknown, a waiver has expired or cannot have effect, or ONNX
                Runtime's optimizer undid the enforcement.
        """
        choices = Choices.of(
            edition, broadcast, operators, backend, make_explicit=False, waivers=waivers
        )
        with collector_paused():
            enforced, weights = _enforce(model, choices)
            proto = enforced.to_proto() if weights.apart else enforced.to_complete_proto()
        self._renamed = NOT_RENAMED
        prepared = onnxruntime.SessionOptions() if options is None else options
        prepare(prepared, enforced.backend)
        self._weights, self._own_options = place(
            weights, proto, prepared, shared=options is not None
        )
        if self._own_options is not prepared:
            prepare(self._own_options, enforced.backend)
        self._content = require_serializable(proto)
        native = enforced.backend is Backend.NATIVE
        self._reference = (
            ReferenceRun(self._content, self._own_options, self._weights) if native else None
        )
        self._verifies_proofs = verify_proofs
        start = super().__init__
        self._start(enforced.model, lambda: start(self._content, self._own_options, **kwargs))

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Start the session anew with other execution providers.

        Raises:
            SonnxError: ONNX Runtime's optimizer undid the enforcement; the session is unusable.
        """
        restart = super().set_providers
        model = ir.from_proto(onnx.load_model_from_string(self._content))
        try:
            self._start(model, lambda: restart(providers, provider_options))
        except SonnxError:
            # What was refused must not run.
            self._sess = None
            raise

    def _start(self, model: ir.Model, start: Callable[[], None]) -> None:
        """Start the session, and look at the graph that it runs.

        Args:
            model: The enforced model.
            start: Has ONNX Runtime make the session.
        """
        if self._reference is None:
            with violations_raised():
                start()
            self._weights.require_unchanged()
            return
        with violations_raised(), recorded_optimization(self._own_options) as record:
            start()
        self._weights.require_unchanged()
        self._renamed = record.require_enforced(model, self._content)

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
            SonnxError: Proofs are to be verified, which takes inputs that can be read twice.
        """
        if self._reference is not None and self._verifies_proofs:
            raise SonnxError(
                "verify_proofs=True: a binding belongs to one session, so that the python backend "
                "cannot do the same run; use run or run_with_ort_values"
            )
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
            told = self._told_by_reference(
                found, lambda other: other.run(output_names, input_feed), message
            )
            if told is None:
                callback(results, data, message)
            else:
                callback([], data, str(told))

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

        def run(other: onnxruntime.InferenceSession) -> Any:
            return method(other, *args, **kwargs)

        try:
            results = run(self)
        except Exception as error:
            found = violation_behind(str(error), self._renamed)
            told = self._told_by_reference(found, run, str(error)) if repeatable else found
            if told is None:
                raise
            try:
                raise told from error
            finally:
                # An error that its own traceback leads to keeps the feeds until a collection.
                del found, told
        told = self._told_by_reference(None, run, "")
        if told is None:
            return results
        try:
            raise told
        finally:
            del told

    def _told_by_reference(
        self, found: BaseException | None, run: Run, message: str
    ) -> BaseException | None:
        """What is to be raised of a natively enforced run, after a look at the reference.

        Args:
            found: The violation that the run raised; None if it raised none.
            run: Does the same run in another session.
            message: The text of the error with which the run failed; empty if it did not.
        """
        if self._reference is None:
            return found
        if self._verifies_proofs:
            return self._reference.verify(found, run, failed=bool(message))
        if isinstance(found, ContractViolation):
            return self._reference.explain(found, run)
        if found is None and _BUFFER_REUSED in message:
            return self._reference.violation_in(run)
        return found


def _enforce(model: ModelSource, choices: Choices) -> tuple[Enforced, Weights]:
    separated = separate(model)
    try:
        return enforce(separated.source, choices), separated.weights
    except SonnxError:
        if not separated.weights.apart:
            raise
    # What is wrong is said of the whole model, with its own digest.
    return enforce(model, choices), INSIDE
