"""Finds out by the reference what a natively enforced model cannot tell.

A guard of standard operators tells operator, node and rule. The shapes, and the index and the
values of the offending element, are what the python backend says of the same model on the same
inputs; it is asked only after a failure.
"""

import threading
from collections.abc import Callable
from typing import Any

import onnxruntime

from sonnx_ort.errors import ContractViolation
from sonnx_ort.rewriting.rewrite import reference_of, require_serializable
from sonnx_ort.runtime.interrupt import interrupts_deferred
from sonnx_ort.runtime.registration import register
from sonnx_ort.runtime.violations import violation_behind

Run = Callable[[onnxruntime.InferenceSession], object]

_FATAL = 4


class ReferenceRun:
    """The python backend's form of a natively enforced model, made when it is first needed."""

    def __init__(self, model: bytes) -> None:
        """Keep the model.

        Args:
            model: What the native backend made, serialized.
        """
        self._model = model
        self._session: onnxruntime.InferenceSession | None = None
        self._lock = threading.Lock()

    def explain(self, violation: ContractViolation, run: Run) -> ContractViolation:
        """Find out more about a violation.

        Args:
            violation: What the message of the failed run tells.
            run: Does the same run in another session.

        Returns:
            The violation that the reference raises; the given one where the reference cannot be
            run, or does not fail.
        """
        try:
            with interrupts_deferred():
                run(self._started())
        except Exception as error:  # noqa: BLE001 - whatever the reference may raise
            found = violation_behind(str(error))
            return found if isinstance(found, ContractViolation) else violation
        return violation

    def _started(self) -> onnxruntime.InferenceSession:
        with self._lock:
            if self._session is None:
                options: Any = register()
                options.log_severity_level = _FATAL
                content = require_serializable(reference_of(self._model))
                self._session = onnxruntime.InferenceSession(
                    content, options, providers=["CPUExecutionProvider"]
                )
            return self._session
