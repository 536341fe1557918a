"""Finds the violation that caused an ONNX Runtime error, and completes it by a second run.

Completes a violation in a model that another backend enforces, by a run of the python backend. The
message of a native guard has only operator, node and rule. The python backend adds shapes, index
and values for the same inputs; it runs only after a failure.
"""

import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from types import FrameType, MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from sonnx_ort.backends import Backend
from sonnx_ort.custom_ops.failure_channel import CODE_BASE, LOG, FailedGuard, failed_guards
from sonnx_ort.errors import ContractViolation, SonnxError, restored
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.ort.registration import register
from sonnx_ort.ort.session_options import FATAL
from sonnx_ort.ort.weights import INSIDE, Weights
from sonnx_ort.pipeline import reference_of
from sonnx_ort.profile.catalog import RULES


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Defer SIGINT until the block ends.

    Python runs signal handlers in the main thread between any two instructions. So
    KeyboardInterrupt could be raised where onnxruntime-extensions calls a kernel and nothing
    catches it, which ends the process with SIGABRT. Other threads are never interrupted, and a
    handler that is not Python's own is not changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(number)

    previous = signal.getsignal(signal.SIGINT)
    if not callable(previous):
        yield
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if received:
            signal.raise_signal(signal.SIGINT)


_RULES_BY_CODE = {rule.code: rule for rule in RULES.values()}


NOT_RENAMED: Mapping[str, str] = MappingProxyType({})
"""No guard was renamed."""


@contextmanager
def violations_raised(
    otherwise: Callable[[str], BaseException | None] = lambda _: None,
) -> Iterator[None]:
    """Raise the violation that caused a run to fail, instead of ONNX Runtime's error.

    `otherwise` looks for it where no kernel recorded one.
    """
    with (
        raised_instead(lambda message: violation_of_error(message) or otherwise(message)),
        interrupts_deferred(),
    ):
        yield


@contextmanager
def raised_instead(cause_of: Callable[[str], BaseException | None]) -> Iterator[None]:
    """Raise what caused an error of ONNX Runtime, if it is known, instead of the error."""
    try:
        yield
    except Exception as error:
        found = cause_of(str(error))
        if found is None:
            raise
        try:
            raise found from error
        finally:
            # An error in a cycle with its traceback keeps the inputs alive until garbage
            # collection.
            del found


def violation_of_error(
    message: str, renamed: Mapping[str, str] = NOT_RENAMED
) -> BaseException | None:
    """Find the error that a kernel recorded under the ticket in a message.

    `renamed` has the original names of guards, by those that ONNX Runtime gave them.

    Returns:
        The kernel's error, a `ContractViolation` unless the kernel could not finish. If that is
        gone, or no kernel in Python failed, a violation made from the message. None if the message
        has no ticket and is not that of a compiled kernel.
    """
    compiled = _from_sentence(message)
    if compiled is not None:
        return compiled
    for name, guard_name in renamed.items():
        message = message.replace(f"Name:'{name}'", f"Name:'{guard_name}'")
    for guard in failed_guards(message):
        error = LOG.take(guard.ticket) or _from_message(guard)
        if error is not None:
            return error
    return None


_STATUS = "Status Message: SONNX: "
"""What stands in front of the sentence of a compiled kernel; in that of an If, its body has it."""

_SENTENCE = re.compile(
    r"(?P<operator>\w+) '(?P<node>.*)' breaks (?P<rule>[\w.]+): (?P<reason>.*); "
    r"shapes (?P<shapes>.*)\. The rule: (?P<sentence>.*)",
    re.DOTALL,
)
"""What a compiled kernel says, the same words as the error of a kernel in Python."""

_FOUND = re.compile(
    r"(?P<operator>\w+) '(?P<node>.*)' breaks (?P<rule>[\w.]+): .*\. The rule: (?P<sentence>.*)",
    re.DOTALL,
)
"""What a compiled guard says, which leaves it to the reference to say more."""

_SHAPE = r"\([\d, ]*\)"
_SHAPES = re.compile(rf"\w+ ({_SHAPE})(?:, \w+ ({_SHAPE}))?")
_NAMED = re.compile(rf"X(\d+) '.*?' ({_SHAPE})(?:, |$)", re.DOTALL)
_ELEMENTS = re.compile(r"\w+\[([\d, ]*)\] = (-?\d+)")


