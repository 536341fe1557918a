"""The drawn picture of the documentation in a browser: it can be read on light and dark grounds."""

from collections.abc import Iterator

import pytest

from support.browser import Browser, browsing, why_no_browser
from support.pages import REPOSITORY

PICTURE = REPOSITORY / "docs" / "overhead.svg"

TEXT, GRAPHIC = 4.5, 3.0
"""The contrasts that WCAG 2.2 demands of text (1.4.3) and of what else tells something (1.4.11)."""

CONTRASTS = """(() => {
    const light = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
        const [r, g, b] = parts.map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, other) => {
        const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const style = (element) => getComputedStyle(element);
    const ground = style(document.querySelector("#patch_1 path")).fill;
    const lines = [...document.querySelectorAll("[id^=axes] > [id^=line2d] > path")];
    return {
        text: [...document.querySelectorAll("text")].map((t) => contrast(style(t).fill, ground)),
        lines: lines.map((line) => contrast(style(line).stroke, ground)),
        ground: light(ground),
    };
})()"""
"""Of the texts, and of the lines drawn; those of the grid are there to be looked past."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    with browsing() as browser:
        yield browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_picture_can_be_read(browser: Browser, scheme: str) -> None:
    browser.open(PICTURE, scheme=scheme)
    found = browser.evaluate(CONTRASTS)
    assert found["text"]
    assert min(found["text"]) >= TEXT
    assert found["lines"]
    assert min(found["lines"]) >= GRAPHIC
    assert (found["ground"] > 0.5) == (scheme == "light")
