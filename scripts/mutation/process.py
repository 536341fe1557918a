"""The process that a mutant is tried in: its memory, and what would hide the mutant."""

import functools
import gc
import resource
import sys
from collections.abc import Callable

MEMORY = 8 << 30
"""The memory that it may have, in bytes."""


def limit_memory() -> None:
    """Keep a mutant from taking all memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def package_caches() -> list[Callable[[], None]]:
    """What empties each cache of the package, for a test to compute all anew."""
    wrapper = functools._lru_cache_wrapper  # noqa: SLF001 - the type has no public name
    found = [value for value in gc.get_objects() if isinstance(value, wrapper)]
    ours = [c for c in found if getattr(c, "__module__", "").startswith("sonnx_ort")]
    return [cache.cache_clear for cache in ours]


class PackageCaches:
    """The caches of the package, with those of modules that are imported later on."""

    def __init__(self) -> None:
        self._found: list[Callable[[], None]] = []
        self._modules = 0

    def clear(self) -> None:
        """Empty each; they are looked for anew where a module was imported."""
        if len(sys.modules) != self._modules:
            self._found, self._modules = package_caches(), len(sys.modules)
        for clear in self._found:
            clear()
