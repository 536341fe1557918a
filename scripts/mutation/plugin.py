"""A plugin of pytest: what mutmut misses of functions that run once, and no limit of memory.

mutmut does not see which tests depend on what runs while modules are imported, nor that the result
of a function is cached when a test calls it again.
"""

from collections.abc import Callable

import pytest
from mutmut.state import state

from mutation.process import limit_memory, package_caches

TABLES = ("tests/profile/test_catalog.py", "tests/reporting/test_rules_pages.py")
"""Tests of all that is made while the profile's modules are imported, word for word."""

_at_import: set[str] = set()
_table_tests: set[str] = set()
_caches: list[Callable[[], None]] = []


def pytest_configure() -> None:
    """Keep a mutant from taking all memory."""
    limit_memory()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note what has run so far, and which caches there are."""
    _at_import.update(state()._stats)  # noqa: SLF001 - where mutmut notes what runs
    state()._stats.clear()  # noqa: SLF001
    tables = {item.nodeid for item in session.items if item.nodeid.startswith(TABLES)}
    _table_tests.update(tables or {item.nodeid for item in session.items})
    _caches.extend(package_caches())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have a test compute all anew; one of the tables reaches what ran at import, too."""
    for clear in _caches:
        clear()
    if item.nodeid in _table_tests:
        state()._stats.update(_at_import)  # noqa: SLF001
