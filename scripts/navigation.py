"""A hook of mkdocs: what is in the navigation, what the search finds first, which words stay whole.

A pattern in the navigation stands for the pages that match it, so that the page of a new operator's
rules needs no line in mkdocs.yml.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

Entry = str | dict[str, Any]
"""A page, or a title with a page or with further entries."""


def on_config(config: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Write the navigation out; mkdocs calls it with what mkdocs.yml says."""
    config["nav"] = expanded(config["nav"], Path(config["docs_dir"]))
    return config


_SEARCH: Mapping[str, Mapping[str, Any]] = {
    # Each sentence of the documents stands there, so it would be found for any word.
    r"traceability\.md": {"exclude": True},
    r"how-to/.*|(index|start|first-hour|commands)\.md": {"boost": 4},
    r"qualification/.*|(findings|real_models|benchmarks|exhaustive)\.md": {"boost": 0.5},
    r"(campaigns|proofs|mutants|agreement|bounds)\.md": {"boost": 0.5},
}
"""What the search is told of pages, by patterns of their paths."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Tell the search how much a page is wanted; mkdocs calls it with each page."""
    page.meta.setdefault("search", search_of(page.file.src_uri))
    return markdown


def search_of(path: str) -> dict[str, Any]:
    """What the search is told of a page: that it is left out, or how high it is ranked."""
    return next((dict(told) for each, told in _SEARCH.items() if re.fullmatch(each, path)), {})


_OPTION = re.compile(r"<code>(--?[a-z][^<]{0,40}</code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Mark options, which site.css keeps on one line; mkdocs calls it with each page."""
    return _OPTION.sub(r'<code class="option">\1', html)


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
