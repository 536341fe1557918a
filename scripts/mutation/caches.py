"""The caches of the package's functions, which would hide a mutant from the next test."""

import functools
import gc
from collections.abc import Callable


def package_caches() -> list[Callable[[], None]]:
    """What empties each of them."""
    wrapper = functools._lru_cache_wrapper  # noqa: SLF001 - the type has no public name
    found = [value for value in gc.get_objects() if isinstance(value, wrapper)]
    ours = [c for c in found if getattr(c, "__module__", "").startswith("sonnx_ort")]
    return [cache.cache_clear for cache in ours]
