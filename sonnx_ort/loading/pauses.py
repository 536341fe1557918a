"""Pauses of loggers and of garbage collection.

A module of its own, because processes that only run models start faster without onnx_ir.
"""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """Silence the logger of this name until the block ends."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector until the block ends.

    A graph consists of reference cycles that stay alive while it is processed. Scanning them again
    and again takes half of the time at 10,000 nodes, and more for larger graphs.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
