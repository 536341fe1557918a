"""Keeps a library's own log out of what this package reports itself."""

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
