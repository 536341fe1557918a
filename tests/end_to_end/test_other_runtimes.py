"""Natively rewritten models in plain sessions of other releases of ONNX Runtime.

`python3 scripts/test.py --models` runs these tests. They fetch each release once.
"""

from functools import cache

import pytest
from other_runtimes import RELEASES, folders_of, release_numbers
from real_models.packages import RegistryUnreachable

from sonnx_ort.versions import TRIED
from support.plain_runs.program import PYTHON, outcomes_in
from support.plain_runs.run import Outcome
from support.plain_runs.runs import BUNDLED, OPERATORS, assert_as_expected

pytestmark = pytest.mark.models

RUNS = {**BUNDLED, **OPERATORS}
OLDEST, NEWEST = map(release_numbers, TRIED["onnxruntime"])
SUPPORTED = [each for each in RELEASES if release_numbers(each) >= OLDEST]
OLDER = [each for each in RELEASES if release_numbers(each) < OLDEST]


@cache
def outcomes_of(release: str) -> dict[str, Outcome]:
    try:
        folders = folders_of(release)
    except RegistryUnreachable as error:
        pytest.skip(str(error))
    return outcomes_in(PYTHON, list(RUNS.values()), folders)


@pytest.mark.parametrize("release", SUPPORTED)
def test_supported_release_ends_each_run_as_expected(release: str) -> None:
    for name, ended in outcomes_of(release).items():
        assert_as_expected(RUNS[name], ended)


@pytest.mark.parametrize("release", OLDER)
def test_older_release_refuses_each_model(release: str) -> None:
    for ended in outcomes_of(release).values():
        assert isinstance(ended, str)
        assert "Unsupported model IR version: 11, max supported IR version: " in ended


def test_a_release_of_each_minor_version_is_run() -> None:
    """The newest one runs in `test_plain_runtimes.py`."""
    tried = [release_numbers(each)[1] for each in SUPPORTED]
    assert tried == list(range(OLDEST[1], NEWEST[1]))
