"""A hook of mkdocs: a pattern in the navigation stands for the pages that match it.

So the page of a new operator's rules needs no line in mkdocs.yml.
"""

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

Entry = str | dict[str, Any]
"""A page, or a title with a page or with further entries."""


def on_config(config: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Write the navigation out; mkdocs calls it with what mkdocs.yml says."""
    config["nav"] = expanded(config["nav"], Path(config["docs_dir"]))
    return config


def expanded(nav: list[Entry], folder: Path) -> list[Entry]:
    """Put pages in the place of the patterns of a navigation, but those that it lists itself."""
    return list(_expanded(nav, folder, frozenset(_pages(nav))))


def _pages(nav: list[Entry]) -> Iterator[str]:
    for entry in nav:
        for part in [entry] if isinstance(entry, str) else entry.values():
            yield from _pages(part) if isinstance(part, list) else (part,)


def _expanded(nav: list[Entry], folder: Path, listed: frozenset[str]) -> Iterator[Entry]:
    for entry in nav:
        match entry:
            case str() if "*" in entry:
                found = (page.relative_to(folder).as_posix() for page in folder.glob(entry))
                yield from sorted(set(found) - listed)
            case dict():
                yield {
                    title: list(_expanded(part, folder, listed)) if isinstance(part, list) else part
                    for title, part in entry.items()
                }
            case _:
                yield entry
