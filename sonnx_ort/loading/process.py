"""What is changed of the process while a model is read: less logging, no garbage collection."""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """Silence a logger until the block ends.

    Args:
        name: The logger's name.
    """
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector of reference cycles until the block ends.

    A graph consists of cycles that all stay alive while it is worked on. The collector would walk
    them again at every growth, which costs half of the time at 10,000 nodes and more beyond.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
