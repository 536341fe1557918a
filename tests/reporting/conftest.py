"""What the tests of pages share."""

from collections.abc import Iterator

import pytest

from support.browser import Opened, opening


@pytest.fixture(name="opened", scope="module")
def _opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with opening(tmp_path_factory.mktemp("pages")) as opened:
        yield opened