def _from_sentence(message: str) -> ContractViolation | None:
    """The violation that a compiled kernel says in a message.

    The message ends with the sentence of a rule; a model cannot choose the end of a message.
    """
    starts = (found.end() for found in re.finditer(_STATUS, message))
    forms = product(starts, (_SENTENCE, _FOUND))
    for found in (form.fullmatch(message, start) for start, form in forms):
        rule = None if found is None else RULES.get(found["rule"])
        if found is None or rule is None or rule.sentence != found["sentence"]:
            continue
        if found.re is _FOUND:
            return ContractViolation(
                found.group(),
                rule=rule.id,
                operator=found["operator"],
                node=restored(found["node"]),
            )
        elements = _ELEMENTS.findall(found["reason"])
        return ContractViolation(
            found.group(),
            rule=rule.id,
            operator=found["operator"],
            node=restored(found["node"]),
            shapes=_shapes(found["shapes"]),
            index=_numbers(elements[0][0]) if elements else None,
            values=tuple(int(value) for _, value in elements) if elements else None,
        )
    return None


def _shapes(text: str) -> tuple[tuple[int, ...], ...] | None:
    """The shapes in a sentence; None if the names of values hide where they are."""
    shapes = _SHAPES.fullmatch(text)
    if shapes is not None:
        return tuple(_numbers(shape) for shape in shapes.groups() if shape)
    named = _NAMED.findall(text)
    if [int(number) for number, _ in named] != list(range(len(named))):
        return None
    return tuple(_numbers(shape) for _, shape in named) or None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def without_ticket(shape: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The shape that a kernel returns, the same in each run: of a ticket only the code is left."""
    return np.where(shape < 0, -(-shape % CODE_BASE), shape)


def _from_message(guard: FailedGuard) -> ContractViolation | None:
    """The violation as far as a message describes it."""
    rule = _RULES_BY_CODE.get(guard.code)
    if rule is None or not guard.operator:
        return None
    return ContractViolation(
        f"{guard.operator} '{guard.node}' breaks {rule.id}. The rule: {rule.sentence}",
        rule=rule.id,
        operator=guard.operator,
        node=guard.node,
    )


Run = Callable[[onnxruntime.InferenceSession], object]


@dataclass(frozen=True, slots=True)
class EnforcedRuns:
    """An enforced model, and how it runs in sessions beside that of the user.

    Attributes:
        model: The model.
        backend: What enforces it.
        level: The level of optimization: an optimizer can change the sizes that reach a node.
        weights: Where its weights are.
    """

    model: bytes
    backend: Backend
    level: onnxruntime.GraphOptimizationLevel
    weights: Weights = INSIDE

    def start(self, content: bytes, backend: Backend) -> onnxruntime.InferenceSession:
        """Start a session of ONNX Runtime on what a backend made."""
        options = onnxruntime.SessionOptions()
        options.log_severity_level = FATAL
        options.graph_optimization_level = self.level
        register(options, backend=backend)
        self.weights.attach(options)
        started = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self.weights.require_unchanged()
        return started


class ReferenceRun:
    """An enforced model, rewritten for the python backend when it is first needed."""

    def __init__(self, runs: EnforcedRuns) -> None:
        """Keep the model, and how it runs."""
        self._runs = runs
        self._lock = threading.Lock()

    def violation_in(self, run: Run) -> ContractViolation | None:
        """The violation that the reference raises in the same run; None if there is none.

        `run` repeats the run in another session.
        """
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
                Advice(
                    Remedy("verify_proofs"), f": the python backend cannot run the model: {found}"
                )
            )
        return violation

    def _contradiction(self, difference: str) -> SonnxError:
        return SonnxError(
            Advice(Remedy("verify_proofs"), f": the {self._runs.backend} backend {difference}"),
            "A proof of `check` is wrong in this run. Do not use the "
            f"{self._runs.backend} backend for this model, and report the model with these inputs",
        )

    def _raised_in(self, run: Run) -> BaseException | None:
        """What the reference raises: a `ContractViolation`, an interrupt or another exception."""
        try:
            with interrupts_deferred():
                with self._lock:
                    session = self._session
                run(session)
        except Exception as error:  # noqa: BLE001 - whatever the reference may raise
            return violation_of_error(str(error)) or error
        return None

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        """A session of the reference of the model, made for the first violation."""
        content = require_serializable(reference_of(self._runs.model))
        return self._runs.start(content, Backend.PYTHON)
