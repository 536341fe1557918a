"""Completes a violation in a model that another backend enforces, by a run of the python backend.

The message of a native guard has only operator, node and rule. The python backend adds shapes,
index and values for the same inputs; it runs only after a failure.
"""

import threading
from collections.abc import Callable

import onnxruntime

from sonnx_ort.backends import Backend
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.pipeline import reference_of, require_serializable
from sonnx_ort.runtime.registration import register
from sonnx_ort.runtime.session_options import FATAL
from sonnx_ort.runtime.violations import interrupts_deferred, violation_behind
from sonnx_ort.runtime.weights import INSIDE, Weights

Run = Callable[[onnxruntime.InferenceSession], object]


class ReferenceRun:
    """An enforced model, rewritten for the python backend when it is first needed."""

    def __init__(
        self,
        model: bytes,
        backend: Backend,
        options: onnxruntime.SessionOptions,
        weights: Weights = INSIDE,
    ) -> None:
        """Keep the model, and which backend enforces it."""
        self._model = model
        self._backend = backend
        self._weights = weights
        # An optimizer can change the sizes that reach a node.
        self._level = options.graph_optimization_level
        self._session: onnxruntime.InferenceSession | None = None
        self._lock = threading.Lock()

    def explain(self, violation: ContractViolation, run: Run) -> ContractViolation:
        """Complete a violation.

        `run` repeats the run in another session.

        Returns:
            The violation that the reference raises; the given one if the reference cannot run or
            does not fail.
        """
        return self.violation_in(run) or violation

    def violation_in(self, run: Run) -> ContractViolation | None:
        """The violation that the reference raises in the same run, or None."""
        found = self._raised_in(run)
        return found if isinstance(found, ContractViolation) else None

    def verify(
        self, violation: BaseException | None, run: Run, *, failed: bool
    ) -> BaseException | None:
        """Compare a run with the reference, which also checks proved rules.

        `run` repeats the run in another session; `failed` is whether it failed, for any reason.

        Returns:
            The violation of the reference; a `SonnxError` if the verdicts differ or the reference
            cannot run; else None.
        """
        found = self._raised_in(run)
        if isinstance(found, ContractViolation):
            if violation is None and not failed:
                return self._contradiction(f"accepts what the python backend rejects: {found}")
            return found
        if found is not None and not isinstance(found, Exception):
            return found
        if violation is not None and found is None:
            return self._contradiction(f"rejects what the python backend accepts: {violation}")
        if found is not None and not failed:
            return SonnxError(
                f"verify_proofs=True: the python backend cannot run the model: {found}"
            )
        return violation

    def _contradiction(self, difference: str) -> SonnxError:
        return SonnxError(
            f"verify_proofs=True: the {self._backend} backend {difference}",
            f"A proof of `check` is wrong in this run. Do not use the {self._backend} backend for "
            "this model, and report the model with these inputs",
        )

    def _raised_in(self, run: Run) -> BaseException | None:
        """What the reference raises: a `ContractViolation`, an interrupt or another exception."""
        try:
            with interrupts_deferred():
                run(self._started())
        except Exception as error:  # noqa: BLE001 - whatever the reference may raise
            return violation_behind(str(error)) or error
        return None

    def _started(self) -> onnxruntime.InferenceSession:
        with self._lock:
            if self._session is None:
                options = onnxruntime.SessionOptions()
                options.log_severity_level = FATAL
                options.graph_optimization_level = self._level
                register(options, backend=Backend.PYTHON)
                content = require_serializable(reference_of(self._model))
                self._weights.attach(options)
                started = onnxruntime.InferenceSession(
                    content, options, providers=["CPUExecutionProvider"]
                )
                self._weights.require_unchanged()
                self._session = started
            return self._session
