"""How far a long piece of work is, for whoever watches it; nobody has to."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")

Watcher = Callable[[str, int, int], None]
"""Takes what is done, in words, how many parts of it are done, and how many there are."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)

INTERVAL = 0.1
"""The least time in seconds between two calls of a watcher for the same work."""


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Let a function know how far work is until the block ends."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def followed(parts: Iterable[Item], work: str, total: int) -> Iterable[Item]:
    """The parts of some work, one after the other, of which a watcher is told.

    Args:
        parts: What is worked on.
        work: What is done, in words.
        total: How many parts there are.

    Returns:
        The given parts if nobody watches, so that it costs nothing then.
    """
    watcher = _WATCHER.get()
    return parts if watcher is None else _telling_progress(parts, work, total, watcher)


def following(work: str) -> Callable[[Sequence[Item]], Iterable[Item]]:
    """What gives the parts of some work one after the other, and tells a watcher of them.

    Args:
        work: What is done, in words.
    """
    return lambda parts: followed(parts, work, len(parts))


def _telling_progress(
    parts: Iterable[Item], work: str, total: int, watcher: Watcher
) -> Iterator[Item]:
    watcher(work, 0, total)
    told = time.monotonic()
    for done, part in enumerate(parts, start=1):
        yield part
        if (now := time.monotonic()) - told >= INTERVAL:
            watcher(work, done, total)
            told = now
    watcher(work, total, total)
