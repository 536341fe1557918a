"""Fixtures of all tests, and how hypothesis makes examples for them."""

import logging
import os
import zlib
from collections.abc import Iterator

import onnxruntime_extensions  # noqa: F401 - see below
import pytest
from hypothesis import HealthCheck, settings

import sonnx_ort
from sonnx_ort.options import Backend

# onnxruntime_extensions has all child processes take protobuf's slow implementation in Python.
os.environ.pop("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", None)

settings.register_profile(
    "reproducible",
    max_examples=int(os.environ.get("SONNX_ORT_EXAMPLES", "120")),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("reproducible")

_CHOOSING = (sonnx_ort.rewrite, sonnx_ort.rewrite_file, sonnx_ort.InferenceSession.__init__)


@pytest.fixture(params=list(Backend), ids=str, scope="module")
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Each backend in turn; what rewrites takes it where a test chooses none.

    Sessions verify their proofs, unless a test chooses otherwise.
    """
    chosen = Backend(request.param)
    with pytest.MonkeyPatch.context() as patch:
        for function in _CHOOSING:
            patch.setitem(function.__kwdefaults__, "backend", chosen.value)
        patch.setitem(sonnx_ort.InferenceSession.__init__.__kwdefaults__, "verify_proofs", True)
        yield chosen


@pytest.fixture
def without_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels log each violation; where a test makes many, nobody reads them."""
    monkeypatch.setattr(logging.getLogger("sonnx_ort"), "disabled", True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases", type=int, default=0, help="run at most so many cases of each test; 0: all"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the cases by their names: the same in each run, and of all parameters."""
    most = config.getoption("--cases")
    if not most:
        return
    cases: dict[str, list[str]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item.nodeid)
    chosen = {name for names in cases.values() for name in sorted(names, key=_digest)[:most]}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def _digest(name: str) -> int:
    return zlib.crc32(name.encode())
