"""What kernels report, kept until a session asks for it.

A kernel cannot raise: an exception in it ends the process. It leaves its error here under a
ticket, and the ticket is the impossible dimension by which the model fails, so that the session
finds the error of its own run, whichever thread the kernel ran on.
"""

import contextlib
import itertools
import logging
import re
import threading
from collections import OrderedDict

CAPACITY = 4096
"""Errors kept; beyond it the oldest go. A plain onnxruntime session never collects its errors."""

CODE_BASE = 100
"""The last two decimal digits of a ticket are the code of the violated rule."""

KERNEL_FAILURE = 99
"""The code of a kernel that could not finish; no rule has it."""

_DIMENSION = re.compile(r"A dimension cannot be less than -1, got -(\d+)")
_logger = logging.getLogger("sonnx_ort")


class ViolationLog:
    """A bounded, thread-safe store of errors by ticket."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._errors: OrderedDict[int, BaseException] = OrderedDict()
        self._serials = itertools.count(1)
        self._lock = threading.Lock()

    def record(self, code: int, error: BaseException) -> int:
        """Keep an error, write it to the logger `sonnx_ort`, and give its ticket.

        Args:
            code: The code of the violated rule, from 2 to 99.
            error: The error that the session is to raise.

        Returns:
            A number that is unique in this process; its last two digits are the code.
        """
        ticket = next(self._serials) * CODE_BASE + code
        with self._lock:
            self._errors[ticket] = error
            while len(self._errors) > self._capacity:
                self._errors.popitem(last=False)
        # A handler of the caller's may raise, and this is called where nothing may.
        with contextlib.suppress(Exception):
            _logger.error("%s", error)
        return ticket

    def take(self, ticket: int) -> BaseException | None:
        """Hand out the error of a ticket, once; None if it is gone."""
        with self._lock:
            return self._errors.pop(ticket, None)


def tickets(message: str) -> list[int]:
    """The tickets in the text of an ONNX Runtime error.

    Args:
        message: The text of the error. That of a node with a body ends in that of the body; what
            stands before the last status is names, which a model chooses.
    """
    _, _, status = message.rpartition("Status Message:")
    return [int(match) for match in _DIMENSION.findall(status)]


LOG = ViolationLog()
"""The log that all kernels of this process write to."""
